"""`inferform drift`: what it asks of AWS beside terraform; the command itself is run in test_operate.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cloud.double import AwsDouble, ready
from inferform.cli.drift import standing
from inferform.plan import DeploymentPlan

ID = "cr-0123456789abcdef0"


@pytest.fixture
def aws() -> Iterator[AwsDouble]:
    """A double of AWS with an empty account."""
    double = AwsDouble().start()
    yield double
    double.stop()


def reserved(plan: DeploymentPlan) -> DeploymentPlan:
    """The plan with a pool that runs in a reservation."""
    data = plan.model_dump(mode="json")
    part = data["models"]["llama-70b"]["pools"]["aggregated"]["purchase"][0]
    part |= {"kind": "reserved", "reservation_id": ID}
    return DeploymentPlan.model_validate(data)


def test_what_holds_is_no_finding(aws: AwsDouble) -> None:
    """With prices, version and capacity as planned there is nothing to tell."""
    assert ([], []) == standing(aws.sessions(), ready(aws))


def test_capacity_prices_and_permissions_are_told(aws: AwsDouble) -> None:
    """A reservation that was cancelled and a dearer price no longer hold, with then, now and remedy; what may not be asked is only said."""
    plan = reserved(ready(aws))
    zone = plan.models["llama-70b"].pools["aggregated"].infrastructure.zones[0]
    aws.market.reserve(ID, instance_type="p5.48xlarge", zone=zone, count=2, State="cancelled")
    kind = plan.cloud.system_pool.instance_type
    aws.market.on_demand[kind, "us-east-1"] *= 3
    aws.fails["eks:DescribeClusterVersions"] = ("denied", 9)
    found, unknown = standing(aws.sessions(), plan)
    told = {a.code: a for a in found}
    assert "is cancelled" == told["RSV001"].now
    assert "models.llama-70b.capacity.purchase" in told["RSV001"].remedy
    assert "200% dearer" in told["PRC001"].now
    assert told["PRC001"].then.endswith("in the plan")
    assert ["EKS001 kubernetes version: the caller may not eks:DescribeClusterVersions"] == [line.split(";")[0] for line in unknown]


def test_a_caller_that_aws_does_not_know_is_a_doubt(aws: AwsDouble) -> None:
    """Without valid credentials nothing can be asked: that is said, and is no assumption of the sizing."""
    plan = ready(aws)
    aws.fails["sts:GetCallerIdentity"] = ("expired", 9)
    found, unknown = standing(aws.sessions(), plan)
    assert ([], 1) == (found, len(unknown))
    assert unknown[0].startswith("IDN001 caller: ")
