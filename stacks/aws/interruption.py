"""A queue of what AWS is about to do to instances, for a controller in the cluster that drains them in time."""

from __future__ import annotations

from collections.abc import Mapping

from inferform.stacks.aws import iam
from inferform.stacks.aws.account import bounded
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Value, json_text

_RULE_NAME_LIMIT = 64
# A notice is of no use after the instance is gone. Source: aws/karpenter-provider-aws, getting started, cloudformation.yaml (read 2026-12-01).
_RETENTION_S = 300

SPOT = ("aws.ec2", "EC2 Spot Instance Interruption Warning")
REBALANCE = ("aws.ec2", "EC2 Instance Rebalance Recommendation")
RESERVATION = ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning")
STATE = ("aws.ec2", "EC2 Instance State-change Notification")
HEALTH = ("aws.health", "AWS Health Event")
TERMINATING = ("aws.autoscaling", "EC2 Instance-terminate Lifecycle Action")


def queue(stack: Stack, key: str, name: str, events: Mapping[str, tuple[str, str]]) -> Handle:
    """The queue `name` and a rule for each event (key -> source, detail type). Only EventBridge may write to it, and only over TLS."""
    made = stack.resource("aws_sqs_queue", key, {"name": name, "message_retention_seconds": _RETENTION_S, "sqs_managed_sse_enabled": True})
    rules = []
    for event, (source, detail) in sorted(events.items()):
        rule = stack.resource(
            "aws_cloudwatch_event_rule",
            f"{key}-{event}",
            {
                "name": bounded(f"{name}-{event}", _RULE_NAME_LIMIT),
                "description": detail,
                "event_pattern": json_text({"source": [source], "detail-type": [detail]}),
            },
        )
        stack.resource("aws_cloudwatch_event_target", f"{key}-{event}", {"rule": rule.ref("name"), "target_id": key, "arn": made.ref("arn")})
        rules.append(rule)
    send: dict[str, Value] = {
        "Sid": "Events",
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": made.ref("arn"),
        "Condition": {"ArnEquals": {"aws:SourceArn": [rule.ref("arn") for rule in rules]}},
    }
    plain: dict[str, Value] = {
        "Sid": "OverTls",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": made.ref("arn"),
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    stack.resource("aws_sqs_queue_policy", key, {"queue_url": made.ref("id"), "policy": iam.document(send, plain)})
    return made
