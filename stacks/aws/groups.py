"""Which groups of nodes a pool becomes, and what a group of its kind cannot do.

A pool is one group, and one more for each capacity block: a block has its own zone, market and end. To Karpenter, which starts nodes one by
one, a pool is one group whatever is bought.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inferform.errors import InputError, Problem
from inferform.labels import node_labels, node_taints
from inferform.plan import DeploymentPlan, PoolPlan
from inferform.plan_nodes import Count, NodesPlan, PurchasePart

# SSM parameters of the newest image, by EKS ami_type. Source: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs", and
# bottlerocket-os/bottlerocket QUICKSTART-EKS.md (read 2026-12-01).
_AL2023 = "/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/"
_BOTTLEROCKET = "/aws/service/bottlerocket/aws-k8s-{version}"
IMAGES = {
    "AL2023_ARM_64_NVIDIA": f"{_AL2023}arm64/nvidia/recommended/image_id",
    "AL2023_ARM_64_STANDARD": f"{_AL2023}arm64/standard/recommended/image_id",
    "AL2023_x86_64_NVIDIA": f"{_AL2023}x86_64/nvidia/recommended/image_id",
    "AL2023_x86_64_STANDARD": f"{_AL2023}x86_64/standard/recommended/image_id",
    "BOTTLEROCKET_ARM_64": f"{_BOTTLEROCKET}/arm64/latest/image_id",
    "BOTTLEROCKET_ARM_64_NVIDIA": f"{_BOTTLEROCKET}-nvidia/arm64/latest/image_id",
    "BOTTLEROCKET_x86_64": f"{_BOTTLEROCKET}/x86_64/latest/image_id",
    "BOTTLEROCKET_x86_64_NVIDIA": f"{_BOTTLEROCKET}-nvidia/x86_64/latest/image_id",
}


def image_parameter(kind: str, kubernetes_version: str, release: str | None = None) -> str:
    """The SSM parameter of an image: the newest, or that of a release. Source: as above, and the AMI releases of awslabs/amazon-eks-ami."""
    newest = IMAGES[kind].format(version=kubernetes_version)
    if release is None:
        return newest
    if kind.startswith("BOTTLEROCKET"):
        return newest.replace("/latest/", f"/{release.removeprefix('v')}/")
    _, arch, variant = newest.rsplit("/recommended/", 1)[0].rsplit("/", 2)
    return newest.replace("/recommended/", f"/amazon-eks-node-al2023-{arch}-{variant}-{kubernetes_version}-{release}/")


@dataclass(frozen=True, slots=True)
class Group:
    """One managed node group, scaling group, or pool of Karpenter. `key` names it everywhere; it holds no position (FC-38)."""

    key: str
    model: str
    pool_name: str
    pool: PoolPlan
    parts: tuple[PurchasePart, ...]
    nodes: Count
    zones: tuple[str, ...]

    @property
    def infrastructure(self) -> NodesPlan:
        """How its nodes are built."""
        return self.pool.infrastructure

    @property
    def field(self) -> str:
        """Where the spec says so."""
        return f"models.{self.model}.nodes"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of its nodes."""
        nodes = self.infrastructure
        return node_labels(
            model=self.model,
            pool=self.pool_name,
            role=self.pool.role,
            os=nodes.os,
            gpu=self.pool.gpu,
            efa=nodes.efa is not None,
            fabric=self.fabric,
            tenant=nodes.tenant,
            sharing=nodes.sharing.label if nodes.sharing else None,
        )

    @property
    def fabric(self) -> str | None:
        """What all its nodes share and stand close by: a reservation, a capacity block or a placement group."""
        ids = {p.reservation_id for p in self.parts}
        only = ids.pop() if len(ids) == 1 else None
        return only or (self.key if self.infrastructure.placement_group else None)

    @property
    def taints(self) -> dict[str, str]:
        """Values of its nodes' NoSchedule taints by key."""
        nodes = self.infrastructure
        return node_taints(gpu_taint=nodes.taint_key if nodes.gpus_per_node else None, tenant=nodes.tenant)

    @property
    def image_type(self) -> str:
        """The EKS ami_type of its nodes."""
        nodes = self.infrastructure
        family, plain = ("BOTTLEROCKET_x86_64", "") if nodes.os == "bottlerocket" else ("AL2023_x86_64", "_STANDARD")
        return nodes.ami_type or f"{family}{'_NVIDIA' if nodes.gpus_per_node else plain}"

    @property
    def instance_types(self) -> tuple[str, ...]:
        """Types in order of preference."""
        return tuple(dict.fromkeys(t for p in self.parts for t in p.instance_types))

    @property
    def block(self) -> PurchasePart | None:
        """The capacity block, if it is one."""
        return next((p for p in self.parts if p.kind == "capacity_block"), None)

    @property
    def spot(self) -> bool:
        """Some nodes are spot instances."""
        return any(p.kind == "spot" for p in self.parts)

    @property
    def reservations(self) -> tuple[str, ...]:
        """On-demand capacity reservations to launch into."""
        return tuple(p.reservation_id for p in self.parts if p.kind == "reserved" and p.reservation_id)


def groups(plan: DeploymentPlan) -> tuple[Group, ...]:
    """Every group of every pool, in name order.

    Raises: InputError with all combinations that AWS cannot build.
    """
    found = tuple(g for model, _, name, pool in plan.pool_items() for g in _split(model, name, pool))
    problems = [p for g in found for p in _problems(g, plan)]
    if problems:
        raise InputError(problems)
    return found


def _split(model: str, name: str, pool: PoolPlan) -> Iterator[Group]:
    key = f"{model}-{name}"
    if pool.infrastructure.kind == "karpenter":
        zones = {zone for claims in pool.infrastructure.claims for zone in claims.zones}
        yield Group(key, model, name, pool, pool.purchase, pool.nodes, tuple(sorted(zones)))
        return
    rest = tuple(p for p in pool.purchase if p.kind != "capacity_block")
    for part in pool.purchase:
        if part.kind == "capacity_block":
            where = (part.zone,) if part.zone else pool.infrastructure.zones
            # Named by the reservation: the next block is a new group, and this one can drain meanwhile.
            yield Group(f"{key}-{part.reservation_id}", model, name, pool, (part,), part.nodes, where)
    if rest:
        whole = pool.nodes if len(rest) == len(pool.purchase) else Count(**{k: sum(getattr(p.nodes, k) for p in rest) for k in ("min", "steady", "max")})
        yield Group(key, model, name, pool, rest, whole, pool.infrastructure.zones)


def _problems(group: Group, plan: DeploymentPlan) -> Iterator[Problem]:
    nodes = group.infrastructure
    kinds = sorted({p.kind for p in group.parts})
    missing = sorted(set(group.zones) - set(plan.cloud.zones))
    if missing:
        yield Problem("zones without a subnet", field=f"{group.field}.zones", value=", ".join(missing), legal=plan.cloud.zones, fix="add them to cloud.zones")
    if (nodes.coupled or nodes.placement_group or nodes.efa) and len(group.zones) != 1:
        wants = "a pool with EFA or cluster placement lives in exactly one zone"
        yield Problem(wants, field=f"{group.field}.zones", value=", ".join(group.zones) or "none", fix="keep one of them")
    if nodes.placement_group and (group.block or group.reservations):
        wants = "a cluster placement group cannot stand on top of a capacity reservation, which has its own place"
        yield Problem(wants, field=f"{group.field}.placement", value="cluster", legal=("none",), fix="set placement to none")
    if nodes.efa and not 0 <= nodes.efa.network_cards - nodes.efa.interfaces <= 1:
        wants = "EFA interfaces are one a network card, at most the first card without"
        yield Problem(wants, field=f"{group.field}.efa", value=f"{nodes.efa.interfaces} on {nodes.efa.network_cards} cards")
    if group.block and len(group.block.instance_types) > 1:
        wants = "a capacity block holds a single instance type"
        yield Problem(
            wants, field=f"models.{group.model}.hardware.instance_types", value=", ".join(group.block.instance_types), fix="keep the type of the block"
        )
    if nodes.kind == "managed" and group.spot and len(kinds) > 1:
        wants = "an EKS managed node group buys in one way only; on-demand base capacity and spot allocation need a self-managed group"
        yield Problem(
            wants, field=f"{group.field}.kind", value=f"managed, buying {' and '.join(kinds)}", legal=("self_managed",), fix="set kind to self_managed"
        )
    if nodes.kind == "managed" and group.reservations and len(group.parts) > 1:
        wants = "an EKS managed node group launches into one reservation or none; a reservation with overflow needs a self-managed group"
        yield Problem(
            wants, field=f"{group.field}.kind", value=f"managed, buying {' and '.join(kinds)}", legal=("self_managed",), fix="set kind to self_managed"
        )
    if not nodes.ami_id:
        yield from _image_problems(group, plan.cloud.kubernetes_version)


def _image_problems(group: Group, kubernetes_version: str) -> Iterator[Problem]:
    kind, field = group.image_type, f"{group.field}.ami_type"
    current = tuple(sorted(t for t in IMAGES if t.startswith("AL2023_x86_64")))
    if kind.startswith("AL2_") and tuple(int(n) for n in kubernetes_version.split(".")) >= (1, 33):
        yield Problem(f"EKS publishes no Amazon Linux 2 images for Kubernetes {kubernetes_version}", field=field, value=kind, legal=current, fix="take AL2023")
    elif group.infrastructure.kind == "self_managed" and kind not in IMAGES:
        wants = "no image is known for self-managed nodes of this type"
        yield Problem(wants, field=field, value=kind, legal=tuple(IMAGES), fix="name an ami_id or a type from the list")
