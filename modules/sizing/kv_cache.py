"""From bytes to tokens: the block pool that an engine builds from what is left of a GPU.

Layers of one kind share one pool of blocks. Hybrids (sliding window, chunked, recurrent state) are put into equal groups that
draw from one pool; the smallest count of a kind sets the group size, and kinds with more layers take several groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from inferform.catalog.types import AttentionGroup, Model

BLOCK_TOKENS = 16
_BYTES = {"bf16": 2, "fp16": 2, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "float32": 4}
# One compressed latent of the sparse-attention models in 8 bits: 512 values, 4 scales of 4 bytes, 64 rotary values in 16 bits.
_SPARSE_LATENT_FP8_BYTES = 656


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """Layers that share one block table: `tables` tables of `layers` layers each, one page a layer and block."""

    kind: str
    tables: int
    block_tokens: int
    window_tokens: int | None

    def blocks(self, tokens: int, batched_tokens: int) -> int:
        """Blocks that one request of so many tokens holds in all tables of the group."""
        if self.kind in {"linear", "mamba"}:
            return self.tables
        if self.window_tokens is None:
            return self.tables * math.ceil(tokens / self.block_tokens)
        held = min(self.window_tokens - (self.kind == "sliding") + batched_tokens, tokens)
        return self.tables * (math.ceil(held / self.block_tokens) + (self.kind == "sliding"))

    def running(self, tokens: float) -> float:
        """Blocks that one running request of about so many tokens holds in all tables: its last block is half full on average."""
        if self.kind in {"linear", "mamba"}:
            return float(self.tables)
        held = max(1.0, tokens / self.block_tokens + 0.5)
        if self.window_tokens is not None:
            # A window that does not start with a block touches one more.
            held = min(held, self.window_tokens / self.block_tokens + (self.kind == "sliding"))
        return self.tables * held


@dataclass(frozen=True, slots=True)
class CachePool:
    """The pool of one rank: bytes of one block over all layers of a table, the groups, and the marginal bytes of a token."""

    block_bytes: int
    block_tokens: int
    groups: tuple[CacheGroup, ...]
    token_bytes: int

    @property
    def uniform(self) -> bool:
        """Every layer keeps the same kind of cache, so that bytes are in proportion to tokens."""
        return len(self.groups) == 1 and self.groups[0].tables == 1

    @property
    def tables(self) -> int:
        """Block tables that share the pool."""
        return sum(group.tables for group in self.groups)

    def blocks(self, available_bytes: int) -> int:
        """Whole blocks that fit."""
        return max(0, available_bytes) // self.block_bytes if self.block_bytes else 0

    def needed_blocks(self, tokens: int, batched_tokens: int) -> int:
        """Blocks of one request."""
        return sum(group.blocks(tokens, batched_tokens) for group in self.groups)

    def longest(self, blocks: int, batched_tokens: int, ceiling: int) -> int:
        """Longest request that fits, rounded down to whole blocks of 16; 0 when not even one block does."""
        low, high = 0, ceiling // BLOCK_TOKENS
        while low < high:
            middle = (low + high + 1) // 2
            if self.needed_blocks(middle * BLOCK_TOKENS, batched_tokens) <= blocks:
                low = middle
            else:
                high = middle - 1
        return low * BLOCK_TOKENS


@dataclass(frozen=True, slots=True)
class CacheRoom:
    """Blocks of a pool whose use does not grow in proportion to tokens: windows end, states have one size, kinds share the pool."""

    blocks: int
    pool: CachePool

    def requests(self, own: float, *, shared: float, step_tokens: int) -> float:
        """Running requests that fit, each with `own` tokens beside `shared` ones that are held once.

        A window lets go of what it has passed, so only prompts hold more than it, and all of them together no more than a step computes.
        """
        each = once = 0.0
        for group in self.pool.groups:
            each += group.running(own)
            once += group.running(shared) if shared else 0.0
            if group.window_tokens is not None:
                once += group.tables * min(float(step_tokens), max(0.0, own - group.window_tokens)) / group.block_tokens
        return (self.blocks - once) / each


def value_bytes(kv_cache: str, model: Model) -> int:
    """Bytes of one cached value; `auto` is the compute type unless the checkpoint states an 8-bit cache."""
    if kv_cache == "auto":
        return 1 if model.quantization is not None and model.quantization.kv_cache == "fp8" else 2
    return _BYTES[kv_cache]


def local_kv_heads(kv_heads: int, tp: int) -> int:
    """Key/value heads on one rank; heads are copied once there are more ranks than heads."""
    return max(1, math.ceil(kv_heads / tp))


def layer_token_bytes(group: AttentionGroup, tp: int, kv_cache: str, model: Model) -> int:
    """Bytes that one layer of a group keeps for one token on one rank.

    Shape: (head_dim + v_head_dim) x local kv heads, or one latent that tensor parallelism does not divide.
    """
    size = value_bytes(kv_cache, model)
    if group.kind == "mla" or (group.latent_dim and not group.v_head_dim):
        latent = _SPARSE_LATENT_FP8_BYTES if size == 1 and group.index_bytes and group.compression == 1 else group.latent_dim * size
        return (latent + group.index_bytes) // group.compression
    if group.kind in {"full", "sliding", "chunked"}:
        return (group.head_dim + group.v_head_dim) * local_kv_heads(group.kv_heads, tp) * size + group.index_bytes
    return 0


@lru_cache(maxsize=2048)
def cache_pool(model: Model, tp: int, kv_cache: str, start: int, end: int, *, grouped: bool = True) -> CachePool:
    """The pool of the rank that holds layers start..end-1.

    `grouped` is False for engine versions that give every attention layer the whole context. A model or stage without any
    cache has a pool with block_bytes 0.
    """
    kinds: dict[tuple[str, int, int | None, int], int] = {}
    for group in model.attention:
        count = sum(start <= i < end for i in group.indexes) if group.indexes else group.layers
        if group.kind == "none" or not count:
            continue
        window = group.window_tokens if grouped and group.kind in {"sliding", "chunked"} else None
        kind: str = group.kind if window is not None or group.kind in {"linear", "mamba"} else "full"
        token = layer_token_bytes(group, tp, kv_cache, model)
        state = math.ceil(group.state_bytes / tp) if kind in {"linear", "mamba"} else 0
        key = (kind, token, window, state)
        kinds[key] = kinds.get(key, 0) + count
    if not kinds:
        return CachePool(0, BLOCK_TOKENS, (), 0)
    token_bytes = sum(count * token for (kind, token, _, _), count in kinds.items() if kind == "full")
    windows = {(kind, window) for kind, _, window, _ in kinds}
    if len(windows) == 1 and not any(state for *_, state in kinds):
        (kind, window) = next(iter(windows))
        block = BLOCK_TOKENS * sum(count * token for (_, token, _, _), count in kinds.items())
        return CachePool(block, BLOCK_TOKENS, (CacheGroup(kind, 1, BLOCK_TOKENS, window),), token_bytes or block // BLOCK_TOKENS)
    return _hybrid(kinds, token_bytes)


def held_bytes(model: Model, kv_cache: str, tokens: float) -> float:
    """Bytes that one sequence of so many tokens keeps over all layers, each once however many ranks hold copies of it."""
    total = 0.0
    for group in model.attention:
        held = min(tokens, group.window_tokens) if group.window_tokens and group.kind in {"sliding", "chunked"} else tokens
        total += group.layers * (layer_token_bytes(group, 1, kv_cache, model) * held + group.state_bytes)
    return total


def _hybrid(kinds: dict[tuple[str, int, int | None, int], int], token_bytes: int) -> CachePool:
    """Equal groups over one pool; a recurrent state raises the attention block until its page holds the state."""
    state = max((s for *_, s in kinds), default=0)
    tokens = [token for (kind, token, _, _) in kinds if kind not in {"linear", "mamba"} and token]
    if not tokens:
        # Recurrent layers alone: one page a layer and request.
        size = min(kinds.values())
        tables = [CacheGroup(kind, math.ceil(count / size), BLOCK_TOKENS, None) for (kind, *_), count in kinds.items()]
        return CachePool(size * state, BLOCK_TOKENS, tuple(tables), 0)
    widest = max(tokens)
    block = max(BLOCK_TOKENS, math.ceil(state / widest / BLOCK_TOKENS) * BLOCK_TOKENS)
    page = block * widest
    size = _group_size(list(kinds.values()))
    groups = []
    for (kind, token, window, _), count in kinds.items():
        # A narrower layer keeps more tokens in the same page.
        held = block if kind in {"linear", "mamba"} else block * (page // (block * token))
        groups.append(CacheGroup(kind, math.ceil(count / size), held, window))
    return CachePool(page * size, block, tuple(groups), token_bytes)


def _group_size(counts: list[int]) -> int:
    """Layers of a group: the smallest count, or the largest when the kinds are nearly equal."""
    return max(counts) if max(counts) < 1.25 * min(counts) else min(counts)
