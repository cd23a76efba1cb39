"""What Karpenter is given in AWS, and what stays out of the stacks."""

from __future__ import annotations

import json
import re
from typing import Any

from inferform.plan import DeploymentPlan
from inferform.plan_karpenter import KarpenterPlan
from inferform.planning.karpenter import karpenter_plan
from synthesis import changed, stacks_of

Json = dict[str, Any]
CLAIMS = {"suffix": "", "capacity_type": "on-demand", "reservation_id": None, "instance_types": ["p5.48xlarge"], "zones": ["use1-az4"], "weight": 100}


def karpenter(**infrastructure: Any) -> DeploymentPlan:
    """The sample plan with the pools of llama-405b (two p5 nodes a replica, EFA) started by Karpenter."""

    def change(data: Json) -> None:
        nodes = data["models"]["llama-405b"]["pools"]["aggregated"]["infrastructure"]
        efa = {"network_cards": 32, "interfaces": 32, "interface_type_first": "interface", "interface_type_rest": "efa-only"}
        nodes.update(
            {"kind": "karpenter", "ami_release": "v20260714", "efa": efa, "claims": [{**CLAIMS, "limits": {"nvidia.com/gpu": "32"}}], **infrastructure}
        )
        made = karpenter_plan("contract-qa-prod", ["karpenter"])
        assert isinstance(made, KarpenterPlan)
        data["karpenter"] = made.model_dump()

    return changed(change)


def nodes_stack(plan: DeploymentPlan) -> Json:
    return dict(stacks_of(plan)["nodes"]["resource"])


def statements(resources: Json, name: str) -> list[Json]:
    """Statements of one of the controller's policies; references stay as text."""
    document = json.loads(re.sub(r"\$\{[^}]*\}", "REF", resources["aws_iam_role_policy"][f"karpenter-{name}"]["policy"]))
    return list(document["Statement"])


def test_a_pool_of_karpenter_is_no_group() -> None:
    """Neither a node group, a scaling group nor a template: its security group and placement group are all that Terraform makes."""
    resources = nodes_stack(karpenter())
    for kind in ("aws_eks_node_group", "aws_autoscaling_group", "aws_launch_template"):
        assert not [name for name in resources[kind] if name.startswith("llama-405b")]
    assert "contract-qa-prod-llama-405b-aggregated-efa" == resources["aws_security_group"]["llama-405b-aggregated-efa"]["name"]
    assert "contract-qa-prod-llama-405b-aggregated" == resources["aws_placement_group"]["llama-405b-aggregated"]["name"]


def test_nodes_join_under_a_role_of_their_own() -> None:
    """The profile that EC2NodeClasses name, and the access entry that lets the nodes in."""
    resources = nodes_stack(karpenter())
    assert "contract-qa-prod-karpenter-node" == resources["aws_iam_instance_profile"]["karpenter-node"]["name"]
    entry = resources["aws_eks_access_entry"]["karpenter-node"]
    assert ("${aws_iam_role.karpenter-node.arn}", "EC2_LINUX") == (entry["principal_arn"], entry["type"])


def test_the_controller_may_only_touch_its_own_instances() -> None:
    """Every action that changes something is held to tags of the cluster, to a named resource, or to what instances are made of; no roles or profiles are made."""
    resources = nodes_stack(karpenter())
    own = "kubernetes.io/cluster/contract-qa-prod"
    for statement in statements(resources, "instances"):
        wanted = statement.get("Condition", {}).get("StringEquals", {})
        shared = all(
            r.split(":")[-1].split("/")[0] in ("image", "snapshot", "capacity-reservation", "placement-group", "security-group", "subnet")
            for r in statement["Resource"]
        )
        assert shared or "owned" in (wanted.get(f"aws:RequestTag/{own}"), wanted.get(f"aws:ResourceTag/{own}")), statement
    rest = statements(resources, "surroundings")
    open_to_all = [a for s in rest if s["Resource"] == ["*"] for a in s["Action"]]
    assert [] == [a for a in open_to_all if not a.split(":")[1].startswith(("Describe", "Get"))]
    actions = {a for name in ("instances", "surroundings") for s in statements(resources, name) for a in s["Action"]}
    assert {"iam:GetInstanceProfile", "iam:PassRole"} == {a for a in actions if a.startswith("iam:")}
    assert sum(len(p["policy"]) for k, p in resources["aws_iam_role_policy"].items() if k.startswith("karpenter")) < 10_240


def test_interruptions_reach_the_queue() -> None:
    """Five kinds of events go to an encrypted queue that only these rules may write to, over TLS."""
    resources = nodes_stack(karpenter())
    queue = resources["aws_sqs_queue"]["karpenter"]
    assert ("contract-qa-prod-karpenter", True, 300) == (queue["name"], queue["sqs_managed_sse_enabled"], queue["message_retention_seconds"])
    details = {json.loads(r["event_pattern"])["detail-type"][0] for r in resources["aws_cloudwatch_event_rule"].values() if "karpenter" in r["name"]}
    assert "EC2 Spot Instance Interruption Warning" in details
    assert "EC2 Capacity Reservation Instance Interruption Warning" in details
    assert 5 == len(details)
    send, plain = json.loads(re.sub(r"\$\{[^}]*\}", "REF", resources["aws_sqs_queue_policy"]["karpenter"]["policy"]))["Statement"]
    assert ("sqs:SendMessage", "events.amazonaws.com", 5) == (
        send["Action"],
        send["Principal"]["Service"],
        len(send["Condition"]["ArnEquals"]["aws:SourceArn"]),
    )
    assert ("Deny", "false") == (plain["Effect"], plain["Condition"]["Bool"]["aws:SecureTransport"])


def test_the_users_own_placement_group_is_not_made() -> None:
    """A group that the spec names exists already."""
    assert "aws_placement_group" not in nodes_stack(karpenter(placement_group_name="ml-cluster-a"))


def test_the_cluster_autoscaler_leaves_karpenters_pools_alone() -> None:
    """Where Karpenter owns every pool there is no role for the cluster autoscaler."""

    def change(data: Json) -> None:
        data["models"] = {"llama-405b": data["models"]["llama-405b"]}

    both = karpenter()
    alone = changed(lambda data: (data.update(both.model_dump(mode="json")), change(data)))
    assert "cluster-autoscaler" not in stacks_of(alone)["identity"]["resource"]["aws_eks_pod_identity_association"]
    assert "cluster-autoscaler" in stacks_of(both)["identity"]["resource"]["aws_eks_pod_identity_association"]
