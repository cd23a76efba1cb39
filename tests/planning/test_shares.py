"""What can be had once is not planned twice."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError

from tests.planning.specs import model, plan

BLOCK = {"kind": "capacity_block", "max_nodes": 1, "reservation_id": "cr-0123456789abcdef0", "zone": "use1-az6", "ends_at": "2030-12-24T11:30:00Z"}
P5 = {"instance_types": ["p5.48xlarge"]}


def problems(models: dict[str, Any], purchase: list[dict[str, Any]]) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        plan(models, capacity={"purchase": purchase})
    return [(p.field, p.message) for p in caught.value.problems]


def test_one_block_serves_one_pool() -> None:
    """Two models that inherit a list with a block of one node want two from it."""
    found = problems({name: model(hardware=P5) for name in ("a", "b")}, [BLOCK, {"kind": "on_demand"}])
    assert [
        ("capacity.purchase.0.max_nodes", "several pools want 2 nodes from one source: cr-0123456789abcdef0 holds 1 (a/aggregated 1, b/aggregated 1)")
    ] == found


def test_a_block_that_holds_both_is_shared() -> None:
    """A block of four nodes serves two pools of one."""
    made = plan({name: model(hardware=P5) for name in ("a", "b")}, capacity={"purchase": [{**BLOCK, "max_nodes": 4}, {"kind": "on_demand"}]})
    assert {"capacity_block"} == {part.kind for m in made.models.values() for pool in m.pools.values() for part in pool.purchase if part.nodes.steady}


def test_each_model_has_its_own_cap() -> None:
    """A cap without an id is inherited by every model and holds for each."""
    made = plan({name: model(hardware=P5) for name in ("a", "b")}, capacity={"purchase": [{"kind": "on_demand", "max_nodes": 2}]})
    assert [2, 2] == [pool.nodes.max for m in made.models.values() for pool in m.pools.values()]


def test_a_burst_that_the_list_cannot_hold_is_cut_and_told() -> None:
    """A list that ends at the steady nodes leaves no room for more replicas than they hold."""
    load = {"peak_rps": 40, "burst": 3, "input_tokens": {"mean": 800, "p95": 2000}, "output_tokens": {"mean": 200, "p95": 500}}
    card = {"instance_types": ["g6e.12xlarge"]}
    free = plan({"m": model(workload=load, hardware=card)}).models["m"].pools["aggregated"]
    assert free.replicas.max > free.nodes.steady * free.replicas_per_node
    made = plan({"m": model(workload=load, hardware=card)}, capacity={"purchase": [{"kind": "on_demand", "max_nodes": free.nodes.steady}]})
    pool = made.models["m"].pools["aggregated"]
    assert pool.replicas.max == free.nodes.steady * free.replicas_per_node == pool.replicas.steady
    assert any("the purchase list holds" in line and f"to {pool.replicas.max} replicas" in line for line in made.models["m"].why)
