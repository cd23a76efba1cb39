"""Tiers of the KV cache: what fits, what helps, and what is refused with both figures."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError
from inferform.plan import ModelPlan, PoolPlan
from inferform.quantities import GIB

from tests.planning.specs import LARGE, SMALL, model, plan

P5 = {"hardware": {"instance_types": ["p5.48xlarge"]}}


def planned(source: str = SMALL, **changes: Any) -> tuple[ModelPlan, PoolPlan]:
    made = plan({"m": model(source, **changes)}).models["m"]
    return made, next(pool for pool in made.pools.values() if pool.role != "decode")


def test_nothing_is_offloaded_unless_asked_for() -> None:
    """No tier by default."""
    _, pool = planned()
    assert pool.pod.kv_tiers is None


def test_tokens_follow_from_bytes_over_all_ranks() -> None:
    """Llama 3.1 8B at TP 1: 2 x 32 layers x 8 heads x 128 x 2 B = 131,072 B a token, so 200 GiB hold 1,638,400 and 500 GiB 4,096,000."""
    made, pool = planned(kv_tiers={"cpu": "200Gi", "disk": "500Gi"}, **P5)
    tiers = pool.pod.kv_tiers
    assert tiers is not None
    assert (1, 200 * GIB, 1_638_400, 500 * GIB, 4_096_000) == (pool.tp, tiers.cpu_bytes, tiers.cpu_tokens, tiers.disk_bytes, tiers.disk_tokens)
    assert "KV blocks that leave the GPU stay: 200.0 GiB of each pod's memory hold 1,638,400 tokens, and 500.0 GiB of local disk hold 4,096,000" in made.why


def test_heads_that_ranks_copy_are_stored_as_often() -> None:
    """Llama 3.3 70B at TP 8: 80 layers x 1 head a rank x 2 x 128 x 2 B x 8 ranks = 327,680 B a token; 320 GiB hold 1,048,576."""
    _, pool = planned(LARGE, parallelism={"tp": 8}, kv_cache="bf16", kv_tiers={"cpu": "320Gi"}, **P5)
    assert pool.pod.kv_tiers is not None
    assert (8, 1_048_576) == (pool.tp, pool.pod.kv_tiers.cpu_tokens)


def test_shared_memory_holds_the_blocks_inside_the_pods_memory() -> None:
    """vLLM keeps host blocks in /dev/shm: 2 GiB of its own and 200 GiB of blocks, below the pod's limit with room for the engine."""
    _, pool = planned(kv_tiers={"cpu": "200Gi"}, **P5)
    assert 202 * GIB == pool.pod.shm_bytes
    assert pool.pod.memory_bytes > 202 * GIB + 12 * GIB


@pytest.mark.parametrize("engine", ["sglang", "tensorrt-llm"])
def test_engines_that_pin_their_memory_need_no_larger_shm(engine: str) -> None:
    """SGLang and TensorRT-LLM allocate host blocks outside /dev/shm, so it stays as it was."""
    _, pool = planned(engine=engine, quantization="bf16", kv_tiers={"cpu": "200Gi"}, **P5)
    assert pool.pod.kv_tiers is not None
    assert (engine, 2 * GIB) == (pool.pod.kv_tiers.backend, pool.pod.shm_bytes)


def test_what_trims_the_files_comes_out_of_the_pods_share() -> None:
    """vLLM never removes a file, so a container does: 50 m and 128 MiB that the engine gives up; SGLang keeps its files in bounds itself."""
    _, plain = planned(kv_tiers={"cpu": "200Gi"}, **P5)
    _, trimmed = planned(kv_tiers={"cpu": "200Gi", "disk": "500Gi"}, **P5)
    assert (50, 128 * 2**20) == (plain.pod.cpu_millis - trimmed.pod.cpu_millis, plain.pod.memory_bytes - trimmed.pod.memory_bytes)
    _, sglang = planned(engine="sglang", quantization="bf16", kv_tiers={"cpu": "200Gi", "disk": "500Gi"}, **P5)
    assert sglang.pod.kv_tiers is not None
    assert not sglang.pod.kv_tiers.trimmed


def test_auto_takes_what_prompts_of_ten_minutes_and_an_hour_need() -> None:
    """At most the prompts that arrive in that time, at least what the tier above holds."""
    made, pool = planned(
        LARGE, workload={"peak_rps": 20, "input_tokens": {"mean": 3000, "p95": 5000}}, kv_tiers={"cpu": "auto", "disk": "auto"}, slo={"ttft_p95": "5s"}, **P5
    )
    tiers, above = pool.pod.kv_tiers, pool.memory.kv_cache_bytes_per_gpu * pool.tp * pool.dp
    assert tiers is not None
    assert above < tiers.cpu_bytes < tiers.disk_bytes
    assert tiers.cpu_tokens <= pool.requests_per_s * 3000 * 600
    assert tiers.disk_tokens <= pool.requests_per_s * 3000 * 3600
    assert any(text.startswith("KV blocks that leave the GPU stay") for text in made.why)


def test_auto_takes_nothing_where_it_would_only_repeat_the_gpu() -> None:
    """g6.xlarge: 16 GiB of memory beside an L4 leave nothing, and the plan says so."""
    made, pool = planned(kv_tiers={"cpu": "auto", "disk": "auto"}, hardware={"instance_types": ["g6.xlarge"]})
    assert pool.pod.kv_tiers is None
    assert any("kv_tiers.cpu auto: none, because" in text and "on g6.xlarge would only repeat" in text for text in made.why)


def test_auto_takes_nothing_where_the_gpu_holds_the_prompts() -> None:
    """A tenth of a request a second on a large card: ten minutes of prompts are in its own cache."""
    made, pool = planned(
        workload={"peak_rps": 0.1, "input_tokens": {"mean": 20, "p95": 40}}, max_num_seqs=1, kv_tiers={"cpu": "auto"}, **P5
    )  # fmt: skip
    assert pool.pod.kv_tiers is None
    assert any("the GPU cache alone holds the prompts of ten minutes" in text for text in made.why)


def test_a_tier_smaller_than_the_one_above_is_told() -> None:
    """8 GiB of memory repeat the tens of GiB of the GPU."""
    made, pool = planned(kv_tiers={"cpu": "8Gi"}, **P5)
    assert pool.pod.kv_tiers is not None
    assert any("kv_tiers.cpu 8.0 GiB repeats the" in text for text in made.why)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kv_tiers": {"cpu": "64Gi"}, "hardware": {"instance_types": ["g6e.xlarge"]}}, r"kv_tiers\.cpu: needs 64\.0 GiB of memory, and a pod on g6e\.xlarge has 1\d\.\d GiB left"),
        ({"kv_tiers": {"cpu": "200Gi", "disk": "60000Gi"}, **P5}, r"kv_tiers\.disk: needs 60,000\.0 GiB of local disk, and a pod on p5\.48xlarge has 2,\d+\.\d GiB left"),
        ({"kv_tiers": {"cpu": "64Gi"}, "engine_version": "0.11.0", **P5}, r"kv_tiers\.cpu: vLLM 0\.11\.0 does not offload"),
        ({"kv_tiers": {"cpu": "64Gi", "disk": "auto"}, "engine_version": "0.20.2", **P5}, r"kv_tiers\.disk: vLLM 0\.20\.2 was not read to have a tier of files; 0\.26\.0"),
        ({"kv_tiers": {"cpu": "64Gi", "disk": "auto"}, "engine": "tensorrt-llm", "quantization": "bf16", **P5}, r"kv_tiers\.disk: TensorRT-LLM keeps"),
        ({"kv_tiers": {"cpu": "64Gi"}, "engine_version": "0.24.0", "source": "openai/gpt-oss-20b", **P5}, r"kv_tiers: vLLM 0\.24\.0 may give every layer"),
        (
            {"source": "meta-llama/Meta-Llama-3.1-405B", "quantization": "bf16", "parallelism": {"tp": 8, "pp": 2}, "kv_tiers": {"cpu": "64Gi"}, "slo": {"ttft_p95": "20s"}, **P5},
            r"kv_tiers: a replica on 2 nodes has no tier that all its ranks reach",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused(changes: dict[str, Any], message: str) -> None:
    """More than the node has left, both figures told; releases without the tier; replicas of several nodes."""
    with pytest.raises(InputError, match=message):
        planned(**changes)


def test_network_volumes_are_no_tier() -> None:
    """A type without local disks is refused by name."""
    with pytest.raises(InputError, match=r"kv_tiers\.disk: p3\.8xlarge has no local disks.*slower than computing them"):
        planned(
            kv_tiers={"cpu": "32Gi", "disk": "100Gi"},
            hardware={"instance_types": ["p3.8xlarge"]},
            quantization="fp16",
            slo={"ttft_p95": "60s", "tpot_p95": "1s"},
        )


def test_setting_memory_up_is_part_of_the_start() -> None:
    """400 GiB at 5 GiB a second are 80 s more of warm-up, which the start-up probe and the deadline wait for."""
    (plain, one), (tiered, two) = planned(**P5), planned(kv_tiers={"cpu": "400Gi"}, hardware={"instance_types": ["p5.48xlarge"]}, parallelism={"tp": 2})
    made = planned(parallelism={"tp": 2}, **P5)[0].load
    assert tiered.load.warmup_s == pytest.approx(made.warmup_s + 80, abs=0.2)
    assert tiered.load.total_s == pytest.approx(made.total_s + 80, abs=0.2)
    assert plain.load.warmup_s == pytest.approx(made.warmup_s, abs=0.2)
    life = two.lifecycle
    assert life.startup_failure_threshold * life.startup_period_s >= 2 * tiered.load.total_s
    assert one.lifecycle.startup_failure_threshold <= life.startup_failure_threshold


def test_decode_replicas_have_no_tier_of_their_own() -> None:
    """Blocks of prompts are made by prefill replicas, so they are kept there."""
    made, _ = planned(
        LARGE, topology={"prefill": 1, "decode": 2}, kv_tiers={"cpu": "200Gi"}, parallelism={"tp": 4}, slo={"ttft_p95": "4s"}, quantization="bf16", **P5
    )
    assert made.pools["decode"].pod.kv_tiers is None
    tiers = made.pools["prefill"].pod.kv_tiers
    assert tiers is not None
    assert "vllm" == tiers.backend
