"""How nodes of scaling groups end: held by a hook, drained by a controller that can do it."""

from __future__ import annotations

import json
import re
from typing import Any

from inferform.plan_termination import TerminationPlan
from inferform.planning.termination import termination_plan
from samples import sample_plan
from synthesis import sample_stacks

Json = dict[str, Any]


def resources() -> Json:
    return dict(sample_stacks()["nodes"]["resource"])


def test_every_scaling_group_drains_before_it_ends_a_node() -> None:
    """Each self-managed group, and no managed one, has a hook that waits as long as the longest drain and then goes on."""
    found = resources()
    hooks = {h["autoscaling_group_name"]: h for h in found["aws_autoscaling_lifecycle_hook"].values()}
    assert [f"${{aws_autoscaling_group.{name}.name}}" for name in found["aws_autoscaling_group"]] == list(hooks)
    (hook,) = hooks.values()
    assert ("autoscaling:EC2_INSTANCE_TERMINATING", "CONTINUE", 188) == tuple(hook[k] for k in ("lifecycle_transition", "default_result", "heartbeat_timeout"))


def test_every_hook_has_who_completes_it() -> None:
    """The lifecycle action reaches the queue, and the handler's role may read it and complete actions of this deployment's groups."""
    found = resources()
    assert "${aws_sqs_queue.node-termination.arn}" == found["aws_cloudwatch_event_target"]["node-termination-hook"]["arn"]
    pattern = json.loads(found["aws_cloudwatch_event_rule"]["node-termination-hook"]["event_pattern"])
    assert {"source": ["aws.autoscaling"], "detail-type": ["EC2 Instance-terminate Lifecycle Action"]} == pattern
    policy = json.loads(re.sub(r"\$\{[^}]*\}", "REF", found["aws_iam_role_policy"]["node-termination-drain"]["policy"]))
    complete = next(s for s in policy["Statement"] if "autoscaling:CompleteLifecycleAction" in s["Action"])
    assert ["arn:REF:autoscaling:us-east-1:REF:autoScalingGroup:*:autoScalingGroupName/contract-qa-prod-*"] == complete["Resource"]
    assert "aws-node-termination-handler" == found["aws_eks_pod_identity_association"]["node-termination"]["service_account"]
    tags = {t["key"] for t in found["aws_autoscaling_group"]["llama-8b-aggregated"]["tag"] if t["propagate_at_launch"]}
    assert "aws-node-termination-handler/contract-qa-prod" in tags


def test_each_group_waits_for_its_own_pool() -> None:
    """A minute beyond the pool's grace period, at most what a hook waits; pools of other kinds need no hook."""
    pools = {f"{model}-{name}": pool for model, _, name, pool in sample_plan().pool_items()}
    found = termination_plan("a-b", pools)
    assert isinstance(found, TerminationPlan)
    assert {"llama-8b-aggregated": pools["llama-8b-aggregated"].lifecycle.grace_s + 60} == found.drain_s
    slow = {key: p.model_copy(update={"lifecycle": p.lifecycle.model_copy(update={"grace_s": 9000})}) for key, p in pools.items()}
    capped = termination_plan("a-b", slow)
    assert capped is not None
    assert {7200} == set(capped.drain_s.values())
    assert termination_plan("a-b", {"m-aggregated": pools["llama-70b-aggregated"]}) is None
