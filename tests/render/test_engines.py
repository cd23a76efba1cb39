"""Engines other than the first in rendered objects: configuration files, probes, scrapes, queries and scalers."""

from __future__ import annotations

from typing import Any

import pytest
import rendered
import samples
import yaml
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.render import render
from rendered import one, one_pool, option, pods

TRT = {"engine": "tensorrt-llm", "engine_version": "1.3.0rc22", "image": "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc22", "checkpoint_quantized": True}
SGLANG = {"engine": "sglang", "engine_version": "0.5.23", "image": "lmsysorg/sglang:v0.5.23"}
SIGNALS = [
    {"signal": s, "target": t, "why": ""} for s, t in (("queue", 8.0), ("kv_use", 0.8), ("in_flight_tokens", 5e5), ("ttft_p95", 0.96), ("request_rate", 3.8))
]


def two_engines() -> DeploymentPlan:
    """Model `a` on TensorRT-LLM, model `b` on SGLang."""
    return rendered.plan(
        lambda data: data.update(
            models={name: samples.model({"aggregated": samples.pool()}, served_name=name, **values) for name, values in (("a", TRT), ("b", SGLANG))}
        )
    )


def test_the_configuration_file_is_mounted_and_rolls_the_pods() -> None:
    """The file stands in a ConfigMap whose name changes with it; the command names the mounted path; other engines have none."""
    plan = one_pool(TRT)
    (pod,) = pods(plan, "m-aggregated")
    (volume,) = [v for v in pod["volumes"] if v["name"] == "config"]
    held = yaml.safe_load(one(plan, "ConfigMap", volume["configMap"]["name"])["data"]["llm-args.yaml"])
    assert 0.76 == held["kv_cache_config"]["free_gpu_memory_fraction"]
    mounts = {m["name"]: m["mountPath"] for m in pod["containers"][0]["volumeMounts"]}
    assert option(pod, "--extra_llm_api_options") == f"{mounts['config']}/llm-args.yaml"
    changed = [v["configMap"]["name"] for v in pods(one_pool(TRT, max_num_seqs=128), "m-aggregated")[0]["volumes"] if v["name"] == "config"]
    assert [volume["configMap"]["name"]] != changed
    assert [] == [v for v in pods(one_pool(SGLANG), "m-aggregated")[0]["volumes"] if v["name"] == "config"]


@pytest.mark.parametrize("values", [TRT, SGLANG])
def test_fc20_fc21_probes_and_drain_do_not_depend_on_the_engine(values: dict[str, Any]) -> None:
    """Start-up, readiness and liveness ask /health of the engine's port; traffic stops before the engine does."""
    (pod,) = pods(one_pool(values, lifecycle={"shutdown_timeout_s": None}), "m-aggregated")
    engine = pod["containers"][0]
    assert {"/health"} == {engine[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert ({"sleep": {"seconds": 15}}, 128) == (engine["lifecycle"]["preStop"], pod["terminationGracePeriodSeconds"])
    assert {"shm", "home", "tmp"} <= {v["name"] for v in pod["volumes"]}


def test_each_engine_is_scraped_at_its_own_path() -> None:
    """TensorRT-LLM answers at /prometheus/metrics, SGLang at /metrics; one monitor each, told apart by model."""
    found = {}
    for monitor in rendered.objects(two_engines(), "PodMonitor"):
        for rule in monitor["spec"]["selector"].get("matchExpressions", []):
            found[monitor["spec"]["podMetricsEndpoints"][0]["path"]] = rule["values"]
    assert {"/metrics": ["b"], "/prometheus/metrics": ["a"]} == found


def test_fc30_scalers_read_the_engines_own_series() -> None:
    """Queue, cache use, TTFT and request rate of each engine by its own names; shares are never added up; TensorRT-LLM's pods are told apart by name."""
    expected = {
        "a": (
            "trtllm_num_requests_waiting",
            "trtllm_kv_cache_utilization",
            "trtllm_time_to_first_token_seconds_bucket",
            "trtllm_request_success_total",
            r'pod=~"a\\-aggregated-.+"',
        ),
        "b": ("sglang:num_queue_reqs", "sglang:token_usage", "sglang:time_to_first_token_seconds_bucket", "sglang:num_requests_total", 'model_name="b"'),
    }
    plan = two_engines()
    data = plan.model_dump()
    for model in data["models"].values():
        model["pools"]["aggregated"]["scaling"]["triggers"] = SIGNALS
    for name, (queue, use, ttft, finished, where) in expected.items():
        scaler = one(DeploymentPlan.model_validate(data), "ScaledObject", f"{name}-aggregated")
        queries = {t["name"]: t["metadata"]["query"] for t in scaler["spec"]["triggers"]}
        assert queries["queue"].startswith(f"sum({queue}{{")
        assert queries["kv-use"].startswith(f"max({use}{{")
        assert ttft in queries["ttft-p95"]
        assert queries["request-rate"].startswith(f"sum(rate({finished}{{")
        assert all(where in query for query in queries.values())


def test_plain_hpas_keep_engines_without_a_label_apart() -> None:
    """A latency has a name a pool, and where no label names the model its rule reads the pool's pods."""
    plan = one_pool(TRT, scaling={"kind": "hpa", "triggers": SIGNALS})
    (metric,) = [m["external"]["metric"] for m in one(plan, "HorizontalPodAutoscaler")["spec"]["metrics"] if m["type"] == "External"]
    rules = yaml.safe_load(render(plan)["scaling/prometheus-adapter-values.yaml"])["rules"]
    (rule,) = rules["external"]
    assert "selector" not in metric
    assert metric["name"] == rule["name"]["as"] != "inferform_ttft_p95_seconds"
    assert r'pod=~"m\\-aggregated-.+"' in rule["metricsQuery"]


def test_pods_that_could_not_be_told_apart_are_refused() -> None:
    """Workloads `a-b-aggregated` and `a-b-aggregated-x-...` share a prefix, which only matters where pods are told apart by name."""

    def change(values: dict[str, Any]) -> DeploymentPlan:
        models = {name: samples.model({"aggregated": samples.pool()}, served_name=name, **values) for name in ("a", "a-aggregated")}
        return rendered.plan(lambda data: data.update(models=models))

    assert render(change(SGLANG))
    with pytest.raises(InputError, match="metrics of a-aggregated and a-aggregated-aggregated could not be told apart"):
        render(change(TRT))


def test_fc22_two_engines_never_share_a_gpu() -> None:
    """Three replicas of four GPUs on a node of eight would put two engines on one GPU."""
    with pytest.raises(InputError, match="3 replicas of 4 GPUs do not fit a node of 8"):
        render(one_pool(TRT, replicas_per_node=3))


def test_groups_of_sglang_meet_at_their_leader() -> None:
    """Leader and workers name the same rendezvous, and only the variable part is substituted by the kubelet."""
    data = samples.plan_data()
    big = data["models"]["llama-405b"]
    big.update(SGLANG, checkpoint_quantized=True)
    big["pools"]["aggregated"]["lifecycle"]["shutdown_timeout_s"] = None
    leader, worker = pods(DeploymentPlan.model_validate(data), "llama-405b-aggregated")
    assert ("0", "$(LWS_WORKER_INDEX)") == (option(leader, "--node-rank"), option(worker, "--node-rank"))
    assert {"$(LWS_LEADER_ADDRESS):29501"} == {option(leader, "--dist-init-addr"), option(worker, "--dist-init-addr")}
