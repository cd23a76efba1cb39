"""Pools whose nodes Karpenter starts: how the purchase list becomes NodePools, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError
from inferform.plan_nodes import NodesPlan

from tests.planning.specs import LARGE, model, plan

RESERVED = {"kind": "reserved", "reservation_id": "cr-0123456789abcdef0", "zone": "use1-az6", "max_nodes": 1}
BATCH = {"workload": {"profile": "batch", "burst": 3.0}, "slo": {"ttft_p95": None, "tpot_p95": None}}


def nodes(spec: dict[str, Any] | None = None, **changes: Any) -> NodesPlan:
    """How the nodes of one chat model are built."""
    one = spec or model(nodes={"kind": "karpenter"})
    return plan({"m": one}, **changes).models["m"].pools["aggregated"].infrastructure


def refusals(spec: dict[str, Any], **changes: Any) -> dict[str, str]:
    """Message and fix by field."""
    with pytest.raises(InputError) as caught:
        plan({"m": spec}, **changes)
    return {str(p.field): f"{p.message}; {p.fix}" for p in caught.value.problems}


def test_one_way_to_buy_is_one_nodepool() -> None:
    """On-demand nodes: no suffix, every zone of the pool, and a limit of the largest fleet's GPUs."""
    made = plan({"m": model(nodes={"kind": "karpenter"})})
    pool = made.models["m"].pools["aggregated"]
    (claims,) = pool.infrastructure.claims
    assert ("", "on-demand", pool.infrastructure.zones) == (claims.suffix, claims.capacity_type, claims.zones)
    assert {"nvidia.com/gpu": str(pool.nodes.max * pool.infrastructure.gpus_per_node)} == claims.limits
    assert made.karpenter is not None
    assert ("demo-default-karpenter", "demo-default-karpenter-node") == (made.karpenter.queue, made.karpenter.instance_profile)


def test_the_order_of_purchase_becomes_weights_and_limits() -> None:
    """Reservation first with its cap, then on demand, then spot: falling weights, each with the GPUs that it may have."""
    purchase = [{**RESERVED, "max_nodes": 1}, {"kind": "on_demand", "max_nodes": 2}, {"kind": "spot"}]
    made = nodes(model(nodes={"kind": "karpenter"}, hardware={"instance_types": ["g6.xlarge"]}, **BATCH), capacity={"purchase": purchase, "max_nodes": 6})
    assert [("cr-0123456789abcdef0", "reserved"), ("on-demand", "on-demand"), ("spot", "spot")] == [(c.suffix, c.capacity_type) for c in made.claims]
    assert ["1", "2", "3"] == [c.limits["nvidia.com/gpu"] for c in made.claims]
    weights = [c.weight for c in made.claims]
    assert weights == sorted(set(weights), reverse=True)
    assert ("use1-az6",) == made.claims[0].zones


def test_spot_may_be_several_types() -> None:
    """A pool with spot lists the types that can stand in for its own."""
    made = nodes(
        model(nodes={"kind": "karpenter"}, hardware={"instance_types": ["g6.2xlarge"]}, **BATCH), capacity={"purchase": [{"kind": "on_demand", "max_nodes": 1}, {"kind": "spot"}]}
    )  # fmt: skip
    assert len(made.claims[-1].instance_types) > 1


def test_a_price_agreement_without_a_reservation_is_bought_on_demand() -> None:
    """`reserved` without an id is a discount on on-demand nodes; Karpenter's own word means a capacity reservation."""
    made = nodes(capacity={"purchase": [{"kind": "reserved"}]})
    assert ["on-demand"] == [c.capacity_type for c in made.claims]


def test_fc12_card_0_has_addresses_and_efa_apart() -> None:
    """Karpenter knows no interface that is both, so the first is an ordinary one; all 32 EFA interfaces stay."""
    made = nodes(model(LARGE, hardware={"instance_types": ["p5.48xlarge"]}, nodes={"kind": "karpenter", "efa": True, "zones": ["use1-az6"]}))
    assert made.efa is not None
    assert ("interface", 32, 32) == (made.efa.interface_type_first, made.efa.interfaces, made.efa.network_cards)


@pytest.mark.parametrize(
    ("changes", "capacity", "field", "says"),
    [
        ({}, {"min_nodes": 1}, "capacity.min_nodes", "holds no count of its own"),
        ({}, {"desired_nodes": 9}, "capacity.desired_nodes", "scaling.min"),
        ({}, {"purchase": [{"kind": "on_demand", "min_nodes": 1}]}, "capacity.purchase.0.min_nodes", "a floor of on_demand nodes may be emptied first"),
        ({}, {"purchase": [{"kind": "on_demand", "max_nodes": 1}, {"kind": "on_demand"}]}, "capacity.purchase", "join the entries"),
        ({"autoscaled": False}, {}, "models.m.nodes.autoscaled", "Karpenter itself owns the node count"),
        ({"ami_type": "AL2023_x86_64_NVIDIA"}, {}, "models.m.nodes.ami_type", "nodes.ami_release"),
        ({"os": "bottlerocket"}, {}, "models.m.nodes.ami_release", "name the release to run"),
    ],
)
def test_what_karpenter_cannot_hold_is_refused_with_the_way_out(changes: dict[str, Any], capacity: dict[str, Any], field: str, says: str) -> None:
    """Floors, fixed counts, images it does not choose: each at its field, with what to do instead."""
    found = refusals(model(nodes={"kind": "karpenter", **changes}, workload={"peak_rps": 40}), capacity=capacity)
    assert says in found[field]


def test_images_are_pinned() -> None:
    """The release is the catalogue's or the spec's; an own image has none."""
    assert "v20260714" == nodes().ami_release
    assert "v20260101" == nodes(model(nodes={"kind": "karpenter", "ami_release": "v20260101"})).ami_release
    assert "v1.57.0" == nodes(model(nodes={"kind": "karpenter", "os": "bottlerocket", "ami_release": "v1.57.0"})).ami_release
    assert nodes(model(nodes={"kind": "karpenter", "ami_id": "ami-0123456789abcdef0"})).ami_release is None


def test_fc37_what_terraform_cannot_remove_is_told() -> None:
    """NodePools go before the stacks; a deployment without Karpenter hears nothing of it."""
    found = [text for text in plan({"m": model(nodes={"kind": "karpenter"})}).warnings if "nodepools" in text]
    assert ["m/aggregated"] == [text.split(":")[0] for text in found]
    assert not [text for text in plan().warnings if "nodepools" in text]


def test_other_kinds_have_no_claims() -> None:
    """A deployment without Karpenter has no controller to plan."""
    made = plan()
    assert made.karpenter is None
    assert () == made.models["chat"].pools["aggregated"].infrastructure.claims
