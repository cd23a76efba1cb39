"""Cost and risk against the plan that was applied last."""

from __future__ import annotations

from typing import Any

from inferform.operate.changes import from_plan
from inferform.operate.difference import cost_difference, live_nodes, risks
from inferform.operate.results import Change
from inferform.plan import DeploymentPlan
from operate.tiny import tiny_plan
from samples import plan_data


def changed(**pools: dict[str, Any]) -> DeploymentPlan:
    """The sample plan with other values in the pools of models (`_` for `-`)."""
    data = plan_data()
    for model, values in pools.items():
        data["models"][model.replace("_", "-")]["pools"]["aggregated"].update(values)
    return DeploymentPlan.model_validate(data)


def test_cost_before_and_after() -> None:
    """Months of 730 hours, pool by pool where they differ."""
    data = plan_data()
    data["cost"] |= {"usd_per_month": 50000.0, "by_pool": {"llama-8b/aggregated": 2.0}}
    found = cost_difference(DeploymentPlan.model_validate(data), tiny_plan())
    assert (50000.0, 87600.0, 37600.0) == (found.before_usd_per_month, found.after_usd_per_month, found.difference_usd_per_month)
    # 55.04 x 730 = 40179.2; 2.0 x 730 = 1460
    assert {"llama-70b/aggregated": (0.0, 40179.2), "llama-8b/aggregated": (1460.0, 0.0)} == found.by_pool_usd_per_month
    assert None is cost_difference(None, tiny_plan()).before_usd_per_month


def test_replaced_pool_is_red_with_its_nodes() -> None:
    """Replacing a GPU pool tells how many nodes go and why."""
    row = Change(
        address="aws_eks_node_group.llama-405b-aggregated",
        type="aws_eks_node_group",
        action="replace",
        attributes=("subnet_ids",),
        model="llama-405b",
        pool="aggregated",
        nodes=2,
    )
    found = risks({"nodes": [row]}, tiny_plan(), tiny_plan(), {})
    assert [("red", "pool-replaced", 2)] == [(r.level, r.code, r.nodes) for r in found]
    assert "pool llama-405b/aggregated is replaced because of subnet_ids: 2 nodes and the replicas on them go" == found[0].message


def test_fc38_rename_is_destroy_and_create_with_nodes() -> None:
    """FC-38: a pool under another name is told as what it is, with both node counts."""
    data = plan_data()
    data["models"]["llama-big"] = data["models"].pop("llama-405b")
    after = DeploymentPlan.model_validate(data)
    rows = [
        {
            "address": f"aws_eks_node_group.{name}-aggregated",
            "mode": "managed",
            "type": "aws_eks_node_group",
            "name": f"{name}-aggregated",
            "change": {"actions": [action]},
        }
        for name, action in (("llama-405b", "delete"), ("llama-big", "create"))
    ]
    changes = from_plan({"resource_changes": rows}, tiny_plan(), after)
    assert [("delete", 2), ("create", 2)] == [(c.action, c.nodes) for c in changes]
    found = risks({"nodes": changes}, tiny_plan(), after, {})
    assert ["pool-removed", "pool-renamed"] == [r.code for r in found]
    assert "pool llama-405b/aggregated is now called llama-big/aggregated: that is destroy (2 nodes) and create (2 nodes), not a new name" == found[1].message
    assert 2 == found[1].nodes


def test_removed_pool_is_no_rename() -> None:
    """A pool that goes while nothing like it comes is only removed."""
    assert () == risks({}, tiny_plan(), tiny_plan(pools=["bge"]), {})


def test_fc10_minimum_above_the_desired_count_blocks() -> None:
    """FC-10: min 5 while 4 nodes are desired is refused by EKS, so it blocks and says what to run; with 5 desired it does not."""
    before = changed(llama_70b={"nodes": {"min": 3, "steady": 3, "max": 6}})
    after = changed(llama_70b={"nodes": {"min": 5, "steady": 5, "max": 6}})
    address = "aws_eks_node_group.llama-70b-aggregated"
    found = risks({}, before, after, {address: 4})
    assert [("block", "min-above-desired", 5, f"nodes/{address}")] == [(r.level, r.code, r.nodes, r.address) for r in found]
    assert "min rises to 5, above the 4 nodes desired now; EKS refuses that" in found[0].message
    assert "--cluster-name contract-qa-prod --nodegroup-name llama-70b-aggregated --scaling-config desiredSize=5,maxSize=6" in found[0].remedy
    assert () == risks({}, before, after, {address: 5})
    # Without a look at the cloud the count of the previous plan decides.
    assert "above the 3 nodes" in risks({}, before, after, {})[0].message


def test_fc10_pools_without_an_autoscaler_are_left_alone() -> None:
    """FC-10: where terraform owns the count it raises desired itself."""
    infrastructure = {**plan_data()["models"]["llama-70b"]["pools"]["aggregated"]["infrastructure"], "autoscaled": False}
    before = changed(llama_70b={"nodes": {"min": 3, "steady": 3, "max": 6}, "infrastructure": infrastructure})
    after = changed(llama_70b={"nodes": {"min": 5, "steady": 5, "max": 6}, "infrastructure": infrastructure})
    assert () == risks({}, before, after, {})


def test_scaling_groups_follow_their_minimum_themselves() -> None:
    """A self-managed group starts the nodes at once, which is worth a notice and no more."""
    found = risks({}, changed(llama_8b={"nodes": {"min": 2, "steady": 3, "max": 6}}), changed(llama_8b={"nodes": {"min": 5, "steady": 5, "max": 6}}), {})
    assert [("notice", "min-above-desired")] == [(r.level, r.code) for r in found]
    assert "2 nodes start at once" in found[0].message


def test_losing_data_is_red() -> None:
    """Deleting the model bucket or replacing the cluster says what goes along."""
    rows = {
        "model_store": [Change(address="aws_s3_bucket.models", type="aws_s3_bucket", action="delete")],
        "cluster": [Change(address="aws_eks_cluster.main", type="aws_eks_cluster", action="replace")],
    }
    found = risks(rows, tiny_plan(), tiny_plan(), {})
    assert [("data-removed", "cluster/aws_eks_cluster.main"), ("data-removed", "model_store/aws_s3_bucket.models")] == [(r.code, r.address) for r in found]


def test_live_counts_come_from_the_refreshed_state() -> None:
    """Node groups and scaling groups, each with its own attribute."""
    rows = [
        {"address": "aws_eks_node_group.a", "type": "aws_eks_node_group", "values": {"scaling_config": [{"desired_size": 4}]}},
        {"address": "aws_autoscaling_group.b", "type": "aws_autoscaling_group", "values": {"desired_capacity": 2}},
        {"address": "aws_vpc.main", "type": "aws_vpc", "values": {}},
    ]
    assert {"aws_eks_node_group.a": 4, "aws_autoscaling_group.b": 2} == live_nodes({"prior_state": {"values": {"root_module": {"resources": rows}}}})
