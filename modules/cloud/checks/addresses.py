"""Free addresses in the private subnets, against what nodes and their pods take."""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from collections.abc import Iterator

from inferform.cloud.check import Answer, Check, number
from inferform.cloud.site import Group, Site
from inferform.plan import DeploymentPlan

# A zone's private subnet is an eighth of the VPC; AWS keeps five addresses of each subnet for itself.
SUBNET_BITS = 3
_KEPT_BY_AWS = 5
# EKS puts its own interfaces there, and more while it upgrades. Source: EKS user guide, "VPC and subnet considerations" (read 2026-12-01).
_FOR_EKS = 16


def _addresses(site: Site) -> Iterator[Answer]:
    subnets = [s for s in site.subnets() if s.private]
    if subnets:
        free: Counter[str] = Counter()
        for subnet in subnets:
            free[subnet.zone] += subnet.free
        zone_of = {s.id: s.zone for s in subnets}
        running = Counter((n.name, zone_of.get(n.subnet_id, "")) for n in site.running() if n.own)
        where, kept = "free now", 0
    else:
        free = Counter(dict.fromkeys(site.plan.cloud.zones, planned_addresses(site.plan)))
        running, where, kept = Counter(), "in the planned subnet", _FOR_EKS
    for zone in site.plan.cloud.zones:
        least, most, nodes = kept, kept, 0
        for group in site.groups():
            if zone in group.zones:
                # The group may put more than its share into one zone, but evens out.
                count = max(0, math.ceil(group.max_nodes / len(group.zones)) - running[group.key, zone])
                nodes += count
                least += count * addressed_interfaces(group)
                most += count * (addressed_interfaces(group) + group.pool.infrastructure.max_pods)
        yield _judged(site.plan, zone, f"{number(free[zone])} addresses {where}", free[zone], least=least, most=most, nodes=nodes)


def _judged(plan: DeploymentPlan, zone: str, found: str, free: int, *, least: int, most: int, nodes: int) -> Answer:
    needed = f"{number(least)} for the interfaces of {nodes} more nodes, {number(most)} with full pods"
    subject = f"subnet of {zone}"
    fix = f"give the deployment a larger cloud.vpc_cidr than {plan.cloud.vpc_cidr} (its VPC is then made anew), or fewer nodes in this zone"
    if free < least:
        return Answer("blocker", subject, found, needed, fix)
    if free < most:
        return Answer("warning", subject, found, needed, fix)
    return Answer("ok", subject, found, needed)


def planned_addresses(plan: DeploymentPlan) -> int:
    """Addresses that nodes can have in one zone of a VPC that is not there yet."""
    return int(2 ** (32 - ipaddress.IPv4Network(plan.cloud.vpc_cidr).prefixlen - SUBNET_BITS)) - _KEPT_BY_AWS


def addressed_interfaces(group: Group) -> int:
    """Interfaces of one node that take an address: the first, and the others unless they carry EFA only."""
    efa = group.pool.infrastructure.efa
    return 1 if efa is None or efa.interface_type_rest == "efa-only" else efa.network_cards


CHECKS = (Check("ADR001", "Subnet addresses", _addresses),)
