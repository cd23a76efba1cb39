"""Cold start of a replica: where the weights come from and how long until it answers."""

from __future__ import annotations

from inferform.catalog.types import Instance, Model
from inferform.plan_nodes import LoadPlan
from inferform.sizing.roofline import WEIGHT_BYTES

# Parallel range requests from S3 fill most of a network card; beyond this the client, not the card, is the limit.
_S3_SHARE = 0.8
_S3_BYTES_PER_S = 5e9
# Sequential reads of one instance-store disk, and of a gp3 root volume as it comes where there is none.
_NVME_BYTES_PER_S = 1.5e9
_NVME_MOST_BYTES_PER_S = 7e9
_EBS_BYTES_PER_S = 0.125e9
# Compiling and capturing graphs, by layers; assumed from public start-up logs, measured runs correct it.
_WARMUP_S, _WARMUP_S_PER_LAYER, _WARMUP_EAGER_S = 40.0, 0.5, 15.0


def checkpoint_bytes(model: Model, weights: str, *, as_published: bool) -> int:
    """Bytes of the checkpoint that is downloaded: as published when the engine quantizes while loading."""
    own = model.quantization.weights if model.quantization else "bf16"
    kind = own if as_published else weights
    wide = model.vocab * model.hidden * (1 if model.tie_embeddings else 2) + model.vision_params
    narrow = max(0, model.total_params - wide)
    return int(narrow * WEIGHT_BYTES.get(kind, 2.0) + wide * 2)


def load_plan(model: Model, instance: Instance, downloaded: int, *, nodes_per_replica: int, enforce_eager: bool) -> LoadPlan:
    """Download into the node's cache, read into GPU memory, warm up; every node of a replica fetches the whole checkpoint."""
    bandwidth = min(instance.network_bytes_per_s * _S3_SHARE, _S3_BYTES_PER_S)
    disks = instance.local_nvme_count
    read = min(disks * _NVME_BYTES_PER_S, _NVME_MOST_BYTES_PER_S) if disks else _EBS_BYTES_PER_S
    download_s = downloaded / bandwidth
    load_s = downloaded / nodes_per_replica / read
    quick = enforce_eager or model.encoder
    warmup_s = _WARMUP_EAGER_S if quick else _WARMUP_S + _WARMUP_S_PER_LAYER * model.layers
    return LoadPlan(
        weights_bytes=downloaded, bandwidth_bytes_per_s=bandwidth, download_s=round(download_s, 1), load_s=round(load_s, 1), warmup_s=warmup_s,
        total_s=round(download_s + load_s + warmup_s, 1),
    )  # fmt: skip
