"""Memory questions of latency and search, answered once each."""

from __future__ import annotations

from functools import lru_cache

from inferform.plan import MemoryPlan
from inferform.sizing.memory import MemoryRequest, plan_memory
from inferform.sizing.memory_settings import settle


@lru_cache(maxsize=8192)
def memory_of(request: MemoryRequest) -> MemoryPlan:
    """The memory plan of one layout."""
    return plan_memory(request)


@lru_cache(maxsize=8192)
def batch_of(request: MemoryRequest) -> tuple[int, int]:
    """(most sequences, most tokens of a step) with the engine's defaults where the request names none."""
    settings = settle(request)
    return settings.max_num_seqs, settings.max_num_batched_tokens
