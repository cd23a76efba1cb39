"""The memory of one GPU: weights, activations, runtime, and what is left for the KV cache, on the tightest rank of a replica.

    budget = utilization x memory that a process sees
    cache  = budget - weights - activation peak - non-torch memory (- CUDA graphs where the engine version counts them)

Pipeline stages are uneven, so every stage is worked out and the one that holds the fewest cache blocks decides, as it does in
the engine. TensorRT-LLM takes a share of the memory that is free once the engine is loaded; SGLang keeps weights and cache
inside a static share and everything else outside of it.
"""

from __future__ import annotations

from inferform.plan import MemoryPlan
from inferform.sizing.kv_cache import CachePool, CacheRoom
from inferform.sizing.memory_constants import has
from inferform.sizing.memory_limits import explain
from inferform.sizing.memory_rank import RankNeed, holds_one_request, tightest_rank
from inferform.sizing.memory_settings import MemoryRequest, Settings, default_utilization, own_weights, settle

__all__ = ["MemoryRequest", "default_utilization", "own_weights", "plan_memory", "plan_room"]


def plan_memory(request: MemoryRequest) -> MemoryPlan:
    """Memory of the tightest GPU of a replica, the tokens and full-length requests it holds, and what to change if it does not fit.

    Raises: InputError when the memory of the GPU is not known.
    """
    return plan_room(request)[0]


def plan_room(request: MemoryRequest) -> tuple[MemoryPlan, CacheRoom | None]:
    """The memory plan, and the blocks where tokens alone do not say how many requests they hold. Raises: as `plan_memory`."""
    settings = settle(request)
    need = tightest_rank(settings)
    fits = holds_one_request(settings, need)
    plan = _plan(settings, need, fits=fits, limits=() if fits else explain(settings, need))
    return plan, None if _proportional(need.pool) else CacheRoom(need.blocks, need.pool)


def _proportional(pool: CachePool) -> bool:
    """Whether a request's share of the pool is its share of the tokens; true of a pool without a cache."""
    return not pool.block_bytes or (pool.uniform and pool.groups[0].window_tokens is None and bool(pool.token_bytes))


def _plan(settings: Settings, need: RankNeed, *, fits: bool, limits: tuple[str, ...]) -> MemoryPlan:
    pool, blocks = need.pool, need.blocks
    if pool.block_bytes:
        concurrency = blocks / pool.needed_blocks(settings.max_model_len, settings.max_num_batched_tokens)
        tokens = _tokens(settings, pool, blocks, concurrency)
    else:
        # No cache at all: an encoder holds as many requests as it batches.
        concurrency, tokens = float(settings.max_num_seqs if fits else 0), 0
    return MemoryPlan(
        fits=fits,
        device_memory_bytes=settings.device_bytes,
        budget_bytes=settings.budget_bytes,
        weights_bytes_per_gpu=need.weights,
        activation_bytes_per_gpu=need.activation,
        runtime_bytes_per_gpu=need.runtime,
        kv_cache_bytes_per_gpu=max(0, need.available),
        kv_cache_bytes_per_token=pool.token_bytes,
        kv_cache_tokens=tokens,
        max_concurrency=round(concurrency, 4),
        limits=limits,
    )


def _tokens(settings: Settings, pool: CachePool, blocks: int, concurrency: float) -> int:
    """Tokens as the engine's start-up line counts them; for hybrid models that line changed its meaning."""
    if pool.uniform and pool.groups[0].window_tokens is None:
        return blocks * pool.block_tokens
    if settings.request.engine == "vllm" and not has("tokens_from_concurrency", settings.version):
        return blocks // pool.tables * pool.block_tokens
    return int(concurrency * settings.max_model_len)
