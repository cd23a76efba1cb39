"""How nodes are bought."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.catalog.instances import find_instance
from inferform.errors import InputError
from inferform.planning.nodes import offered_zones
from inferform.planning.purchase import Market, alternates
from inferform.spec_nodes import Capacity

from tests.planning.specs import model, plan

G6 = find_instance("g6.xlarge")


def bought(purchase: Any, nodes: tuple[int, int, int], *, latency_sensitive: bool = True, instance: str = "g6.xlarge") -> Any:
    market = Market("us-east-1", Capacity(purchase=purchase), latency_sensitive=latency_sensitive)
    parts = market.parts(find_instance(instance), nodes)
    return parts if isinstance(parts, str) else [(p.kind, p.nodes.min, p.nodes.steady, p.nodes.max) for p in parts]


def test_people_wait_on_demand() -> None:
    """auto buys all nodes of a latency-sensitive model on demand (requirements A8)."""
    assert [("on_demand", 1, 2, 4)] == bought("auto", (1, 2, 4))


def test_batch_bursts_on_spot() -> None:
    """auto keeps the steady nodes of batch work on demand and takes the burst from spot."""
    assert [("on_demand", 1, 2, 2), ("spot", 0, 0, 2)] == bought("auto", (1, 2, 4), latency_sensitive=False)


def test_a_list_is_filled_in_order_with_floors_and_caps() -> None:
    """One on-demand node, at most one; the rest of four is spot."""
    assert [("on_demand", 1, 1, 1), ("spot", 1, 3, 7)] == bought(
        [{"kind": "on_demand", "min_nodes": 1, "max_nodes": 1}, {"kind": "spot"}], (2, 4, 8), latency_sensitive=False
    )


def test_an_open_source_before_spot_takes_the_steady_nodes() -> None:
    """on_demand without a cap carries the steady load, spot the burst."""
    assert [("on_demand", 1, 3, 3), ("spot", 0, 0, 3)] == bought([{"kind": "on_demand", "min_nodes": 1}, {"kind": "spot"}], (1, 3, 6))


def test_floors_count_even_when_less_is_needed() -> None:
    """A floor of three is bought although one node would do."""
    assert [("on_demand", 3, 3, 3)] == bought([{"kind": "on_demand", "min_nodes": 3}], (1, 1, 2))


def test_caps_below_the_need_are_named() -> None:
    """Two nodes may be bought and four are needed."""
    assert "the purchase list holds 2 nodes and 4 are needed" == bought([{"kind": "on_demand", "max_nodes": 2}], (2, 4, 8))


@pytest.mark.parametrize("purchase", [[{"kind": "spot"}], [{"kind": "spot"}, {"kind": "on_demand"}]], ids=["alone", "first without a floor"])
def test_spot_never_carries_people_alone(purchase: list[dict[str, Any]]) -> None:
    """An interactive model on spot alone is refused with the way out."""
    with pytest.raises(InputError, match=r"capacity\.purchase: spot nodes can be taken away.*on_demand with min_nodes"):
        plan(capacity={"purchase": purchase})


def test_batch_may_live_on_spot() -> None:
    """Batch work takes a spot-only list."""
    made = plan({"jobs": model(workload={"profile": "batch"}, slo={"ttft_p95": None, "tpot_p95": None})}, capacity={"purchase": [{"kind": "spot"}]})
    assert {"spot"} == {part.kind for part in made.models["jobs"].pools["aggregated"].purchase}


def test_a_block_and_spot_do_not_mix() -> None:
    """FC-08: a capacity block next to spot is refused."""
    block = {"kind": "capacity_block", "reservation_id": "cr-0123456789abcdef0", "zone": "use1-az4", "max_nodes": 4, "ends_at": "2027-01-01T11:30:00Z"}
    with pytest.raises(InputError, match="a capacity block and spot do not go together"):
        plan({"jobs": model(hardware={"instance_types": ["p5.48xlarge"]})}, capacity={"purchase": [block, {"kind": "spot"}]})


def test_an_unknown_price_is_said_not_guessed() -> None:
    """No reserved price of g6.xlarge is known: the on-demand price is counted and the plan warns."""
    made = plan({"chat": model(hardware={"instance_types": ["g6e.xlarge"]})}, capacity={"purchase": [{"kind": "reserved"}]})
    part = made.models["chat"].pools["aggregated"].purchase[0]
    assert ("reserved", 1.861) == (part.kind, part.usd_per_hour)
    assert any("no reserved price of g6e.xlarge" in text for text in made.warnings)


def test_stand_ins_are_no_smaller_and_not_twice_as_dear() -> None:
    """A mixed group may launch larger siblings with the same card."""
    for name in alternates(G6, "us-east-1"):
        other = find_instance(name)
        assert (other.gpu, other.gpu_count) == (G6.gpu, G6.gpu_count)
        assert other.vcpus >= G6.vcpus and other.memory_bytes >= G6.memory_bytes
    assert "g6.xlarge" not in alternates(G6, "us-east-1")


def test_stand_ins_are_offered_where_the_pool_is() -> None:
    """A type that no zone of the pool offers cannot stand in, whatever its region's price list says."""
    for zone in ("use1-az1", "use1-az2"):
        for name in alternates(find_instance("g7e.2xlarge"), "us-east-1", zones=(zone,)):
            assert zone in offered_zones(find_instance(name), "us-east-1"), name


@pytest.mark.parametrize(("zones", "usd"), [(("use1-az1",), 6.8507), (("use1-az2",), 18.8658), (("use1-az2", "use1-az4"), 18.5034)])
def test_spot_costs_what_it_costs_in_the_pools_zones(zones: tuple[str, ...], usd: float) -> None:
    """p4d spot is $6.85 in one zone and $18 in the others: a pool pays the mean of its own zones, never the region's lowest."""
    market = Market("us-east-1", Capacity(purchase=[{"kind": "spot"}]), latency_sensitive=False, zones=zones)
    (part,) = market.parts(find_instance("p4d.24xlarge"), (1, 1, 1))
    assert usd == part.usd_per_hour


def test_a_wide_range_of_spot_prices_is_told() -> None:
    """Zones that differ by half warn with the range."""
    market = Market("us-east-1", Capacity(purchase=[{"kind": "spot"}]), latency_sensitive=False, zones=("use1-az1", "use1-az2"))
    assert ("spot of p4d.24xlarge in us-east-1: $6.85 to $18.87 by zone, the mean is counted",) == market.notes(find_instance("p4d.24xlarge"))


def test_prices_carry_date_and_source() -> None:
    """Each part says when its price was read and where."""
    for _, _, _, pool in plan().pool_items():
        for part in pool.purchase:
            assert part.price_as_of.startswith("20")
            assert part.price_source


def test_a_source_that_gets_no_node_is_told() -> None:
    """Uncapped spot before on-demand takes every node, so on-demand is no fallback; a cap on spot makes it one."""
    batch = model(workload={"profile": "batch", "peak_rps": 60}, hardware={"gpus": ["L4"]})
    order = [{"kind": "spot"}, {"kind": "on_demand"}]
    assert any("purchase[1] (on_demand) of the list gets no node" in text for text in plan({"m": batch}, capacity={"purchase": order}).warnings)
    capped = [{"kind": "spot", "max_nodes": 1}, {"kind": "on_demand"}]
    assert not any("gets no node" in text for text in plan({"m": batch}, capacity={"purchase": capped}).warnings)
