"""What Karpenter is given in AWS: the role of its nodes, its own role by Pod Identity, and the queue of interruptions.

Its NodePools are objects of the cluster and not in any stack (FC-37). Nodes run under an instance profile that is made here, so the
controller may not make roles or profiles. Source of the policy: aws/karpenter-provider-aws v1.14.1, getting started, cloudformation.yaml
(read 2026-12-01).
"""

from __future__ import annotations

from inferform.plan_karpenter import KarpenterPlan
from inferform.stacks.aws import iam, interruption
from inferform.stacks.aws.account import Account
from inferform.stacks.aws.cluster import NODE_POLICIES
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Text, Value, text

_KEY = "karpenter"
_NODE_KEY = "karpenter-node"
_EVENTS = {
    "health": interruption.HEALTH,
    "rebalance": interruption.REBALANCE,
    "reservation": interruption.RESERVATION,
    "spot": interruption.SPOT,
    "state": interruption.STATE,
}
# What instances may be made of, and what is made with them.
_TAKEN = ("capacity-reservation", "placement-group", "security-group", "subnet")
_MADE = ("fleet", "instance", "launch-template", "network-interface", "spot-instances-request", "volume")


def build(stack: Stack, account: Account, plan: KarpenterPlan) -> None:
    """Add roles, access and queue."""
    cluster = stack.remote("cluster", "cluster_name")
    node_role, grants = iam.role(
        stack, account, _NODE_KEY, iam.service_trust("ec2.amazonaws.com"), managed=NODE_POLICIES, description="Nodes that Karpenter starts"
    )
    profile = stack.resource("aws_iam_instance_profile", _NODE_KEY, {"name": plan.instance_profile, "role": node_role.ref("name")}, depends_on=grants)
    stack.resource("aws_eks_access_entry", _NODE_KEY, {"cluster_name": cluster, "principal_arn": node_role.ref("arn"), "type": "EC2_LINUX"})
    queue = interruption.queue(stack, _KEY, plan.queue, _EVENTS)
    trust = iam.pod_trust(account, cluster_name=stack.plan.cluster_name(), namespace=plan.namespace, service_account=plan.service_account)
    inline = {"instances": _instances(stack, account), "surroundings": _surroundings(stack, account, node_role=node_role, profile=profile, queue=queue)}
    role, grants = iam.role(stack, account, _KEY, trust, inline=inline, description="Karpenter starts and ends nodes of its NodePools")
    association: dict[str, Value] = {
        "cluster_name": cluster,
        "namespace": plan.namespace,
        "service_account": plan.service_account,
        "role_arn": role.ref("arn"),
    }
    stack.resource("aws_eks_pod_identity_association", _KEY, association, depends_on=grants)


def _instances(stack: Stack, account: Account) -> Text:
    """Start and end instances, each tagged as a node of one of the cluster's NodePools."""
    cluster = stack.plan.cluster_name()
    owned, named = f"kubernetes.io/cluster/{cluster}", "karpenter.sh/nodepool"
    asked: dict[str, Value] = {f"aws:RequestTag/{owned}": "owned", "aws:RequestTag/eks:eks-cluster-name": cluster}
    tagged: dict[str, Value] = {"StringEquals": {f"aws:ResourceTag/{owned}": "owned"}, "StringLike": {f"aws:ResourceTag/{named}": "*"}}
    new: dict[str, Value] = {"StringLike": {f"aws:RequestTag/{named}": "*"}}
    start = ["ec2:CreateFleet", "ec2:RunInstances"]
    templates, instances = _arn(stack, account, "launch-template"), _arn(stack, account, "instance")
    by: dict[str, Value] = {**asked, "ec2:CreateAction": ["CreateFleet", "CreateLaunchTemplate", "RunInstances"]}
    later: dict[str, Value] = {
        **tagged,
        "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": cluster},
        "ForAllValues:StringEquals": {"aws:TagKeys": ["Name", "eks:eks-cluster-name", "karpenter.sh/nodeclaim"]},
    }
    return iam.document(
        iam.allow(start, [*(_arn(stack, account, kind, owner="") for kind in ("image", "snapshot")), *(_arn(stack, account, kind) for kind in _TAKEN)]),
        iam.allow(start, [templates], tagged),
        iam.allow([*start, "ec2:CreateLaunchTemplate"], [_arn(stack, account, kind) for kind in _MADE], {"StringEquals": asked, **new}),
        iam.allow(["ec2:CreateTags"], [_arn(stack, account, kind) for kind in _MADE], {"StringEquals": by, **new}),
        iam.allow(["ec2:CreateTags"], [instances], later),
        iam.allow(["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"], [instances, templates], tagged),
    )


def _surroundings(stack: Stack, account: Account, *, node_role: Handle, profile: Handle, queue: Handle) -> Text:
    """Look at what there is, hand the node role to instances, and read the queue."""
    look = [
        "ec2:DescribeCapacityReservations",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceStatus",
        "ec2:DescribeInstanceTypeOfferings",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeInstances",
        "ec2:DescribeLaunchTemplates",
        "ec2:DescribePlacementGroups",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSpotPriceHistory",
        "ec2:DescribeSubnets",
    ]
    region = stack.plan.cloud.region
    passed = {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}}
    parameters = text("arn:", account.partition, f":ssm:{region}::parameter/aws/service/*")
    return iam.document(
        iam.allow(look, ["*"], {"StringEquals": {"aws:RequestedRegion": region}}),
        iam.allow(["ssm:GetParameter"], [parameters]),
        # Prices have no resources, and they are asked for in one region for all.
        iam.allow(["pricing:GetProducts"], ["*"]),
        iam.allow(["iam:GetInstanceProfile"], [profile.ref("arn")]),
        iam.allow(["iam:PassRole"], [node_role.ref("arn")], passed),
        iam.allow(["eks:DescribeCluster"], [stack.remote("cluster", "cluster_arn")]),
        iam.allow(["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"], [queue.ref("arn")]),
    )


def _arn(stack: Stack, account: Account, kind: str, *, owner: str = "*") -> Text:
    return text("arn:", account.partition, f":ec2:{stack.plan.cloud.region}:{owner}:{kind}/*")
