"""The bill adds up: parts to the whole, steady to the plan's own cost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from inferform.bill import bill, ended_blocks
from inferform.plan import DeploymentPlan
from samples import plan_data


def priced() -> DeploymentPlan:
    """The sample plan with every pool in its cost."""
    data = plan_data()
    # 1 x 0.714; 2 x 55.04; 1 x 55.04; 2 x 0.9776 + 1 x 0.41; control plane; 2 x 0.4032.
    by_pool = {"bge/aggregated": 0.714, "llama-405b/aggregated": 110.08, "llama-70b/aggregated": 55.04, "llama-8b/aggregated": 2.3652}
    data["cost"]["by_pool"] = {**by_pool, "platform/eks": 0.10, "platform/system": 0.8064}
    for model, kind in (("llama-405b", {"min": 2, "steady": 2, "max": 4}),):
        data["models"][model]["pools"]["aggregated"]["purchase"][0]["nodes"] = kind
    return DeploymentPlan.model_validate(data)


def test_each_part_is_priced_at_its_fewest_steady_and_most_nodes() -> None:
    """The L4 pool: 1-2-2 on demand at 0.9776 and 0-1-4 spot at 0.41."""
    pool = bill(priced()).by_pool["llama-8b/aggregated"]
    assert (pytest.approx(0.9776), pytest.approx(2.3652), pytest.approx(2 * 0.9776 + 4 * 0.41)) == (pool.min, pool.steady, pool.max)


def test_the_whole_is_the_sum_of_its_parts() -> None:
    """Every column adds up, platform last, and the month has 730 hours."""
    total = bill(priced())
    for column in ("min", "steady", "max"):
        assert pytest.approx(getattr(total.usd_per_hour, column)) == sum(getattr(part, column) for part in total.by_pool.values())
    # 0.714 + 110.08 + 55.04 + 2.3652 + 0.10 + 0.8064
    assert pytest.approx(169.1056) == total.usd_per_hour.steady
    assert pytest.approx(169.1056 * 730) == total.usd_per_month.steady
    assert ["platform/eks", "platform/system"] == list(total.by_pool)[-2:]


def test_the_bill_says_of_which_day_its_prices_are() -> None:
    """Dates of all prices, each once, in order."""
    assert ("2026-07-20",) == bill(priced()).prices_as_of


def test_a_block_that_has_ended_is_told() -> None:
    """From its end on, and not before, a capacity block is named with what to do."""
    data = plan_data()
    block = {"kind": "capacity_block", "reservation_id": "cr-0123456789abcdef0", "zone": "use1-az6", "ends_at": "2026-12-24T11:30:00Z"}
    data["models"]["llama-70b"]["pools"]["aggregated"]["purchase"][0] |= block
    plan = DeploymentPlan.model_validate(data)
    assert [] == list(ended_blocks(plan, datetime(2026, 12, 24, 11, 29, tzinfo=UTC)))
    (told,) = ended_blocks(plan, datetime(2026, 12, 24, 11, 30, tzinfo=UTC))
    assert told.startswith("llama-70b/aggregated: cr-0123456789abcdef0 ended at 2026-12-24T11:30:00Z")
