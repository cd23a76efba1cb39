"""Bytes per token and blocks per request, by architecture, rank and kind of layer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.catalog.models import find_model, model_ids
from inferform.sizing.kv_cache import CacheGroup, CachePool, cache_pool, held_bytes, local_kv_heads

from tests.sizing.small_models import llama

GIB = 2**30


def _pool(name: str, tp: int = 1, kv_cache: str = "auto", *, grouped: bool = True) -> CachePool:
    model = find_model(name)
    return cache_pool(model, tp, kv_cache, 0, model.layers, grouped=grouped)


def test_llama_3_8b_keeps_131072_bytes_a_token() -> None:
    """2 x 32 layers x 8 heads x 128 x 2 bytes = 131,072."""
    assert 131072 == _pool("meta-llama/Meta-Llama-3-8B", kv_cache="fp16").token_bytes


def test_32_requests_of_8192_tokens_are_32_gib() -> None:
    """32 x 8,192 tokens x 131,072 bytes = 32 GiB."""
    pool = _pool("meta-llama/Meta-Llama-3-8B", kv_cache="fp16")
    assert 32 * GIB == 32 * pool.needed_blocks(8192, 8192) * pool.block_bytes


def test_a_sequence_is_held_once_however_many_ranks_copy_it() -> None:
    """8,000 tokens: 70,272 bytes each of a latent; of gemma-3-27b's 62 layers of 8,192 bytes ten keep all tokens and 52 the last 1,024."""
    assert 70272 * 8000 == held_bytes(find_model("deepseek-ai/DeepSeek-R1"), "auto", 8000)
    assert 8192 * (10 * 8000 + 52 * 1024) == held_bytes(find_model("google/gemma-3-27b-it"), "auto", 8000)


@pytest.mark.parametrize("tp", [1, 2, 8])
def test_latent_cache_is_whole_on_every_rank(tp: int) -> None:
    """DeepSeek-R1: 576 values x 2 bytes x 61 layers = 70,272 bytes a token on every tensor-parallel rank."""
    assert 70272 == _pool("deepseek-ai/DeepSeek-R1", tp).token_bytes


def test_heads_are_copied_beyond_their_number() -> None:
    """4 heads over 8 ranks: one each, not half."""
    assert (1, 1, 2) == (local_kv_heads(4, 8), local_kv_heads(4, 4), local_kv_heads(4, 2))
    assert _pool("Qwen/Qwen3-235B-A22B", 4).token_bytes == _pool("Qwen/Qwen3-235B-A22B", 8).token_bytes


def test_qwen3_235b_with_one_head_a_rank() -> None:
    """One head a rank: 2 x 94 layers x 128 x 2 bytes = 48,128, as a start-up log shows."""
    assert 48128 == _pool("Qwen/Qwen3-235B-A22B", 8).token_bytes


def test_cache_precision() -> None:
    """8 bits halve it, 32 bits double it; a checkpoint that states an fp8 cache gets one by default."""
    sizes = [_pool("meta-llama/Meta-Llama-3-8B", kv_cache=kv).token_bytes for kv in ("fp8", "bf16", "float32")]
    assert [65536, 131072, 262144] == sizes
    assert _pool("nvidia/Llama-3.1-70B-Instruct-FP8").token_bytes * 2 == _pool("meta-llama/Llama-3.1-70B").token_bytes


@pytest.mark.parametrize(
    ("name", "block_bytes", "tables"),
    [
        ("google/gemma-3-27b-it", 1310720, 7),
        ("google/gemma-3-12b-it", 1048576, 6),
        ("google/gemma-3-4b-it", 327680, 7),
        ("google/gemma-2-27b-it", 3014656, 2),
        ("google/gemma-2-9b-it", 2752512, 2),
        ("openai/gpt-oss-20b", 393216, 2),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 786432, 4),
    ],
)
def test_hybrid_groups(name: str, block_bytes: int, tables: int) -> None:
    """Groups and block sizes equal those of start-up logs: Gemma-3-27B has 7 groups of 10, Gemma-2-9B 2 of 21, Scout 4 of 12."""
    pool = _pool(name)
    assert (block_bytes, tables) == (pool.block_bytes, pool.tables)


def test_gemma_concurrency_to_the_digit() -> None:
    """89,992 blocks hold 50.05 requests of 4,096 tokens: 256 blocks in the full group, 257 in each of 6 windowed ones (window 1,024, 8,192 batched)."""
    pool = _pool("google/gemma-3-27b-it")
    assert 256 + 6 * 257 == pool.needed_blocks(4096, 8192)
    assert 50.05 == round(89992 / pool.needed_blocks(4096, 8192), 2)


def test_before_groups_every_layer_keeps_everything() -> None:
    """Old engines gave windowed layers the whole context: Gemma-2-9B then has one table over 42 layers."""
    pool = _pool("google/gemma-2-9b-it", grouped=False)
    assert (1, 2 * 2752512) == (pool.tables, pool.block_bytes)


@pytest.mark.parametrize(("name", "tp", "block_tokens"), [("Qwen/Qwen3-Next-80B-A3B-Instruct", 1, 544), ("Qwen/Qwen3.5-27B", 2, 784)])
def test_state_raises_the_attention_block(name: str, tp: int, block_tokens: int) -> None:
    """The attention page grows until it holds one recurrent state: 544 tokens for Qwen3-Next, 784 for the 27B hybrid at tp 2, as logs print."""
    assert block_tokens == _pool(name, tp).block_tokens


def test_state_is_one_page_whatever_the_length() -> None:
    """Recurrent layers of a request hold as many blocks at 100,000 tokens as at 100."""
    group = CacheGroup("linear", 3, 784, None)
    assert (3, 3) == (group.blocks(100, 8192), group.blocks(100_000, 8192))


def test_window_bounds_what_a_request_holds() -> None:
    """A window of 1,024 with 2,048 batched tokens holds (1,023 + 2,048) / 16 -> 192 blocks and one more, however long the request."""
    assert 193 == CacheGroup("sliding", 1, 16, 1024).blocks(1_000_000, 2048)
    # A chunk of 8,192 holds (8,192 + 2,048) / 16.
    assert 640 == CacheGroup("chunked", 1, 16, 8192).blocks(1_000_000, 2048)


def test_encoder_has_no_pool() -> None:
    """An embedding model keeps no cache."""
    assert (0, 0) == (_pool("BAAI/bge-m3").block_bytes, _pool("BAAI/bge-m3").blocks(GIB))


def test_pipeline_stage_keeps_its_own_layers() -> None:
    """Half of the layers keep half of the bytes."""
    model = llama()
    assert cache_pool(model, 1, "auto", 0, 32).block_bytes == 2 * cache_pool(model, 1, "auto", 16, 32).block_bytes


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(model_ids()), st.sampled_from([1, 2, 4, 8]), st.integers(1, 4_000), st.integers(1, 4_000))
def test_more_tokens_never_need_fewer_blocks(name: str, tp: int, shorter: int, more: int) -> None:
    """Blocks grow with the length, and the longest length that fits is the last that fits."""
    pool = _pool(name, tp)
    assert pool.needed_blocks(shorter, 2048) <= pool.needed_blocks(shorter + more, 2048)
    if pool.block_bytes:
        blocks = pool.needed_blocks(shorter * 16, 2048)
        longest = pool.longest(blocks, 2048, 10_000_000)
        assert longest >= shorter * 16 and longest % 16 == 0
        assert pool.needed_blocks(longest, 2048) <= blocks
