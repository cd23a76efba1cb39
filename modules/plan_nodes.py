"""The parts of a plan about nodes: how they are built, bought, and how long a replica needs to start on them."""

from __future__ import annotations

from typing import Literal

from inferform.plan_cost import Part
from inferform.plan_isolation import SharingPlan
from inferform.plan_placement import ClosenessPlan
from pydantic import Field

# FC-14: one taint, used by node groups, daemonsets and serving pods alike.
GPU_TAINT_KEY = "nvidia.com/gpu"
# Devices and huge pages of nodes with EFA. What the EFA guide of EKS asks for per pod; libfabric takes its buffers from there.
EFA_RESOURCE, HUGE_PAGES_RESOURCE = "vpc.amazonaws.com/efa", "hugepages-2Mi"
EFA_HUGE_PAGES, HUGE_PAGE = 2560, 2 * 2**20


class Count(Part):
    """Fewest, steady and most of something."""

    min: int
    steady: int
    max: int


class LoadPath(Part):
    """One way of image and weights to a new node, in seconds. Image and weights may arrive at the same time, which `overlap_s` counts."""

    kind: Literal["disk", "root_volume", "peers", "lustre"] = Field(
        description="disk: bucket to local disks to GPU; root_volume: bucket to root volume and memory to GPU; peers: another node's disk to this one's to "
        "GPU; lustre: file system to GPU."
    )
    bandwidth_bytes_per_s: float
    image_s: float = Field(description="Pulling and unpacking the engine's image; 0 on a node that has it.")
    download_s: float
    load_s: float
    warmup_s: float
    overlap_s: float
    ready_s: float = Field(description="From a new node to the first answer: all of them, less the overlap.")


class LoadPlan(Part):
    """Cold start of one replica in seconds, and the way that its weights take."""

    weights_bytes: int
    bandwidth_bytes_per_s: float
    download_s: float
    load_s: float
    warmup_s: float
    total_s: float = Field(description="Download, load and warm-up: what the start of a pod may take where the image is there.")
    path: Literal["disk", "root_volume", "peers", "lustre"] = "disk"
    image_s: float = Field(0.0, description="Pulling and unpacking the engine's image on a new node.")
    ready_s: float = Field(0.0, description="From a new node with neither image nor weights to the first answer.")
    warm_s: float = Field(0.0, description="The same on a node that has both.")
    paths: tuple[LoadPath, ...] = Field((), description="All ways, the fastest first.")
    why: str = Field("", description="Why this way is taken.")


class PurchasePart(Part):
    """Nodes of a pool bought one way. `usd_per_hour` is for one node; its date and source are stated."""

    kind: Literal["reserved", "capacity_block", "on_demand", "spot"]
    instance_types: tuple[str, ...]
    nodes: Count
    usd_per_hour: float
    price_as_of: str
    price_source: str
    reservation_id: str | None = None
    zone: str | None = None
    ends_at: str | None = None


class EfaPlan(Part):
    """Elastic Fabric Adapter wiring: one interface per card; card 0 is device 0, every other card device 1.

    `interface_type_first` "interface" is Karpenter's form: card 0 has an ordinary interface for addresses and one for EFA beside it.
    """

    network_cards: int
    interfaces: int
    interface_type_first: Literal["efa", "interface"] = "efa"
    interface_type_rest: Literal["efa", "efa-only"] = "efa-only"


class NodeClaims(Part):
    """One Karpenter NodePool: nodes of a pool that are bought one way."""

    suffix: str = Field(description="Added to the pool's name; empty where it is the only one.")
    capacity_type: Literal["reserved", "on-demand", "spot"]
    reservation_id: str | None
    instance_types: tuple[str, ...]
    zones: tuple[str, ...] = Field(description="AZ ids.")
    weight: int = Field(description="Karpenter tries higher ones first.")
    limits: dict[str, str] = Field(description="Resources that all its nodes together may have.")


class WarmPoolPlan(Part):
    """Nodes that a scaling group makes ahead and keeps beside it."""

    size: int
    state: Literal["Stopped", "Hibernated", "Running"]
    reuse: bool = Field(description="Whether nodes come back after use, instead of ending.")


class NodesPlan(Part):
    """How the nodes of one pool are built."""

    kind: Literal["managed", "self_managed", "karpenter"]
    os: Literal["al2023", "bottlerocket"]
    ami_id: str | None
    ami_type: str | None
    autoscaled: bool
    zones: tuple[str, ...] = Field(description="AZ ids; exactly one for a coupled pool.")
    coupled: bool = Field(description="Replicas span nodes, so the pool lives in one AZ.")
    placement_group: bool
    efa: EfaPlan | None
    vcpus: int
    memory_bytes: int
    gpus_per_node: int
    local_nvme_count: int
    local_nvme_bytes: int
    root_volume_bytes: int
    ephemeral_storage_bytes: int = Field(description="RAID0 of the local disks where there are any, else the root volume.")
    max_pods: int
    taint_key: str = GPU_TAINT_KEY
    tenant: str | None = Field(None, description="The tenant whose pods alone run on these nodes; None for nodes that any pod may use.")
    sharing: SharingPlan | None = Field(None, description="How GPUs are divided, `gpus_per_node` then counts parts; None for whole ones.")
    closeness: ClosenessPlan | None = Field(None, description="Where the pods of a replica that spans nodes go; None where it does not matter.")
    quota_family: Literal["P", "G and VT", "Standard"]
    quota_vcpus: int = Field(description="vCPUs that the quota must allow at the maximum node count.")
    placement_group_name: str | None = Field(None, description="The user's own placement group; None where ours is made.")
    ami_release: str | None = Field(None, description="Release of the EKS image; None for the newest.")
    updates: Literal["rolling", "manual"] = Field("manual", description="Whether running nodes are replaced when image or template change.")
    warm_pool: WarmPoolPlan | None = Field(None, description="Nodes kept ready beside the group; None for none.")
    kube_reserved: dict[str, str] = Field(
        {}, description="What the kubelet keeps for itself, as pods are sized; empty where the image works it out from max_pods."
    )
    claims: tuple[NodeClaims, ...] = Field((), description="Karpenter NodePools of this pool, first choice first; empty for other kinds.")
