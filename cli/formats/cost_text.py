"""A bill as text."""

from __future__ import annotations

from inferform.bill import Bill, Range
from inferform.cli.formats.table import pairs, table


def cost_text(bill: Bill) -> str:
    """Cost by part and in all, an hour and a month, in 100 columns."""
    rows = [_row(part, usd, bill) for part, usd in bill.by_pool.items()]
    headers = ("part", "fewest $/h", "steady $/h", "most $/h", "steady $/month")
    lines = [f"{bill.name} in {bill.environment}", table(headers, [*rows, _row("total", bill.usd_per_hour, bill)], right=(1, 2, 3, 4))]
    said = [("prices of", ", ".join(bill.prices_as_of))] if bill.prices_as_of else []
    if bill.budget_usd_per_month is not None:
        used = bill.usd_per_month.steady / bill.budget_usd_per_month
        said.append(("budget", f"${bill.budget_usd_per_month:,.0f} a month, {used:.0%} of it used"))
    if bill.usd_per_mtok:
        said.append(("a million tokens", f"${bill.usd_per_mtok:,.2f} in and out, ${bill.usd_per_mtok_output:,.2f} of output alone"))
    return "\n".join([*lines, pairs(said, indent="")] if said else lines)


def _row(name: str, usd: Range, bill: Bill) -> tuple[str, ...]:
    return (name, f"{usd.min:,.2f}", f"{usd.steady:,.2f}", f"{usd.max:,.2f}", f"{usd.steady * bill.hours_per_month:,.0f}")
