"""Drained ends for nodes of scaling groups: a hook that holds the instance, and what the controller that completes it needs.

The AWS Node Termination Handler reads the queue, drains the node and completes the lifecycle action; where it is not running the hook runs
out and the group goes on. There is no hook at launch: the handler comes into the cluster after this stack, so nothing would complete it on
the first apply. Source: aws/aws-node-termination-handler README, queue processor (read 2026-12-01).
"""

from __future__ import annotations

from inferform.plan_termination import TerminationPlan
from inferform.stacks.aws import iam, interruption
from inferform.stacks.aws.account import Account
from inferform.stacks.aws.groups import Group
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Ref, text

_KEY = "node-termination"
# Rebalance recommendations are the scaling group's: it starts a replacement first and then ends the node through the hook.
_EVENTS = {"health": interruption.HEALTH, "hook": interruption.TERMINATING, "spot": interruption.SPOT, "state": interruption.STATE}


def build(stack: Stack, account: Account, plan: TerminationPlan) -> Handle:
    """Add the queue and the controller's role; the queue."""
    queue = interruption.queue(stack, _KEY, plan.queue, _EVENTS)
    region, prefix = stack.plan.cloud.region, stack.plan.resource_prefix()
    own = text("arn:", account.partition, f":autoscaling:{region}:", account.id, f":autoScalingGroup:*:autoScalingGroupName/{prefix}-*")
    look = ["autoscaling:DescribeAutoScalingInstances", "autoscaling:DescribeTags", "ec2:DescribeInstances"]
    drain = iam.document(
        iam.allow(["autoscaling:CompleteLifecycleAction", "autoscaling:RecordLifecycleActionHeartbeat"], [own]),
        iam.allow(look, ["*"], {"StringEquals": {"aws:RequestedRegion": region}}),
        iam.allow(["sqs:DeleteMessage", "sqs:ReceiveMessage"], [queue.ref("arn")]),
    )
    trust = iam.pod_trust(account, cluster_name=stack.plan.cluster_name(), namespace=plan.namespace, service_account=plan.service_account)
    role, grants = iam.role(stack, account, _KEY, trust, inline={"drain": drain}, description="Drains nodes before their scaling group ends them")
    stack.resource(
        "aws_eks_pod_identity_association",
        _KEY,
        {
            "cluster_name": stack.remote("cluster", "cluster_name"),
            "namespace": plan.namespace,
            "service_account": plan.service_account,
            "role_arn": role.ref("arn"),
        },
        depends_on=grants,
    )
    return queue


def hook(stack: Stack, group: Group, scaling_group: Ref, plan: TerminationPlan) -> None:
    """Hold instances of the scaling group that are to end until they are drained, or the time for it is over."""
    stack.resource(
        "aws_autoscaling_lifecycle_hook",
        f"{group.key}-drain",
        {
            "name": "drain",
            "autoscaling_group_name": scaling_group,
            "lifecycle_transition": "autoscaling:EC2_INSTANCE_TERMINATING",
            "heartbeat_timeout": plan.drain_s[f"{group.model}-{group.pool_name}"],
            "default_result": "CONTINUE",
        },
    )
