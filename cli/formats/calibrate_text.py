"""Own runs beside their predictions, as text and as the data of the JSON answer."""

from __future__ import annotations

from typing import Any

from inferform.calibration import Calibration
from inferform.cli.formats.table import pairs, table

_NAMES = {"output_tokens_per_s": "output tokens", "ttft_ms": "TTFT", "tpot_ms": "TPOT"}


def calibrate_text(found: Calibration, allowed: float, *, check: bool) -> str:
    """A table of every run's figures, then the factors, then what is beyond the allowed share."""
    parts = []
    for c in found.compared:
        rows = [(d.figure, f"{d.measured:,.2f}", f"{d.predicted:,.2f}", f"{d.share:+.0%}") for d in c.comparison.differences]
        head = f"{c.run.path}:{c.run.line}  {c.run.tool}, {c.how}"
        body = table(("", "measured", "predicted", "off by"), rows, right=(1, 2, 3)) if rows else "no figure that both have"
        parts.append(head + "\n" + "\n".join(f"  {line}" for line in body.splitlines()))
    if found.correction is not None and found.correction.factors:
        factors = [
            (_NAMES[name], f"x {f.factor:g}, within {f.band:.0%} ({f.runs} run{'s' if f.runs > 1 else ''})") for name, f in found.correction.factors.items()
        ]
        parts.append("The runs ask for\n" + pairs(factors))
    late = found.beyond(allowed)
    if late:
        worst = [(d.figure, f"{d.share:+.0%}", f"{run.path}:{run.line}") for run, d in late]
        parts.append(f"Beyond the allowed {allowed:.0%}\n" + "\n".join(f"  {line}" for line in table(("", "off by", "run"), worst, right=(1,)).splitlines()))
    if found.failed:
        parts.append("Over a tenth of the requests failed\n" + "\n".join(f"  {run.path}:{run.line}" for run in found.failed))
    elif check and not late:
        parts.append(f"Every figure is within the allowed {allowed:.0%}")
    return "\n\n".join(parts)


def calibrate_json(found: Calibration, allowed: float) -> dict[str, Any]:
    """Runs with their differences, the correction, what speaks against the runs, and what is beyond the allowed share."""
    return {
        "runs": [
            {
                "path": c.run.path,
                "line": c.run.line,
                "tool": c.run.tool,
                "model": c.run.model,
                "requests": c.run.requests,
                "failed": c.run.failed,
                "learned": c.learned,
                "load": c.how,
                "differences": [{"figure": d.figure, "measured": d.measured, "predicted": d.predicted, "share": d.share} for d in c.comparison.differences],
            }
            for c in found.compared
        ],
        "correction": found.correction,
        "allowed": allowed,
        "warnings": list(found.warnings),
        "beyond": [{"path": run.path, "line": run.line, "figure": d.figure, "share": d.share} for run, d in found.beyond(allowed)],
    }
