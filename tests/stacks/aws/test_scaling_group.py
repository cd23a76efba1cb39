"""Self-managed scaling groups: reserved, on-demand and spot nodes in one group."""

from __future__ import annotations

import subprocess
from typing import Any

from inferform.labels import TAINT_VALUE
from inferform.plan import DeploymentPlan
from synthesis import one_pool, part, sample_stacks, stacks_of, user_data_text

Json = dict[str, Any]
RESERVED = part("reserved", (2, 2, 2), reservation_id="cr-0aaaaaaaaaaaaaaaa")


def group_of(purchase: list[Json], **infrastructure: Any) -> Json:
    """The scaling group of a self-managed pool bought like this."""
    plan = one_pool(purchase, kind="self_managed", ami_type=None, **infrastructure)
    return dict(stacks_of(plan)["nodes"]["resource"]["aws_autoscaling_group"]["m-aggregated"])


def test_spot_stands_on_the_steady_on_demand_nodes() -> None:
    """Two steady on-demand nodes are the base, everything above is spot, chosen by capacity from two types in order."""
    policy = sample_stacks()["nodes"]["resource"]["aws_autoscaling_group"]["llama-8b-aggregated"]["mixed_instances_policy"]
    assert {
        "on_demand_allocation_strategy": "prioritized",
        "on_demand_base_capacity": 2,
        "on_demand_percentage_above_base_capacity": 0,
        "spot_allocation_strategy": "capacity-optimized-prioritized",
    } == policy["instances_distribution"]
    assert [{"instance_type": "g6.2xlarge"}, {"instance_type": "g6.4xlarge"}] == policy["launch_template"]["override"]


def test_without_spot_everything_is_on_demand() -> None:
    """A group without spot buys on demand above the base too and does not rebalance."""
    group = group_of([part("on_demand")])
    distribution = group["mixed_instances_policy"]["instances_distribution"]
    assert (0, 100) == (distribution["on_demand_base_capacity"], distribution["on_demand_percentage_above_base_capacity"])
    assert group["capacity_rebalance"] is False


def test_spot_nodes_are_replaced_before_they_are_taken() -> None:
    """A group with spot rebalances on the warning, and never ends a node only to even out zones."""
    group = sample_stacks()["nodes"]["resource"]["aws_autoscaling_group"]["llama-8b-aggregated"]
    assert group["capacity_rebalance"] is True
    assert ["AZRebalance"] == group["suspended_processes"]


def test_fc10_only_an_autoscaled_group_ignores_its_desired_capacity() -> None:
    """desired_capacity is ignored when an autoscaler owns it, and set otherwise."""
    scaled, fixed = group_of([part("on_demand")], autoscaled=True), group_of([part("on_demand")], autoscaled=False)
    assert ["desired_capacity"] == scaled["lifecycle"]["ignore_changes"]
    assert "ignore_changes" not in fixed["lifecycle"]
    assert (1, 1, 2) == (fixed["min_size"], fixed["desired_capacity"], fixed["max_size"])
    assert not [t for t in fixed["tag"] if "cluster-autoscaler/enabled" in t["key"]]


def test_fc11_a_reservation_belongs_to_the_group_not_to_the_template() -> None:
    """Reserved nodes first, then the rest: the preference and the ids stand on the group, the template targets nothing."""
    plan = one_pool([RESERVED, part("on_demand"), part("spot", (0, 1, 4))], kind="self_managed", ami_type=None)
    resources = stacks_of(plan)["nodes"]["resource"]
    assert {
        "capacity_reservation_preference": "capacity-reservations-first",
        "capacity_reservation_target": {"capacity_reservation_ids": ["cr-0aaaaaaaaaaaaaaaa"]},
    } == resources["aws_autoscaling_group"]["m-aggregated"]["capacity_reservation_specification"]
    assert "capacity_reservation_specification" not in resources["aws_launch_template"]["m-aggregated"]
    # 2 reserved + 1 on demand stand steady below the spot nodes.
    assert 3 == resources["aws_autoscaling_group"]["m-aggregated"]["mixed_instances_policy"]["instances_distribution"]["on_demand_base_capacity"]
    assert "desired_capacity_type" not in resources["aws_autoscaling_group"]["m-aggregated"]


def test_fc11_a_group_of_reserved_nodes_launches_nowhere_else() -> None:
    """When every node is reserved the preference is capacity-reservations-only."""
    assert "capacity-reservations-only" == group_of([RESERVED])["capacity_reservation_specification"]["capacity_reservation_preference"]


def test_an_empty_group_tells_of_efa_and_huge_pages() -> None:
    """Pods ask for both, which no instance type shows the autoscaler; where it does not own the count nothing is told."""
    efa = {"network_cards": 32, "interfaces": 32, "interface_type_first": "efa", "interface_type_rest": "efa-only"}
    prefix = "k8s.io/cluster-autoscaler/node-template/resources"
    for autoscaled in (True, False):
        made = one_pool(kind="self_managed", autoscaled=autoscaled, zones=["use1-az4"], coupled=True, efa=efa)
        tags = {t["key"]: t["value"] for t in stacks_of(made)["nodes"]["resource"]["aws_autoscaling_group"]["m-aggregated"]["tag"]}
        told = {key: value for key, value in tags.items() if key.startswith(prefix)}
        assert ({f"{prefix}/vpc.amazonaws.com/efa": "32", f"{prefix}/hugepages-2Mi": str(5 * 2**30)} if autoscaled else {}) == told


def test_nodes_join_and_are_found_by_the_autoscaler() -> None:
    """Tags say whose nodes these are, that they may join, and what a group at zero would offer."""
    tags = {t["key"]: t["value"] for t in sample_stacks()["nodes"]["resource"]["aws_autoscaling_group"]["llama-8b-aggregated"]["tag"]}
    template = "k8s.io/cluster-autoscaler/node-template"
    assert "owned" == tags["kubernetes.io/cluster/contract-qa-prod"] == tags["k8s.io/cluster-autoscaler/contract-qa-prod"]
    assert f"{TAINT_VALUE}:NoSchedule" == tags[f"{template}/taint/nvidia.com/gpu"]
    assert "llama-8b" == tags[f"{template}/label/inferform.dev/model"]
    assert ("contract-qa", "prod", "acme", "inferform") == tuple(tags[k] for k in ("deployment", "environment", "tenant", "managed-by"))


def test_self_managed_nodes_have_their_own_role_and_entry() -> None:
    """Self-managed nodes join through an EC2_LINUX access entry of their own role; without such pools neither exists."""
    resources = sample_stacks()["nodes"]["resource"]
    entry = resources["aws_eks_access_entry"]["self-managed-node"]
    assert ("EC2_LINUX", "${aws_iam_role.self-managed-node.arn}") == (entry["type"], entry["principal_arn"])
    template = resources["aws_launch_template"]["llama-8b-aggregated"]
    assert {"arn": "${aws_iam_instance_profile.self-managed-node.arn}"} == template["iam_instance_profile"]
    assert "resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/nvidia/recommended/image_id" == template["image_id"]
    assert "aws_iam_role" not in stacks_of(one_pool())["nodes"]["resource"]


def test_rolling_updates_replace_nodes_by_a_refresh() -> None:
    """The new node comes first where capacity can be had; a reservation that is full gives one up first; manual groups keep their nodes."""
    first = group_of([part("on_demand")], updates="rolling")["instance_refresh"]
    assert "Rolling" == first["strategy"]
    assert (100, 110) == tuple(first["preferences"][f"{edge}_healthy_percentage"] for edge in ("min", "max"))
    assert (90, 100) == tuple(
        group_of([RESERVED], updates="rolling")["instance_refresh"]["preferences"][f"{edge}_healthy_percentage"] for edge in ("min", "max")
    )
    assert "instance_refresh" not in group_of([part("on_demand")])


SCHEDULE = {
    "timezone": "Europe/Berlin",
    "lead_s": 600,
    "windows": [{"name": "day", "share": 1.0, "start": "50 7 * * *", "end": "0 18 * * *", "replicas": 4, "nodes": 2}],
    "steps": [{"name": "at-0750-2", "cron": "50 7 * * *", "nodes": 2}, {"name": "at-1800-1", "cron": "0 18 * * *", "nodes": 1}],
}


def scheduled(purchase: list[Json], **infrastructure: Any) -> Json:
    plan = one_pool(purchase, ami_type=None, **infrastructure).model_dump(mode="json")
    plan["models"]["m"]["pools"]["aggregated"]["schedule"] = SCHEDULE
    return dict(stacks_of(DeploymentPlan.model_validate(plan))["nodes"]["resource"])


def test_the_floor_follows_the_schedule() -> None:
    """Two actions a day in the schedule's time zone move the smallest size alone, and terraform leaves that size to them."""
    found = scheduled([part("on_demand", (1, 1, 3))], kind="self_managed")
    up, down = found["aws_autoscaling_schedule"]["m-aggregated-at-0750-2"], found["aws_autoscaling_schedule"]["m-aggregated-at-1800-1"]
    assert ("50 7 * * *", "Europe/Berlin", 2, -1, -1) == tuple(up[k] for k in ("recurrence", "time_zone", "min_size", "max_size", "desired_capacity"))
    assert 1 == down["min_size"]
    assert ["desired_capacity", "min_size"] == found["aws_autoscaling_group"]["m-aggregated"]["lifecycle"]["ignore_changes"]


def test_without_an_autoscaler_the_schedule_moves_the_count_too() -> None:
    """Nobody else would end the nodes of a window that is over, so each action sets the count as well, and terraform leaves it alone."""
    found = scheduled([part("on_demand", (1, 1, 3))], kind="self_managed", autoscaled=False)
    steps = found["aws_autoscaling_schedule"]
    assert [(2, 2), (1, 1)] == [(steps[f"m-aggregated-{at}"]["min_size"], steps[f"m-aggregated-{at}"]["desired_capacity"]) for at in ("at-0750-2", "at-1800-1")]
    assert ["desired_capacity", "min_size"] == found["aws_autoscaling_group"]["m-aggregated"]["lifecycle"]["ignore_changes"]


def test_managed_groups_follow_their_pods() -> None:
    """EKS owns the scaling group of a managed node group, so no action is put on it: replicas come by the clock and nodes after them."""
    assert "aws_autoscaling_schedule" not in scheduled([part("on_demand", (1, 1, 3))], kind="managed")


WARM = {"size": 2, "state": "Stopped", "reuse": True}


def test_a_warm_pool_stands_beside_a_plain_group() -> None:
    """Size, state and reuse as planned; one type in the template, because no mix is needed."""
    plan = one_pool([part("on_demand")], kind="self_managed", ami_type=None, warm_pool=WARM)
    found = stacks_of(plan)["nodes"]["resource"]
    group = found["aws_autoscaling_group"]["m-aggregated"]
    assert {"min_size": 2, "pool_state": "Stopped", "instance_reuse_policy": {"reuse_on_scale_in": True}} == group["warm_pool"]
    assert "mixed_instances_policy" not in group
    assert "p5.48xlarge" == found["aws_launch_template"]["m-aggregated"]["instance_type"]


def test_a_warm_node_joins_when_it_is_taken_into_service() -> None:
    """AL2023 waits in a script before the kubelet starts, Bottlerocket by its own setting; ordinary nodes do neither."""

    def data(**infrastructure: Any) -> str:
        plan = one_pool([part("on_demand")], kind="self_managed", ami_type=None, **infrastructure)
        return user_data_text(stacks_of(plan)["nodes"]["resource"]["aws_launch_template"]["m-aggregated"])

    warm = data(warm_pool=WARM)
    script = warm.split("Content-Type: text/x-shellscript\n\n")[1].split("\n--")[0]
    assert "autoscaling/target-lifecycle-state" in script
    assert 0 == subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode
    assert "[settings.autoscaling]\nshould-wait = true\n" in data(warm_pool=WARM, os="bottlerocket")
    assert "should-wait" not in data(os="bottlerocket")
    assert "target-lifecycle-state" not in data()


def test_hibernated_nodes_are_made_for_it() -> None:
    """The template asks for hibernation where the warm pool hibernates."""
    found = stacks_of(one_pool([part("on_demand")], kind="self_managed", ami_type=None, warm_pool={**WARM, "state": "Hibernated"}))["nodes"]["resource"]
    assert {"configured": True} == found["aws_launch_template"]["m-aggregated"]["hibernation_options"]


def test_a_release_pins_the_image_of_a_scaling_group() -> None:
    """The SSM parameter of the release instead of the newest, for both systems."""

    def image(**infrastructure: Any) -> str:
        found = stacks_of(one_pool([part("on_demand")], kind="self_managed", ami_type=None, **infrastructure))["nodes"]["resource"]
        return str(found["aws_launch_template"]["m-aggregated"]["image_id"])

    base = "resolve:ssm:/aws/service"
    named = "amazon-eks-node-al2023-x86_64-nvidia-1.33-v20260714"
    assert f"{base}/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/nvidia/{named}/image_id" == image(ami_release="v20260714")
    assert f"{base}/bottlerocket/aws-k8s-1.33-nvidia/x86_64/1.57.0/image_id" == image(os="bottlerocket", ami_release="v1.57.0")
