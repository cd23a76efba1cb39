"""What the plan costs: steady, at its largest, and per token (requirements A9)."""

from __future__ import annotations

from inferform.plan import HOURS_PER_MONTH, CostPlan, ModelPlan, SystemPool
from inferform.planning.frame import EKS_USD_PER_HOUR
from inferform.spec import DeploymentSpec

_SECONDS_PER_HOUR = 3600


def platform_usd_per_hour(system: SystemPool) -> float:
    """Control plane and system nodes; traffic, disks and buckets are billed by use and not counted."""
    return EKS_USD_PER_HOUR + system.nodes.steady * system.usd_per_hour


def cost_plan(spec: DeploymentSpec, models: dict[str, ModelPlan], system: SystemPool) -> CostPlan:
    """Price of the steady fleet by pool, of the largest fleet, and per million tokens at the planned load."""
    by_pool: dict[str, float] = {}
    largest = EKS_USD_PER_HOUR + system.nodes.max * system.usd_per_hour
    for name, model in sorted(models.items()):
        for role, pool in sorted(model.pools.items()):
            by_pool[f"{name}/{role}"] = round(sum(p.nodes.steady * p.usd_per_hour for p in pool.purchase), 6)
            largest += sum(p.nodes.max * p.usd_per_hour for p in pool.purchase)
    by_pool["platform/eks"] = EKS_USD_PER_HOUR
    by_pool["platform/system"] = round(system.nodes.steady * system.usd_per_hour, 6)
    hourly = sum(by_pool.values())
    work = [spec.models[name].workload for name in models]
    output = sum(w.peak_rps * w.output_tokens.mean for w in work) * _SECONDS_PER_HOUR / 1e6
    total = output + sum(w.peak_rps * w.input_tokens.mean for w in work) * _SECONDS_PER_HOUR / 1e6
    return CostPlan(
        usd_per_hour=round(hourly, 4), usd_per_month=round(hourly * HOURS_PER_MONTH, 2), usd_per_hour_max=round(largest, 4),
        usd_per_mtok=round(hourly / total, 4) if total else 0.0, usd_per_mtok_output=round(hourly / output, 4) if output else 0.0, by_pool=by_pool,
        budget_usd_per_month=spec.budget.usd_per_month if spec.budget else None,
    )  # fmt: skip
