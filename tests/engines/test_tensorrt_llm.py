"""TensorRT-LLM: the configuration file, the share of free memory, arguments of both kinds, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import samples
from inferform.engines import Place, find_engine
from inferform.errors import InputError
from inferform.plan import ModelPlan

GIB = 2**30
ENGINE = find_engine("tensorrt-llm")
VERSION = "1.3.0rc22"
REFERENCE = Path(__file__).resolve().parents[2] / "../shared/reference"
SIGNALS = ("queue", "running", "kv_use", "ttft", "tpot", "e2e", "queue_time", "requests", "prompt_tokens", "generation_tokens", "prefix_hits", "prefix_queries")


def planned(pool: dict[str, Any] | None = None, **model: Any) -> ModelPlan:
    values = {"engine": "tensorrt-llm", "engine_version": VERSION, "checkpoint_quantized": True, **model}
    return ModelPlan.model_validate(samples.model({"aggregated": samples.pool(**(pool or {}))}, **values))


def command(pool: dict[str, Any] | None = None, **model: Any) -> list[str]:
    plan = planned(pool, **model)
    return ENGINE.command(plan, plan.pools["aggregated"])


def file(pool: dict[str, Any] | None = None, **model: Any) -> dict[str, Any]:
    plan = planned(pool, **model)
    return ENGINE.configuration(plan, plan.pools["aggregated"])


def test_the_command_names_the_file_that_holds_everything_else() -> None:
    """Memory and batching stand in the file, because the file wins over the command line."""
    expected = "trtllm-serve serve /models/weights --served_model_name llama-70b --host 0.0.0.0 --port 8000 --extra_llm_api_options /config/llm-args.yaml"
    assert expected.split() == command()
    held = file()
    sizes = ("tensor_parallel_size", "pipeline_parallel_size", "max_batch_size", "max_num_tokens", "max_seq_len")
    assert [4, 1, 256, 8192, 8192] == [held[k] for k in sizes]
    assert (True, True, True) == (held["enable_chunked_prefill"], held["return_perf_metrics"], held["enable_iter_perf_stats"])
    assert {"enable_padding": True, "max_batch_size": 256} == held["cuda_graph_config"]
    assert file(enforce_eager=True)["cuda_graph_config"] is None


def test_fc22_the_fraction_is_of_free_memory() -> None:
    """80 GiB, weights 16, workspace 2, 0.9 of the whole: cache 54, (72 - 18) / (80 - 18) = 0.871, rendered 0.87."""
    memory = {
        "device_memory_bytes": 80 * GIB, "budget_bytes": 72 * GIB, "weights_bytes_per_gpu": 16 * GIB, "activation_bytes_per_gpu": GIB, "runtime_bytes_per_gpu": GIB,
        "kv_cache_bytes_per_gpu": 54 * GIB,
    }  # fmt: skip
    assert 0.87 == file({"memory": memory})["kv_cache_config"]["free_gpu_memory_fraction"]
    assert not any("memory" in word for word in command({"memory": memory}))


def test_fc22_caps_beside_the_plan_are_refused() -> None:
    """A token or byte cap would make the cache another size than planned, so no second figure is taken."""
    for word in ("--kv_cache_config.max_tokens", "--kv_cache_config.max_gpu_total_bytes"):
        with pytest.raises(InputError, match="the plan sizes the KV cache"):
            ENGINE.split_extra_args([word, "1000"], VERSION)
    for word in ("--free_gpu_memory_fraction", "--kv_cache_free_gpu_memory_fraction", "--kv_cache_config.free_gpu_memory_fraction"):
        with pytest.raises(InputError, match="set gpu_memory_utilization: it is a share of the whole card"):
            ENGINE.split_extra_args([word, "0.9"], VERSION)


def test_precisions_follow_the_checkpoint() -> None:
    """A quantized checkpoint decides itself, a 16-bit one is named, and nothing is quantized while loading."""
    assert ("auto", "fp8") == (file(kv_cache="fp8")["dtype"], file(kv_cache="fp8_e4m3")["kv_cache_config"]["dtype"])
    assert "bfloat16" == file(weights="bf16")["dtype"]
    with pytest.raises(InputError, match="does not quantize to fp8 while loading"):
        file(checkpoint_quantized=False)
    with pytest.raises(InputError, match="keeps no fp8_e5m2 cache"):
        file(kv_cache="fp8_e5m2")


def test_data_parallelism_is_that_of_attention() -> None:
    """dp 8 with experts over 8 ranks is attention data parallelism in one group of 8; other mixes are refused."""
    held = file({"tp": 1, "dp": 8, "ep": 8})
    assert (8, 8, True) == (held["tensor_parallel_size"], held["moe_expert_parallel_size"], held["enable_attention_dp"])
    assert not {"enable_attention_dp", "moe_expert_parallel_size"} & set(file())
    for degrees in ({"tp": 2, "dp": 2, "ep": 4}, {"tp": 1, "dp": 2}):
        with pytest.raises(InputError, match="data parallelism inside a replica"):
            file(degrees)


def test_fc17_owned_arguments_are_merged() -> None:
    """Arguments of the command and of the file set the same fields of the spec; the rest goes to where it belongs."""
    given = ["--tp_size", "2", "--max_seq_len", "4096", "--kv_cache_config.enable_block_reuse", "false", "--kv_cache_config.dtype", "fp8"]
    owned, rest = ENGINE.split_extra_args([*given, "--reasoning_parser", "qwen3", "--kv_cache_config.secondary_offload_min_priority", "30"], VERSION)
    assert {"tp": 2, "max_model_len": 4096, "prefix_caching": False, "kv_cache": "fp8"} == owned
    assert ["--reasoning_parser", "qwen3"] == command(extra_args=rest)[-2:]
    assert 30 == file(extra_args=rest)["kv_cache_config"]["secondary_offload_min_priority"]
    nested = file(extra_args=["--moe_config.backend", "CUTLASS", "--kv_cache_config.max_attention_window", "[4096, 8192]"])
    assert ({"backend": "CUTLASS"}, [4096, 8192]) == (nested["moe_config"], nested["kv_cache_config"]["max_attention_window"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kv_cache_config.free_memory", "1"], "no flag"),
        (["--moe_config.backend", "FAST"], "no such choice"),
        (["--sampler_type", "auto"], "leave it out: the engine chooses the sampler"),
        (["--backend", "pytorch"], "deprecated"),
        (["--extra_llm_api_options", "/x.yaml"], "a file could override"),
        (["--kv_cache_config.secondary_offload_min_priority", "much"], "whole number"),
    ],
)
def test_fc18_arguments_are_checked(words: list[str], message: str) -> None:
    """Unknown, removed, deprecated and wrongly typed arguments are refused, those of the file too."""
    with pytest.raises(InputError, match=message):
        ENGINE.split_extra_args(words, VERSION)


def test_a_plan_cannot_smuggle_owned_arguments() -> None:
    """Extra arguments in a plan are checked again when the file is made."""
    with pytest.raises(InputError, match="holds flags that the plan owns"):
        file(extra_args=["--max_seq_len", "1"])


def test_fc19_budget_must_hold_a_prompt_when_chunking_is_off() -> None:
    """8192 < 131072 is refused with chunked prefill off and left alone with it on."""
    sizes = {"max_model_len": 131072, "max_num_batched_tokens": 8192}
    with pytest.raises(InputError, match="8192 is below max_model_len 131072"):
        file(sizes, chunked_prefill=False)
    assert 8192 == file(sizes)["max_num_tokens"]


def test_what_it_cannot_do_is_refused() -> None:
    """Several nodes, embeddings, CPU pools and releases without a table."""
    plan = planned()
    with pytest.raises(InputError, match="2 nodes: TensorRT-LLM starts ranks on other nodes by MPI, which needs ssh or exec rights between pods"):
        ENGINE.command(plan, plan.pools["aggregated"], Place("/models/weights", nodes=2))
    with pytest.raises(InputError, match="no embedding models"):
        command(task="embed")
    with pytest.raises(InputError, match="GPUs only"):
        ENGINE.pin(None, None, "cpu")
    for version in ("1.2.1", "1.4.0"):
        with pytest.raises(InputError, match=r"legal: 1\.3\.0rc22 to 1\.3\.0rc23"):
            ENGINE.pin(version, None, "gpu")
    assert ("1.3.0rc22", "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc22") == ENGINE.pin(None, None, "gpu")
    assert not ENGINE.accepts("--shutdown-timeout", VERSION)


def test_caveats_say_what_was_not_verified() -> None:
    """The table is of the main branch, and the image is made for root."""
    texts = ENGINE.caveats(version=VERSION, image="nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc22", device="gpu", efa=False)
    assert ["main branch" in texts[0], "run as root" in texts[1]] == [True, True]


def test_the_table_is_that_of_the_reference() -> None:
    """Every option of the command and every argument of the file is one of the published definitions; metrics are exposed."""
    path = REFERENCE / "trtllm_llm_args.json"
    if not path.exists():
        pytest.skip("the reference data is not beside this checkout")
    data = json.loads(path.read_text())
    options = {row["flag"] for row in data["trtllm_serve_cli"]["serve"]}
    flags = ENGINE.table.flags  # type: ignore[attr-defined]
    assert options == {name for name, flag in flags.items() if not flag.in_file}
    assert set() == {name.removeprefix("--") for name, flag in flags.items() if flag.in_file} - set(data["flat_paths"])
    exposed = {
        name.removesuffix("_bucket")
        for row in json.loads((REFERENCE / "trtllm_triton_metrics.json").read_text())["trtllm_serve"]
        for name in row["exposed"] or ()
    }
    assert set() == {ENGINE.metric(VERSION, s) for s in SIGNALS} - exposed
    with pytest.raises(InputError, match="no series for preemptions"):
        ENGINE.metric(VERSION, "preemptions")
