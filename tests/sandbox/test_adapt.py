"""What is removed from a stack so that an older provider takes it, and that nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inferform.sandbox.adapt import Adapted, ProviderSchema, adapt

Json = dict[str, Any]


def block(*settable: str, computed: tuple[str, ...] = ("id", "arn"), required: tuple[str, ...] = (), **nested: Json) -> Json:
    """A block of a provider schema."""
    attributes: Json = {name: {"type": "string", "optional": True} for name in settable}
    attributes |= {name: {"type": "string", "computed": True} for name in computed}
    attributes |= {name: {"type": "string", "required": True} for name in required}
    if "tags" in attributes:
        attributes["tags"]["type"] = ["map", "string"]
    return {"attributes": attributes, "block_types": {name: {"nesting_mode": "list", "block": body} for name, body in nested.items()}}


SCHEMA = ProviderSchema(
    "3.39.0",
    resources={
        "aws_vpc": block("cidr_block", "tags"),
        "aws_eip": block("vpc", "tags", computed=("id", "domain")),
        "aws_launch_template": block(
            "name", network_interfaces=block("device_index"), tag_specifications=block("resource_type"), instance_market_options=block("market_type")
        ),
        "aws_eks_node_group": block(
            "ami_type", "version", required=("subnet_ids",), scaling_config=block("min_size", "max_size"), launch_template=block(required=("version",))
        ),
        "aws_eks_addon": block("addon_version", required=("addon_name",)),
    },
    data={"aws_ec2_instance_type_offerings": block("location_type", computed=("instance_types",), filter=block("name", "values"))},
    provider=block("region", "max_retries", endpoints=block("ec2", "eks", computed=()), default_tags=block("tags")),
)


def adapted(**stacks: Json) -> dict[str, Adapted]:
    """Stacks after adaptation; state goes to /state, the double is at http://double."""
    return adapt(stacks, SCHEMA, endpoint="http://double", state=Path("/state"), offerings=lambda kinds: ["use1-az6", "use1-az4"])


def test_unknown_types_attributes_and_blocks_are_removed_and_told() -> None:
    """What 3.39 does not know goes, at any depth, one line each; what it knows stays."""
    found = adapted(
        s={
            "resource": {
                "aws_eks_access_entry": {"a": {"x": 1}},
                "aws_launch_template": {
                    "t": {"name": "n", "network_interfaces": [{"device_index": 0, "network_card_index": 0}, {"device_index": 1, "network_card_index": 1}]}
                },
                "aws_eks_node_group": {"g": {"subnet_ids": ["s"], "taint": [{"key": "k"}], "update_config": None}},
            }
        }
    )["s"]
    assert (
        "aws_eks_access_entry.a: not in provider 3.39.0",
        "aws_eks_node_group.g: taint is not in provider 3.39.0",
        "aws_launch_template.t: network_interfaces.network_card_index is not in provider 3.39.0",
    ) == found.removed
    assert {
        "aws_launch_template": {"t": {"name": "n", "network_interfaces": [{"device_index": 0}, {"device_index": 1}]}},
        "aws_eks_node_group": {"g": {"subnet_ids": ["s"]}},
    } == found.config["resource"]


def test_words_that_the_old_provider_refuses_are_replaced() -> None:
    """A value outside of the old list becomes the nearest in it; a block it has no word for goes."""
    found = adapted(
        s={
            "resource": {
                "aws_eks_node_group": {"g": {"subnet_ids": ["s"], "ami_type": "AL2023_x86_64_NVIDIA", "scaling_config": {"min_size": 0, "max_size": 2}}},
                "aws_launch_template": {
                    "t": {
                        "tag_specifications": [{"resource_type": "instance"}, {"resource_type": "network-interface"}],
                        "instance_market_options": {"market_type": "capacity-block"},
                    }
                },
                "aws_eip": {"e": {"domain": "vpc"}},
            }
        }
    )["s"]
    assert {"ami_type": "AL2_x86_64_GPU", "subnet_ids": ["s"], "scaling_config": {"min_size": 1, "max_size": 2}} == found.config["resource"][
        "aws_eks_node_group"
    ]["g"]
    assert {"tag_specifications": [{"resource_type": "instance"}]} == found.config["resource"]["aws_launch_template"]["t"]
    assert {"vpc": True} == found.config["resource"]["aws_eip"]["e"]
    assert (
        "aws_eks_node_group.g: ami_type 'AL2023_x86_64_NVIDIA' became 'AL2_x86_64_GPU'",
        "aws_eks_node_group.g: scaling_config.min_size 0 became 1",
        "aws_launch_template.t: instance_market_options.market_type 'capacity-block' became None",
        "aws_launch_template.t: tag_specifications 'network-interface' is not in provider 3.39.0",
    ) == found.removed


def test_references_to_what_is_gone_go_as_well() -> None:
    """depends_on, attributes and outputs that lead to removed things are dropped; what needs them falls with them."""
    found = adapted(
        s={
            "data": {"aws_eks_addon_version": {"cni": {}}},
            "resource": {
                "aws_eks_access_entry": {"a": {}},
                "aws_eks_addon": {"cni": {"addon_name": "vpc-cni", "addon_version": "${data.aws_eks_addon_version.cni.version}"}},
                "aws_eks_node_group": {"g": {"subnet_ids": "${aws_eks_access_entry.a.x}", "depends_on": ["aws_eks_addon.cni"]}},
                "aws_vpc": {"main": {"cidr_block": "10.0.0.0/16", "depends_on": ["aws_eks_access_entry.a", "aws_eks_addon.cni"]}},
            },
            "output": {
                "entry": {"value": "${aws_eks_access_entry.a.arn}"},
                "group": {"value": "${aws_eks_node_group.g.id}"},
                "vpc": {"value": "${aws_vpc.main.id}"},
            },
        }
    )["s"]
    assert {
        "aws_eks_addon": {"cni": {"addon_name": "vpc-cni"}},
        "aws_vpc": {"main": {"cidr_block": "10.0.0.0/16", "depends_on": ["aws_eks_addon.cni"]}},
    } == found.config["resource"]
    assert ["vpc"] == list(found.config["output"])
    assert "data" not in found.config
    assert (
        "aws_eks_access_entry.a: not in provider 3.39.0",
        "aws_eks_addon.cni: addon_version reads what was removed",
        "aws_eks_node_group.g: cannot stand without what was removed",
        "aws_eks_node_group.g: subnet_ids reads what was removed",
        "data.aws_eks_addon_version.cni: not in provider 3.39.0",
        "output.entry: reads what was removed",
        "output.group: reads what was removed",
    ) == found.removed


def test_state_is_local_and_lost_outputs_are_lost_to_their_readers() -> None:
    """S3 state becomes a file under its key for writer and reader; an output that fell is not read either."""
    s3 = {"bucket": "b", "key": "acme/x/prod/network.tfstate"}
    found = adapted(
        network={
            "terraform": {"backend": {"s3": {**s3, "use_lockfile": True}}, "required_providers": {"aws": {"source": "hashicorp/aws", "version": ">= 6.25"}}},
            "resource": {"aws_vpc": {"main": {"cidr_block": "10.0.0.0/16"}}, "aws_new": {"n": {}}},
            "output": {"vpc": {"value": "${aws_vpc.main.id}"}, "new": {"value": "${aws_new.n.id}"}},
        },
        cluster={
            "data": {"terraform_remote_state": {"network": {"backend": "s3", "config": s3}}},
            "resource": {
                "aws_vpc": {
                    "a": {"cidr_block": "${data.terraform_remote_state.network.outputs.vpc}"},
                    "b": {"cidr_block": "${data.terraform_remote_state.network.outputs.new}"},
                }
            },
        },
    )
    path = "/state/acme/x/prod/network.tfstate"
    assert {"local": {"path": path}} == found["network"].config["terraform"]["backend"]
    assert {"backend": "local", "config": {"path": path}} == found["cluster"].config["data"]["terraform_remote_state"]["network"]
    assert {"source": "hashicorp/aws", "version": "3.39.0"} == found["network"].config["terraform"]["required_providers"]["aws"]
    assert {"a": {"cidr_block": "${data.terraform_remote_state.network.outputs.vpc}"}, "b": {}} == found["cluster"].config["resource"]["aws_vpc"]
    assert ("aws_vpc.b: cidr_block reads what was removed",) == found["cluster"].removed


def test_provider_talks_to_the_double_only() -> None:
    """Every service goes to the double; roles and accounts of the real cloud are left out; default tags reach every resource."""
    found = adapted(
        s={
            "provider": {"aws": [{"region": "us-east-1", "assume_role": [{"role_arn": "r"}], "default_tags": [{"tags": {"a": "1", "b": "1"}}]}]},
            "resource": {"aws_vpc": {"main": {"tags": {"b": "2"}}}, "aws_eks_addon": {"x": {"addon_name": "y"}}},
        }
    )["s"]
    provider = found.config["provider"]["aws"][0]
    assert [{"ec2": "http://double", "eks": "http://double"}] == provider["endpoints"]
    assert not {"assume_role", "default_tags"} & set(provider)
    assert "us-east-1" == provider["region"]
    assert {"a": "1", "b": "2"} == found.config["resource"]["aws_vpc"]["main"]["tags"]
    assert {"addon_name": "y"} == found.config["resource"]["aws_eks_addon"]["x"]
    assert ("provider.aws: default_tags became tags of each resource",) == found.removed


def test_offerings_are_asked_of_the_double() -> None:
    """Zones that the old data source does not tell become plain values, sorted, wherever they are used."""
    address = "data.aws_ec2_instance_type_offerings.p5"
    found = adapted(
        s={
            "data": {
                "aws_ec2_instance_type_offerings": {
                    "p5": {"location_type": "availability-zone-id", "filter": [{"name": "instance-type", "values": ["p5.48xlarge"]}]}
                }
            },
            "locals": {"zones": f"${{sort(setintersection({address}.locations, var.z))}}"},
        }
    )["s"]
    assert '${sort(setintersection(["use1-az4", "use1-az6"], var.z))}' == found.config["locals"]["zones"]
    assert (f"{address}: locations is not in provider 3.39.0; asked of the double",) == found.removed


def test_the_given_stacks_are_left_alone() -> None:
    """Adaptation works on copies: the policy judges what was synthesized."""
    given: Json = {"resource": {"aws_eks_access_entry": {"a": {}}}}
    adapted(s=given)
    assert {"resource": {"aws_eks_access_entry": {"a": {}}}} == given
