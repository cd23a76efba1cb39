"""The check of resources against the provider's schema."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import extract_schema
import pytest
from inferform.stacks import schema
from inferform.stacks.schema import SchemaError, faults, reference_kind, type_schema
from inferform.stacks.values import Ref, text
from synthesis import sample_stacks

VPC = type_schema("resource", "aws_vpc")
SUBNET = type_schema("resource", "aws_subnet")
TEMPLATE = type_schema("resource", "aws_launch_template")
GROUP = type_schema("resource", "aws_eks_node_group")
CLUSTER = type_schema("resource", "aws_eks_cluster")


def test_an_unknown_attribute_names_the_nearest() -> None:
    """A misspelt attribute is told with resource, attribute and the nearest name."""
    assert ["aws_vpc.main: unknown attribute 'cidr_blok', nearest is 'cidr_block'"] == faults("aws_vpc.main", {"cidr_blok": "10.0.0.0/16"}, VPC)


def test_an_unknown_attribute_of_a_block_names_the_nearest() -> None:
    """The same inside a nested block, with its position."""
    found = faults("aws_launch_template.a", {"network_interfaces": [{"device_index": 0}, {"devise_index": 1}]}, TEMPLATE)
    assert ["aws_launch_template.a.network_interfaces[1]: unknown attribute 'devise_index', nearest is 'device_index'"] == found


def test_missing_attributes_are_told_together() -> None:
    """Everything that is required and not there is named at once."""
    found = faults("aws_eks_node_group.a", {"cluster_name": "c", "scaling_config": {"max_size": 1}}, GROUP)
    assert [
        "aws_eks_node_group.a.scaling_config: required attribute 'desired_size' is missing",
        "aws_eks_node_group.a.scaling_config: required attribute 'min_size' is missing",
        "aws_eks_node_group.a: required attribute 'node_role_arn' is missing",
        "aws_eks_node_group.a: required attribute 'subnet_ids' is missing",
    ] == found


@pytest.mark.parametrize(
    ("attributes", "fault"),
    [
        ({"enable_dns_support": "yes"}, "aws_vpc.a.enable_dns_support: expected a boolean, found a string ('yes')"),
        ({"cidr_block": 10}, "aws_vpc.a.cidr_block: expected a string, found a number ('10')"),
        ({"ipv4_netmask_length": True}, "aws_vpc.a.ipv4_netmask_length: expected a number, found a boolean ('True')"),
        ({"tags": ["a"]}, "aws_vpc.a.tags: expected a map(string), found a list"),
        ({"tags": {"a": 1}}, "aws_vpc.a.tags['a']: expected a string, found a number ('1')"),
        (
            {"cidr_block": Ref("aws_vpc.b.tags", "map(string)")},
            "aws_vpc.a.cidr_block: expected a string, found a reference to a map(string) (aws_vpc.b.tags)",
        ),
        ({"arn": "arn:aws:x"}, "aws_vpc.a: attribute 'arn' is set by the provider only"),
    ],
)
def test_a_wrong_type_is_told(attributes: dict[str, Any], fault: str) -> None:
    """Values and references of the wrong type, and values for what only the provider sets, are named with what was expected."""
    assert [fault] == faults("aws_vpc.a", attributes, VPC)


@pytest.mark.parametrize(
    ("attributes", "fault"),
    [
        ({"placement": [{"group_name": "g"}]}, "aws_launch_template.a.placement: expected a block, found a list"),
        ({"block_device_mappings": {"device_name": "x"}}, "aws_launch_template.a.block_device_mappings: expected a list of blocks, found a map"),
        ({"block_device_mappings": ["x"]}, "aws_launch_template.a.block_device_mappings[0]: expected a block, found a string ('x')"),
        ({"vpc_security_group_ids": "sg-1"}, "aws_launch_template.a.vpc_security_group_ids: expected a list(string), found a string ('sg-1')"),
        (
            {"vpc_security_group_ids": ["sg-1", Ref("x.y.n", "list(string)")]},
            "aws_launch_template.a.vpc_security_group_ids[1]: expected a string, found a reference to a list(string) (x.y.n)",
        ),
    ],
)
def test_fc35_a_list_is_a_list(attributes: dict[str, Any], fault: str) -> None:
    """A single block, a list of blocks and a list of strings are never mixed up, and a list reference is never an element."""
    assert [fault] == faults("aws_launch_template.a", attributes, TEMPLATE)


def test_what_fits_has_no_fault() -> None:
    """Literals, references, composed text, numbers where text is wanted by reference, and None all pass."""
    attributes = {
        "vpc_id": Ref("aws_vpc.a.id", "string"),
        "cidr_block": text("10.", Ref("local.n", "number"), ".0.0/16"),
        "availability_zone_id": Ref("local.n", "number"),
        "tags": Ref("local.tags", "any"),
        "ipv6_cidr_block": None,
    }
    assert [] == faults("aws_subnet.a", attributes, SUBNET)


def test_references_are_checked_down_the_path() -> None:
    """A reference knows its type, needs positions inside lists, and fails on names that do not exist."""
    assert "string" == reference_kind("aws_eks_cluster.main", CLUSTER, ["certificate_authority", 0, "data"])
    assert "string" == reference_kind("aws_eks_cluster.main", CLUSTER, ["vpc_config", 0, "cluster_security_group_id"])
    with pytest.raises(SchemaError, match=r"aws_eks_cluster\.main has no attribute 'endpont', nearest is 'endpoint'"):
        reference_kind("aws_eks_cluster.main", CLUSTER, ["endpont"])
    with pytest.raises(SchemaError, match="give the position before 'data'"):
        reference_kind("aws_eks_cluster.main", CLUSTER, ["certificate_authority", "data"])


def test_an_unknown_type_names_the_nearest() -> None:
    """A resource type that is not in the schema is an error with the nearest one."""
    with pytest.raises(SchemaError, match="unknown resource type 'aws_vpcs', nearest is 'aws_vpc'"):
        type_schema("resource", "aws_vpcs")


def test_the_schema_holds_what_the_stacks_use() -> None:
    """Types of the shipped schema are those of the extractor's list, and the sample uses all but what it does not ask for."""
    document = schema.document("aws")
    assert "6.25.0" == document["provider_version"]
    assert (set(extract_schema.RESOURCES), set(extract_schema.DATA_SOURCES)) == (set(document["resource"]), set(document["data"]))
    used = {kind for stack in sample_stacks().values() for kind in stack["resource"]}
    unused = {
        "aws_autoscaling_schedule",
        "aws_fsx_data_repository_association",
        "aws_fsx_lustre_file_system",
        "aws_prometheus_workspace",
        "aws_s3_bucket_replication_configuration",
    }
    assert unused == set(document["resource"]) - used


@pytest.mark.slow
def test_the_schema_is_what_the_published_bindings_say(tmp_path: Path) -> None:
    """Extracted anew from the bindings' wheel, the schema is byte for byte the shipped one."""
    try:
        wheel = extract_schema.download(tmp_path)
    except subprocess.CalledProcessError as err:
        pytest.skip(f"pip cannot download {extract_schema.BINDINGS} {extract_schema.VERSION}: {err.stderr.decode()[-200:]}")
    assert extract_schema.TARGET.read_text(encoding="utf-8") == extract_schema.text(extract_schema.extract(wheel))
