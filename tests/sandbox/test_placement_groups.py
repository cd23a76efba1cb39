"""Placement groups of the double, through boto3."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from inferform.sandbox.backend import client
from inferform.sandbox.server import Double


def code(caught: pytest.ExceptionInfo[ClientError]) -> str:
    return str(caught.value.response["Error"]["Code"])


def test_create_describe_tag_and_delete(ec2: Any) -> None:
    """A group lives from creation to deletion with its strategy and tags."""
    tags = [{"Key": "Name", "Value": "a<b>&c"}]
    made = ec2.create_placement_group(GroupName="pg-one", Strategy="cluster", TagSpecifications=[{"ResourceType": "placement-group", "Tags": tags}])[
        "PlacementGroup"
    ]
    assert ("pg-one", "cluster", "available", tags) == (made["GroupName"], made["Strategy"], made["State"], made["Tags"])
    ec2.create_tags(Resources=[made["GroupId"]], Tags=[{"Key": "more", "Value": "1"}])
    ec2.delete_tags(Resources=[made["GroupId"]], Tags=[{"Key": "Name"}])
    found = ec2.describe_placement_groups(GroupNames=["pg-one"])["PlacementGroups"]
    assert [[{"Key": "more", "Value": "1"}]] == [g["Tags"] for g in found]
    assert [made["GroupId"]] == [g["GroupId"] for g in ec2.describe_placement_groups(GroupIds=[made["GroupId"]])["PlacementGroups"]]
    ec2.delete_placement_group(GroupName="pg-one")
    assert "pg-one" not in [g["GroupName"] for g in ec2.describe_placement_groups()["PlacementGroups"]]


def test_groups_are_regional(double: Double, ec2: Any) -> None:
    """The same name may exist in two regions."""
    ec2.create_placement_group(GroupName="pg-regional", Strategy="cluster")
    other = client(double.url, "ec2", "eu-west-1")
    assert [] == other.describe_placement_groups()["PlacementGroups"]
    other.create_placement_group(GroupName="pg-regional", Strategy="spread")
    assert "cluster" == ec2.describe_placement_groups(GroupNames=["pg-regional"])["PlacementGroups"][0]["Strategy"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"GroupName": "pg-twice"}, "InvalidPlacementGroup.Duplicate"),
        ({"GroupName": "x" * 256}, "InvalidParameterValue"),
        ({"GroupName": "pg-bad", "Strategy": "near"}, "InvalidParameterValue"),
        ({"GroupName": "pg-bad", "Strategy": "cluster", "PartitionCount": 3}, "InvalidParameterValue"),
        ({"GroupName": "pg-bad", "Strategy": "partition", "PartitionCount": 8}, "InvalidParameterValue"),
    ],
)
def test_what_ec2_rejects_is_rejected(ec2: Any, arguments: dict[str, Any], wanted: str) -> None:
    """Duplicate names, unknown strategies, long names and wrong partition counts are refused with EC2's codes."""
    if wanted.endswith("Duplicate"):
        ec2.create_placement_group(GroupName=arguments["GroupName"], Strategy="cluster")
    with pytest.raises(ClientError) as caught:
        ec2.create_placement_group(**arguments)
    assert wanted == code(caught)


def test_unknown_group(ec2: Any) -> None:
    """Describing or deleting a group that is not there is refused."""
    for call in (lambda: ec2.describe_placement_groups(GroupNames=["pg-absent"]), lambda: ec2.delete_placement_group(GroupName="pg-absent")):
        with pytest.raises(ClientError) as caught:
            call()
        assert "InvalidPlacementGroup.Unknown" == code(caught)


def test_group_in_use_stays(double: Double, ec2: Any) -> None:
    """A group that a scaling group launches into cannot be deleted before the scaling group is."""
    ec2.create_placement_group(GroupName="pg-used", Strategy="cluster")
    subnet = ec2.create_subnet(VpcId=ec2.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"], CidrBlock="10.8.0.0/24")["Subnet"]["SubnetId"]
    ec2.create_launch_template(LaunchTemplateName="pg-used", LaunchTemplateData={"InstanceType": "p5.48xlarge", "ImageId": "ami-12c6146b"})
    scaling = client(double.url, "autoscaling", "us-east-1")
    scaling.create_auto_scaling_group(
        AutoScalingGroupName="pg-used",
        MinSize=0,
        MaxSize=1,
        DesiredCapacity=0,
        VPCZoneIdentifier=subnet,
        PlacementGroup="pg-used",
        LaunchTemplate={"LaunchTemplateName": "pg-used"},
    )
    with pytest.raises(ClientError) as caught:
        ec2.delete_placement_group(GroupName="pg-used")
    assert "InvalidPlacementGroup.InUse" == code(caught)
    scaling.delete_auto_scaling_group(AutoScalingGroupName="pg-used", ForceDelete=True)
    ec2.delete_placement_group(GroupName="pg-used")
