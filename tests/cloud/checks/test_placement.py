"""Placement groups of the user's own."""

from __future__ import annotations

import pytest
from cloud.double import AwsDouble, ready
from cloud.looking import by_subject, look
from inferform.cloud.checks import placement
from inferform.plan import DeploymentPlan


def with_group(aws: AwsDouble, name: str | None = "racks") -> DeploymentPlan:
    """The ready plan whose 405B nodes launch into a placement group of the user's."""
    data = ready(aws).model_dump(mode="json")
    data["models"]["llama-405b"]["pools"]["aggregated"]["infrastructure"] |= {"placement_group": True, "placement_group_name": name}
    return DeploymentPlan.model_validate(data)


def test_fc07_a_cluster_group_that_is_there_is_ok(aws: AwsDouble) -> None:
    """FC-07: an own group with the strategy cluster is as needed; where apply makes the group there is nothing to look for."""
    aws.market.placement_groups["racks"] = "cluster"
    found = by_subject(look(aws, with_group(aws), *placement.CHECKS))
    assert {"racks for llama-405b/aggregated": "ok"} == {subject: f.severity for subject, f in found.items()}
    assert [] == look(aws, with_group(aws, None), *placement.CHECKS)


def test_fc07_a_group_that_is_not_there_blocks_with_the_command(aws: AwsDouble) -> None:
    """FC-07: a launch into an unknown group fails, so it is found before."""
    (found,) = look(aws, with_group(aws), *placement.CHECKS)
    assert ("blocker", "not there in us-east-1") == (found.severity, found.found)
    assert "aws ec2 create-placement-group --group-name racks --strategy cluster --region us-east-1" == found.command


@pytest.mark.parametrize("strategy", ["spread", "partition"])
def test_fc07_another_strategy_blocks(aws: AwsDouble, strategy: str) -> None:
    """FC-07: spread and partition keep nodes apart."""
    aws.market.placement_groups["racks"] = strategy
    (found,) = look(aws, with_group(aws), *placement.CHECKS)
    assert ("blocker", f"has the strategy {strategy}") == (found.severity, found.found)
