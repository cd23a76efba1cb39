"""Memory questions of latency and search, answered once each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from inferform.plan import MemoryPlan
from inferform.sizing.kv_cache import CacheRoom
from inferform.sizing.memory import MemoryRequest, plan_room
from inferform.sizing.memory_settings import settle
from inferform.sizing.queueing import Limits


@dataclass(frozen=True, slots=True)
class Room:
    """The memory plan of a rank and, where tokens alone do not say how many requests fit, the blocks of its cache."""

    memory: MemoryPlan
    cache: CacheRoom | None = None

    def limits(self, sequences: int, step_tokens: int) -> Limits:
        """What an engine with these batch limits holds at once; a model that keeps no cache is bound by the batch limits alone."""
        keeps = self.memory.kv_cache_bytes_per_token or self.memory.kv_cache_tokens or self.cache is not None
        return Limits(sequences, step_tokens, float(self.memory.kv_cache_tokens) if keeps else math.inf, self.cache)


@lru_cache(maxsize=8192)
def room_of(request: MemoryRequest) -> Room:
    """The room of one layout."""
    return Room(*plan_room(request))


@lru_cache(maxsize=8192)
def batch_of(request: MemoryRequest) -> tuple[int, int]:
    """(most sequences, most tokens of a step) with the engine's defaults where the request names none."""
    settings = settle(request)
    return settings.max_num_seqs, settings.max_num_batched_tokens
