"""What the checks share: whose things are ours, and which groups of nodes there will be."""

from __future__ import annotations

import pytest
from cloud.double import NOW, AwsDouble, ready
from inferform.cloud.api import Api, CallFailedError
from inferform.cloud.site import Site
from inferform.plan import DeploymentPlan
from inferform.stacks.aws.groups import groups


def site(aws: AwsDouble, plan: DeploymentPlan | None = None) -> Site:
    return Site(plan or ready(aws), Api(aws.sessions(), "us-east-1"), NOW)


def test_groups_are_those_that_the_stacks_make(aws: AwsDouble) -> None:
    """Names, zones, sizes and types of every group are the same here and in the nodes stack, capacity blocks included."""
    data = ready(aws).model_dump(mode="json")
    pool = data["models"]["llama-70b"]["pools"]["aggregated"]
    block = {**pool["purchase"][0], "kind": "capacity_block", "reservation_id": "cr-0123456789abcdef0", "zone": "use1-az6", "ends_at": "2026-12-15T11:30:00Z"}
    pool["purchase"].append(block)
    plan = DeploymentPlan.model_validate(data)
    made = [(f"{plan.resource_prefix()}-{g.key}", g.zones, g.nodes.max, g.instance_types) for g in groups(plan)]
    found = [(g.key, g.zones, g.max_nodes, g.instance_types) for g in site(aws, plan).groups()]
    assert sorted(made) == sorted(found)
    assert 5 == len(found)


def test_only_all_tags_together_make_it_ours(aws: AwsDouble) -> None:
    """Another environment of the same deployment is somebody else."""
    own = {"deployment": "contract-qa", "environment": "prod", "tenant": "acme"}
    assert site(aws).owns({**own, "more": "x"})
    assert not site(aws).owns({**own, "environment": "dev"})
    assert not site(aws).owns({})


def test_a_look_up_is_made_once(aws: AwsDouble) -> None:
    """Checks that need the same thing share one call."""
    one = site(aws)
    assert one.zones() == one.zones()
    assert 1 == aws.called.count("ec2:DescribeAvailabilityZones")


def test_a_look_up_that_failed_is_tried_again(aws: AwsDouble) -> None:
    """Each check that needs it hears the refusal itself; a later success is kept."""
    one = site(aws)
    aws.fails["ec2:DescribeAvailabilityZones"] = ("denied", 1)
    with pytest.raises(CallFailedError):
        one.zones()
    assert "use1-az4" in one.zones()
