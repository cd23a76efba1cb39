"""The decision as a person would tell it: what was chosen and why, what came second, what fell, what would be cheaper."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from inferform.cli.formats.table import bullets, table
from inferform.cli.output import WIDTH, printable
from inferform.quantities import format_bytes

if TYPE_CHECKING:
    from inferform.plan import DeploymentPlan
    from inferform.planner import Explanation
    from inferform.planning.explain import MemoryBar, ModelExplanation
    from inferform.sizing.operating_curve import Curve, Operating

_MARKS = {"weights": "W", "activations": "a", "runtime": "r", "KV cache": "k", "kept free": "."}
_BAR = 80
# Of a curve's points, those that a person needs to see its shape.
_MOST_ROWS = 8


def explain_text(plan: DeploymentPlan, explanation: Explanation) -> str:
    """The whole explanation, at most 100 columns."""
    cost = plan.cost
    budget = f" of the ${cost.budget_usd_per_month:,.0f} allowed" if cost.budget_usd_per_month is not None else ""
    around = sum(usd for name, usd in cost.by_pool.items() if name.startswith("platform/")) * cost.hours_per_month
    head = (
        f"{plan.name} in {plan.environment} costs ${cost.usd_per_month:,.0f} a month{budget}, ${around:,.0f} of it for the cluster around the pools. "
        "Why it is planned so:"
    )
    return "\n\n".join([_wrapped(head), *(_model(name, told) for name, told in sorted(explanation.models.items()))])


def _model(name: str, told: ModelExplanation) -> str:
    chosen = told.chosen
    lines = [name, _wrapped(f"Chosen: {chosen.candidate}, for ${chosen.usd_per_month:,.0f} a month.", "  ")]
    lines.append(
        _wrapped(
            f"It is the cheapest of {told.candidates} candidates on {told.instance_types} instance types that carries {told.objectives}.", "  "
        )
    )  # fmt: skip
    if told.second is not None and told.second_costs_more_usd_per_month is not None:
        more = told.second_costs_more_usd_per_month
        share = f" ({more / chosen.usd_per_month:.0%})" if chosen.usd_per_month else ""
        lines.append(_wrapped(f"Second best: {told.second.candidate}, for ${more:,.0f} a month more{share}.", "  "))
    else:
        lines.append("  Second best: nothing else carries it inside the objectives.")
    lines += ["", "  The reasons", bullets(told.why, indent="    ")]
    if told.memory:
        lines += ["", *(_bar(bar) for bar in told.memory)]
    lines += ["", *(_curve(curve) for curve in told.curves)]
    if told.cheaper_if:
        lines += ["", "  It would be cheaper with"]
        lines.append(
            bullets(
                [
                    f"{w.change}: {w.candidate} for ${w.usd_per_month:,.0f} a month, ${w.saves_usd_per_month:,.0f} less (set {w.field})"
                    for w in told.cheaper_if
                ],
                indent="    ",
            )
        )  # fmt: skip
    else:
        lines += ["", "  No single constraint moved would make it cheaper."]
    if told.rejected:
        lines += ["", "  What was not chosen, and the number that decided", bullets([f"{r.candidate}: {r.reason}" for r in told.rejected], indent="    ")]
    return "\n".join(lines)


def _bar(bar: MemoryBar) -> str:
    """Memory of one GPU as a bar of letters, and what each letter stands for."""
    drawn, at, last = "", 0, 0
    for part, taken in bar.parts.items():
        at += taken
        end = round(at / bar.device_bytes * _BAR)
        # What is there at all gets a letter.
        drawn += _MARKS[part] * max(end - last, 1 if taken and end - last < 1 and part != "kept free" else 0)
        last = max(end, len(drawn))
    legend = ", ".join(f"{_MARKS[part]} {part} {format_bytes(taken)}" for part, taken in bar.parts.items() if taken)
    return f"  Memory of one GPU ({bar.pool}), {format_bytes(bar.device_bytes)}\n    [{drawn[:_BAR].ljust(_BAR, '.')}]\n" + _wrapped(legend, "    ")


def _curve(curve: Curve) -> str:
    generates = bool(curve.planned.tpot_p95_s)
    step = max(1, -(-len(curve.points) // _MOST_ROWS))
    shown = sorted({*curve.points[::step], curve.planned, curve.most}, key=lambda p: p.requests_per_s)
    headers = ("", "requests/s", "tokens/s", "TTFT p95", "TPOT p95") if generates else ("", "requests/s", "TTFT p95")
    rows = [_row(point, curve, generates) for point in shown]
    text = table(headers, rows, right=(1, 2, 3, 4) if generates else (1, 2), width=WIDTH - 4)
    return _wrapped(f"One replica of {curve.name}, by its load", "  ") + "\n" + textwrap.indent(text, "    ")


def _row(point: Operating, curve: Curve, generates: bool) -> tuple[str, ...]:
    late = curve.ttft_p95_s is not None and point.ttft_p95_s > curve.ttft_p95_s
    slow = curve.tpot_p95_s is not None and point.tpot_p95_s > curve.tpot_p95_s
    mark = "planned" if point == curve.planned else "most inside the objectives" if point == curve.most else "misses them" if late or slow else ""
    cells = [mark, f"{point.requests_per_s:,.3g}"]
    if generates:
        cells.append(f"{point.output_tokens_per_s:,.0f}")
    cells.append(f"{point.ttft_p95_s:,.2f} s")
    if generates:
        cells.append(f"{point.tpot_p95_s * 1e3:,.1f} ms")
    return tuple(cells)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(printable(text), WIDTH, initial_indent=indent, subsequent_indent=indent + ("  " if indent else ""), break_on_hyphens=False)
