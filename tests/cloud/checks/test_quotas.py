"""Service quotas against the plan (FC-06)."""

from __future__ import annotations

import shlex
from typing import Any

from cloud.double import IMAGE, AwsDouble, ready
from cloud.looking import by_subject, look
from inferform.cloud.checks import quotas
from inferform.cloud.facts import quotas as known

VCPUS, NETWORK, CLUSTER = quotas.CHECKS


def run_instances(aws: AwsDouble, kind: str, count: int, tags: dict[str, str] | None = None, **more: Any) -> None:
    """Start instances in the account."""
    ec2 = aws.client("ec2")
    specification = [{"ResourceType": "instance", "Tags": [{"Key": k, "Value": v} for k, v in (tags or {"team": "other"}).items()]}]
    ec2.run_instances(ImageId=IMAGE, InstanceType=kind, MinCount=count, MaxCount=count, TagSpecifications=specification, **more)


def test_fc06_quota_is_counted_in_vcpus_of_the_family(aws: AwsDouble) -> None:
    """P needs 6 x 192 = 1,152 vCPUs on demand: 1,151 block, 1,152 do not; spot and G are counted apart."""
    plan = ready(aws)
    aws.account.quotas[("ec2", "L-417A185B")] = 1151
    found = by_subject(look(aws, plan, VCPUS))
    assert {"P on-demand": "blocker", "G and VT on-demand": "ok", "G and VT spot": "ok", "Standard on-demand": "ok"} == {
        s: f.severity for s, f in found.items()
    }
    # Steady: one node of llama-70b and two of llama-405b, 192 vCPUs each.
    assert "1,152 vCPUs at the maximum, 576 steady (6 x p5.48xlarge x 192 vCPUs)" == found["P on-demand"].needed
    aws.account.quotas[("ec2", "L-417A185B")] = 1152
    assert {"ok"} == {f.severity for f in look(aws, plan, VCPUS)}


def test_the_fix_is_a_command_that_aws_takes(aws: AwsDouble) -> None:
    """The command names service, code, value and region; sent as it stands, the request is accepted and then found pending."""
    plan = ready(aws)
    aws.account.quotas[("ec2", "L-417A185B")] = 0
    blocker = by_subject(look(aws, plan, VCPUS))["P on-demand"]
    expected = "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-417A185B --desired-value 1152 --region us-east-1"
    assert expected == blocker.command
    words = shlex.split(blocker.command)
    given = dict(zip(words[3::2], words[4::2], strict=True))
    aws.client("service-quotas", given["--region"]).request_service_quota_increase(
        ServiceCode=given["--service-code"], QuotaCode=given["--quota-code"], DesiredValue=float(given["--desired-value"])
    )
    again = by_subject(look(aws, plan, VCPUS))["P on-demand"]
    assert ("blocker", "", "wait until AWS grants it") == (again.severity, again.command, again.fix)
    assert "an increase to 1,152 is asked for" in again.found


def test_a_pending_increase_that_is_too_small_is_raised_in_its_case(aws: AwsDouble) -> None:
    """AWS takes one open request a quota, so the command would be refused: the way is the open case."""
    plan = ready(aws)
    aws.account.quotas[("ec2", "L-417A185B")] = 0
    aws.account.requests = [{"Id": "r", "ServiceCode": "ec2", "QuotaCode": "L-417A185B", "DesiredValue": 192.0, "Status": "CASE_OPENED"}]
    found = by_subject(look(aws, plan, VCPUS))["P on-demand"]
    assert ("", "ask in its support case for 1,152; AWS takes one request at a time") == (found.command, found.fix)


def test_what_others_use_is_added(aws: AwsDouble) -> None:
    """Two g4dn.xlarge of others (4 vCPUs each) leave 8 of 16 vCPUs; the request is for 16 + 8 = 24."""
    plan = ready(aws)
    run_instances(aws, "g4dn.xlarge", 2)
    found = by_subject(look(aws, plan, VCPUS))["G and VT on-demand"]
    assert ("blocker", "quota of 16 vCPUs, 8 in use by others") == (found.severity, found.found)
    assert "--desired-value 24 " in found.command


def test_the_deployments_own_nodes_are_not_counted_twice(aws: AwsDouble) -> None:
    """Nodes with the deployment's tags are in the plan's own need already."""
    plan = ready(aws)
    run_instances(aws, "g4dn.xlarge", 2, tags={"deployment": "contract-qa", "environment": "prod", "tenant": "acme"})
    assert {"ok"} == {f.severity for f in look(aws, plan, VCPUS)}
    run_instances(aws, "g4dn.xlarge", 1, tags={"deployment": "contract-qa", "environment": "dev", "tenant": "acme"})
    assert "4 in use by others" in by_subject(look(aws, plan, VCPUS))["G and VT on-demand"].found


def test_spot_and_on_demand_use_are_apart(aws: AwsDouble) -> None:
    """A spot instance of others counts against the spot quota only."""
    plan = ready(aws)
    run_instances(aws, "g4dn.xlarge", 1, InstanceMarketOptions={"MarketType": "spot"})
    found = by_subject(look(aws, plan, VCPUS))
    assert "quota of 16 vCPUs" == found["G and VT on-demand"].found
    assert "quota of 32 vCPUs, 4 in use by others" == found["G and VT spot"].found


def test_an_account_that_never_had_another_value_has_the_default(aws: AwsDouble) -> None:
    """Where no applied value exists the default of AWS counts."""
    plan = ready(aws)
    del aws.account.quotas[("ec2", "L-417A185B")]
    aws.account.defaults[("ec2", "L-417A185B")] = 0
    assert "quota of 0 vCPUs" == by_subject(look(aws, plan, VCPUS))["P on-demand"].found


def test_a_full_region_has_no_place_for_the_network(aws: AwsDouble) -> None:
    """Five VPCs of five, each with its gateway, and three free addresses short by one: three blockers with their requests."""
    plan = ready(aws)
    ec2 = aws.client("ec2")
    # The default VPC is one of the five and has a gateway in AWS; the double gives it none.
    for n in range(4):
        ec2.create_vpc(CidrBlock=f"10.{n}.0.0/16")
    for _ in range(5):
        ec2.create_internet_gateway()
    for _ in range(3):
        ec2.allocate_address(Domain="vpc")
    found = by_subject(look(aws, plan, NETWORK))
    assert {"VPCs": "blocker", "internet gateways": "blocker", "elastic IPs": "blocker", "NAT gateways": "ok"} == {s: f.severity for s, f in found.items()}
    # 3 in use and one for each of the 3 zones.
    assert "--quota-code L-0263D0A3 --desired-value 6 " in found["elastic IPs"].command
    assert "--service-code vpc --quota-code L-F678F1CE --desired-value 6 " in found["VPCs"].command


def test_a_deployment_that_stands_needs_no_second_network(aws: AwsDouble) -> None:
    """With its own VPC there already, a region that is full does not block."""
    plan = ready(aws)
    ec2 = aws.client("ec2")
    tags = [{"Key": k, "Value": v} for k, v in {"deployment": "contract-qa", "environment": "prod", "tenant": "acme"}.items()]
    for n in range(4):
        ec2.create_vpc(CidrBlock=f"10.{n}.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": tags if n == 0 else [{"Key": "a", "Value": "b"}]}])
    found = by_subject(look(aws, plan, NETWORK))
    assert ("ok", "nothing more for the deployment") == (found["VPCs"].severity, found["VPCs"].needed)


def test_nat_gateways_are_counted_in_their_zone(aws: AwsDouble) -> None:
    """Five NAT gateways in one zone of the plan leave no place for ours there."""
    plan = ready(aws)
    ec2 = aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.9.0.0/24", AvailabilityZoneId="use1-az4")["Subnet"]["SubnetId"]
    for _ in range(5):
        ec2.create_nat_gateway(SubnetId=subnet, ConnectivityType="private")
    found = by_subject(look(aws, plan, NETWORK))["NAT gateways"]
    assert ("blocker", "quota of 5 gateways in a zone, 5 in use by others") == (found.severity, found.found)


def test_eks_quotas(aws: AwsDouble) -> None:
    """Clusters of the region, groups of the cluster and nodes of the largest group are compared each."""
    plan = ready(aws)
    # Managed: bge, llama-70b, llama-405b, and the system pool. The largest group has 4 nodes.
    found = by_subject(look(aws, plan, CLUSTER))
    assert {"ok"} == {f.severity for f in found.values()}
    assert "4 groups in the cluster, the system pool included" == found["managed node groups"].needed
    assert "4 nodes in llama-405b/aggregated" == found["nodes of a managed group"].needed
    aws.account.defaults |= {("eks", "L-1194D53C"): 0, ("eks", "L-6D54EA21"): 3, ("eks", "L-BD136A63"): 3}
    assert {"blocker"} == {f.severity for f in look(aws, plan, CLUSTER)}


def test_every_quota_has_its_code_and_source() -> None:
    """Codes look as AWS writes them and no two quotas share one."""
    codes = [(q.service, q.code) for q in known().values()]
    assert len(set(codes)) == len(codes) == 13
    assert all(code.startswith("L-") and len(code) == 10 for _, code in codes)
    assert {"P", "G and VT", "Standard"} == {k.split("/")[0] for k in known() if "/" in k}
