"""Sizing for commands that take prices of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from inferform.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from inferform.catalog.price_book import PriceBook
    from inferform.load import LoadedSpec
    from inferform.operate.steps import Source, Steps
    from inferform.plan import DeploymentPlan
    from inferform.planner import Explanation

Prices = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="CSV of own prices: instance_type,region,purchase,usd_per_hour,as_of.", show_default=False),
]


def price_book(prices: Path | None) -> PriceBook:
    """The prices to plan with. Raises: InputError with every problem of the file, by line."""
    from inferform.catalog.price_book import LISTED, read_prices

    return LISTED if prices is None else read_prices(prices)


def sized(out: Output, loaded: LoadedSpec, prices: Path | None) -> DeploymentPlan:
    """The plan of a spec by these prices; old prices and blocks that have ended are warned about."""
    from inferform.load import located
    from inferform.planner import size

    book = price_book(prices)
    with located(loaded):
        plan = size(loaded.spec, loaded.environment, book)
    warn_of_the_day(out, plan)
    return plan


def explained(out: Output, loaded: LoadedSpec, prices: Path | None) -> tuple[DeploymentPlan, Explanation]:
    """The plan of a spec by these prices, with the decision told; warns as `sized`."""
    from inferform.load import located
    from inferform.planner import explain

    book = price_book(prices)
    with located(loaded):
        plan, explanation = explain(loaded.spec, loaded.environment, book)
    warn_of_the_day(out, plan)
    return plan, explanation


def steps(out: Output, prices: Path | None) -> Steps:
    """The steps of plan and apply, sizing by these prices; old prices and blocks that have ended are warned about."""
    return sizing(prices, lambda plan: warn_of_the_day(out, plan))


def sizing(prices: Path | None, told: Callable[[DeploymentPlan], None] = lambda plan: None) -> Steps:
    """The steps of operate, sizing by these prices; each plan is given to `told`."""
    from inferform.operate.steps import Steps
    from inferform.plan import DeploymentPlan

    book = price_book(prices)

    def size(source: Source) -> DeploymentPlan:
        from inferform import planner

        plan = source if isinstance(source, DeploymentPlan) else planner.size(source.spec, source.environment, book)
        told(plan)
        return plan

    return Steps(size=size)


def warn_of_the_day(out: Output, plan: DeploymentPlan) -> None:
    """Says what is true of a plan today only: prices half a year old or more, and capacity blocks that have ended."""
    from datetime import UTC, datetime

    from inferform.bill import ended_blocks, prices_used
    from inferform.catalog.price_book import stale_prices

    now = datetime.now(UTC)
    for warning in (*stale_prices(((p.name, p.as_of, p.share) for p in prices_used(plan)), now.date()), *ended_blocks(plan, now)):
        out.warn(warning)
