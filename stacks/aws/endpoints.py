"""Ways from the VPC to AWS services that pass no NAT gateway: S3 through route tables, others through interfaces in every zone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Ref


def gateway_endpoint(stack: Stack, vpc: Handle, tables: Sequence[Handle]) -> None:
    """Weights and image layers come from S3 without passing, or paying for, the NAT gateways."""
    stack.resource(
        "aws_vpc_endpoint",
        "s3",
        {
            "vpc_id": vpc.ref("id"),
            "service_name": f"com.amazonaws.{stack.plan.cloud.region}.s3",
            "vpc_endpoint_type": "Gateway",
            "route_table_ids": [t.ref("id") for t in tables],
            "tags": {"Name": f"{stack.plan.resource_prefix()}-s3"},
        },
    )


def interface_endpoints(stack: Stack, vpc: Handle, subnets: Mapping[str, Ref]) -> None:
    """One endpoint a service of the plan, with an address in each zone; only the VPC reaches it, under the service's usual name."""
    services = stack.plan.cloud.cluster.interface_endpoints
    if not services:
        return
    prefix = stack.plan.resource_prefix()
    group = stack.resource(
        "aws_security_group",
        "endpoints",
        {
            "name": f"{prefix}-endpoints",
            "description": "Interface endpoints of AWS services",
            "vpc_id": vpc.ref("id"),
            "tags": {"Name": f"{prefix}-endpoints"},
        },
    )
    rule = stack.resource(
        "aws_security_group_rule",
        "endpoints-from-vpc",
        {
            "security_group_id": group.ref("id"),
            "type": "ingress",
            "protocol": "tcp",
            "from_port": 443,
            "to_port": 443,
            "cidr_blocks": [stack.plan.cloud.vpc_cidr],
            "description": "AWS APIs for nodes and pods",
        },
    )
    for service in services:
        name = service.replace(".", "-")
        stack.resource(
            "aws_vpc_endpoint",
            name,
            {
                "vpc_id": vpc.ref("id"),
                "service_name": f"com.amazonaws.{stack.plan.cloud.region}.{service}",
                "vpc_endpoint_type": "Interface",
                "private_dns_enabled": True,
                "subnet_ids": [subnets[zone] for zone in sorted(subnets)],
                "security_group_ids": [group.ref("id")],
                "tags": {"Name": f"{prefix}-{name}"},
            },
            depends_on=[rule],
        )
