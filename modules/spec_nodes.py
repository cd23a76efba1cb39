"""The parts of a spec that say what nodes a model runs on: hardware, how they are built, and how they are bought."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal

from inferform import names
from inferform.names import Strict
from inferform.quantities import GIB, SizeBytes
from inferform.spec_isolation import GpuSharing
from inferform.spec_placement import Closeness
from pydantic import Field


class Purchase(StrEnum):
    RESERVED = "reserved"
    CAPACITY_BLOCK = "capacity_block"
    ON_DEMAND = "on_demand"
    SPOT = "spot"


class Hardware(Strict):
    """Limits on what the planner may buy for a model."""

    device: Literal["auto", "gpu", "cpu"] = Field("auto", description="cpu is for embedding models.")
    gpus: names.GpuNames = Field((), description="GPU names to choose from; empty means all.", examples=[["H100", "L40S"]])
    instance_types: names.InstanceTypes = Field((), description="Instance types to choose from; empty means all.", examples=[["p5.48xlarge"]])
    sharing: GpuSharing | None = Field(None, description="Run several replicas on one GPU; a whole GPU or more for each when left out.")


class NodePool(Strict):
    """How the nodes of a model's pools are built."""

    kind: Literal["auto", "managed", "self_managed", "karpenter"] = Field(
        "auto",
        description="EKS managed node group, self-managed scaling group (for a reserved + on-demand + spot mix), or Karpenter, which starts nodes for pods.",
    )
    os: Literal["al2023", "bottlerocket"] = Field("al2023", description="Operating system of the node image.")
    ami_id: names.AmiId | None = Field(None, description="Own node image; a complete NodeConfig is rendered for it.")
    ami_type: names.AmiType | None = Field(None, description="EKS ami_type; chosen from os when left out.", examples=["AL2023_x86_64_NVIDIA"])
    ami_release: names.AmiRelease | None = Field(
        None, description="Release of the EKS image; the newest for scaling groups, the catalogue's for Karpenter when left out.", examples=["v20260714"]
    )
    updates: Literal["auto", "rolling", "manual"] = Field(
        "auto",
        description="Running nodes when image or template change: replaced one by one (rolling), or kept (manual). auto: what EKS does for managed groups, else manual.",
    )
    efa: bool | Literal["auto"] = Field("auto", description="Elastic Fabric Adapter on every network card; auto turns it on where a replica spans nodes.")
    closeness: Closeness | None = Field(
        None, description="How close the nodes of one replica stand, where it spans nodes; as close as there is room when left out."
    )
    placement: Literal["auto", "cluster", "none"] = Field(
        "auto", description="Cluster placement group; auto: where a replica spans nodes and no reservation decides."
    )
    placement_group: names.PlacementGroupName | None = Field(
        None, description="Existing cluster placement group to use instead of a new one.", examples=["ml-cluster-a"]
    )
    zones: names.Zones = Field((), description="AZ ids of this pool; a coupled pool (EFA or cluster placement) needs exactly one.")
    root_size: SizeBytes = Field("100Gi", ge=20 * GIB, le=16384 * GIB, description="Root volume.")  # type: ignore[assignment]
    taint_key: names.TaintKey = Field("nvidia.com/gpu", description="Key of the NoSchedule taint on GPU nodes; every agent that must run there tolerates it.")
    max_pods: int | None = Field(None, ge=8, le=737, description="Pod limit of a node; the instance type's own when left out.")
    autoscaled: bool = Field(True, description="False when no node autoscaler owns the size of these pools.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.placement_group and self.placement == "none":
            yield "placement_group", f"placement: none and placement_group {self.placement_group} contradict each other"
        if self.ami_release and self.ami_id:
            yield "ami_release", "an own image (ami_id) has no release; leave one of the two out"
        dated = self.ami_release is not None and self.ami_release.count(".") == 0
        if self.ami_release and dated != (self.os == "al2023"):
            yield "ami_release", f"{self.ami_release} is no release of {self.os}; AL2023 counts by day (v20260714), Bottlerocket by version (v1.57.0)"


class PurchaseSource(Strict):
    """One step of an ordered purchase list."""

    kind: Purchase = Field(description="How the nodes are bought.")
    min_nodes: int = Field(0, ge=0, le=10_000, description="Floor: nodes always bought this way.")
    max_nodes: int | None = Field(None, ge=0, le=10_000, description="Cap: never more nodes than this from here.")
    reservation_id: names.ReservationId | None = Field(None, description="Capacity reservation or capacity block id.")
    zone: names.ZoneId | None = Field(None, description="AZ id of the reservation.", examples=["use2-az3"])
    ends_at: names.UtcTime | None = Field(None, description="When a capacity block ends (UTC).", examples=["2026-12-24T11:30:00Z"])

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.kind is Purchase.CAPACITY_BLOCK and not (self.reservation_id and self.zone and self.max_nodes):
            yield "kind", "a capacity_block needs reservation_id, zone and max_nodes (its instance count)"
        if self.max_nodes is not None and self.max_nodes < self.min_nodes:
            yield "max_nodes", f"max_nodes {self.max_nodes} is below min_nodes {self.min_nodes}"


PurchaseList = Annotated[tuple[PurchaseSource, ...], Field(min_length=1, max_length=16)]


class WarmPool(Strict):
    """Nodes that a scaling group makes ahead: they start faster than new ones, and stopped ones cost their disks only."""

    size: int = Field(1, ge=1, le=1000, description="Nodes kept ready.")
    state: Literal["stopped", "hibernated", "running"] = Field(
        "stopped", description="stopped (loses what is on local disks), hibernated (own images of CPU nodes), or running at full price."
    )
    reuse: bool = Field(False, description="Nodes come back to the warm pool after use, instead of ending.")


class Capacity(Strict):
    """How nodes are bought and how many stand by."""

    purchase: Literal["auto"] | PurchaseList = Field("auto", description="auto, or an ordered list: first choice first.")
    warm_standby: int = Field(0, ge=0, le=16, description="Spare replicas kept loaded beyond the steady need.")
    warm_pool: WarmPool | None = Field(None, description="Nodes made ahead beside a self-managed group; not for spot nodes and capacity blocks.")
    min_nodes: int | None = Field(None, ge=0, le=10_000, description="Smallest node count of each pool; planned when left out.")
    desired_nodes: int | None = Field(None, ge=0, le=10_000, description="Node count at creation; planned when left out.")
    max_nodes: int | None = Field(None, ge=1, le=10_000, description="Largest node count of each pool; planned when left out.")

    def faults(self) -> Iterator[tuple[str, str]]:
        low, want, high = self.min_nodes, self.desired_nodes, self.max_nodes
        known = [(n, v) for n, v in (("min_nodes", low), ("desired_nodes", want), ("max_nodes", high)) if v is not None]
        for (n1, v1), (n2, v2) in itertools.pairwise(known):
            if v1 > v2:
                yield n1, f"{n1} {v1} is above {n2} {v2}; min <= desired <= max"
