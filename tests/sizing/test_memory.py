"""The memory plan of a GPU: what fits, how many tokens, what to change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model
from inferform.errors import InputError
from inferform.plan import MemoryPlan
from inferform.sizing.memory import MemoryRequest, default_utilization, own_weights, plan_memory
from inferform.sizing.memory_constants import read_version

from tests.sizing.small_models import llama

GIB = 2**30


def _plan(model: str, gpu: str | None = None, **changes: Any) -> MemoryPlan:
    return plan_memory(MemoryRequest(model=find_model(model), gpu=find_gpu(gpu) if gpu else None, **changes))


def _field_case(**changes: Any) -> MemoryPlan:
    """FC-03: 32 layers, 32 key/value heads of 128, 7.7 B parameters in 16 bits, one 24 GB card."""
    # Width 11,008 and 152,000 tokens give 7.7 B parameters.
    model = llama(num_key_value_heads=32, intermediate_size=11008, vocab_size=152000, max_position_embeddings=32768)
    return plan_memory(MemoryRequest(**{"model": model, "gpu": find_gpu("A10G"), "max_model_len": 32768, "engine_version": "0.33.0", **changes}))


def test_fc03_one_full_request_must_fit() -> None:
    """FC-03: 524,288 bytes a token x 32,768 = 16 GiB do not fit; needed and available bytes and the longest whole-block length are told."""
    plan = _field_case()
    assert (False, 524288) == (plan.fits, plan.kv_cache_bytes_per_token)
    assert str(16 * GIB) in plan.limits[0] and str(plan.kv_cache_bytes_per_gpu) in plan.limits[0]
    longest = plan.kv_cache_bytes_per_gpu // 524288 // 16 * 16
    assert f"max_model_len {longest} is the longest that fits" in plan.limits[1]


def test_fc03_the_longest_length_told_does_fit() -> None:
    """FC-03: with the length it names, the plan fits and holds at least one request; 16 tokens more do not."""
    longest = _field_case().kv_cache_bytes_per_gpu // 524288 // 16 * 16
    plan = _field_case(max_model_len=longest)
    assert plan.fits and plan.kv_cache_tokens >= longest and plan.max_concurrency >= 1
    assert not _field_case(max_model_len=longest + 16).fits


def test_fc03_utilization_is_never_raised() -> None:
    """FC-03: no remedy touches gpu_memory_utilization, and the budget is what was asked."""
    plan = _field_case(gpu_memory_utilization=0.5)
    assert not any("utilization" in text for text in plan.limits)
    assert plan.budget_bytes == -(-plan.device_memory_bytes // 2)


def test_parts_add_up_to_the_budget() -> None:
    """Weights, activations, runtime and cache are the budget, to the byte."""
    plan = _plan("meta-llama/Llama-3.1-8B", "H100", engine_version="0.33.0", max_model_len=8192)
    parts = plan.weights_bytes_per_gpu + plan.activation_bytes_per_gpu + plan.runtime_bytes_per_gpu + plan.kv_cache_bytes_per_gpu
    assert plan.budget_bytes == parts
    assert (True, ()) == (plan.fits, plan.limits)


def test_a_logged_start_to_the_percent() -> None:
    """Qwen2.5-7B on an H100 at 0.19 and 0.95: 58.53 GiB of cache and 1,096,000 tokens were printed."""
    plan = _plan("Qwen/Qwen2.5-7B-Instruct", "H100", engine_version="0.19.0", gpu_memory_utilization=0.95, max_model_len=8192)
    assert 58.53 == pytest.approx(plan.kv_cache_bytes_per_gpu / GIB, abs=0.1)
    assert 1_096_000 == pytest.approx(plan.kv_cache_tokens, rel=0.002)


def test_default_utilization_by_version() -> None:
    """0.90 for years, 0.92 now, 0.90 when the version is not known."""
    assert (0.90, 0.92, 0.90) == tuple(default_utilization("vllm", v) for v in (read_version("0.19.0"), read_version("0.33.0"), None))


@pytest.mark.parametrize(("gpu", "sequences"), [("H100", 1024), ("A100", 256), ("L4", 256), ("B200", 1024)])
def test_default_batch_limits_by_card(gpu: str, sequences: int) -> None:
    """Cards of 70 GiB and more get 1,024 sequences, the A100 and small ones 256."""
    plan, stated = (_plan("Qwen/Qwen3-0.6B", gpu, engine_version="0.33.0", max_num_seqs=n) for n in (None, sequences))
    assert stated == plan


def test_tightest_pipeline_rank_decides() -> None:
    """Over two stages the last one, with head and sampler, has the fewest blocks; its numbers are the plan."""
    plan = _plan("meta-llama/Llama-3.3-70B-Instruct", "A100", engine_version="0.33.0", pp=2, tp=2, max_model_len=4096, max_num_seqs=256)
    whole = _plan("meta-llama/Llama-3.3-70B-Instruct", "A100", engine_version="0.33.0", tp=4, max_model_len=4096, max_num_seqs=256)
    assert plan.fits and plan.kv_cache_bytes_per_token == 2 * 40 * 4 * 128 * 2
    assert plan.weights_bytes_per_gpu == pytest.approx(whole.weights_bytes_per_gpu, rel=0.02)


def test_uneven_stages() -> None:
    """61 layers over 4 stages: the third stage has 16 layers, and a token costs 16 x 1,152 bytes there."""
    plan = _plan("deepseek-ai/DeepSeek-R1", "H200", engine_version="0.33.0", tp=4, pp=4, max_model_len=4096, max_num_seqs=64)
    assert plan.kv_cache_bytes_per_token in {15 * 1152, 16 * 1152}


def test_unknown_card_needs_its_memory() -> None:
    """A card outside the catalogue works once its bytes are told, and is an input error before."""
    assert _plan("Qwen/Qwen3-0.6B", gpu_memory_bytes=24 * GIB, gpu_name="Mystery 24", max_model_len=4096).fits
    with pytest.raises(InputError, match="Mystery 24"):
        _plan("Qwen/Qwen3-0.6B", gpu_name="Mystery 24")


def test_unknown_version_covers_old_and_new() -> None:
    """Without a version the cache is no larger than with any version that leaves CUDA graphs outside of its budget."""
    common: dict[str, Any] = {"gpu_memory_utilization": 0.9, "max_model_len": 4096, "tp": 2}
    unknown = _plan("Qwen/Qwen3-8B", "H100", **common).kv_cache_bytes_per_gpu
    assert unknown <= min(_plan("Qwen/Qwen3-8B", "H100", engine_version=v, **common).kv_cache_bytes_per_gpu for v in ("0.11.0", "0.16.0", "0.19.0"))


def test_graphs_count_where_the_engine_counts_them() -> None:
    """At 0.33 CUDA graphs come out of the budget and eager mode gives them back; at 0.19 they lie outside of it."""
    new, new_eager, old, old_eager = (
        _plan("Qwen/Qwen3-8B", "H100", engine_version=v, enforce_eager=e, max_model_len=4096).runtime_bytes_per_gpu
        for v in ("0.33.0", "0.19.0")
        for e in (False, True)
    )
    assert new > new_eager and old == old_eager == new_eager


def test_hybrid_tokens_by_version() -> None:
    """Gemma-3-27B: the old start-up line divides blocks by 7 groups, the new one is concurrency x max_model_len."""
    old, new = (_plan("google/gemma-3-27b-it", "H200", engine_version=v, max_model_len=8192) for v in ("0.19.0", "0.20.2"))
    blocks = old.kv_cache_bytes_per_gpu // 1310720
    assert blocks // 7 * 16 == old.kv_cache_tokens
    assert new.kv_cache_tokens == pytest.approx(new.max_concurrency * 8192, abs=1)


def test_remedies_are_single_changes_that_work() -> None:
    """70 B in 16 bits on one H100 does not fit; every change that is named does, and tp is a legal degree."""
    request = MemoryRequest(model=find_model("meta-llama/Llama-3.3-70B-Instruct"), gpu=find_gpu("H100"), max_model_len=8192, engine_version="0.33.0")
    limits = plan_memory(request).limits
    assert "weights 131.4 GiB" in limits[0]
    assert any("tensor parallelism 2 makes it fit" in text for text in limits) and any("awq weights make it fit" in text for text in limits)
    assert plan_memory(replace(request, tp=2)).fits and plan_memory(replace(request, weights="awq")).fits
    # 8-bit weights alone do not: 67.7 GiB of 72.8 leave less than the 2.5 GiB of one request.
    assert not any(text.startswith("fp8") for text in limits) and not plan_memory(replace(request, weights="fp8")).fits


def test_fc05_no_remedy_that_the_card_cannot_run() -> None:
    """FC-05: on an A100 a mixture of experts is never told to use FP8, whose expert kernels are missing there."""
    limits = _plan("Qwen/Qwen3-235B-A22B", "A100", tp=4, max_model_len=8192, engine_version="0.33.0").limits
    assert not any(text.startswith("fp8 weights") for text in limits) and any(text.startswith("awq weights") for text in limits)


def test_no_remedy_is_told_as_such() -> None:
    """405 B on a T4 has no single remedy, and the plan says so."""
    assert "no single change" in _plan("meta-llama/Llama-3.1-405B", "T4", max_model_len=4096, engine_version="0.33.0").limits[-1]


def test_embedding_model_needs_no_cache() -> None:
    """An encoder fits by weights and activations alone and holds as many requests as it batches."""
    plan = _plan("BAAI/bge-m3", "L4", engine_version="0.33.0")
    assert (True, 0, 0, 256.0) == (plan.fits, plan.kv_cache_tokens, plan.kv_cache_bytes_per_token, plan.max_concurrency)


def test_tensorrt_llm_takes_a_share_of_what_is_free() -> None:
    """Cache = 0.9 x (device - weights - workspace); a public log of an 8B FP8 engine on an RTX 5090 shows 16.05 GiB."""
    plan = plan_memory(
        MemoryRequest(
            model=find_model("meta-llama/Llama-3.1-8B-Instruct"), gpu=find_gpu("RTX 5090"), weights="fp8", kv_cache="fp8", engine="tensorrt-llm", max_num_seqs=2048,
            max_num_batched_tokens=1024, max_model_len=2048,
        )
    )  # fmt: skip
    free = plan.device_memory_bytes - plan.weights_bytes_per_gpu - plan.activation_bytes_per_gpu - plan.runtime_bytes_per_gpu
    assert int(free * 0.9) == pytest.approx(plan.kv_cache_bytes_per_gpu, abs=1)
    assert 16.05 == pytest.approx(plan.kv_cache_bytes_per_gpu / GIB, abs=1.0)


def test_sglang_keeps_activations_outside_its_static_share() -> None:
    """Cache = share x device - weights - context; four H100 at 0.93 printed 16.46 GiB for the 235B in FP8."""
    plan = plan_memory(
        MemoryRequest(
            model=find_model("Qwen/Qwen3-235B-A22B-FP8"), gpu=find_gpu("H100"), tp=4, engine="sglang", gpu_memory_utilization=0.93, max_model_len=32768
        )
    )
    assert 16.46 == pytest.approx(plan.kv_cache_bytes_per_gpu / GIB, abs=0.5)


def test_first_engine_profiles_a_chunk_of_a_long_context() -> None:
    """Before 0.8 a context above 32,768 was profiled by one chunk without sampling: 0.1 to 0.3 GiB instead of the sampler's 1.2."""
    short, long = (_plan("Qwen/Qwen2.5-14B-Instruct", "A100", tp=2, engine_version="0.7.3", max_model_len=n) for n in (2048, 131072))
    assert short.activation_bytes_per_gpu > 1.2 * GIB and long.activation_bytes_per_gpu < 0.3 * GIB


def test_own_precision_of_a_checkpoint() -> None:
    """The checkpoint's statement wins, then its 16-bit type."""
    assert ("fp8", "mxfp4", "bf16", "fp16") == tuple(
        own_weights(find_model(name)) for name in ("deepseek-ai/DeepSeek-R1", "openai/gpt-oss-20b", "Qwen/Qwen3-8B", "CohereForAI/aya-23-8B")
    )


_NAMES = [
    "meta-llama/Llama-3.1-8B",
    "Qwen/Qwen3-30B-A3B",
    "google/gemma-3-27b-it",
    "deepseek-ai/DeepSeek-V2-Lite",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "BAAI/bge-m3",
]
_REQUESTS = st.builds(
    MemoryRequest,
    model=st.sampled_from(_NAMES).map(find_model),
    gpu_memory_bytes=st.integers(8 * GIB, 200 * GIB),
    tp=st.sampled_from([1, 2, 4]),
    pp=st.sampled_from([1, 2, 3]),
    weights=st.sampled_from(["bf16", "fp8", "awq", "nvfp4"]),
    kv_cache=st.sampled_from(["auto", "fp8"]),
    max_model_len=st.integers(16, 100_000),
    max_num_seqs=st.integers(1, 1024),
    max_num_batched_tokens=st.integers(1024, 16384),
    engine=st.sampled_from(["vllm", "sglang", "tensorrt-llm"]),
    engine_version=st.sampled_from([None, "0.7.0", "0.11.0", "0.19.0", "0.33.0"]),
    enforce_eager=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(_REQUESTS, st.integers(1, 64))
def test_more_memory_never_fits_less(request_: MemoryRequest, more_gib: int) -> None:
    """A larger card never holds fewer tokens or loses the fit (the interconnect held fixed)."""
    fixed = replace(request_, interconnect="nvlink", max_num_seqs=request_.max_num_seqs)
    small, large = plan_memory(fixed), plan_memory(replace(fixed, gpu_memory_bytes=(fixed.gpu_memory_bytes or 0) + more_gib * GIB))
    assert small.kv_cache_tokens <= large.kv_cache_tokens and small.fits <= large.fits


@settings(max_examples=60, deadline=None)
@given(_REQUESTS, st.integers(16, 100_000))
def test_longer_requests_never_fit_better(request_: MemoryRequest, longer: int) -> None:
    """A longer context never raises the concurrency, and what does not fit says why and keeps a plain answer."""
    short = plan_memory(request_)
    long = plan_memory(replace(request_, max_model_len=(request_.max_model_len or 0) + longer))
    assert long.max_concurrency <= short.max_concurrency
    assert bool(short.limits) != short.fits


@settings(max_examples=40, deadline=None)
@given(_REQUESTS)
def test_narrower_cache_never_holds_less(request_: MemoryRequest) -> None:
    """An 8-bit cache never holds fewer tokens than a 16-bit one."""
    wide, narrow = (plan_memory(replace(request_, kv_cache=kv)).kv_cache_tokens for kv in ("bf16", "fp8"))
    assert wide <= narrow
