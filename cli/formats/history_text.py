"""What was applied, as a list of at most 100 columns."""

from __future__ import annotations

from inferform.cli.formats.table import table
from inferform.operate.results import Applied, HistoryResult


def history_text(result: HistoryResult) -> str:
    """One row an apply, the newest first, with what it came to and which one is in the cloud."""
    if not result.applied:
        return f"No apply has ended in {result.folder}."
    rows = [
        (str(a.number), a.when[:16].replace("T", " "), a.who, a.digest[:12], f"${a.usd_per_month:,.0f}", ", ".join(f"{pool} {n}" for pool, n in sorted(a.nodes.items())), _note(a, result))
        for a in reversed(result.applied)
    ]  # fmt: skip
    notes = ["An apply after these began and has not ended; rollback brings back the last that did."] if result.unfinished else []
    head = f"{result.name} in {result.environment}: applied from {result.folder}"
    return "\n\n".join([head, table(("apply", "when (UTC)", "who", "plan", "a month", "nodes", "note"), rows, right=(0, 4)), *notes])


def _note(applied: Applied, result: HistoryResult) -> str:
    back = f"rollback to {applied.rollback_to}" if applied.rollback_to is not None else ""
    return ", ".join(note for note in ("in the cloud" if applied.number == result.current else "", back) if note)
