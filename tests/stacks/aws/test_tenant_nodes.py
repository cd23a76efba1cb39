"""Nodes of a strict tenant: what keeps others out, in every way that nodes are made."""

from __future__ import annotations

from typing import Any

from inferform.render import render
from rendered import one
from synthesis import stacks_of

from tests.planning.specs import model, plan

KEEP_OUT = {"key": "inferform.dev/tenant", "value": "acme", "effect": "NO_SCHEDULE"}


def dedicated(**changes: Any) -> Any:
    return plan({"m": model(workload={"burst": 3.0}, **changes)}, isolation={"dedicated": True})


def test_a_managed_group_carries_the_tenants_taint_and_label() -> None:
    """Beside the taint of GPUs there is one of the tenant, and the label that its pods ask for; without isolation there is neither."""
    (group,) = stacks_of(dedicated())["nodes"]["resource"]["aws_eks_node_group"].values()
    assert KEEP_OUT in group["taint"] and 2 == len(group["taint"])
    assert "acme" == group["labels"]["inferform.dev/tenant"]
    (shared,) = stacks_of(plan({"m": model()}))["nodes"]["resource"]["aws_eks_node_group"].values()
    assert 1 == len(shared["taint"]) and "inferform.dev/tenant" not in shared["labels"]


def test_a_scaling_group_tells_the_autoscaler_of_the_taint() -> None:
    """Nodes register with it, and the group's tags say so while it stands at zero."""
    groups = stacks_of(dedicated(nodes={"kind": "self_managed"}))["nodes"]["resource"]["aws_autoscaling_group"]
    for group in groups.values():
        tags = {tag["key"]: tag["value"] for tag in group["tag"]}
        assert "acme:NoSchedule" == tags["k8s.io/cluster-autoscaler/node-template/taint/inferform.dev/tenant"]
        assert "acme" == tags["k8s.io/cluster-autoscaler/node-template/label/inferform.dev/tenant"]


def test_karpenter_makes_nodes_with_the_taint() -> None:
    """NodePools carry taint and label."""
    template = one(render(dedicated(nodes={"kind": "karpenter"})), "NodePool")["spec"]["template"]
    assert {"key": "inferform.dev/tenant", "value": "acme", "effect": "NoSchedule"} in template["spec"]["taints"]
    assert "acme" == template["metadata"]["labels"]["inferform.dev/tenant"]


def test_a_cpu_pool_is_kept_for_the_tenant_too() -> None:
    """Nodes without GPUs have no taint of GPUs, and still the tenant's."""
    bge = model(
        "BAAI/bge-large-en-v1.5", max_model_len=512, hardware={"device": "cpu"},
        workload={"input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}},
    )  # fmt: skip
    (group,) = stacks_of(plan({"m": bge}, isolation={"dedicated": True}))["nodes"]["resource"]["aws_eks_node_group"].values()
    assert [KEEP_OUT] == group["taint"]
