"""Memory beside weights, activations and cache: communication buffers, context growth, CUDA graphs."""

from __future__ import annotations

from inferform.catalog.types import Gpu, Model
from inferform.sizing.memory_constants import GIB, Version, constants, non_torch_laws

_LARGE_CARD_BYTES = 70 * GIB


def default_interconnect(gpu: Gpu | None, device_memory_bytes: int) -> str:
    """nvlink or pcie: by the card; for an unknown card by its size, since large cards come with NVLink."""
    if gpu is not None:
        return "nvlink" if gpu.nvlink_bytes_per_s_per_gpu > 0 else "pcie"
    return "nvlink" if device_memory_bytes >= _LARGE_CARD_BYTES else "pcie"


def non_torch_bytes(*, tp: int, pp: int, interconnect: str, version: Version) -> int:
    """Bytes outside the tensor allocator on one rank."""
    law = [law for law in non_torch_laws() if law.since <= version][-1]
    if tp > 1:
        return law.pcie_tp if interconnect in {"pcie", "none"} else law.nvlink_tp
    return law.pipeline_only if pp > 1 else law.one_gpu


def cuda_graph_bytes(model: Model, *, max_num_seqs: int, enforce_eager: bool) -> int:
    """Bytes of captured CUDA graphs on one rank: by layers and by the share of batch sizes that are captured."""
    if enforce_eager:
        return 0
    fit = constants()["vllm"]["cuda_graphs_gib"]
    captured = min(1.0, 2 * max_num_seqs / fit["full_captures"])
    return int((fit["base"] + fit["per_layer"] * model.layers) * captured * GIB)
