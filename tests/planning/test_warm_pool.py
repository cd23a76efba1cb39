"""Nodes made ahead, and who cannot have them."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError

from tests.planning.specs import model, plan

BATCH = {"workload": {"profile": "batch", "burst": 3.0}, "slo": {"ttft_p95": None, "tpot_p95": None}}


def refused(spec: dict[str, Any], capacity: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        plan({"m": spec}, capacity=capacity)
    return str(caught.value)


def test_a_warm_pool_makes_the_group_self_managed() -> None:
    """kind: auto becomes a scaling group, with size, state and reuse on the plan."""
    nodes = plan(capacity={"warm_pool": {"size": 2, "state": "running", "reuse": True}}).models["chat"].pools["aggregated"].infrastructure
    assert nodes.warm_pool is not None
    assert ("self_managed", 2, "Running", True) == (nodes.kind, nodes.warm_pool.size, nodes.warm_pool.state, nodes.warm_pool.reuse)
    assert plan().models["chat"].pools["aggregated"].infrastructure.warm_pool is None


@pytest.mark.parametrize("kind", ["managed", "karpenter"])
def test_only_scaling_groups_keep_nodes_ready(kind: str) -> None:
    """Managed groups and Karpenter have no warm pools: the message names the kind that has."""
    text = refused(model(nodes={"kind": kind}), {"warm_pool": {}})
    assert "capacity.warm_pool" in text
    assert "keeps no nodes ready beside it" in text
    assert "self_managed" in text


def test_spot_and_blocks_have_no_warm_pool() -> None:
    """AWS keeps no spot nodes ready, and a block is paid for anyway."""
    assert "spot nodes cannot be kept ready" in refused(
        model(**BATCH), {"purchase": [{"kind": "on_demand", "max_nodes": 1}, {"kind": "spot"}], "warm_pool": {}}
    )
    block = {"kind": "capacity_block", "reservation_id": "cr-0123456789abcdef0", "zone": "use1-az6", "max_nodes": 2}
    big = model("meta-llama/Llama-3.3-70B-Instruct", hardware={"instance_types": ["p5.48xlarge"]})
    assert "paid for whether they run or not" in refused(big, {"purchase": [block], "warm_pool": {}})


def test_hibernation_is_for_small_cpu_nodes_with_an_own_image() -> None:
    """No GPU type hibernates; the root volume must hold the memory; EKS's images bring no agent."""
    hibernated = {"warm_pool": {"state": "hibernated"}}
    assert "EC2 does not hibernate g6.xlarge" in refused(model(hardware={"instance_types": ["g6.xlarge"]}), hibernated)
    tokens = {"input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}}

    def bge(**nodes: Any) -> dict[str, Any]:
        return model("BAAI/bge-large-en-v1.5", max_model_len=512, workload=tokens, hardware={"device": "cpu"}, nodes=nodes)

    assert "bring no hibernation agent" in refused(bge(), hibernated)
    assert "does not hold" in refused(
        {**bge(root_size="20Gi", ami_id="ami-0123456789abcdef0"), "hardware": {"device": "cpu", "instance_types": ["c7i.8xlarge"]}}, hibernated
    )
    assert plan({"m": bge(ami_id="ami-0123456789abcdef0")}, capacity=hibernated).models["m"].pools["aggregated"].infrastructure.warm_pool is not None


def test_nodes_kept_ready_are_paid_for() -> None:
    """Stopped ones cost their disks, running ones a node more each, in the plan and against the budget alike."""
    none, stopped, running = (
        plan({"chat": model(hardware={"instance_types": ["g6.xlarge"]})}, capacity=capacity)
        for capacity in ({}, {"warm_pool": {"size": 2}}, {"warm_pool": {"size": 2, "state": "running"}})
    )
    hourly = [made.cost.by_pool["chat/aggregated"] for made in (none, stopped, running)]
    node = none.models["chat"].pools["aggregated"].purchase[0].usd_per_hour
    disk = hourly[0] / none.models["chat"].pools["aggregated"].nodes.steady - node
    assert 2 * disk == pytest.approx(hourly[1] - hourly[0], abs=1e-4)
    assert 2 * (node + disk) == pytest.approx(hourly[2] - hourly[0], abs=1e-4)
    month = none.cost.usd_per_month + 1
    with pytest.raises(InputError, match=r"budget\.usd_per_month"):
        plan(
            {"chat": model(hardware={"instance_types": ["g6.xlarge"]})},
            capacity={"warm_pool": {"size": 2, "state": "running"}},
            budget={"usd_per_month": month},
        )
