"""Stack `network`: a VPC whose nodes have no public address and reach out through one NAT gateway a zone."""

from __future__ import annotations

import ipaddress
import re

from inferform.errors import InputError, Problem
from inferform.stacks.aws import encryption, endpoints, iam
from inferform.stacks.aws.account import Account, open_account
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Value, text

OUTPUTS = {"vpc_id": "string", "private_subnets": "map(string)"}

# The VPC is cut in eight: a zone's private subnet takes the part of its number, all public subnets share the last.
# So adding or removing a zone moves no other subnet.
_PARTS_BITS = 3
_MOST_ZONES = 2**_PARTS_BITS - 1
_SMALLEST_PREFIX, _LARGEST_PREFIX = 22, 16
# EKS control planes have no interfaces there. Source: EKS user guide, VPC and subnet requirements (awsdocs/amazon-eks-user-guide,
# latest/ug/networking/network-reqs.adoc at 101184e, table of zone ids in us-east-1, us-west-1 and ca-central-1; read 2026-12-01).
ZONES_WITHOUT_EKS = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})


def build(stack: Stack) -> None:
    """Fill the stack."""
    account = open_account(stack)
    plan = stack.plan
    prefix = plan.resource_prefix()
    cidrs = subnet_cidrs(plan.cloud.vpc_cidr, plan.cloud.zones)
    vpc = stack.resource(
        "aws_vpc",
        "main",
        {"cidr_block": plan.cloud.vpc_cidr, "enable_dns_hostnames": True, "enable_dns_support": True, "tags": {"Name": prefix}},
    )
    # No rule at all: whatever is put into the default group by mistake reaches nothing.
    stack.resource("aws_default_security_group", "closed", {"vpc_id": vpc.ref("id"), "tags": {"Name": f"{prefix}-closed"}})
    gateway = stack.resource("aws_internet_gateway", "main", {"vpc_id": vpc.ref("id"), "tags": {"Name": prefix}})
    public = _route_table(stack, vpc, "public", {"gateway_id": gateway.ref("id")})
    # The controllers that make load balancers find their subnets by tags.
    for_balancers = {} if plan.gateway.internal else {"kubernetes.io/role/elb": "1"}
    tables, private_subnets = [], {}
    for zone, (private_cidr, public_cidr) in cidrs.items():
        outer = _subnet(stack, vpc, zone=zone, side="public", cidr=public_cidr, tags=for_balancers)
        _associate(stack, f"public-{zone}", outer, public)
        address = stack.resource("aws_eip", zone, {"domain": "vpc", "tags": {"Name": f"{prefix}-nat-{zone}"}}, depends_on=[gateway])
        nat = stack.resource(
            "aws_nat_gateway",
            zone,
            {"allocation_id": address.ref("id"), "subnet_id": outer.ref("id"), "tags": {"Name": f"{prefix}-{zone}"}},
            depends_on=[gateway],
        )
        inner = _subnet(stack, vpc, zone=zone, side="private", cidr=private_cidr, tags={"kubernetes.io/role/internal-elb": "1"})
        table = _route_table(stack, vpc, f"private-{zone}", {"nat_gateway_id": nat.ref("id")})
        _associate(stack, f"private-{zone}", inner, table)
        tables.append(table)
        private_subnets[zone] = inner.ref("id")
    endpoints.gateway_endpoint(stack, vpc, tables)
    endpoints.interface_endpoints(stack, vpc, private_subnets)
    _flow_log(stack, account, vpc)
    stack.output("vpc_id", vpc.ref("id"))
    stack.output("private_subnets", private_subnets)


def subnet_cidrs(vpc_cidr: str, zones: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """(private, public) address range by zone id, placed by the zone's own number.

    Raises: InputError when the range is too small or large, or when zones cannot share it or hold an EKS cluster.
    """
    problems = []
    network = ipaddress.IPv4Network(vpc_cidr)
    if not _LARGEST_PREFIX <= network.prefixlen <= _SMALLEST_PREFIX:
        problems.append(
            Problem(
                "the VPC range does not fit",
                field="cloud.vpc_cidr",
                value=vpc_cidr,
                legal=(f"/{_LARGEST_PREFIX} to /{_SMALLEST_PREFIX}",),
                fix="try 10.0.0.0/16",
            )
        )
    numbers = {z: int(m.group(1)) if (m := re.search(r"az([0-9]+)$", z)) else 0 for z in zones}
    if len(set(numbers.values())) < len(zones) or not all(1 <= n <= _MOST_ZONES for n in numbers.values()):
        problems.append(
            Problem(f"zones need different numbers from 1 to {_MOST_ZONES}", field="cloud.zones", value=", ".join(zones), fix="leave local zones out")
        )
    without = sorted(ZONES_WITHOUT_EKS & set(zones))
    if without:
        problems.append(Problem("EKS has no control plane there", field="cloud.zones", value=", ".join(without), fix="leave these zones out"))
    if len(zones) < 2:
        problems.append(Problem("an EKS cluster needs two zones", field="cloud.zones", value=", ".join(zones), fix="name a second zone of the region"))
    if problems:
        raise InputError(problems)
    parts = list(network.subnets(_PARTS_BITS))
    shared = list(parts[-1].subnets(_PARTS_BITS))
    return {z: (str(parts[n - 1]), str(shared[n - 1])) for z, n in sorted(numbers.items())}


def _subnet(stack: Stack, vpc: Handle, *, zone: str, side: str, cidr: str, tags: dict[str, str]) -> Handle:
    named = {"Name": f"{stack.plan.resource_prefix()}-{side}-{zone}", **tags}
    return stack.resource(
        "aws_subnet",
        f"{side}-{zone}",
        {"vpc_id": vpc.ref("id"), "availability_zone_id": zone, "cidr_block": cidr, "map_public_ip_on_launch": False, "tags": named},
    )


def _route_table(stack: Stack, vpc: Handle, name: str, target: dict[str, Value]) -> Handle:
    table = stack.resource("aws_route_table", name, {"vpc_id": vpc.ref("id"), "tags": {"Name": f"{stack.plan.resource_prefix()}-{name}"}})
    stack.resource("aws_route", name, {"route_table_id": table.ref("id"), "destination_cidr_block": "0.0.0.0/0", **target})
    return table


def _associate(stack: Stack, name: str, subnet: Handle, table: Handle) -> None:
    stack.resource("aws_route_table_association", name, {"subnet_id": subnet.ref("id"), "route_table_id": table.ref("id")})


def _flow_log(stack: Stack, account: Account, vpc: Handle) -> None:
    prefix = stack.plan.resource_prefix()
    group_name = f"/aws/vpc/{prefix}/flow"
    key = encryption.key(stack, account, "network-logs", "Flow logs of the VPC", log_groups=[group_name])
    group = stack.resource(
        "aws_cloudwatch_log_group", "flow", {"name": group_name, "retention_in_days": stack.plan.cloud.cluster.log_retention_days, "kms_key_id": key.ref("arn")}
    )
    trust = iam.service_trust("vpc-flow-logs.amazonaws.com", {"StringEquals": {"aws:SourceAccount": account.id}})
    actions = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    write = iam.document(iam.allow(actions, [group.ref("arn"), text(group.ref("arn"), ":*")]), iam.allow(["logs:DescribeLogGroups"], ["*"]))
    role, grants = iam.role(stack, account, "flow-logs", trust, inline={"write": write}, description="Writes the flow logs of the VPC")
    stack.resource(
        "aws_flow_log",
        "main",
        {
            "vpc_id": vpc.ref("id"),
            "traffic_type": "ALL",
            "log_destination_type": "cloud-watch-logs",
            "log_destination": group.ref("arn"),
            "iam_role_arn": role.ref("arn"),
            "max_aggregation_interval": 600,
            "tags": {"Name": prefix},
        },
        depends_on=grants,
    )
