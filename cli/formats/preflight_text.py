"""What preflight and bootstrap found, as reports of at most 100 columns."""

from __future__ import annotations

import textwrap

from inferform.cli.formats.table import bullets, table
from inferform.cli.output import WIDTH, printable
from inferform.cloud.results import BootstrapResult, Finding, PreflightResult

_TITLES = (("blocker", "Blocks an apply"), ("warning", "Needs attention"), ("unknown", "Could not be checked"))


def preflight_text(result: PreflightResult) -> str:
    """Findings by severity with what to do, then what is well, then the sum."""
    account = f"account {result.account}" if result.account else "no account"
    parts = [f"{result.name} in {result.environment}: preflight of {result.region}, {account}"]
    for severity, title in _TITLES:
        found = [f for f in result.findings if f.severity == severity]
        if found:
            parts.append(title + "\n" + "\n".join(_finding(f) for f in found))
    well = [(f.id, f.subject, f.found) for f in result.findings if f.severity == "ok"]
    if well:
        parts.append("As needed\n" + textwrap.indent(table(("check", "subject", "found"), well, width=WIDTH - 2), "  "))
    counts = result.counts
    said = [
        (counts.blocker, "blocking", "blocking"),
        (counts.warning, "warning", "warnings"),
        (counts.unknown, "not checked", "not checked"),
        (counts.ok, "ok", "ok"),
    ]
    parts.append(", ".join(f"{n} {one if n == 1 else many}" for n, one, many in said if n) + ".")
    return "\n\n".join(parts)


def bootstrap_text(result: BootstrapResult) -> str:
    """The state bucket, property by property."""
    head = f"{result.name} in {result.environment}: state in {'local files' if result.bucket is None else f'bucket {result.bucket}, {result.region}'}"
    parts = [head]
    if result.steps:
        parts.append(table(("property", "found", "wanted", "done"), [(s.name, s.found, s.wanted, s.action) for s in result.steps]))
    if result.notes:
        parts.append(bullets(result.notes))
    open_steps = sum(s.action.startswith("would") for s in result.steps)
    if result.steps:
        parts.append(f"{open_steps} to do; run it without --dry-run." if open_steps else "Changed." if result.changed else "Nothing to change.")
    return "\n\n".join(parts)


def _finding(finding: Finding) -> str:
    needed = f"; needed: {finding.needed}" if finding.needed else ""
    head = textwrap.fill(
        printable(f"{finding.id} {finding.subject}: {finding.found}{needed}"), WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
    fix = textwrap.fill(
        printable(finding.fix), WIDTH, initial_indent="    fix: ", subsequent_indent="         ", break_on_hyphens=False, break_long_words=False
    )
    return "\n".join([head, *([fix] if finding.fix else []), *([_command(finding.command)] if finding.command else [])])


def _command(command: str) -> str:
    """A command over several lines that a shell still takes as one."""
    lines = textwrap.wrap(printable(command), WIDTH - 8, break_on_hyphens=False, break_long_words=False)
    return " \\\n".join(f"{'    $ ' if at == 0 else '        '}{line}" for at, line in enumerate(lines))
