"""Commitments behind nodes that the plan counts as reserved."""

from __future__ import annotations

from typing import Any

import pytest
from cloud.double import AwsDouble, ready
from cloud.looking import look
from inferform.cloud.checks import commitments
from inferform.plan import DeploymentPlan


def reserved(aws: AwsDouble, **part: Any) -> DeploymentPlan:
    """The ready plan with both nodes of the 405B pool at a reserved price of $30."""
    data = ready(aws).model_dump(mode="json")
    data["models"]["llama-405b"]["pools"]["aggregated"]["purchase"][0] |= {"kind": "reserved", "usd_per_hour": 30.0, **part}
    return DeploymentPlan.model_validate(data)


def plan_of(commitment: str, kind: str = "Compute", state: str = "active", **more: str) -> dict[str, str]:
    return {"savingsPlanId": "sp-1", "savingsPlanType": kind, "commitment": commitment, "state": state, **more}


def test_nothing_behind_the_price_is_a_warning(aws: AwsDouble) -> None:
    """Without any commitment the reserved price is a wish."""
    found = look(aws, reserved(aws), *commitments.CHECKS)
    assert [("warning", "p5.48xlarge reserved", "0 reserved instances, savings plans of $0.00 an hour that cover it")] == [
        (f.severity, f.subject, f.found) for f in found
    ]
    # 2 x $30.
    assert "2 nodes steady, $60.00 an hour in the plan" == found[0].needed


@pytest.mark.parametrize(("count", "severity"), [(1, "warning"), (2, "ok")])
def test_reserved_instances_of_the_type_count(aws: AwsDouble, count: int, severity: str) -> None:
    """Two nodes want two."""
    plan = reserved(aws)
    aws.market.reserved = {"p5.48xlarge": count, "p4d.24xlarge": 9}
    assert [severity] == [f.severity for f in look(aws, plan, *commitments.CHECKS)]


@pytest.mark.parametrize(
    ("bought", "severity"),
    [
        ([plan_of("60.0")], "ok"),
        ([plan_of("40.0"), plan_of("20.0")], "ok"),
        ([plan_of("59.0")], "warning"),
        ([plan_of("60.0", state="retired")], "warning"),
        ([plan_of("60.0", "SageMaker")], "warning"),
        ([plan_of("60.0", "EC2Instance", region="us-east-1", ec2InstanceFamily="p5")], "ok"),
        ([plan_of("60.0", "EC2Instance", region="us-west-2", ec2InstanceFamily="p5")], "warning"),
        ([plan_of("60.0", "EC2Instance", region="us-east-1", ec2InstanceFamily="p5en")], "warning"),
    ],
)
def test_savings_plans_that_cover_the_type_count(aws: AwsDouble, bought: list[dict[str, str]], severity: str) -> None:
    """Active compute plans, and instance plans of the family in the region, up to the price of the steady nodes."""
    plan = reserved(aws)
    aws.market.savings_plans = bought
    assert [severity] == [f.severity for f in look(aws, plan, *commitments.CHECKS)]


def test_a_reservation_by_id_is_not_a_commitment(aws: AwsDouble) -> None:
    """Nodes in a capacity reservation are looked at there; nothing is asked here."""
    assert [] == look(aws, reserved(aws, reservation_id="cr-0123456789abcdef0"), *commitments.CHECKS)
    assert "savingsplans:DescribeSavingsPlans" not in aws.called
