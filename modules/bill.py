"""What a plan costs part by part: at its fewest nodes, at the planned load, and at its most; and per token, request, model version and tenant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from inferform.plan import DeploymentPlan, PoolPlan
from inferform.plan_cost import HOURS_PER_MONTH, ModelCost, PlatformCost
from inferform.plan_nodes import Count

_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Range:
    """USD an hour at the fewest, the steady and the most nodes."""

    min: float
    steady: float
    max: float


@dataclass(frozen=True, slots=True)
class PriceUsed:
    """A price of the bill, where it comes from, and the share of the steady bill that it makes."""

    name: str
    usd: float
    unit: str
    as_of: str
    source: str
    share: float


@dataclass(frozen=True, slots=True)
class Bill:
    """Cost of the whole and, by name, of every pool and platform part; `prices` are the prices used, dearest share first."""

    name: str
    environment: str
    tenant: str
    usd_per_hour: Range
    usd_per_month: Range
    usd_per_mtok: float
    usd_per_mtok_input: float
    usd_per_mtok_output: float
    usd_per_request: float
    by_pool: dict[str, Range]
    by_model: dict[str, ModelCost]
    by_tenant: dict[str, float]
    platform: tuple[PlatformCost, ...]
    budget_usd_per_month: float | None
    hours_per_month: float
    prices_as_of: tuple[str, ...]
    prices: tuple[PriceUsed, ...]


def bill(plan: DeploymentPlan) -> Bill:
    """The bill of a plan; its steady column is the plan's own cost by pool."""
    system, cost = plan.cloud.system_pool, plan.cost
    parts = {name: Range(usd, usd, usd) for name, usd in cost.by_pool.items()}
    disk_usd = _disk_usd(plan)
    for model_name, _, pool_name, pool in plan.pool_items():
        name = f"{model_name}/{pool_name}"
        parts[name] = _of_pool(pool, cost.by_pool[name], disk_usd)
    for name in ("platform/system", "platform/system-disks"):
        if name in parts:
            a_node = cost.by_pool[name] / max(1, system.nodes.steady)
            parts[name] = Range(system.nodes.min * a_node, cost.by_pool[name], system.nodes.max * a_node)
    ordered = dict(sorted(parts.items(), key=lambda item: (item[0].startswith("platform/"), item[0])))
    hourly = _sum(list(ordered.values()))
    used = tuple(sorted(prices_used(plan), key=lambda p: (-p.share, p.name)))
    return Bill(
        name=plan.name,
        environment=plan.environment,
        tenant=plan.tenant,
        usd_per_hour=hourly,
        usd_per_month=Range(hourly.min * cost.hours_per_month, hourly.steady * cost.hours_per_month, hourly.max * cost.hours_per_month),
        usd_per_mtok=cost.usd_per_mtok,
        usd_per_mtok_input=cost.usd_per_mtok_input,
        usd_per_mtok_output=cost.usd_per_mtok_output,
        usd_per_request=cost.usd_per_request,
        by_pool=ordered,
        by_model=dict(cost.by_model),
        by_tenant=dict(cost.by_tenant),
        platform=cost.platform,
        budget_usd_per_month=cost.budget_usd_per_month,
        hours_per_month=cost.hours_per_month,
        prices_as_of=tuple(sorted({p.as_of for p in used})),
        prices=used,
    )


def prices_used(plan: DeploymentPlan) -> Iterator[PriceUsed]:
    """Every price behind the plan's cost."""
    whole = plan.cost.usd_per_hour or 1.0
    for _, _, _, pool in plan.pool_items():
        for part in pool.purchase:
            name = f"{part.instance_types[0]} {part.kind.replace('_', '-')}"
            yield PriceUsed(name, part.usd_per_hour, "hour", part.price_as_of, part.price_source, part.nodes.steady * part.usd_per_hour / whole)
    for item in plan.cost.platform:
        yield PriceUsed(f"platform/{item.name}", item.usd_per_unit, item.unit, item.as_of, item.source, item.usd_per_hour / whole)


def ended_blocks(plan: DeploymentPlan, now: datetime) -> Iterator[str]:
    """One warning for each purchase of the plan whose end has passed; `now` is aware of its zone."""
    for model, _, name, pool in plan.pool_items():
        for part in pool.purchase:
            if part.ends_at and datetime.fromisoformat(part.ends_at) <= now:
                yield f"{model}/{name}: {part.reservation_id} ended at {part.ends_at}, so nothing can be launched into it; name the next one in capacity.purchase"


def _disk_usd(plan: DeploymentPlan) -> float:
    """USD an hour of a GiB of root volume."""
    return next((p.usd_per_unit / HOURS_PER_MONTH for p in plan.cost.platform if p.name == "system-disks"), 0.0)


def _of_pool(pool: PoolPlan, steady: float, disk_usd: float) -> Range:
    disk = pool.infrastructure.root_volume_bytes / _GIB * disk_usd

    def usd(count: str) -> float:
        return sum(_nodes(part.nodes, count) * (part.usd_per_hour + disk) for part in pool.purchase)

    return Range(usd("min"), steady, usd("max"))


def _nodes(count: Count, which: str) -> int:
    return {"min": count.min, "steady": count.steady, "max": count.max}[which]


def _sum(ranges: list[Range]) -> Range:
    return Range(math.fsum(r.min for r in ranges), math.fsum(r.steady for r in ranges), math.fsum(r.max for r in ranges))
