"""Where the double mends moto's EC2."""

from __future__ import annotations

from typing import Any


def test_subnets_of_an_own_vpc_give_out_no_public_addresses(ec2: Any) -> None:
    """The first subnet in a zone of one's own VPC is an ordinary subnet."""
    vpc = ec2.create_vpc(CidrBlock="10.7.0.0/16")["Vpc"]["VpcId"]
    made = [ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.7.{i}.0/24", AvailabilityZoneId=zone)["Subnet"] for i, zone in enumerate(("use1-az4", "use1-az6"))]
    found = ec2.describe_subnets(SubnetIds=[s["SubnetId"] for s in made])["Subnets"]
    assert [(False, False)] * 4 == [(s["DefaultForAz"], s["MapPublicIpOnLaunch"]) for s in (*made, *found)]


def test_tags_of_a_template_are_not_those_of_what_it_launches(ec2: Any) -> None:
    """Only tags for instances and volumes stand in the template's data; its own are on itself."""
    own = [{"ResourceType": "launch-template", "Tags": [{"Key": "a", "Value": "1"}]}]
    launched = [{"ResourceType": "instance", "Tags": [{"Key": "b", "Value": "2"}]}]
    made = ec2.create_launch_template(LaunchTemplateName="tagged", LaunchTemplateData={"TagSpecifications": launched}, TagSpecifications=own)["LaunchTemplate"]
    assert [{"Key": "a", "Value": "1"}] == made["Tags"]
    data = ec2.describe_launch_template_versions(LaunchTemplateName="tagged")["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    assert launched == data["TagSpecifications"]


def test_the_account_has_no_classic_network(ec2: Any) -> None:
    """Only VPC is a platform."""
    found = ec2.describe_account_attributes(AttributeNames=["supported-platforms"])["AccountAttributes"]
    values = {a["AttributeName"]: [v["AttributeValue"] for v in a["AttributeValues"]] for a in found}
    assert ["VPC"] == values["supported-platforms"]
