"""What a plan puts at risk against what was applied last."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.operate.changes import from_plan
from inferform.operate.node_groups import Resize, Size, resizes
from inferform.operate.results import Change
from inferform.operate.risks import risks
from inferform.plan import DeploymentPlan
from operate.tiny import tiny_plan
from samples import plan_data


def changed(model: str, pool: dict[str, Any] | None = None, infrastructure: dict[str, Any] | None = None, **values: Any) -> DeploymentPlan:
    """The sample plan with other values in one model, its pool or the pool's nodes."""
    data = plan_data()
    body = data["models"][model]
    body.update(values)
    body["pools"]["aggregated"].update(pool or {})
    body["pools"]["aggregated"]["infrastructure"].update(infrastructure or {})
    return DeploymentPlan.model_validate(data)


def group(name: str, now: tuple[int, int, int], after: tuple[int, int, int], kind: str = "aws_eks_node_group", **more: Any) -> dict[str, Any]:
    """An update of a node group in a terraform plan; sizes are min, desired, max."""

    def values(size: tuple[int, int, int]) -> dict[str, Any]:
        low, desired, most = size
        if kind == "aws_eks_node_group":
            return {"cluster_name": "c", "node_group_name": name, "scaling_config": [{"min_size": low, "desired_size": desired, "max_size": most}]}
        return {"name": f"long-{name}", "min_size": low, "desired_capacity": desired, "max_size": most}

    change = {"actions": ["update"], "before": values(now), "after": values(after) | more.pop("set", {}), "after_unknown": more.pop("unknown", {})}
    return {"address": f"{kind}.{name}", "mode": "managed", "type": kind, "name": name, "change": change}


def sized(*rows: dict[str, Any]) -> dict[str, tuple[Resize, ...]]:
    return {"nodes": resizes({"resource_changes": list(rows)})}


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


def test_losing_data_is_red() -> None:
    """Deleting the model bucket or replacing the cluster says what goes along."""
    rows = {
        "model_store": [Change(address="aws_s3_bucket.models", type="aws_s3_bucket", action="delete")],
        "cluster": [Change(address="aws_eks_cluster.main", type="aws_eks_cluster", action="replace")],
    }
    found = risks(rows, tiny_plan(), tiny_plan(), {})
    assert [("data-removed", "cluster/aws_eks_cluster.main"), ("data-removed", "model_store/aws_s3_bucket.models")] == [(r.code, r.address) for r in found]


def test_fc10_minimum_above_the_desired_count_blocks() -> None:
    """FC-10: min 5 while 4 nodes are desired is refused by EKS, so it blocks and says what to run; with 5 desired it does not."""
    found = risks({}, tiny_plan(), tiny_plan(), sized(group("llama-70b-aggregated", (3, 4, 6), (5, 4, 6))))
    assert [("block", "min-above-desired", 5, "nodes/aws_eks_node_group.llama-70b-aggregated")] == [(r.level, r.code, r.nodes, r.address) for r in found]
    assert "llama-70b-aggregated: min rises to 5, above the 4 nodes desired now; EKS refuses that and apply will not try" == found[0].message
    assert "--cluster-name c --nodegroup-name llama-70b-aggregated --scaling-config minSize=3,desiredSize=5,maxSize=6; then plan again." in found[0].remedy
    assert () == risks({}, tiny_plan(), tiny_plan(), sized(group("a", (3, 5, 6), (5, 5, 6))))
    # The count was below the minimum before: that is not this plan's doing.
    assert () == risks({}, tiny_plan(), tiny_plan(), sized(group("a", (3, 2, 6), (3, 2, 8))))


def test_fc10_maximum_below_the_desired_count_blocks() -> None:
    """FC-10: the other end of the range is refused as well."""
    found = risks({}, tiny_plan(), tiny_plan(), sized(group("a", (1, 6, 8), (1, 6, 4))))
    assert [("block", "max-below-desired", 4)] == [(r.level, r.code, r.nodes) for r in found]
    assert "max falls to 4, below the 6 nodes desired now" in found[0].message
    assert "minSize=1,desiredSize=4,maxSize=8" in found[0].remedy


def test_fc10_pools_without_an_autoscaler_are_left_alone() -> None:
    """FC-10: where terraform owns the count it raises desired itself."""
    assert () == risks({}, tiny_plan(), tiny_plan(), sized(group("a", (3, 4, 6), (5, 5, 6))))


@pytest.mark.parametrize(("after", "words"), [((5, 3, 6), "2 nodes start at once"), ((1, 3, 2), "1 node ends at once")])
def test_scaling_groups_follow_their_range_themselves(after: tuple[int, int, int], words: str) -> None:
    """A self-managed group moves its count at once, which is worth a notice and no more."""
    found = risks({}, tiny_plan(), tiny_plan(), sized(group("a", (2, 3, 6), after, kind="aws_autoscaling_group")))
    assert ["notice"] == [r.level for r in found]
    assert words in found[0].message
    assert "long-a" in found[0].message


def test_only_groups_that_are_there_and_stay_are_resized() -> None:
    """Creations, replacements and other resources have no range to leave; unknown counts are left open."""
    made = group("a", (1, 1, 1), (2, 2, 2))
    made["change"]["actions"] = ["create"]
    vpc = {**group("v", (1, 1, 1), (2, 2, 2)), "type": "aws_vpc"}
    assert () == resizes({"resource_changes": [made, vpc]})
    later = group("b", (1, 2, 3), (1, 2, 3), set={"scaling_config": [{"min_size": 1, "max_size": 3}]})
    assert [Size(1, None, 3)] == [r.after for r in resizes({"resource_changes": [later]})]
    assert () == risks({}, tiny_plan(), tiny_plan(), sized(later))


def test_nodes_that_are_renewed_one_by_one_are_told() -> None:
    """A new launch template rolls a managed group: a notice with the nodes that run now; a change of labels rolls nothing."""
    rows = [
        group("llama-70b-aggregated", (1, 3, 6), (1, 3, 6), set={"launch_template": [{"version": "2"}]}),
        group("bge-aggregated", (1, 1, 2), (1, 1, 2), set={"labels": {"a": "b"}}),
    ]
    found = risks({"nodes": from_plan({"resource_changes": rows}, tiny_plan(), tiny_plan())}, tiny_plan(), tiny_plan(), {})
    assert [("notice", "pool-renewed", 3)] == [(r.level, r.code, r.nodes) for r in found]
    assert (
        "pool llama-70b/aggregated gets new nodes one after another because of launch_template: 3 nodes, and each replica loads its model anew"
        == found[0].message
    )


def test_renewing_a_full_reservation_is_red() -> None:
    """Where all nodes come out of a reservation that is used to the last, the new node of a rolling update has no place."""
    part = {**plan_data()["models"]["llama-70b"]["pools"]["aggregated"]["purchase"][0], "kind": "reserved", "reservation_id": "cr-0123456789abcdef0"}
    before = changed("llama-70b", {"purchase": [part]})
    rows = [group("llama-70b-aggregated", (1, 2, 2), (1, 2, 2), unknown={"launch_template": [{"version": True}]})]
    found = risks({"nodes": from_plan({"resource_changes": rows}, before, before)}, before, before, {})
    assert [("red", "pool-renewed", 2)] == [(r.level, r.code, r.nodes) for r in found]
    assert "the first new node has no place to start" in found[0].message
    assert found[0].remedy.startswith("Enlarge the reservation")
    one = [group("llama-70b-aggregated", (1, 1, 2), (1, 1, 2), unknown={"launch_template": [{"version": True}]})]
    assert ["notice"] == [r.level for r in risks({"nodes": from_plan({"resource_changes": one}, before, before)}, before, before, {})]


def test_a_scaling_group_renews_its_nodes_only_with_an_instance_refresh() -> None:
    """Without instance_refresh a new template waits for the next node that starts."""
    template = {"mixed_instances_policy": [{"launch_template": [{"version": "2"}]}]}
    for refresh, codes in (([], []), ([{"strategy": "Rolling"}], ["pool-renewed"])):
        row = group("llama-8b-aggregated", (1, 3, 6), (1, 3, 6), kind="aws_autoscaling_group", set={**template, "instance_refresh": refresh})
        found = risks({"nodes": from_plan({"resource_changes": [row]}, tiny_plan(), tiny_plan())}, tiny_plan(), tiny_plan(), {})
        assert codes == [r.code for r in found]


def test_what_rolls_the_replicas_is_told() -> None:
    """Another engine version or another shape of the replicas starts them anew although the nodes stay."""
    after = changed("llama-70b", {"tp": 8, "max_num_seqs": 128}, engine_version="0.99.0")
    found = risks({}, tiny_plan(), after, {})
    assert [("notice", "serving-changed", "plan/llama-70b/aggregated", 1)] == [(r.level, r.code, r.address, r.nodes) for r in found]
    version = tiny_plan().models["llama-70b"].engine_version
    assert f"engine_version {version} becomes 0.99.0, tp 4 becomes 8, max_num_seqs 256 becomes 128; its 2 replicas start anew" in found[0].message
    assert () == risks({}, None, after, {})


def test_pools_of_karpenter_are_compared_by_their_plans() -> None:
    """No stack holds Karpenter's nodes, so what happens to them is told from the plans: red, with their count."""
    before = changed("llama-70b", infrastructure={"kind": "karpenter"})
    gone = {m: body for m, body in before.model_dump(mode="json")["models"].items() if m != "llama-70b"}
    removed = risks(
        {}, before, before.model_copy(update={"models": DeploymentPlan.model_validate({**before.model_dump(mode="json"), "models": gone}).models}), {}
    )
    assert [("red", "pool-removed", "plan/llama-70b/aggregated", 1)] == [(r.level, r.code, r.address, r.nodes) for r in removed]
    other = changed("llama-70b", {"instance_type": "p5en.48xlarge"}, {"kind": "karpenter"})
    assert ["pool-replaced", "serving-changed"] == [r.code for r in risks({}, before, other, {})]
    assert "goes from p5.48xlarge to p5en.48xlarge: Karpenter replaces its 1 node" in risks({}, before, other, {})[0].message
    assert [] == [r for r in risks({}, tiny_plan(), tiny_plan(pools=["bge"]), {}) if r.address.startswith("plan/")]
