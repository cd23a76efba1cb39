"""What a plan costs part by part: at its fewest nodes, at the planned load, and at its most."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inferform.plan import Count, DeploymentPlan, PurchasePart


@dataclass(frozen=True, slots=True)
class Range:
    """USD an hour at the fewest, the steady and the most nodes."""

    min: float
    steady: float
    max: float


@dataclass(frozen=True, slots=True)
class Bill:
    """Cost of the whole and, by name, of every pool and platform part; `prices_as_of` are the days of the prices used."""

    name: str
    environment: str
    usd_per_hour: Range
    usd_per_month: Range
    usd_per_mtok: float
    usd_per_mtok_output: float
    by_pool: dict[str, Range]
    budget_usd_per_month: float | None
    hours_per_month: float
    prices_as_of: tuple[str, ...]


def bill(plan: DeploymentPlan) -> Bill:
    """The bill of a plan; its steady column is the plan's own cost by pool."""
    system = plan.cloud.system_pool
    parts = {name: Range(usd, usd, usd) for name, usd in plan.cost.by_pool.items()}
    for model_name, _, pool_name, pool in plan.pool_items():
        parts[f"{model_name}/{pool_name}"] = _of_pool(pool.purchase, plan.cost.by_pool[f"{model_name}/{pool_name}"])
    if "platform/system" in parts:
        parts["platform/system"] = Range(system.nodes.min * system.usd_per_hour, plan.cost.by_pool["platform/system"], system.nodes.max * system.usd_per_hour)
    ordered = dict(sorted(parts.items(), key=lambda item: (item[0].startswith("platform/"), item[0])))
    dates = {part.price_as_of for _, _, _, pool in plan.pool_items() for part in pool.purchase}
    cost, hourly = plan.cost, _sum(list(ordered.values()))
    return Bill(
        name=plan.name,
        environment=plan.environment,
        usd_per_hour=hourly,
        usd_per_month=Range(hourly.min * cost.hours_per_month, hourly.steady * cost.hours_per_month, hourly.max * cost.hours_per_month),
        usd_per_mtok=cost.usd_per_mtok,
        usd_per_mtok_output=cost.usd_per_mtok_output,
        by_pool=ordered,
        budget_usd_per_month=cost.budget_usd_per_month,
        hours_per_month=cost.hours_per_month,
        prices_as_of=tuple(sorted(dates)),
    )


def _of_pool(purchase: tuple[PurchasePart, ...], steady: float) -> Range:
    def usd(count: str) -> float:
        return sum(_nodes(part.nodes, count) * part.usd_per_hour for part in purchase)

    return Range(usd("min"), steady, usd("max"))


def _nodes(count: Count, which: str) -> int:
    return {"min": count.min, "steady": count.steady, "max": count.max}[which]


def _sum(ranges: list[Range]) -> Range:
    return Range(math.fsum(r.min for r in ranges), math.fsum(r.steady for r in ranges), math.fsum(r.max for r in ranges))
