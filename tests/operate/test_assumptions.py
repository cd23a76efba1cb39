"""What the sizing rested on and that no longer holds, finding by finding; without terraform."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from inferform.errors import InputError, Problem
from inferform.operate import assumptions
from inferform.operate.results import Assumption
from inferform.plan import DeploymentPlan
from inferform.spec import DeploymentSpec
from operate.tiny import tiny_plan
from samples import plan_data


def told(found: Any) -> list[tuple[str, str, str, str]]:
    return [(a.code, a.subject, a.then, a.now) for a in found]


def today(model: str = "llama-70b", **changes: Any) -> DeploymentPlan:
    """The sample plan as it would be sized today; `changes` are of the model, `pool` of its pool."""
    data = plan_data()
    data["models"][model]["pools"]["aggregated"].update(changes.pop("pool", {}))
    data["models"][model].update(changes)
    return DeploymentPlan.model_validate(data)


def spec(**changes: Any) -> DeploymentSpec:
    body = {"source": "a/b", "workload": {"peak_rps": 2.0, "input_tokens": {"mean": 500}}, **changes}
    return DeploymentSpec.model_validate({"name": "demo", "cloud": {"provider": "aws", "region": "us-east-1"}, "models": {"m": body}})


def test_the_same_today_is_no_finding() -> None:
    """Nothing that holds is told."""
    assert [] == told(assumptions.sized_otherwise(tiny_plan(), tiny_plan()))
    assert [] == told(assumptions.old_prices(tiny_plan(), date(2026, 8, 1)))
    assert [] == told(assumptions.dated_capacity(tiny_plan(), datetime(2030, 1, 1, tzinfo=UTC)))


def test_fields_of_the_spec_that_changed_are_named() -> None:
    """Each leaf with both values, by its dotted path; a field that is new or gone is `not set` on the other side."""
    now = spec(workload={"peak_rps": 3.0, "input_tokens": {"mean": 500}}, max_model_len=4096)
    found = list(assumptions.spec_changed(spec(), now))
    assert [("spec-changed", "models.m.max_model_len", "not set", "4096"), ("spec-changed", "models.m.workload.peak_rps", "2.0", "3.0")] == told(found)
    assert {assumptions.PLAN} == {a.remedy for a in found}
    # Without the kept spec only the digest tells.
    assert [("spec-changed", "spec", "", "")] == told(assumptions.spec_changed(None, now))


def test_many_changed_fields_are_counted() -> None:
    """Twelve are named, the others counted."""
    then, now = ({f"m{n}": spec(max_num_seqs=seqs).models["m"] for n in range(15)} for seqs in (8, 16))
    found = list(assumptions.spec_changed(spec().model_copy(update={"models": then}), spec().model_copy(update={"models": now})))
    assert 13 == len(found)
    assert "3 more fields changed" == found[-1].message


def test_other_defaults_and_another_fleet_are_told_apart() -> None:
    """A newer engine is a default; another instance type, node count or set of pools is the sizing."""
    engine = tiny_plan().models["llama-70b"].engine_version
    now = today(engine_version="0.99.0", pool={"instance_type": "p5en.48xlarge", "nodes": {"min": 1, "steady": 2, "max": 4}})
    assert [
        ("default-changed", "models.llama-70b.engine_version", engine, "0.99.0"),
        ("sizing-changed", "llama-70b/aggregated instance_type", "p5.48xlarge", "p5en.48xlarge"),
        ("sizing-changed", "llama-70b/aggregated nodes", "1-1-2", "1-2-4"),
    ] == told(assumptions.sized_otherwise(tiny_plan(), now))
    data = plan_data()
    pools = data["models"]["llama-70b"]["pools"]
    pools["decode"] = pools.pop("aggregated")
    split = DeploymentPlan.model_validate(data)
    assert [("sizing-changed", "models.llama-70b.pools", "aggregated", "decode")] == told(assumptions.sized_otherwise(tiny_plan(), split))


def test_another_checkpoint_is_told() -> None:
    """A config.json that changed under the same name changes the weights."""
    load = plan_data()["models"]["llama-70b"]["load"]
    found = told(assumptions.sized_otherwise(tiny_plan(), today(load={**load, "weights_bytes": load["weights_bytes"] + 1})))
    assert [("default-changed", "models.llama-70b weights")] == [row[:2] for row in found]


def test_prices_of_nodes_and_platform_are_compared() -> None:
    """Old and new price with their days; a difference of rounding is none."""
    part = plan_data()["models"]["llama-70b"]["pools"]["aggregated"]["purchase"][0]
    dearer = today(pool={"purchase": [{**part, "usd_per_hour": 66.05, "price_as_of": "2026-11-01"}]})
    found = list(assumptions.sized_otherwise(tiny_plan(), dearer))
    assert [("price-changed", "llama-70b/aggregated p5.48xlarge on-demand", "$55.0400 (2026-07-20)", "$66.0500 (2026-11-01)")] == told(found)
    assert "the price is another, 20% dearer" == found[0].message
    assert [] == told(assumptions.sized_otherwise(tiny_plan(), today(pool={"purchase": [{**part, "usd_per_hour": 55.041}]})))
    data = [plan_data(), plan_data()]
    for plan, usd in zip(data, (0.1, 0.05), strict=True):
        row = {"name": "eks", "count": 1, "unit": "hour", "usd_per_unit": usd, "usd_per_hour": usd, "as_of": "2026-11-01", "source": "s"}
        plan["cost"]["platform"] = [row]
    then, now = (DeploymentPlan.model_validate(d) for d in data)
    assert ["the price is another, 50% cheaper"] == [a.message for a in assumptions.sized_otherwise(then, now)]


def test_a_spec_that_can_no_longer_be_planned_is_told() -> None:
    """What stands in the way, field by field, with the fix."""
    found = list(assumptions.not_sized(InputError([Problem("p4d is not sold any more", field="models.m.hardware", fix="allow p5"), Problem("budget")])))
    assert [("sizing-impossible", "models.m.hardware", "p4d is not sold any more"), ("sizing-impossible", "spec", "budget")] == [
        (a.code, a.subject, a.now) for a in found
    ]
    assert ["allow p5", assumptions.PLAN] == [a.remedy for a in found]


@pytest.mark.parametrize(
    ("now", "state"),
    [("2026-12-24T10:19:00Z", None), ("2026-12-24T10:20:00Z", "draining"), ("2026-12-24T11:00:00Z", "ended"), ("2027-01-01T00:00:00Z", "ended")],
)
def test_fc08_a_capacity_block_ends_with_its_drain(now: str, state: str | None) -> None:
    """FC-08: 40 minutes before its end a block's nodes drain, then they are gone; until then there is nothing to tell."""
    part = plan_data()["models"]["llama-70b"]["pools"]["aggregated"]["purchase"][0]
    block = {**part, "kind": "capacity_block", "reservation_id": "cr-0123456789abcdef0", "ends_at": "2026-12-24T11:00:00Z"}
    applied = today(pool={"purchase": [block]})
    found: list[Assumption] = list(assumptions.dated_capacity(applied, datetime.fromisoformat(now)))
    assert ([] if state is None else [("capacity-ended", "llama-70b/aggregated cr-0123456789abcdef0", "1 nodes until 2026-12-24 11:00 UTC", state)]) == told(
        found
    )
    assert all("models.llama-70b.capacity.purchase" in a.remedy for a in found)


def test_prices_grow_old() -> None:
    """Half a year after its day a price is told, with what to do."""
    found = list(assumptions.old_prices(tiny_plan(), date(2027, 6, 1)))
    assert found
    assert {"price-old"} == {a.code for a in found}
    assert any("p5.48xlarge" in a.message and "give the current one with --prices" in a.message for a in found)
