"""Pools whose nodes Karpenter starts: one NodePool a way to buy, in the order of the purchase list; what Karpenter cannot hold is refused.

Source: aws/karpenter-provider-aws v1.14.1, website/content/en/docs/concepts and tasks/odcrs.md (read 2026-12-01).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from inferform.catalog.instances import find_instance
from inferform.catalog.types import Instance
from inferform.errors import Problem
from inferform.plan_karpenter import KarpenterPlan
from inferform.plan_nodes import NodeClaims, PurchasePart
from inferform.planning.pod import KERNEL_SHARE, MIB, reserved_bytes, reserved_cpu_millis
from inferform.spec_nodes import Capacity, NodePool

VERSION = "1.14.1"
# Releases that Karpenter's image alias may name. AL2023: awslabs/amazon-eks-ami CHANGELOG, Kubernetes 1.30 to 1.36 (read 2026-12-01).
_RELEASES = {"al2023": "v20260714"}
_GPU = "nvidia.com/gpu"
# Weights are 1 to 100; a purchase list has at most 16 entries.
_FIRST_WEIGHT, _WEIGHT_STEP = 100, 5


def karpenter_plan(prefix: str, kinds: Iterable[str]) -> KarpenterPlan | None:
    """The controller of a deployment; None where no pool needs it. `prefix` begins every name of the deployment."""
    if "karpenter" not in set(kinds):
        return None
    return KarpenterPlan(
        version=VERSION,
        namespace="kube-system",
        service_account="karpenter",
        queue=f"{prefix}-karpenter",
        memory_overhead=KERNEL_SHARE,
        instance_profile=f"{prefix}-karpenter-node",
    )


def karpenter_warnings(pools: Mapping[str, str]) -> list[str]:
    """What terraform cannot do for nodes that it does not know. `pools`: kinds of nodes by model/pool."""
    own = sorted(name for name, kind in pools.items() if kind == "karpenter")
    if not own:
        return []
    return [
        f"{', '.join(own)}: Karpenter starts these nodes and terraform does not know them; before inferform destroy run kubectl delete nodepools --all and "
        "wait until their nodes are gone, else network and roles stay in use"
    ]


def release(spec: NodePool) -> str | None:
    """The image release of a Karpenter pool: its own or the catalogue's; None beside an own image."""
    return None if spec.ami_id else spec.ami_release or _RELEASES.get(spec.os)


def karpenter_problems(field: str, spec: NodePool, capacity: Capacity, purchase: tuple[PurchasePart, ...], *, capacity_field: str) -> Iterator[Problem]:
    """What Karpenter cannot express, each with the way out."""
    grown = "Karpenter starts nodes for waiting pods and holds no count of its own"
    way = f"leave it out and hold replicas with scaling.min, or set {field}.kind to self_managed"
    for name, count in (("min_nodes", capacity.min_nodes), ("desired_nodes", capacity.desired_nodes)):
        if count:
            yield Problem(grown, f"{capacity_field}.{name}", value=str(count), fix=way)
    for at, source in enumerate(capacity.purchase if capacity.purchase != "auto" else ()):
        if source.min_nodes:
            floor = f"{grown}, so a floor of {source.kind.value} nodes may be emptied first"
            yield Problem(floor, f"{capacity_field}.purchase.{at}.min_nodes", value=str(source.min_nodes), fix=way)
    for suffix, count in Counter(map(_suffix, purchase)).items():
        if count > 1:
            yield Problem(
                "Karpenter's NodePools are named by the way to buy, so each stands once", f"{capacity_field}.purchase", value=f"{count} x {suffix}",
                fix="join the entries",
            )  # fmt: skip
    if not spec.autoscaled:
        yield Problem("Karpenter itself owns the node count", f"{field}.autoscaled", value="false", fix="leave it out, or use another kind")
    if spec.ami_type:
        yield Problem("Karpenter takes the image by nodes.os and nodes.ami_release", f"{field}.ami_type", value=spec.ami_type, fix="leave ami_type out")
    if not spec.ami_id and release(spec) is None:
        yield Problem(
            f"no release of {spec.os} is known here, and Karpenter would replace nodes at each new one", f"{field}.ami_release",
            fix="name the release to run, such as v1.57.0",
        )  # fmt: skip


def kube_reserved(instance: Instance, max_pods: int) -> dict[str, str]:
    """What the kubelet keeps, as pods are sized: Karpenter's own guess counts all addresses of the type and would find no room for them."""
    return {"cpu": f"{reserved_cpu_millis(instance.vcpus)}m", "memory": f"{reserved_bytes(max_pods) // MIB}Mi", "ephemeral-storage": "1Gi"}


def claims(instance: Instance, purchase: tuple[PurchasePart, ...], zones: tuple[str, ...]) -> tuple[NodeClaims, ...]:
    """NodePools of a pool: weights keep the order of purchase, limits the caps."""
    alone = len(purchase) == 1 and purchase[0].kind != "capacity_block"
    return tuple(
        NodeClaims(
            suffix="" if alone else _suffix(part), capacity_type=_capacity_type(part), reservation_id=part.reservation_id, instance_types=part.instance_types,
            zones=(part.zone,) if part.zone else zones, weight=_FIRST_WEIGHT - _WEIGHT_STEP * at, limits=_limits(instance, part.instance_types, part.nodes.max),
        )
        for at, part in enumerate(purchase)
    )  # fmt: skip


def _suffix(part: PurchasePart) -> str:
    return part.reservation_id or part.kind.replace("_", "-")


def _capacity_type(part: PurchasePart) -> Literal["reserved", "on-demand", "spot"]:
    """Karpenter's `reserved` is a capacity reservation; a price agreement without one is bought on demand."""
    return "spot" if part.kind == "spot" else "reserved" if part.reservation_id else "on-demand"


def _limits(instance: Instance, types: tuple[str, ...], nodes: int) -> dict[str, str]:
    return {_GPU: str(nodes * instance.gpu_count)} if instance.gpu else {"cpu": str(nodes * max(find_instance(name).vcpus for name in types))}
