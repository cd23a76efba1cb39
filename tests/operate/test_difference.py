"""Cost against the plan that was applied last."""

from __future__ import annotations

from inferform.operate.difference import cost_difference
from inferform.plan import DeploymentPlan
from operate.tiny import tiny_plan
from samples import plan_data


def test_cost_before_and_after() -> None:
    """Months of 730 hours, pool by pool where they differ."""
    data = plan_data()
    data["cost"] |= {"usd_per_month": 50000.0, "by_pool": {"llama-8b/aggregated": 2.0}}
    found = cost_difference(DeploymentPlan.model_validate(data), tiny_plan())
    assert (50000.0, 87600.0, 37600.0) == (found.before_usd_per_month, found.after_usd_per_month, found.difference_usd_per_month)
    # 55.04 x 730 = 40179.2; 2.0 x 730 = 1460
    assert {"llama-70b/aggregated": (0.0, 40179.2), "llama-8b/aggregated": (1460.0, 0.0)} == found.by_pool_usd_per_month
    assert None is cost_difference(None, tiny_plan()).before_usd_per_month
