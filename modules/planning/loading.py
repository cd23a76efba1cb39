"""Cold start of a replica: every way that image and weights can take to a new node, what each needs, and which is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from inferform.catalog.types import Instance, Model
from inferform.plan_nodes import LoadPath, LoadPlan
from inferform.plan_store import LustrePlan
from inferform.sizing.roofline import WEIGHT_BYTES
from inferform.spec import DeploymentSpec

# Parallel range requests from S3 fill most of a network card; beyond this the client, not the card, is the limit.
_S3_SHARE = 0.8
_S3_BYTES_PER_S = 5e9
# Sequential reads of one instance-store disk; beyond the most, loading itself is the limit, also from the page cache.
_NVME_BYTES_PER_S = 1.5e9
_LOADER_BYTES_PER_S = 7e9
# A gp3 root volume as it comes. Source: EBS user guide, "General Purpose SSD volumes" (125 MiB/s baseline; read 2026-12-01).
_EBS_BYTES_PER_S = 0.125e9
# Share of memory that can hold files while an engine starts.
_PAGE_CACHE_SHARE = 0.5
# One connection between two instances outside a placement group carries 5 Gbit/s, and the agent fetches four files at a time.
# Source: EC2 user guide, "Amazon EC2 instance network bandwidth" (read 2026-12-01).
PEER_JOBS = 4
_FLOW_BYTES_PER_S = 0.625e9
# Images as registries send them: vllm 12.6 GB (vllm-project/vllm#27154, October 2025), sglang 11 GB (sgl-project/sglang#3673, February 2025);
# of tensorrt-llm no figure was found, so it counts as the middle of what AWS says of such images (15 to 20 GB).
_IMAGE_BYTES = {"vllm": 12.6e9, "sglang": 11e9, "tensorrt-llm": 17.5e9}
# Pull and unpack together: images of 15 to 20 GB take 4 to 6 minutes. Source: AWS Machine Learning Blog on SOCI for Deep Learning
# Containers (June 2026; figures only).
_PULL_BYTES_PER_S = 17.5e9 / 300
# Compiling and capturing graphs, by layers; assumed from public start-up logs, measured runs correct it.
_WARMUP_S, _WARMUP_S_PER_LAYER, _WARMUP_EAGER_S = 40.0, 0.5, 15.0

Kind = Literal["disk", "root_volume", "peers", "lustre"]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where weights may come from, as the spec says: `wanted` is auto, store, peers or lustre; `agents` work before pods come."""

    wanted: str = "auto"
    lustre: LustrePlan | None = None
    agents: bool = True

    @classmethod
    def of(cls, spec: DeploymentSpec) -> Sources:
        """The sources of a deployment; a file system counts once it can be mounted."""
        lustre = spec.model_store.lustre
        mounted = None
        if lustre and lustre.file_system:
            mounted = LustrePlan(storage_gib=lustre.storage // 2**30, mb_per_s_per_tib=lustre.throughput, zone=lustre.zone or "")
        return cls(spec.cold_start.weights_from, mounted, spec.cold_start.node_agents)


def checkpoint_bytes(model: Model, weights: str, *, as_published: bool) -> int:
    """Bytes of the checkpoint that is downloaded: as published when the engine quantizes while loading."""
    own = model.quantization.weights if model.quantization else "bf16"
    kind = own if as_published else weights
    wide = model.vocab * model.hidden * (1 if model.tie_embeddings else 2) + model.vision_params
    narrow = max(0, model.total_params - wide)
    return int(narrow * WEIGHT_BYTES.get(kind, 2.0) + wide * 2)


def load_plan(
    model: Model, instance: Instance, downloaded: int, *, nodes_per_replica: int, enforce_eager: bool, engine: str = "vllm", sources: Sources | None = None
) -> LoadPlan:
    """The way that is taken, in seconds: download onto the node, read into GPU memory, warm up; and the other ways beside it.

    Every node of a replica fetches the whole checkpoint and reads its share of it. The image is pulled meanwhile where agents do it,
    else afterwards.
    """
    sources = sources or Sources()
    quick = enforce_eager or model.encoder
    warmup_s = _WARMUP_EAGER_S if quick else _WARMUP_S + _WARMUP_S_PER_LAYER * model.layers
    ways = _ways(instance, downloaded, downloaded / nodes_per_replica, sources)
    image_s = round(_IMAGE_BYTES.get(engine, max(_IMAGE_BYTES.values())) / _PULL_BYTES_PER_S, 1)
    paths = {kind: _path(kind, way, downloaded, image_s=image_s, warmup_s=warmup_s, agents=sources.agents) for kind, way in ways.items()}
    first = next(iter(paths.values()))
    usable = [path for path in paths.values() if path.kind != "peers"]
    taken = {"store": first, "peers": paths["peers"], "lustre": paths.get("lustre", first)}.get(sources.wanted) or min(usable, key=lambda path: path.ready_s)
    return LoadPlan(
        weights_bytes=downloaded, bandwidth_bytes_per_s=taken.bandwidth_bytes_per_s, download_s=taken.download_s, load_s=taken.load_s, warmup_s=warmup_s,
        total_s=round(taken.download_s + taken.load_s + warmup_s, 1), path=taken.kind, image_s=taken.image_s, ready_s=taken.ready_s,
        warm_s=round(taken.load_s + warmup_s, 1), paths=tuple(sorted(paths.values(), key=lambda path: (path.ready_s, path.kind))),
        why=_why(taken, list(paths.values()), sources.wanted),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Way:
    """Bytes a second at which weights arrive on the node (0: they are read from where they are), and at which how many are read."""

    arrive: float
    read: float
    read_bytes: float


def _path(kind: Kind, way: _Way, downloaded: int, *, image_s: float, warmup_s: float, agents: bool) -> LoadPath:
    download_s = round(downloaded / way.arrive, 1) if way.arrive else 0.0
    load_s = round(way.read_bytes / way.read, 1)
    overlap_s = min(image_s, download_s) if agents else 0.0
    return LoadPath(
        kind=kind, bandwidth_bytes_per_s=way.arrive or way.read, image_s=image_s, download_s=download_s, load_s=load_s, warmup_s=warmup_s, overlap_s=overlap_s,
        ready_s=round(image_s + download_s - overlap_s + load_s + warmup_s, 1),
    )  # fmt: skip


def _ways(instance: Instance, whole: float, share: float, sources: Sources) -> dict[Kind, _Way]:
    """The ways by kind, the node's own disk first."""
    network = instance.network_bytes_per_s * _S3_SHARE
    store = min(network, _S3_BYTES_PER_S)
    disks = instance.local_nvme_count
    own: Kind = "disk" if disks else "root_volume"
    if disks:
        arrive, read = store, min(disks * _NVME_BYTES_PER_S, _LOADER_BYTES_PER_S)
    else:
        # What was just written is still in memory where it fits, so only the way there passes the volume.
        fits = whole <= instance.memory_bytes * _PAGE_CACHE_SHARE
        arrive, read = min(store, _EBS_BYTES_PER_S), _LOADER_BYTES_PER_S if fits else _EBS_BYTES_PER_S
    ways: dict[Kind, _Way] = {own: _Way(arrive, read, share), "peers": _Way(min(arrive, network, PEER_JOBS * _FLOW_BYTES_PER_S), read, share)}
    if sources.lustre:
        ways["lustre"] = _Way(0.0, min(sources.lustre.bytes_per_s(), network, _LOADER_BYTES_PER_S), share)
    return ways


def _why(taken: LoadPath, paths: list[LoadPath], wanted: str) -> str:
    others = [path for path in paths if path.kind != taken.kind]
    beside = ", ".join(f"{path.kind.replace('_', ' ')} {path.ready_s:,.0f} s" for path in sorted(others, key=lambda path: path.ready_s))
    if wanted != "auto":
        return f"asked for in the spec; beside it {beside}"
    shared = "; reading from other nodes spares the bucket, not time" if any(path.kind == "peers" for path in others) else ""
    return f"the fastest of what is there: beside it {beside}{shared}"
