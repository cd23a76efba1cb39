"""Failures from the field about serving and scaling, each from the spec to what a cluster gets, with the case's own numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from inferform.engines.tensorrt_llm import free_memory_fraction
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.render import render
from pydantic import ValidationError
from rendered import objects, one, one_pool, option, pods

from tests.planning.specs import SMALL, merged, model, plan, spec

P5: dict[str, Any] = {"hardware": {"instance_types": ["p5.48xlarge"]}}


def made(**changes: Any) -> DeploymentPlan:
    return plan({"m": model(SMALL, **changes)})


def engine(source: DeploymentPlan) -> dict[str, Any]:
    (pod,) = pods(render(source), "m-aggregated")
    return dict(pod)


def trigger(source: DeploymentPlan, name: str) -> dict[str, Any]:
    (found,) = [t for t in one(source, "ScaledObject")["spec"]["triggers"] if t["name"] == name]
    return dict(found)


def mebi(text: str) -> int:
    return int(text.removesuffix("Mi")) if text.endswith("Mi") else int(text.removesuffix("Gi")) * 1024


def test_fc17_tp_from_free_arguments_gets_shared_memory() -> None:
    """tp 2 through extra arguments, shm unset: a memory volume of 8 GiB at /dev/shm, inside the pod's limit; the flag stands once."""
    pod = engine(made(extra_args=["--tensor-parallel-size", "2"], hardware={"instance_types": ["g6.12xlarge"]}))
    (shm,) = [v["emptyDir"] for v in pod["volumes"] if v["name"] == "shm"]
    assert {"medium": "Memory", "sizeLimit": "8Gi"} == shm
    container = pod["containers"][0]
    assert "/dev/shm" in [m["mountPath"] for m in container["volumeMounts"]]  # noqa: S108
    assert mebi(container["resources"]["limits"]["memory"]) > 8 * 1024
    assert (1, "2") == (container["args"].count("--tensor-parallel-size"), option(pod, "--tensor-parallel-size"))


@pytest.mark.parametrize("version", ["0.19.0", "0.33.0"])
def test_fc18_logging_flags_that_vanished_are_never_rendered(version: str) -> None:
    """--disable-log-requests is refused with what to do, is in no command line, and is not turned round; an unpinned image is refused."""
    with pytest.raises(InputError, match=r"--disable-log-requests.*(leave it out|--no-enable-log-requests)"):
        made(engine_version=version, extra_args=["--disable-log-requests"])
    args = engine(made(engine_version=version))["containers"][0]["args"]
    assert not [word for word in args if "log-requests" in word]
    for image, what in (("vllm/vllm-openai:latest", "has the tag latest"), ("vllm/vllm-openai@sha256:" + "0" * 63, "image")):
        with pytest.raises((InputError, ValidationError), match=what):
            made(image=image)


def test_fc19_a_budget_below_the_context_needs_chunks() -> None:
    """131,072 and 8,192: refused without chunked prefill, left as they are with it; a length alone without chunks becomes the budget."""
    context = {"max_model_len": 131_072, **P5}
    with pytest.raises(ValidationError, match=r"max_num_batched_tokens 8192 must be at least max_model_len 131072"):
        made(**context, max_num_batched_tokens=8192, chunked_prefill=False)
    pod = engine(made(**context, max_num_batched_tokens=8192, chunked_prefill=True, max_num_seqs=128))
    assert ("8192", "131072") == (option(pod, "--max-num-batched-tokens"), option(pod, "--max-model-len"))
    whole = engine(made(**context, chunked_prefill=False, max_num_seqs=64))
    assert (131_072, True) == (int(option(whole, "--max-num-batched-tokens")), "--no-enable-chunked-prefill" in whole["containers"][0]["args"])


def test_fc20_probes_follow_the_load_and_not_a_fixed_delay() -> None:
    """A start-up probe of ceil(load x 2 / 10) tries, at least 60; readiness and liveness begin at once, liveness forgives twice or more."""
    source = made()
    load = source.models["m"].load
    container = engine(source)["containers"][0]
    startup = container["startupProbe"]
    assert ("/health", 10, max(60, math.ceil(load.total_s * 2 / 10))) == (startup["httpGet"]["path"], startup["periodSeconds"], startup["failureThreshold"])
    for probe in ("readinessProbe", "livenessProbe"):
        assert 0 == container[probe]["initialDelaySeconds"]
        assert 3 <= container[probe]["failureThreshold"]
    assert load.download_s == pytest.approx(load.weights_bytes / load.bandwidth_bytes_per_s, abs=0.1)
    assert one(source, "Deployment", "m-aggregated")["spec"]["progressDeadlineSeconds"] > 10 * startup["failureThreshold"]


@pytest.mark.parametrize(("version", "drain"), [("0.19.0", 103), ("0.16.0", None)])
def test_fc21_pods_outlive_the_longest_answer(version: str, drain: int | None) -> None:
    """4,096 tokens at 40 a second are 103 s: flag from 0.18 on, a pause of 15 s before, and a grace above 118 s for both releases."""
    life = {"shutdown_timeout_s": drain, "pre_stop_s": 15, "grace_s": 128}
    (pod,) = pods(one_pool({"engine_version": version, "image": f"vllm/vllm-openai:v{version}", "max_output_tokens": 4096}, lifecycle=life), "m-aggregated")
    args = pod["containers"][0]["args"]
    assert (drain is not None) == ("--shutdown-timeout" in args)
    if drain:
        assert str(drain) == option(pod, "--shutdown-timeout")
    assert {"sleep": {"seconds": 15}} == pod["containers"][0]["lifecycle"]["preStop"]
    assert pod["terminationGracePeriodSeconds"] >= 119
    planned = made(engine_version=version).models["m"].pools["aggregated"].lifecycle
    assert (drain is None) == (planned.shutdown_timeout_s is None)
    with pytest.raises(InputError, match="cuts running streams"):
        made(engine_version=version, lifecycle={"grace": "30s"}, workload={"output_tokens": {"mean": 2000, "p95": 4096}})


def test_fc22_one_share_of_the_card_gives_both_engines_the_same_cache() -> None:
    """The plan's bytes are what TensorRT-LLM's share of free memory comes to, within the hundredth it is rounded down to."""
    source = made(engine="tensorrt-llm", quantization="bf16", gpu_memory_utilization=0.9, **P5)
    pool = source.models["m"].pools["aggregated"]
    memory = pool.memory
    share = free_memory_fraction(pool)
    free = memory.device_memory_bytes - memory.weights_bytes_per_gpu - memory.activation_bytes_per_gpu - memory.runtime_bytes_per_gpu
    assert 0 <= memory.kv_cache_bytes_per_gpu - share * free < 0.01 * free
    (config,) = [o for o in objects(source, "ConfigMap") if "llm-args.yaml" in o["data"]]
    assert f"free_gpu_memory_fraction: {share}" in config["data"]["llm-args.yaml"]
    assert "0.9" == option(engine(made(quantization="bf16", gpu_memory_utilization=0.9, **P5)), "--gpu-memory-utilization")


@pytest.mark.parametrize(("scaling", "idle"), [({"min": 1, "max": 8}, None), ({"min": 1, "max": 8, "idle": 0}, 0)])
def test_fc26_idle_is_zero_or_nothing(scaling: dict[str, int], idle: int | None) -> None:
    """min 1, max 8: no idle count; with idle 0 it is rendered. Any other is refused with the way out."""
    assert idle == one(made(scaling=scaling, workload={"burst": 4.0, "peak_rps": 20}), "ScaledObject")["spec"].get("idleReplicaCount")
    for least in (1, 2):
        with pytest.raises(ValidationError, match="idle 1 cannot be held"):
            spec({"m": model(scaling={"idle": 1, "min": least, "max": 8})})


def test_fc27_silence_of_the_monitoring_is_an_error() -> None:
    """Nulls are no zero, each query is one series, the type is written out, and the fallback lies between min and max."""
    item = one(made(workload={"burst": 4.0, "peak_rps": 20}), "ScaledObject")["spec"]
    for found in item["triggers"]:
        assert ("false", True) == (found["metadata"]["ignoreNullValues"], found["metricType"] in ("AverageValue", "Value"))
    assert 3 == item["fallback"]["failureThreshold"]
    assert item["minReplicaCount"] <= item["fallback"]["replicas"] <= item["maxReplicaCount"]
    with pytest.raises(ValidationError, match="only cpu triggers"):
        spec({"m": model(scaling={"keda": {"triggers": [{"signal": "cpu"}]}})})


def test_fc28_one_target_one_scaler() -> None:
    """One ScaledObject and no HPA; its name comes from the workload alone; both kinds in one spec are refused."""
    load = {"workload": {"burst": 4.0, "peak_rps": 20}}
    before, after = made(**load), made(**merged(load, {"scaling": {"max": 9, "scale_in_delay": "20m"}, "max_num_seqs": 64}))
    assert (
        ["m-aggregated"] == [o["metadata"]["name"] for o in objects(before, "ScaledObject")] == [o["metadata"]["name"] for o in objects(after, "ScaledObject")]
    )
    assert [] == objects(before, "HorizontalPodAutoscaler")
    with pytest.raises(ValidationError, match="both keda and hpa are given"):
        spec({"m": model(scaling={"keda": {}, "hpa": {}})})


@pytest.mark.parametrize(("least", "cooldown"), [(1, None), (0, 900)])
def test_fc29_the_delay_is_in_the_window(least: int, cooldown: int | None) -> None:
    """A delay of 900 s is the window of scale-in at one pod a period; the cooldown appears with the step to zero, no shorter than window and load."""
    source = made(scaling={"min": least, "max": 8, "scale_in_delay": "900s"}, workload={"burst": 4.0, "peak_rps": 20})
    item = one(source, "ScaledObject")["spec"]
    down = item["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
    assert (900, 1) == (down["stabilizationWindowSeconds"], down["policies"][0]["value"])
    if cooldown is None:
        assert "cooldownPeriod" not in item
    else:
        assert item["cooldownPeriod"] >= max(cooldown, source.models["m"].load.total_s)


@pytest.mark.parametrize(("version", "series"), [("0.19.0", "vllm:kv_cache_usage_perc"), ("0.33.0", "vllm:kv_cache_usage_perc")])
def test_fc30_cache_use_is_the_fullest_pods(version: str, series: str) -> None:
    """The name of the pinned release, the highest share of any pod and never a sum, against 0.8 and not 80."""
    source = made(
        engine_version=version,
        workload={"burst": 4.0, "peak_rps": 20},
        scaling={"keda": {"triggers": [{"signal": "kv_use", "target": 0.8}, {"signal": "queue"}]}},
    )
    use, queue = trigger(source, "kv-use"), trigger(source, "queue")
    assert ("0.8", True) == (use["metadata"]["threshold"], use["metadata"]["query"].startswith(f"max({series}"))
    assert queue["metadata"]["query"].startswith("sum(vllm:num_requests_waiting")


def test_fc34_tokens_come_by_reference_only() -> None:
    """A literal is refused and not repeated; what downloads gets HF_TOKEN from the Secret; a gated model without one is refused."""
    files = render(made())
    (job,) = objects(files, "Job")
    (token,) = [e for e in job["spec"]["template"]["spec"]["containers"][0]["env"] if e["name"] == "HF_TOKEN"]
    assert {"secretKeyRef": {"name": "hf-token", "key": "token"}} == token["valueFrom"]
    assert not [path for path, text in files.items() if "hf_" in text.replace("hf_token", "")]
    with pytest.raises(InputError, match=r"hf_token_secret: .* is gated"):
        plan({"m": {**model(), "hf_token_secret": None}})
