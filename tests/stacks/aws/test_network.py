"""The VPC: addresses, ways in and out, and what is written down."""

from __future__ import annotations

import json
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.stacks.aws.network import subnet_cidrs
from synthesis import changed, sample_stacks, stacks_of


def resources() -> dict[str, Any]:
    """Resources of the stack `network`."""
    return dict(sample_stacks()["network"]["resource"])


def test_each_zone_has_its_place_in_the_range() -> None:
    """10.0.0.0/16 in eighths: zone 1 takes the first /19, zone 4 the fourth (3 x 32 = 96), and the last eighth holds the public /22s."""
    expected = {"use1-az1": ("10.0.0.0/19", "10.0.224.0/22"), "use1-az4": ("10.0.96.0/19", "10.0.236.0/22")}
    assert expected == subnet_cidrs("10.0.0.0/16", ("use1-az4", "use1-az1"))


def test_adding_a_zone_moves_no_subnet() -> None:
    """The ranges of two zones stay when a third comes between them."""
    two = subnet_cidrs("10.0.0.0/16", ("use1-az1", "use1-az6"))
    three = subnet_cidrs("10.0.0.0/16", ("use1-az1", "use1-az4", "use1-az6"))
    assert two == {z: three[z] for z in two}


@pytest.mark.parametrize(
    ("cidr", "zones", "field"),
    [
        ("10.0.0.0/24", ("use1-az1", "use1-az2"), "cloud.vpc_cidr"),
        ("10.0.0.0/8", ("use1-az1", "use1-az2"), "cloud.vpc_cidr"),
        ("10.0.0.0/16", ("use1-az1",), "cloud.zones"),
        ("10.0.0.0/16", ("use1-az1", "use1-az3"), "cloud.zones"),
        ("10.0.0.0/16", ("use1-az1", "use1-atl2-az1"), "cloud.zones"),
        ("10.0.0.0/16", ("use1-az1", "use1-az8"), "cloud.zones"),
    ],
)
def test_networks_that_cannot_be_are_refused(cidr: str, zones: tuple[str, ...], field: str) -> None:
    """Too small, too large, one zone, a zone without EKS control planes, two zones of one number, or a number out of range: an error names the field."""
    with pytest.raises(InputError) as caught:
        subnet_cidrs(cidr, zones)
    assert [field] == [p.field for p in caught.value.problems]


def test_nodes_are_private_and_leave_through_their_own_zone() -> None:
    """No subnet gives out public addresses, and each zone's private route goes to that zone's NAT gateway."""
    found = resources()
    assert {False} == {s["map_public_ip_on_launch"] for s in found["aws_subnet"].values()}
    assert "${aws_nat_gateway.use1-az4.id}" == found["aws_route"]["private-use1-az4"]["nat_gateway_id"]
    assert "${aws_subnet.public-use1-az4.id}" == found["aws_nat_gateway"]["use1-az4"]["subnet_id"]
    assert "gateway_id" not in found["aws_route"]["private-use1-az4"]


def test_nothing_listens_to_the_world() -> None:
    """The default security group is taken over without any rule, and no other group lets the world in."""
    found = resources()
    assert {"vpc_id", "tags"} == set(found["aws_default_security_group"]["closed"])
    every = [r for stack in sample_stacks().values() for r in stack["resource"].get("aws_security_group_rule", {}).values()]
    assert not [r for r in every if r["type"] == "ingress" and "cidr_blocks" in r]


def test_weights_do_not_pass_the_nat_gateway() -> None:
    """S3 is reached through a gateway endpoint on every private route table."""
    endpoint = resources()["aws_vpc_endpoint"]["s3"]
    tables = [f"${{aws_route_table.private-use1-az{n}.id}}" for n in (1, 4, 6)]
    assert ("Gateway", "com.amazonaws.us-east-1.s3", tables) == (endpoint["vpc_endpoint_type"], endpoint["service_name"], endpoint["route_table_ids"])


def test_flow_logs_are_kept_encrypted() -> None:
    """All traffic is logged to a group with retention and its own rotated key, which only that group may use."""
    found = resources()
    assert "ALL" == found["aws_flow_log"]["main"]["traffic_type"]
    group = found["aws_cloudwatch_log_group"]["flow"]
    assert (90, "${aws_kms_key.network-logs.arn}") == (group["retention_in_days"], group["kms_key_id"])
    key = found["aws_kms_key"]["network-logs"]
    assert key["enable_key_rotation"] is True
    condition = json.loads(key["policy"])["Statement"][1]["Condition"]
    arn = "arn:${data.aws_partition.current.partition}:logs:us-east-1:${data.aws_caller_identity.current.account_id}:log-group:/aws/vpc/contract-qa-prod/flow"
    assert {"ArnEquals": {"kms:EncryptionContext:aws:logs:arn": [arn]}} == condition


@pytest.mark.parametrize(("internal", "tagged"), [(True, False), (False, True)])
def test_public_subnets_take_load_balancers_only_on_request(internal: bool, tagged: bool) -> None:
    """Public subnets carry the load balancer tag only when the gateway is published; private ones always carry the internal one."""
    found = stacks_of(changed(lambda d: d["gateway"].update(internal=internal)))["network"]["resource"]["aws_subnet"]
    assert tagged is ("kubernetes.io/role/elb" in found["public-use1-az1"]["tags"])
    assert "1" == found["private-use1-az1"]["tags"]["kubernetes.io/role/internal-elb"]


def test_nodes_call_aws_through_endpoints_when_asked() -> None:
    """Each service of the plan has an interface in every private subnet under its usual name; only the VPC's range reaches it, on 443."""
    services = ["ec2", "ecr.api", "eks-auth"]
    found = stacks_of(changed(lambda d: d["cloud"]["cluster"].update(interface_endpoints=services)))["network"]["resource"]
    made = {e["service_name"]: e for e in found["aws_vpc_endpoint"].values() if e["vpc_endpoint_type"] == "Interface"}
    assert {f"com.amazonaws.us-east-1.{s}" for s in services} == set(made)
    subnets = [f"${{aws_subnet.private-use1-az{n}.id}}" for n in (1, 4, 6)]
    assert {(True, tuple(subnets))} == {(e["private_dns_enabled"], tuple(e["subnet_ids"])) for e in made.values()}
    rule = found["aws_security_group_rule"]["endpoints-from-vpc"]
    assert ("ingress", 443, 443, ["10.0.0.0/16"]) == (rule["type"], rule["from_port"], rule["to_port"], rule["cidr_blocks"])
    assert {("${aws_security_group.endpoints.id}",)} == {tuple(e["security_group_ids"]) for e in made.values()}


def test_without_them_there_is_only_the_free_one() -> None:
    """The gateway endpoint of S3 costs nothing and is always there; no security group waits for others."""
    assert ["s3"] == list(resources()["aws_vpc_endpoint"])
    assert "aws_security_group" not in resources()
