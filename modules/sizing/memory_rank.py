"""What each rank of a replica holds, and which rank decides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from inferform.sizing.activation import activation_bytes
from inferform.sizing.kv_cache import CachePool, cache_pool
from inferform.sizing.memory_constants import GIB, NEWEST, Version, constants, has
from inferform.sizing.memory_settings import Settings, profiles_chunks
from inferform.sizing.runtime import cuda_graph_bytes, non_torch_bytes
from inferform.sizing.weights import pipeline_stages, stage_bytes

# The last vLLM version with the large sampler peak.
_BEFORE_LEAN_SAMPLER: Version = (0, 16, 0)


@dataclass(frozen=True, slots=True)
class RankNeed:
    """What one rank holds, in bytes; `available` is left for the cache and may be negative."""

    weights: int
    activation: int
    runtime: int
    available: int
    pool: CachePool

    @property
    def blocks(self) -> int:
        """Cache blocks that fit."""
        return self.pool.blocks(self.available)


def tightest_rank(settings: Settings) -> RankNeed:
    """The pipeline stage that holds the fewest blocks and, on equal blocks, has the least room."""
    request = settings.request
    needs = [_rank(settings, start, end) for start, end in pipeline_stages(request.model.layers, request.pp)]
    return min(needs, key=lambda need: (need.blocks if need.pool.block_bytes else math.inf, need.available))


def holds_one_request(settings: Settings, need: RankNeed) -> bool:
    """Whether one request of the full length fits (FC-03)."""
    if not need.pool.block_bytes:
        return need.available >= 0
    return need.blocks >= need.pool.needed_blocks(settings.max_model_len, settings.max_num_batched_tokens)


def _rank(settings: Settings, start: int, end: int) -> RankNeed:
    request = settings.request
    last = end == request.model.layers
    weights = stage_bytes(request.model, settings.weights, tp=request.tp, ep=request.ep, start=start, end=end)
    samples = last and not (request.engine == "vllm" and profiles_chunks(settings.version, settings.max_model_len))
    activation, runtime = _demands(settings, samples=samples)
    grouped = request.engine != "vllm" or has("hybrid_block_groups", settings.version)
    pool = cache_pool(request.model, request.tp, request.kv_cache, start, end, grouped=grouped)
    available = settings.budget_bytes - weights - activation - runtime
    if request.whole_card:
        return RankNeed(weights, activation, runtime, available, pool)
    if request.engine == "tensorrt-llm" and available > 0:
        available = math.floor(available * settings.share)
    elif request.engine == "sglang":
        # Activations and graphs live outside the static share.
        available += activation
    return RankNeed(weights, activation, runtime, available, pool)


@lru_cache(maxsize=4096)
def _demands(settings: Settings, *, samples: bool) -> tuple[int, int]:
    """(activation, runtime) bytes of one rank.

    For a vLLM version that is not known the sum covers old engines (large sampler peak) and new ones (lean sampler, more
    communication memory): the larger sum, with the larger activation. CUDA graphs are then left to the share outside the budget.
    """
    engine = settings.request.engine
    if engine == "tensorrt-llm":
        own = constants()["tensorrt-llm"]
        logits = settings.max_num_seqs * settings.request.model.vocab * 4
        activation = _activation(settings, samples=False, version=NEWEST) + int(own["logits_copies"] * logits * samples)
        return activation, int(own["context_gib"] * GIB)
    if engine == "sglang":
        own = constants()["sglang"]
        together = settings.request.tp > 1 and settings.interconnect != "pcie"
        return _activation(settings, samples=samples, version=NEWEST), int((own["nvlink_tp_gib"] if together else own["context_gib"]) * GIB)
    if settings.version is not None:
        return _activation(settings, samples=samples, version=settings.version), _non_torch(settings, settings.version) + _graphs(settings)
    found = [(_activation(settings, samples=samples, version=v), _non_torch(settings, v)) for v in (_BEFORE_LEAN_SAMPLER, NEWEST)]
    activation = max(a for a, _ in found)
    return activation, max(a + r for a, r in found) - activation


def _activation(settings: Settings, *, samples: bool, version: Version) -> int:
    request = settings.request
    return activation_bytes(
        request.model, tp=request.tp, ep=request.ep, pp=request.pp, samples=samples, max_num_seqs=settings.max_num_seqs,
        max_num_batched_tokens=settings.max_num_batched_tokens, weights=settings.weights, version=version,
    )  # fmt: skip


def _non_torch(settings: Settings, version: Version) -> int:
    return non_torch_bytes(tp=settings.request.tp, pp=settings.request.pp, interconnect=settings.interconnect, version=version)


def _graphs(settings: Settings) -> int:
    """CUDA graphs where the engine version counts them against the budget."""
    if not has("graph_estimate", settings.version):
        return 0
    request = settings.request
    return cuda_graph_bytes(request.model, max_num_seqs=settings.max_num_seqs, enforce_eager=request.enforce_eager)
