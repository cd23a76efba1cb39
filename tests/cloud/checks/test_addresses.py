"""Free addresses in the private subnets."""

from __future__ import annotations

from typing import Any

import pytest
from cloud.double import IMAGE, AwsDouble, ready
from cloud.looking import by_subject, look
from inferform.cloud.checks import addresses
from inferform.cloud.results import Finding
from inferform.plan import DeploymentPlan
from inferform.stacks.aws.network import subnet_cidrs

TAGS = {"deployment": "contract-qa", "environment": "prod", "tenant": "acme"}


def found(aws: AwsDouble, plan: DeploymentPlan) -> dict[str, Finding]:
    return by_subject(look(aws, plan, *addresses.CHECKS))


def planned(aws: AwsDouble, cidr: str, **cloud: Any) -> DeploymentPlan:
    """The ready plan with another address range."""
    data = ready(aws).model_dump(mode="json")
    data["cloud"] |= {"vpc_cidr": cidr, **cloud}
    return DeploymentPlan.model_validate(data)


def test_a_usual_network_has_room(aws: AwsDouble) -> None:
    """A /16 gives each zone a /19: 8,192 less the 5 that AWS keeps."""
    answer = found(aws, ready(aws))
    assert {"subnet of use1-az1": "ok", "subnet of use1-az4": "ok", "subnet of use1-az6": "ok"} == {s: f.severity for s, f in answer.items()}
    assert "8,187 addresses in the planned subnet" == answer["subnet of use1-az4"].found


def test_a_small_network_warns_before_it_blocks(aws: AwsDouble) -> None:
    """use1-az4 takes 16 (EKS) + 4 (405B) + 1 (70B: 2 nodes over 2 zones) + 3 (8B: 6 over 2) + 1 (bge) = 25 addresses for interfaces.

    A /22 gives 128 - 5 = 123: enough for nodes, too few for full pods. A /25 gives 16 - 5 = 11: too few for nodes.
    """
    answer = found(aws, planned(aws, "10.0.0.0/22"))["subnet of use1-az4"]
    # Pods: 4 x 100 + 1 x 100 + 3 x 58 + 1 x 234 = 908; 908 + 25 = 933.
    assert ("warning", "123 addresses in the planned subnet") == (answer.severity, answer.found)
    assert "25 for the interfaces of 9 more nodes, 933 with full pods" == answer.needed
    assert "blocker" == found(aws, planned(aws, "10.0.0.0/25"))["subnet of use1-az4"].severity
    # Only EKS's own interfaces stand in a zone without a pool.
    assert "16 for the interfaces of 0 more nodes, 16 with full pods" == found(aws, ready(aws))["subnet of use1-az1"].needed


def test_efa_interfaces_count_where_they_take_an_address(aws: AwsDouble) -> None:
    """32 interfaces of which 31 are EFA only take one address; as full EFA interfaces they take 32 a node."""
    plan = ready(aws)
    data = plan.model_dump(mode="json")
    data["models"]["llama-405b"]["pools"]["aggregated"]["infrastructure"]["efa"]["interface_type_rest"] = "efa"
    # 4 nodes x 31 addresses more than before.
    assert f"{25 + 4 * 31} for the interfaces of 9 more nodes" in found(aws, DeploymentPlan.model_validate(data))["subnet of use1-az4"].needed


def standing(aws: AwsDouble, cidr: str) -> tuple[str, str]:
    """The deployment's VPC with a private subnet in use1-az4; (VPC id, subnet id)."""
    ec2 = aws.client("ec2")
    tags = [{"Key": k, "Value": v} for k, v in TAGS.items()]
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": tags}])["Vpc"]["VpcId"]
    name = [{"Key": "Name", "Value": "contract-qa-prod-private-use1-az4"}]
    made = ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZoneId="use1-az4", TagSpecifications=[{"ResourceType": "subnet", "Tags": [*tags, *name]}])
    return vpc, made["Subnet"]["SubnetId"]


def test_a_network_that_stands_is_asked_what_is_free(aws: AwsDouble) -> None:
    """The subnet's own count of free addresses is used: /27 has 32 - 5 = 27, the 9 nodes to come need 9."""
    plan = ready(aws)
    standing(aws, "10.0.96.0/27")
    answer = found(aws, plan)
    assert ("warning", "27 addresses free now") == (answer["subnet of use1-az4"].severity, answer["subnet of use1-az4"].found)
    assert answer["subnet of use1-az4"].needed.startswith("9 for the interfaces of 9 more nodes")


def test_nodes_that_run_already_need_nothing_more(aws: AwsDouble) -> None:
    """Three of the 8B pool's nodes stand in the zone, so six nodes are still to come there."""
    plan = ready(aws)
    _, subnet = standing(aws, "10.0.96.0/24")
    ec2 = aws.client("ec2")
    tags = [{"Key": k, "Value": v} for k, v in {**TAGS, "Name": "contract-qa-prod-llama-8b-aggregated"}.items()]
    ec2.run_instances(
        ImageId=IMAGE, InstanceType="g4dn.xlarge", MinCount=3, MaxCount=3, SubnetId=subnet, TagSpecifications=[{"ResourceType": "instance", "Tags": tags}]
    )
    answer = found(aws, plan)["subnet of use1-az4"]
    assert ("248 addresses free now", True) == (answer.found, answer.needed.startswith("6 for the interfaces of 6 more nodes"))


@pytest.mark.parametrize("cidr", ["10.0.0.0/16", "10.40.0.0/20", "192.168.0.0/22"])
def test_planned_subnets_are_those_of_the_network_stack(aws: AwsDouble, cidr: str) -> None:
    """The size that is counted is the size that the stack gives each zone."""
    plan = planned(aws, cidr)
    sizes = {2 ** (32 - int(private.split("/")[1])) - 5 for private, _ in subnet_cidrs(cidr, plan.cloud.zones).values()}
    assert sizes == {addresses.planned_addresses(plan)}
