"""How the nodes of one pool are built: zones, placement, EFA, image, disks, quota (FC-06, 07, 09, 12, 16)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

from inferform.catalog.instances import cpu_instances, efa_layout, find_instance, gpu_instances, offered_regions, offering_known, quota_family, zones
from inferform.catalog.types import Instance
from inferform.errors import Problem
from inferform.plan_isolation import SharingPlan
from inferform.plan_nodes import Count, EfaPlan, NodesPlan, PurchasePart
from inferform.planning.closeness import plan_closeness
from inferform.planning.karpenter import claims, karpenter_problems, kube_reserved, release
from inferform.planning.sharing import node_problems
from inferform.planning.warm_pool import warm_pool, warm_pool_problems
from inferform.spec_nodes import Capacity, NodePool

# EKS takes no cluster subnets in these zones. Source: EKS user guide, VPC and subnet requirements (awsdocs/amazon-eks-user-guide,
# latest/ug/networking/network-reqs.adoc at 101184e; read 2026-12-01).
EKS_EXCLUDED_ZONES = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})
_AMI_TYPES = {
    ("al2023", True): ("AL2023_x86_64_NVIDIA",),
    ("al2023", False): ("AL2023_x86_64_STANDARD",),
    ("bottlerocket", True): ("BOTTLEROCKET_x86_64_NVIDIA",),
    ("bottlerocket", False): ("BOTTLEROCKET_x86_64",),
}
# Two zones are the least a cluster takes; a third keeps quorums alive when one goes.
_HOME_ZONES = 3
_SMALL_VCPUS, _SMALL_PODS, _LARGE_PODS = 30, 110, 250


Kind = Literal["managed", "self_managed", "karpenter"]


@dataclass(frozen=True, slots=True)
class Buying:
    """The capacity that a pool's nodes are bought by, and where the spec says so."""

    field: str
    capacity: Capacity


@dataclass(frozen=True, slots=True)
class Site:
    """Where a pool may stand: the region and the zones that the deployment lists (empty: all), and the tenant that it stands for alone."""

    region: str
    zones: tuple[str, ...]
    kubernetes_version: str
    tenant: str | None = None


@lru_cache(maxsize=1024)
def offered_zones(instance: Instance, region: str) -> tuple[str, ...]:
    """Zones of a region where the type is listed and a cluster may have subnets (FC-06).

    A type whose listing was not read takes the zones of its family's other sizes, or else every zone that is known; the stack checks
    the offering again before it creates anything.
    """
    if offering_known(instance.name):
        found = set(zones(region, instance.name))
    else:
        family = instance.name.split(".")[0]
        found = {z for other in gpu_instances() if other.name.split(".")[0] == family for z in zones(region, other.name)} or set(region_zones(region))
    return tuple(sorted(found - EKS_EXCLUDED_ZONES))


def usable_zones(instance: Instance, region: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Zones where the type may be launched: the asked ones that offer it, or of the network's own; every one that offers it where that leaves none."""
    offered = offered_zones(instance, region)
    usable = tuple(sorted(z for z in offered if not asked or z in asked))
    return usable if asked else tuple(z for z in usable if z in home_zones(region)) or usable


@lru_cache(maxsize=64)
def region_zones(region: str) -> tuple[str, ...]:
    """Zones of a region that the catalogue knows of and a cluster may use, sorted."""
    known = {z for instance in (*gpu_instances(), *cpu_instances()) for z in zones(region, instance.name)}
    return tuple(sorted(known - EKS_EXCLUDED_ZONES))


@lru_cache(maxsize=64)
def home_zones(region: str) -> tuple[str, ...]:
    """The zones that a network has by itself: the three that list most GPU types.

    They depend on the region alone, so that adding a pool moves no other pool to other zones (FC-38).
    """
    listed = {zone: sum(zone in zones(region, instance.name) for instance in gpu_instances()) for zone in region_zones(region)}
    return tuple(sorted(sorted(listed, key=lambda zone: (-listed[zone], zone))[:_HOME_ZONES]))


def pool_zones(spec: NodePool, site: Site, instance: Instance, purchase: tuple[PurchasePart, ...], *, nodes_per_replica: int) -> tuple[str, ...]:
    """Zones that a pool of this type would use; what is wrong with them is told by `plan_nodes`."""
    unread: list[Problem] = []
    spans = nodes_per_replica > 1
    reserved = any(p.kind in {"reserved", "capacity_block"} and p.reservation_id for p in purchase)
    close = _efa("", spec, instance, spans=spans, problems=unread) is not None or _placement(
        "", spec, instance, spans=spans, reserved=reserved, problems=unread
    )
    return _zones("", spec, site, instance, purchase, one=spans or close, problems=unread)


def plan_nodes(
    field: str, spec: NodePool, site: Site, instance: Instance, purchase: tuple[PurchasePart, ...], *, nodes: Count, nodes_per_replica: int, buying: Buying,
    problems: list[Problem], sharing: SharingPlan | None = None,
) -> NodesPlan:  # fmt: skip
    """The pool's nodes, with everything that is wrong with them in `problems`."""
    reserved = [p for p in purchase if p.kind in {"reserved", "capacity_block"} and p.reservation_id]
    efa = _efa(field, spec, instance, spans=nodes_per_replica > 1, problems=problems)
    placement = _placement(field, spec, instance, spans=nodes_per_replica > 1, reserved=bool(reserved), problems=problems)
    coupled = nodes_per_replica > 1
    chosen = _zones(field, spec, site, instance, purchase, one=coupled or efa is not None or placement, problems=problems)
    kind = _kind(field, spec, purchase, buying.capacity, problems)
    if kind == "karpenter":
        problems += karpenter_problems(field, spec, buying.capacity, purchase, capacity_field=buying.field)
        # Karpenter knows no interface that is both: addresses on an ordinary one, EFA beside it.
        efa = efa and efa.model_copy(update={"interface_type_first": "interface"})
    if buying.capacity.warm_pool:
        problems += warm_pool_problems(f"{buying.field}.warm_pool", buying.capacity.warm_pool, spec, kind=kind, instance=instance, purchase=purchase)
    if sharing:
        problems += node_problems(field, kind, spec.os)
    disks = instance.local_nvme_count
    dearest = max(find_instance(name).vcpus for part in purchase for name in part.instance_types)
    pods = spec.max_pods or min(instance.max_pods or _LARGE_PODS, _SMALL_PODS if instance.vcpus < _SMALL_VCPUS else _LARGE_PODS)
    if instance.max_pods and pods > instance.max_pods:
        problems.append(
            Problem(
                f"is above the {instance.max_pods} that the addresses of {instance.name} allow",
                f"{field}.max_pods",
                value=str(pods),
                fix=f"use at most {instance.max_pods}",
            )
        )
    return NodesPlan(
        kind=kind, os=spec.os, ami_id=spec.ami_id, ami_type=_ami_type(field, spec, site, instance, problems), autoscaled=spec.autoscaled, zones=chosen,
        coupled=coupled, placement_group=placement, efa=efa, vcpus=instance.vcpus, memory_bytes=instance.memory_bytes, gpus_per_node=instance.gpu_count if instance.gpu else 0,
        local_nvme_count=disks, local_nvme_bytes=instance.local_nvme_bytes, root_volume_bytes=spec.root_size,
        ephemeral_storage_bytes=instance.local_nvme_bytes if disks else spec.root_size, max_pods=pods, taint_key=spec.taint_key, tenant=site.tenant, sharing=sharing,
        closeness=plan_closeness(f"{field}.closeness", spec.closeness, instance, nodes_per_replica=nodes_per_replica, problems=problems),
        quota_family=cast(Literal["P", "G and VT", "Standard"], quota_family(instance.name)), quota_vcpus=nodes.max * dearest,
        placement_group_name=spec.placement_group if placement else None,
        ami_release=release(spec) if kind == "karpenter" else _release(field, spec, kind, problems), updates=_updates(field, spec, kind, problems),
        warm_pool=warm_pool(buying.capacity) if kind == "self_managed" else None,
        kube_reserved=kube_reserved(instance, pods) if kind == "karpenter" or spec.os == "al2023" else {},
        claims=claims(instance, purchase, chosen) if kind == "karpenter" else (),
    )  # fmt: skip


def _kind(field: str, spec: NodePool, purchase: tuple[PurchasePart, ...], capacity: Capacity, problems: list[Problem]) -> Kind:
    # A capacity block is a group of its own beside the others, so it does not count as mixing.
    kinds = sorted({p.kind for p in purchase} - {"capacity_block"})
    if spec.kind == "auto":
        return "self_managed" if len(kinds) > 1 or capacity.warm_pool else "managed"
    if spec.kind == "managed" and len(kinds) > 1:
        problems.append(
            Problem(
                "an EKS managed node group buys in one way only", f"{field}.kind", value=f"managed, buying {' and '.join(kinds)}",
                legal=("auto", "self_managed", "karpenter"), fix="use self_managed, which mixes them in one scaling group",
            )
        )  # fmt: skip
    return spec.kind


def _release(field: str, spec: NodePool, kind: Kind, problems: list[Problem]) -> str | None:
    if spec.ami_release and kind == "managed":
        problems.append(
            Problem(
                "an EKS managed node group takes the release that is newest when it is made", f"{field}.ami_release", value=spec.ami_release,
                fix="leave it out, name an ami_id, or use self_managed or karpenter",
            )
        )  # fmt: skip
    return spec.ami_release


def _updates(field: str, spec: NodePool, kind: Kind, problems: list[Problem]) -> Literal["rolling", "manual"]:
    if spec.updates == "auto":
        return "rolling" if kind == "managed" else "manual"
    if spec.updates == "manual" and kind == "managed":
        problems.append(
            Problem("EKS replaces the nodes of a managed group whenever its template changes", f"{field}.updates", value="manual", legal=("auto", "rolling"), fix="use self_managed or karpenter")
        )  # fmt: skip
    return spec.updates


def _efa(field: str, spec: NodePool, instance: Instance, *, spans: bool, problems: list[Problem]) -> EfaPlan | None:
    wanted = spans if spec.efa == "auto" else spec.efa
    layout = efa_layout(instance.name)
    if not wanted:
        return None
    if layout is None or not layout.interfaces:
        if spec.efa is True:
            problems.append(
                Problem(f"{instance.name} has no Elastic Fabric Adapter", f"{field}.efa", value="true", legal=("auto", "false"), fix="leave efa out")
            )
        return None
    return EfaPlan(network_cards=layout.network_cards or layout.interfaces, interfaces=layout.interfaces)


def _placement(field: str, spec: NodePool, instance: Instance, *, spans: bool, reserved: bool, problems: list[Problem]) -> bool:
    if spec.placement == "none":
        return False
    if spec.placement == "auto" and not spec.placement_group:
        return spans and not reserved and instance.cluster_placement
    where = f"{field}.placement_group" if spec.placement_group else f"{field}.placement"
    if reserved:
        problems.append(
            Problem(
                "a reservation already has its place, so a cluster placement group cannot be added",
                where,
                value=spec.placement_group or "cluster",
                legal=() if spec.placement_group else ("auto", "none"),
                fix="leave it out" if spec.placement_group else "use none",
            )
        )
    if not instance.cluster_placement:
        problems.append(
            Problem(
                f"{instance.name} cannot be in a cluster placement group",
                where,
                value=spec.placement_group or "cluster",
                fix="leave it out, or choose another type",
            )
        )
    return not reserved and instance.cluster_placement


def _zones(
    field: str, spec: NodePool, site: Site, instance: Instance, purchase: tuple[PurchasePart, ...], *, one: bool, problems: list[Problem]
) -> tuple[str, ...]:
    """Zones the pool may use; exactly one for a pool whose nodes must be close (FC-07)."""
    offered = offered_zones(instance, site.region)
    asked = spec.zones or site.zones
    outside = sorted(set(spec.zones) - set(site.zones)) if site.zones else []
    if outside:
        problems.append(
            Problem(
                "is not among the zones of the network",
                f"{field}.zones",
                value=", ".join(outside),
                legal=site.zones,
                fix="add it to cloud.zones or choose one of them",
            )
        )
    # A capacity block is a group in its own zone; other reservations pull the pool to theirs.
    pinned = tuple(dict.fromkeys(p.zone for p in purchase if p.zone and p.kind == "reserved"))
    blocks = tuple(dict.fromkeys(p.zone for p in purchase if p.zone and p.kind == "capacity_block"))
    usable = usable_zones(instance, site.region, asked)
    if not usable:
        where = f"{field}.zones" if spec.zones else "cloud.zones"
        elsewhere = offered or offered_regions(instance.name)
        problems.append(
            Problem(
                f"{instance.name} is not offered in {', '.join(asked) or site.region}", where, value=", ".join(asked) or None, legal=tuple(elsewhere),
                fix="choose zones that offer it" if offered else "choose another region or type",
            )
        )  # fmt: skip
        return asked or (f"{site.region}-none",)
    if not one:
        return pinned or usable
    if pinned or blocks:
        return (pinned or blocks)[:1]
    listed = spec.zones or site.zones
    if len(listed) > 1:
        problems.append(
            Problem(
                "a pool with EFA or cluster placement lives in exactly one zone, and several are listed", f"{field}.zones", value=", ".join(listed), legal=usable,
                fix=f"name one in {field}.zones, such as {usable[0]}",
            )
        )  # fmt: skip
    return usable[:1]


def _ami_type(field: str, spec: NodePool, site: Site, instance: Instance, problems: list[Problem]) -> str | None:
    """The EKS image type; none beside an own image (FC-09)."""
    legal = _AMI_TYPES[(spec.os, instance.gpu is not None)]
    if spec.ami_id:
        if spec.ami_type and spec.ami_type != "CUSTOM":
            problems.append(Problem("an own image (ami_id) leaves no choice of ami_type", f"{field}.ami_type", value=spec.ami_type, fix="leave ami_type out"))
        return None
    if spec.ami_type is None:
        return legal[0]
    if spec.ami_type.startswith("AL2_") and _minor(site.kubernetes_version) >= (1, 33):
        problems.append(
            Problem(
                f"EKS publishes no Amazon Linux 2 images for Kubernetes {site.kubernetes_version}",
                f"{field}.ami_type",
                value=spec.ami_type,
                legal=legal,
                fix=f"use {legal[0]}",
            )
        )
    elif spec.ami_type not in legal:
        what = f"{spec.os} nodes {'with' if instance.gpu else 'without'} GPUs"
        problems.append(Problem(f"does not fit {what}", f"{field}.ami_type", value=spec.ami_type, legal=legal, fix=f"use {legal[0]} or set nodes.os"))
    return spec.ami_type


def _minor(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
