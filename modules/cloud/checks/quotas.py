"""Service quotas: vCPUs by family and market (FC-06), and what network and cluster count against.

The need is what the plan takes at its largest, plus what others in the account use now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from inferform.cloud.api import CallFailedError
from inferform.cloud.check import Answer, Check, number, shell
from inferform.cloud.facts import Quota, quota_family, quotas
from inferform.cloud.site import Site

_OPEN = ("PENDING", "CASE_OPENED")
# Quotas whose increase is looked at by people.
_SLOW = ("P/", "G and VT/")
# DescribeInstanceTypes takes at most this many names.
_MOST_TYPES = 100


@dataclass(frozen=True, slots=True)
class Need:
    """What one quota must allow. `used` is what others use now; None when that could not be told."""

    quota: Quota
    subject: str
    unit: str
    wanted: float
    used: float | None
    detail: str


def _vcpus(site: Site) -> Iterator[Answer]:
    refused: CallFailedError | None = None
    used: dict[tuple[str, str], int] | None = None
    try:
        used = _used_vcpus(site)
    except CallFailedError as err:
        refused = err
    steady = _steady_vcpus(site)
    for need in site.plan.quotas:
        quota = quotas().get(f"{need.family}/{need.market}")
        market = need.market.replace("_", "-")
        if quota is None:
            yield Answer(
                "unknown", f"{need.family} {market}", "this quota is not known here", f"{number(need.vcpus)} vCPUs", "look it up in the Service Quotas console"
            )
            continue
        at_first = steady[need.family, need.market]
        detail = f"at the maximum, {number(at_first)} steady ({need.detail})"
        others = None if used is None else float(used.get((need.family, need.market), 0))
        yield from _judged(site, Need(quota, f"{need.family} {market}", "vCPUs", need.vcpus, others, detail))
    if refused:
        raise refused


def _network(site: Site) -> Iterator[Answer]:
    """VPC, internet gateway, addresses and NAT gateways; nothing is needed any more once the VPC is there."""
    exists = site.vpc_id() is not None
    zones = 0 if exists else len(site.plan.cloud.zones)
    one = 0 if exists else 1
    known = quotas()
    vpcs = sum(1 for _ in site.api.listed("ec2", "describe_vpcs", "Vpcs"))
    yield from _judged(site, Need(known["vpcs"], "VPCs", "VPCs", one, vpcs, "for the deployment"))
    gateways = sum(1 for _ in site.api.listed("ec2", "describe_internet_gateways", "InternetGateways"))
    yield from _judged(site, Need(known["internet_gateways"], "internet gateways", "gateways", one, gateways, "for the deployment"))
    addresses = len(site.api.call("ec2", "describe_addresses")["Addresses"])
    yield from _judged(site, Need(known["addresses"], "elastic IPs", "addresses", zones, addresses, "one for the NAT gateway of each zone"))
    filters = [{"Name": "state", "Values": ["pending", "available", "deleting"]}]
    nats = list(site.api.listed("ec2", "describe_nat_gateways", "NatGateways", Filter=filters))
    fullest = max(_nat_gateways_by_zone(site, nats).values(), default=0) if nats else 0
    yield from _judged(site, Need(known["nat_gateways"], "NAT gateways", "gateways in a zone", one, fullest, "in each zone"))


def _cluster(site: Site) -> Iterator[Answer]:
    names = list(site.api.listed("eks", "list_clusters", "clusters"))
    known = quotas()
    own = site.plan.cluster_name()
    yield from _judged(site, Need(known["clusters"], "EKS clusters", "clusters", 0 if own in names else 1, len(names), "for the deployment"))
    managed = [g for g in site.groups() if g.pool.infrastructure.kind == "managed"]
    yield from _judged(site, Need(known["node_groups"], "managed node groups", "groups", len(managed) + 1, 0, "in the cluster, the system pool included"))
    if managed:
        largest = max(managed, key=lambda g: (g.max_nodes, g.key))
        yield from _judged(site, Need(known["group_nodes"], "nodes of a managed group", "nodes", largest.max_nodes, 0, f"in {largest.subject}"))


def _judged(site: Site, need: Need) -> Iterator[Answer]:
    """Compares one quota with its need; the fix is the exact request."""
    value = _value(site, need.quota)
    total = need.wanted + (need.used or 0)
    used = ", use by others not known" if need.used is None else f", {number(need.used)} in use by others" if need.used else ""
    found = f"quota of {number(value)} {need.unit}{used}"
    needed = f"{number(need.wanted)} {need.unit} {need.detail}" if need.wanted else f"nothing more {need.detail}"
    if total <= value or not need.wanted:
        yield Answer("ok", need.subject, found, needed)
        return
    quota, pending = need.quota, _pending(site, need.quota)
    if pending is not None:
        # AWS takes one open request a quota, so a second command would be refused.
        fix = "wait until AWS grants it" if pending >= total else f"ask in its support case for {number(total)}; AWS takes one request at a time"
        yield Answer("blocker", need.subject, f"{found}; an increase to {number(pending)} is asked for", needed, fix)
        return
    command = shell(
        "aws", "service-quotas", "request-service-quota-increase", "--service-code", quota.service, "--quota-code", quota.code,
        "--desired-value", f"{total:.0f}", "--region", site.plan.cloud.region,
    )  # fmt: skip
    how = "; GPU quotas are granted by people and take days" if quota.key.startswith(_SLOW) else ", or remove what is not used"
    yield Answer("blocker", need.subject, found, needed, f"ask for {number(total)} of {quota.name!r} ({quota.code}){how}", command)


def _value(site: Site, quota: Quota) -> float:
    """The quota that applies; AWS's default where the account never had another."""
    names = {"ServiceCode": quota.service, "QuotaCode": quota.code}
    try:
        answer = site.api.call("service-quotas", "get_service_quota", **names)
    except CallFailedError as err:
        if err.code != "NoSuchResourceException":
            raise
        answer = site.api.call("service-quotas", "get_aws_default_service_quota", **names)
    return float(answer["Quota"]["Value"])


def _pending(site: Site, quota: Quota) -> float | None:
    """The largest increase that is asked for and not yet decided; None when there is none or it cannot be told."""
    try:
        answer = site.api.call(
            "service-quotas", "list_requested_service_quota_change_history_by_quota", ServiceCode=quota.service, QuotaCode=quota.code, MaxResults=100
        )
    except CallFailedError:
        # Only spares a second request; the finding stands without it.
        return None
    asked = [float(r["DesiredValue"]) for r in answer.get("RequestedQuotas", ()) if r.get("Status") in _OPEN]
    return max(asked, default=None)


def _used_vcpus(site: Site) -> dict[tuple[str, str], int]:
    """vCPUs that other instances of the account use now, by quota family and market. Capacity blocks count against no quota."""
    others = Counter((n.instance_type, n.market) for n in site.running() if not n.own and n.market in ("on_demand", "spot"))
    counted = sorted({t for t, _ in others if quota_family(t)})
    vcpus: dict[str, int] = {}
    for start in range(0, len(counted), _MOST_TYPES):
        answer = site.api.listed("ec2", "describe_instance_types", "InstanceTypes", InstanceTypes=counted[start : start + _MOST_TYPES])
        vcpus |= {str(t["InstanceType"]): int(t["VCpuInfo"]["DefaultVCpus"]) for t in answer}
    used: Counter[tuple[str, str]] = Counter()
    for (kind, market), count in others.items():
        used[quota_family(kind), market] += count * vcpus.get(kind, 0)
    return dict(used)


def _steady_vcpus(site: Site) -> Counter[tuple[str, str]]:
    """vCPUs of the steady fleet, by quota family and market."""
    found: Counter[tuple[str, str]] = Counter()
    for group in site.groups():
        for part in group.parts:
            if part.kind != "capacity_block":
                nodes = group.pool.infrastructure
                found[nodes.quota_family, "spot" if part.kind == "spot" else "on_demand"] += part.nodes.steady * nodes.vcpus
    system = site.plan.cloud.system_pool
    found[quota_family(system.instance_type), "on_demand"] += system.nodes.steady * system.vcpus
    return found


def _nat_gateways_by_zone(site: Site, nats: list[dict[str, Any]]) -> Counter[str]:
    """NAT gateways by zone id, in the zones of the plan."""
    ids = sorted({str(n["SubnetId"]) for n in nats if n.get("SubnetId")})
    listed = site.api.listed("ec2", "describe_subnets", "Subnets", Filters=[{"Name": "subnet-id", "Values": ids[:200]}])
    zone = {str(s["SubnetId"]): str(s["AvailabilityZoneId"]) for s in listed}
    return Counter(z for n in nats if (z := zone.get(n.get("SubnetId", ""), "")) in site.plan.cloud.zones)


CHECKS = (
    Check("QTA001", "vCPU quotas", _vcpus),
    Check("QTA002", "Network quotas", _network),
    Check("QTA003", "EKS quotas", _cluster),
)
