"""A break-even as text: the decision, the figures it rests on, both bills at each volume."""

from __future__ import annotations

import textwrap

from inferform.cli.formats.table import bullets, pairs, table
from inferform.cli.output import WIDTH, printable
from inferform.sizing.breakeven import BreakEven, Volume, format_tokens, format_usd


def break_even_text(answer: BreakEven) -> str:
    """The whole answer, at most 100 columns."""
    rows = [
        ("API", f"{format_usd(answer.api_usd_per_mtok)} a million tokens of this traffic"),
        ("own fleet", f"{format_usd(answer.fleet_usd_per_month)} a month"),
        ("operations", f"{format_usd(answer.operations_usd_per_month)} a month"),
        ("break-even", _break_even(answer)),
    ]
    if answer.capacity_tokens_per_month is not None:
        whose = "one fleet" if answer.unit == "fleet" else "the planned nodes"
        at_best = f"{format_usd(answer.fleet_usd_per_mtok_at_capacity or 0)} a million tokens when full, with operations"
        rows.append(("capacity", f"{format_tokens(answer.capacity_tokens_per_month)} tokens a month of {whose}; {at_best}"))
    parts = [textwrap.fill(printable(answer.decision), WIDTH, break_on_hyphens=False), pairs(rows, width=WIDTH)]
    if answer.volumes:
        use = "use of one" if answer.unit == "fleet" else "use of plan"
        headers = ("tokens a month", "tokens a second", "API", "fleet and operations", f"{answer.unit}s", use, "cheaper", "by")
        parts.append(table(headers, [_volume(v) for v in answer.volumes], right=(0, 1, 2, 3, 4, 5, 7)))
    parts.append("Rests on\n" + bullets(answer.assumptions))
    return "\n\n".join(parts)


def _break_even(answer: BreakEven) -> str:
    point, bare = answer.break_even_tokens_per_month, answer.break_even_before_operations_tokens_per_month
    if point is None:
        return "none" if bare is None else f"none; one fleet without operations or a limit: {format_tokens(bare)} tokens a month"
    text = f"{format_tokens(point)} tokens a month"
    if bare is not None and bare != point:
        text += f", {format_tokens(bare)} before operations"
    above = answer.always_cheaper_above_tokens_per_month
    if above is not None and above > point:
        text += f"; cheaper at every volume from {format_tokens(above)} on, below that a {answer.unit} just begun may not be"
    return text


def _volume(volume: Volume) -> tuple[str, ...]:
    return (
        format_tokens(volume.tokens_per_month),
        f"{volume.tokens_per_s:,.0f}",
        format_usd(volume.api_usd),
        format_usd(volume.fleet_usd),
        f"{volume.units:,}",
        "not stated" if volume.utilization is None else f"{volume.utilization:.0%}",
        volume.cheaper,
        format_usd(volume.saved_usd),
    )
