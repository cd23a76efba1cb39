"""vLLM: command lines, pinning, extra arguments and metric names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import samples
from inferform.engines import Place, PodVariable, find_engine
from inferform.errors import InputError
from inferform.plan import ModelPlan

ENGINE = find_engine("vllm")
REFERENCE = Path(__file__).resolve().parents[2] / "../shared/reference"


def planned(pool: dict[str, Any] | None = None, **model: Any) -> ModelPlan:
    return ModelPlan.model_validate(samples.model({"aggregated": samples.pool(**(pool or {}))}, **model))


def command(pool: dict[str, Any] | None = None, place: Place = Place("/models/weights"), **model: Any) -> list[str]:  # noqa: B008
    plan = planned(pool, **model)
    return ENGINE.command(plan, plan.pools["aggregated"], place)


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def test_the_command_is_explicit_about_memory_and_batching() -> None:
    """Every value that the plan decides stands on the command line, whatever the engine's defaults are."""
    expected = (
        "vllm serve /models/weights --served-model-name llama-70b --port 8000 --tensor-parallel-size 4 --quantization fp8 --kv-cache-dtype auto "
        "--max-model-len 8192 --max-num-seqs 256 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 "
        "--enable-prefix-caching --enable-chunked-prefill --shutdown-timeout 103"
    )
    assert expected.split() == command()


def test_precision_flags_only_where_needed() -> None:
    """A quantized checkpoint gets no --quantization, a 16-bit one its dtype, an online one the method."""
    assert "--quantization" not in command(checkpoint_quantized=True)
    assert "bfloat16" == option(command(weights="bf16"), "--dtype")
    assert "int8_per_channel_weight_only" == option(command(weights="int8"), "--quantization")
    assert "bfloat16" == option(command(kv_cache="bf16"), "--kv-cache-dtype")
    with pytest.raises(InputError, match=r"cannot quantize to awq while loading.*legal: fp8, int8"):
        command(weights="awq")


def test_several_nodes_run_on_the_built_in_launcher() -> None:
    """A group of two nodes uses the mp backend: the leader serves, the others run headless under their rank."""
    place = Place("/models/weights", nodes=2, rank="0", leader=PodVariable("$(LWS_LEADER_ADDRESS)"))
    leader = command({"tp": 8, "pp": 2}, place)
    tail = ["--distributed-executor-backend", "mp", "--nnodes", "2", "-r", "0", "--master-addr", "$(LWS_LEADER_ADDRESS)", "--master-port", "29501"]
    assert tail == leader[-10:]
    worker = command(
        {"tp": 8, "pp": 2}, Place("/models/weights", nodes=2, rank=PodVariable("$(LWS_WORKER_INDEX)"), leader=PodVariable("$(LWS_LEADER_ADDRESS)"))
    )
    assert ("$(LWS_WORKER_INDEX)", "--headless") == (option(worker, "-r"), worker[-1])
    assert "2" == option(worker, "--pipeline-parallel-size")
    with pytest.raises(InputError, match=r"--nnodes is not known in vllm 0\.11\.0"):
        command({"lifecycle": {"shutdown_timeout_s": None}}, place, engine_version="0.11.0")


def test_experts_and_data_parallel() -> None:
    """Expert and data parallel degrees above one are rendered, and absent otherwise."""
    words = command({"dp": 2, "ep": 8})
    assert "2" == option(words, "--data-parallel-size")
    assert "--enable-expert-parallel" in words
    assert not {"--enable-expert-parallel", "--data-parallel-size", "--pipeline-parallel-size"} & set(command())


def test_embedding_models_pool_and_do_not_chunk() -> None:
    """An embedding model runs the pooling runner, whole prompts and no cache between requests."""
    words = command({"max_model_len": 512}, task="embed", weights="bf16")
    assert "pooling" == option(words, "--runner")
    assert {"--no-enable-prefix-caching", "--no-enable-chunked-prefill"} <= set(words)


def test_fc19_budget_must_hold_a_prompt_when_chunking_is_off() -> None:
    """8192 < 131072 is refused with chunked prefill off and left alone with it on; the budget never falls below the sequences."""
    sizes = {"max_model_len": 131072, "max_num_batched_tokens": 8192}
    with pytest.raises(InputError, match="8192 is below max_model_len 131072 while chunked prefill is off"):
        command(sizes, chunked_prefill=False)
    assert "8192" == option(command(sizes), "--max-num-batched-tokens")
    with pytest.raises(InputError, match="128 is below max_num_seqs 256"):
        command({"max_num_batched_tokens": 128})


def test_fc21_shutdown_timeout_from_0_18_on() -> None:
    """103 s of drain for 0.19; the flag is not rendered for 0.16, whatever the plan says."""
    assert "103" == option(command(engine_version="0.19.0"), "--shutdown-timeout")
    assert "--shutdown-timeout" not in command(engine_version="0.16.0")


@pytest.mark.parametrize(
    ("version", "name"), [("0.33.0", "vllm:kv_cache_usage_perc"), ("0.19", "vllm:kv_cache_usage_perc"), ("0.9.1", "vllm:gpu_cache_usage_perc")]
)
def test_fc30_metric_names_follow_the_version(version: str, name: str) -> None:
    """KV use is kv_cache_usage_perc from 0.9.2 on and gpu_cache_usage_perc only before."""
    assert name == ENGINE.metric(version, "kv_use")


def test_metric_names_are_exposed_by_the_default_version() -> None:
    """Each name in the table is a series that vLLM 0.33.0 exposes."""
    path = REFERENCE / "vllm_metrics.json"
    if not path.exists():
        pytest.skip("the reference data is not beside this checkout")
    exposed = {name.removesuffix("_bucket") for row in json.loads(path.read_text())["metrics"] for name in row["exposed"]}
    names = [ENGINE.metric("0.33.0", s) for s in ("queue", "running", "kv_use", "ttft", "tpot", "e2e", "queue_time", "preemptions", "requests")]
    names += [ENGINE.metric("0.33.0", s) for s in ("prompt_tokens", "generation_tokens", "prefix_hits", "prefix_queries")]
    assert set() == set(names) - exposed


def test_fc17_owned_flags_are_merged_into_the_plan() -> None:
    """A TP degree given as an extra argument becomes the plan's tp, so that shm and memory see it; the rest stays."""
    owned, rest = ENGINE.split_extra_args(
        ["-tp", "2", "--max-model-len=8k", "--seed", "7", "--no-enable-prefix-caching", "--kv-cache-dtype", "bfloat16", "--gpu-memory-utilization", "0.85"],
        "0.33.0",
    )
    assert {"tp": 2, "max_model_len": 8000, "prefix_caching": False, "kv_cache": "bf16", "gpu_memory_utilization": 0.85} == owned
    assert ("--seed", "7") == rest


@pytest.mark.parametrize(
    ("word", "fix"), [("--model", "set source"), ("--nnodes", "set parallelism"), ("--port", "fixed"), ("--kv-cache-memory-bytes", "gpu_memory_utilization")]
)
def test_fc17_flags_against_the_plan_are_refused(word: str, fix: str) -> None:
    """A flag that would shadow what the plan decides is refused and the field that decides it is named."""
    with pytest.raises(InputError, match=f"{word} is not taken here.*{fix}"):
        ENGINE.split_extra_args([word, "1"], "0.33.0", field="models.a.extra_args")


def test_secrets_in_arguments_are_not_echoed() -> None:
    """A token given as an argument is refused without repeating it."""
    with pytest.raises(InputError) as error:
        ENGINE.split_extra_args(["--hf-token", "hf_" + "a" * 30], "0.33.0")
    assert "hf_a" not in str(error.value)
    assert "set hf_token_secret" in str(error.value)


def test_a_plan_cannot_smuggle_owned_flags() -> None:
    """Extra arguments in a plan are checked again when the command is made."""
    with pytest.raises(InputError, match="holds flags that the plan owns"):
        command(extra_args=["--tensor-parallel-size", "8"])
    assert ["--seed", "7"] == command(extra_args=["--seed", "7"])[-2:]


def test_version_and_image_follow_from_each_other() -> None:
    """The default is 0.33.0; a tag names its release; contradictions and unknown ranges are refused."""
    assert ("0.33.0", "vllm/vllm-openai:v0.33.0") == ENGINE.pin(None, None, "gpu")
    assert ("0.19.0", "vllm/vllm-openai-cpu:v0.19.0") == ENGINE.pin("0.19", None, "cpu")
    assert ("0.19.1", "mirror.example/vllm/vllm-openai:v0.19.1") == ENGINE.pin(None, "mirror.example/vllm/vllm-openai:v0.19.1", "gpu")
    assert ("0.33.0", "team/vllm:efa-3") == ENGINE.pin(None, "team/vllm:efa-3", "gpu")
    with pytest.raises(InputError, match=r"the tag says 0\.19\.0, engine_version says 0\.33\.0"):
        ENGINE.pin("0.33.0", "vllm/vllm-openai:v0.19.0", "gpu", field="models.a")
    for version in ("0.10.0", "0.34.0"):
        with pytest.raises(InputError, match=r"legal: 0\.11\.0 to 0\.33\.0"):
            ENGINE.pin(version, None, "gpu")


def test_caveats_are_said() -> None:
    """The stock image on an EFA pool, and images from before the prepared user, come with a warning; the normal case with none."""
    assert () == ENGINE.caveats(version="0.33.0", image="vllm/vllm-openai:v0.33.0", device="gpu", efa=False)
    assert "aws-ofi-nccl" in ENGINE.caveats(version="0.33.0", image="vllm/vllm-openai:v0.33.0", device="gpu", efa=True)[0]
    assert "run as root" in ENGINE.caveats(version="0.19.0", image="vllm/vllm-openai:v0.19.0", device="gpu", efa=False)[0]


def test_an_unknown_engine_is_refused() -> None:
    """The engines that can be rendered are named."""
    with pytest.raises(InputError, match=r"no such engine.*legal: sglang, tensorrt-llm, vllm"):
        find_engine("tgi", field="models.a.engine")
