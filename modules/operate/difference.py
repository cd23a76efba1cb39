"""Cost of a plan against what was applied last."""

from __future__ import annotations

from inferform.operate.results import CostDifference
from inferform.plan import DeploymentPlan


def cost_difference(before: DeploymentPlan | None, after: DeploymentPlan) -> CostDifference:
    """Steady cost of both plans, and of each pool where it differs."""
    hours = after.cost.hours_per_month
    old, new = before.cost.by_pool if before else {}, after.cost.by_pool
    rows = {name: (round(old.get(name, 0.0) * hours, 2), round(new.get(name, 0.0) * hours, 2)) for name in sorted({*old, *new})}
    was = before.cost.usd_per_month if before else None
    return CostDifference(
        before_usd_per_month=was,
        after_usd_per_month=after.cost.usd_per_month,
        difference_usd_per_month=round(after.cost.usd_per_month - (was or 0.0), 2),
        budget_usd_per_month=after.cost.budget_usd_per_month,
        by_pool_usd_per_month={name: pair for name, pair in rows.items() if pair[0] != pair[1]},
    )
