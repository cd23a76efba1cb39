"""A bill as text."""

from __future__ import annotations

from inferform.bill import Bill, Range
from inferform.cli.formats.table import pairs, table


def cost_text(bill: Bill) -> str:
    """Cost by part and in all, by model version and per token, and where the prices come from, in 100 columns."""
    rows = [_row(part, usd, bill) for part, usd in bill.by_pool.items()]
    headers = ("part", "fewest $/h", "steady $/h", "most $/h", "steady $/month")
    lines = [f"{bill.name} in {bill.environment}", table(headers, [*rows, _row("total", bill.usd_per_hour, bill)], right=(1, 2, 3, 4))]
    said = [("prices of", ", ".join(bill.prices_as_of))] if bill.prices_as_of else []
    if bill.budget_usd_per_month is not None:
        used = bill.usd_per_month.steady / bill.budget_usd_per_month
        said.append(("budget", f"${bill.budget_usd_per_month:,.0f} a month, {used:.0%} of it used"))
    if bill.usd_per_mtok:
        said.append(
            (
                "a million tokens",
                f"${bill.usd_per_mtok:,.2f} of any kind; ${bill.usd_per_mtok_input:,.2f} of input, ${bill.usd_per_mtok_output:,.2f} of output",
            )
        )
    if bill.usd_per_request:
        said.append(("1,000 requests", f"${bill.usd_per_request * 1000:,.2f}"))
    said += [(f"tenant {name}", f"${usd:,.2f} an hour, ${usd * bill.hours_per_month:,.0f} a month") for name, usd in sorted(bill.by_tenant.items())]
    lines.append(pairs(said, indent=""))
    if bill.by_model:
        lines.append("\nBy model version, with its share of the platform, at the mean load of the month\n" + _models(bill))
    if bill.prices:
        lines.append("\nPrices\n" + _prices(bill))
    return "\n".join(lines)


def _models(bill: Bill) -> str:
    headers = ("model", "version", "$/month", "$/Mtok", "input", "output", "$/1,000 req", "used")
    rows = [
        (
            name, m.version, f"{m.usd_per_month:,.0f}", f"{m.usd_per_mtok:,.2f}", f"{m.usd_per_mtok_input:,.2f}", f"{m.usd_per_mtok_output:,.2f}",
            f"{m.usd_per_request * 1000:,.2f}", f"{m.utilization:.0%}",
        )
        for name, m in sorted(bill.by_model.items())
    ]  # fmt: skip
    return table(headers, rows, right=(2, 3, 4, 5, 6, 7))


def _prices(bill: Bill) -> str:
    rows = [(p.name, f"{p.usd:,.4g} / {p.unit}", p.as_of, p.source) for p in bill.prices if p.share > 0]
    return table(("price of", "USD", "as of", "source"), rows)


def _row(name: str, usd: Range, bill: Bill) -> tuple[str, ...]:
    return (name, f"{usd.min:,.2f}", f"{usd.steady:,.2f}", f"{usd.max:,.2f}", f"{usd.steady * bill.hours_per_month:,.0f}")
