"""The policies against what Terraform's AWS provider really called: plan, apply and destroy of the sample fleet on the double.

The provider is 3.39, so the calls are those for the resource types that it knows; the policies are made for 6.25. The record is made
by record_calls.py.
"""

from __future__ import annotations

import fnmatch
import json
from functools import cache
from typing import Any

from cloud.record_calls import RECORD
from inferform.cloud.permissions import Scope, policies, used
from inferform.sandbox.call import ACCOUNT
from samples import sample_plan
from synthesis import sample_stacks

Json = dict[str, Any]
# What 3.39 asks and 6.25 does not: EC2-Classic, who the caller is by IAM, tags of log groups by the retired call.
OLD = {"ec2:DescribeAccountAttributes", "ec2:DescribeVpcClassicLink", "ec2:DescribeVpcClassicLinkDnsSupport", "iam:GetUser", "logs:ListTagsLogGroup"}


@cache
def recorded() -> tuple[tuple[str, str, str], ...]:
    """(phase, action, ARN or empty) of every call."""
    return tuple((phase, action, arn) for phase, action, arn in json.loads(RECORD.read_text(encoding="utf-8")))


@cache
def documents() -> dict[str, Json]:
    """Policies of the sample fleet in the double's account."""
    return policies(used(sample_stacks().values()), Scope.of(sample_plan(), ACCOUNT))


def allows(document: Json, action: str, arn: str) -> bool:
    """True when a statement has the action and, where the call names its resource, that too."""
    return any(
        action in statement["Action"] and (not arn or any(fnmatch.fnmatchcase(arn, pattern) for pattern in statement["Resource"]))
        for statement in document["Statement"]
    )


def test_the_operator_may_do_all_that_terraform_does() -> None:
    """Every call of plan, apply and destroy is allowed on the resource that it names."""
    assert 100 < len({action for _, action, _ in recorded()})
    assert [] == sorted(f"{action} {arn}" for _, action, arn in recorded() if action not in OLD and not allows(documents()["operator"], action, arn))


def test_ci_may_do_all_that_a_plan_does() -> None:
    """A plan of a standing fleet, which refreshes every resource, needs no more than the plan-only policy."""
    asked = {(action, arn) for phase, action, arn in recorded() if phase == "plan"}
    assert 50 < len(asked)
    assert [] == sorted(f"{action} {arn}" for action, arn in asked if action not in OLD and not allows(documents()["ci"], action, arn))


def test_a_plan_changes_nothing() -> None:
    """Only Get, List and Describe are called while planning."""
    assert [] == sorted(a for phase, a, _ in recorded() if phase == "plan" and not a.split(":")[1].startswith(("Get", "List", "Describe")))


def test_ci_could_not_apply() -> None:
    """Most of what an apply calls is denied to the plan-only policy, the making of every kind of resource among it."""
    made = {(action, arn) for phase, action, arn in recorded() if phase == "apply" and action.split(":")[1].startswith("Create")}
    assert 15 < len({action for action, _ in made})
    assert [] == sorted(f"{action} {arn}" for action, arn in made if allows(documents()["ci"], action, arn))


def test_the_operator_could_not_touch_another_deployment() -> None:
    """The same calls on the names of another deployment are denied wherever the call names its resource."""
    other = {(action, arn.replace("contract-qa-prod", "contract-qb-prod")) for _, action, arn in recorded() if "contract-qa-prod" in arn}
    assert 40 < len(other)
    assert [] == sorted(f"{action} {arn}" for action, arn in other if action not in OLD and allows(documents()["operator"], action, arn))
