"""The scaling family: exact objects for the field cases of KEDA and HPA."""

from __future__ import annotations

from typing import Any

import pytest
import rendered
import samples
import yaml
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.render import naming, render
from rendered import objects, one, one_pool

SAMPLE = samples.sample_plan()
ALL = [
    {"signal": signal, "target": target, "why": ""}
    for signal, target in (
        ("queue", 8.0),
        ("kv_use", 0.8),
        ("in_flight_tokens", 500_000.0),
        ("ttft_p95", 0.96),
        ("cpu", 80.0),
        ("request_rate", 3.818),
        ("queue_wait", 0.2),
    )
]


def scaled(**scaling: Any) -> dict[str, Any]:
    return one(one_pool(scaling=scaling), "ScaledObject")


def triggers(item: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {t["name"]: t for t in item["spec"]["triggers"]}


def test_fc26_idle_can_only_be_zero() -> None:
    """idle 0 below min 1 is rendered; none is left out; any other idle is refused with the way out."""
    assert 0 == scaled(idle=0, min=1, max=8, fallback_replicas=2)["spec"]["idleReplicaCount"]
    assert "idleReplicaCount" not in scaled(min=1, max=8)["spec"]
    for idle, least in ((1, 2), (1, 1)):
        with pytest.raises(InputError, match="idle 1 cannot be held; drop idle and set min to the always-on count"):
            render(one_pool(scaling={"idle": idle, "min": least, "max": 8}))
    with pytest.raises(InputError, match="min 9 is above max 8"):
        render(one_pool(scaling={"min": 9, "max": 8}))


def test_fc27_an_empty_answer_is_no_zero() -> None:
    """Waiting requests with a cpu trigger beside and fallback 6: nulls are errors, the type is written out, the query is one series."""
    item = scaled(min=2, max=8, fallback_failures=3, fallback_replicas=6, triggers=[ALL[0], ALL[4]])
    queue = triggers(item)["queue"]
    assert {"failureThreshold": 3, "replicas": 6, "behavior": "currentReplicasIfHigher"} == item["spec"]["fallback"]
    assert ("AverageValue", "false") == (queue["metricType"], queue["metadata"]["ignoreNullValues"])
    assert 'sum(vllm:num_requests_waiting{namespace="acme-contract-qa",model_name="m"})' == queue["metadata"]["query"]
    assert {"type": "cpu", "name": "cpu", "metricType": "Utilization", "metadata": {"value": "80"}} == triggers(item)["cpu"]


def test_fc27_a_fallback_must_be_able_to_act() -> None:
    """Only cpu triggers, or a fallback outside min and max, are refused."""
    with pytest.raises(InputError, match="only cpu triggers"):
        render(one_pool(scaling={"triggers": [ALL[4]]}))
    with pytest.raises(InputError, match="fallback of 9 replicas is outside 2 to 8"):
        render(one_pool(scaling={"min": 2, "max": 8, "fallback_replicas": 9}))


def test_fc28_one_target_has_one_scaler() -> None:
    """Each workload has exactly one scaler with all its triggers; its name follows from the workload alone."""
    found = objects(SAMPLE, "ScaledObject")
    targets = [o["spec"]["scaleTargetRef"]["name"] for o in found]
    assert sorted({o["metadata"]["name"] for o in objects(SAMPLE) if o["kind"] in ("Deployment", "LeaderWorkerSet")}) == targets
    assert [] == objects(SAMPLE, "HorizontalPodAutoscaler")
    names = [o["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["name"] for o in found]
    assert len(set(names)) == len(names)
    changed = one_pool(scaling={"min": 1, "max": 9, "triggers": [ALL[1]]}, tp=2)
    assert one(one_pool(), "ScaledObject")["metadata"]["name"] == one(changed, "ScaledObject")["metadata"]["name"] == "m-aggregated"


def test_fc29_the_window_slows_scale_in() -> None:
    """900 s stand in the behaviour block, one pod a period; a cooldown only comes with a way to zero, and outlasts window and load."""
    item = scaled(min=1, max=8, scale_down_window_s=900, scale_down_period_s=120)
    behavior = item["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    down = {"stabilizationWindowSeconds": 900, "selectPolicy": "Min", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}]}
    assert down == behavior["scaleDown"]
    assert {"stabilizationWindowSeconds": 30, "selectPolicy": "Max", "policies": [{"type": "Pods", "value": 8, "periodSeconds": 15}]} == behavior["scaleUp"]
    assert "cooldownPeriod" not in item["spec"]
    # The sample model loads in 100.8 s.
    assert 900 == scaled(min=0, max=8, scale_down_window_s=900, cooldown_s=60)["spec"]["cooldownPeriod"]
    assert 101 == scaled(min=0, max=8, scale_down_window_s=60, cooldown_s=30)["spec"]["cooldownPeriod"]


def test_scale_to_zero_wakes_by_the_gateway() -> None:
    """At zero no engine reports, so the gateway's traffic wakes the workload; silence of ready replicas stays an error."""
    item = scaled(min=0, max=8, triggers=[ALL[0]])
    found = triggers(item)
    assert {"queue", "gateway"} == set(found)
    assert "kube_deployment_status_replicas_ready" in found["queue"]["metadata"]["query"]
    assert "envoy_http_downstream_rq_total" in found["gateway"]["metadata"]["query"]

    def closed(data: dict[str, Any]) -> None:
        data["gateway"]["enabled"] = False
        for model in data["models"].values():
            model["pools"]["aggregated"]["scaling"]["min"] = 0

    with pytest.raises(InputError, match="nothing would wake a workload at zero replicas"):
        render(rendered.plan(closed))


@pytest.mark.parametrize(("version", "series"), [("0.19.0", "vllm:kv_cache_usage_perc"), ("0.33.0", "vllm:kv_cache_usage_perc")])
def test_fc30_shares_are_never_added_up(version: str, series: str) -> None:
    """KV use 80 % on 0.19 reads the highest share against 0.8, by the version's own name; counts are sums."""
    plan = one_pool({"engine_version": version, "image": f"vllm/vllm-openai:v{version}"}, scaling={"triggers": ALL})
    kv_use = triggers(one(plan, "ScaledObject"))["kv-use"]
    assert (f'max({series}{{namespace="acme-contract-qa",model_name="m"}})', "0.8", "Value") == (
        kv_use["metadata"]["query"],
        kv_use["metadata"]["threshold"],
        kv_use["metricType"],
    )
    assert triggers(one(plan, "ScaledObject"))["queue"]["metadata"]["query"].startswith("sum(")


def test_the_request_rate_holds_the_count() -> None:
    """Finished requests of the last two minutes over 3.818 a replica; a pod that has finished none yet counts as 0, silence as an error."""
    rate = triggers(one(one_pool(scaling={"triggers": ALL}), "ScaledObject"))["request-rate"]
    where = '{namespace="acme-contract-qa",model_name="m"}'
    assert f"sum(rate(vllm:request_success_total{where}[2m])) or 0 * sum(vllm:num_requests_running{where})" == rate["metadata"]["query"]
    assert ("AverageValue", "3.818", "false") == (rate["metricType"], rate["metadata"]["threshold"], rate["metadata"]["ignoreNullValues"])


def test_pools_of_one_model_are_told_apart() -> None:
    """With two pools a query also selects the pool's pods by name, quoted for a regular expression."""

    def change(data: dict[str, Any]) -> None:
        data["models"] = {"m": samples.model({"a": samples.pool(), "b.x": samples.pool()}, served_name="m")}

    plan = rendered.plan(change)
    query = triggers(one(plan, "ScaledObject", "m-b.x"))["queue"]["metadata"]["query"]
    assert 'sum(vllm:num_requests_waiting{namespace="acme-contract-qa",model_name="m",pod=~"m\\\\-b\\\\.x-.+"})' == query


def test_plain_hpa() -> None:
    """kind hpa gives one HPA on averages per pod, no ScaledObject, and the adapter rules that serve its metrics."""
    plan = one_pool(scaling={"kind": "hpa", "min": 2, "max": 8, "triggers": ALL})
    assert [] == objects(plan, "ScaledObject")
    spec = one(plan, "HorizontalPodAutoscaler", "m-aggregated")["spec"]
    found = {m[m["type"].lower()].get("metric", m[m["type"].lower()])["name"]: m for m in spec["metrics"]}
    own = naming.short_hash("m-aggregated")
    assert {"type": "AverageValue", "averageValue": "8"} == found["inferform_vllm_requests_waiting"]["pods"]["target"]
    assert {"type": "AverageValue", "averageValue": "3818m"} == found["inferform_vllm_requests_per_second"]["pods"]["target"]
    assert {"type": "AverageValue", "averageValue": "800m"} == found["inferform_vllm_kv_cache_use"]["pods"]["target"]
    assert {"type": "AverageValue", "averageValue": "500000"} == found[f"inferform_vllm_tokens_in_flight_{own}"]["pods"]["target"]
    assert {"type": "Value", "value": "960m"} == found[f"inferform_ttft_p95_seconds_{own}"]["external"]["target"]
    assert {"type": "Value", "value": "200m"} == found[f"inferform_queue_wait_seconds_{own}"]["external"]["target"]
    assert {"type": "Utilization", "averageUtilization": 80} == found["cpu"]["resource"]["target"]
    assert 900 == spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"]
    rules = yaml.safe_load(render(plan)["scaling/prometheus-adapter-values.yaml"])["rules"]
    served = {r["name"]["as"] for r in [*rules["custom"], *rules["external"]]}
    asked = {name for name in found if name.startswith("inferform_")}
    assert asked == served
    assert len(rules["custom"]) == len({r["name"]["as"] for r in rules["custom"]})
    (rate,) = [r for r in rules["custom"] if r["name"]["as"] == "inferform_vllm_requests_per_second"]
    assert 'vllm:num_requests_running{namespace="acme-contract-qa",pod!=""}' == rate["seriesQuery"]
    counted, by = "vllm:request_success_total{<<.LabelMatchers>>}[2m]", "by (<<.GroupBy>>)"
    assert f"sum(rate({counted})) {by} or 0 * sum(<<.Series>>{{<<.LabelMatchers>>}}) {by}" == rate["metricsQuery"]


def test_known_traffic_is_a_cron_trigger() -> None:
    """A window is a cron trigger with its own count as a string; one that asks for no more than is always there has none, except above an idle zero."""
    window = {"share": 1.0, "start": "20 7 * * 1,2", "end": "0 19 * * 1,2", "nodes": 3}
    schedule = {
        "timezone": "Europe/Berlin",
        "lead_s": 600,
        "windows": [{**window, "name": "day", "replicas": 4}, {**window, "name": "night", "replicas": 2}],
        "steps": [],
    }
    found = [t for t in one(one_pool(schedule=schedule), "ScaledObject")["spec"]["triggers"] if t["type"] == "cron"]
    metadata = {"timezone": "Europe/Berlin", "start": "20 7 * * 1,2", "end": "0 19 * * 1,2", "desiredReplicas": "4"}
    assert [{"type": "cron", "name": "schedule-day", "metricType": "AverageValue", "metadata": metadata}] == found
    assert {"schedule-day", "schedule-night"} <= set(triggers(one(one_pool(schedule=schedule, scaling={"idle": 0}), "ScaledObject")))


def test_prefill_and_decode_keep_their_ratio_under_a_plain_hpa() -> None:
    """4 decode for 1 prefill: decode asks for floor(3 x ready prefill), by an external metric that the adapter has a rule for; latencies select the pool's own pods."""

    def change(data: dict[str, Any]) -> None:
        sizes = {"prefill": (1, ALL[3]), "decode": (4, ALL[1])}
        pools = {
            role: samples.pool(
                role=role, replicas={"min": n, "steady": n, "max": 2 * n}, scaling={"kind": "hpa", "min": n, "max": 2 * n, "triggers": [ALL[0], own]}
            )
            for role, (n, own) in sizes.items()
        }
        data["models"] = {"m": samples.model(pools, served_name="m", topology="disaggregated", disaggregation="vllm-router")}

    plan = rendered.plan(change)
    rules = {r["name"]["as"]: r for r in yaml.safe_load(render(plan)["scaling/prometheus-adapter-values.yaml"])["rules"]["external"]}
    ratio = f"inferform_replicas_by_ratio_{naming.short_hash('m-decode')}"
    assert 'floor(sum(kube_deployment_status_replicas_ready{namespace="acme-contract-qa",deployment="m-prefill"}) * 3)' == rules[ratio]["metricsQuery"]
    found = {
        m["external"]["metric"]["name"]: m["external"]["target"] for m in one(plan, "HorizontalPodAutoscaler", "m-decode")["spec"]["metrics"] if "external" in m
    }
    assert {ratio: {"type": "AverageValue", "averageValue": "1"}} == found
    late = rules[f"inferform_ttft_p95_seconds_{naming.short_hash('m-prefill')}"]["metricsQuery"]
    assert 'pod=~"m\\\\-prefill-.+"' in late


def test_a_fixed_count_has_no_scaler() -> None:
    """kind fixed renders no scaling family at all."""
    files = render(one_pool(scaling={"kind": "fixed"}))
    assert [] == [path for path in files if path.startswith("scaling/")]
    assert "scaling" not in yaml.safe_load(files["kustomization.yaml"])["resources"]


def test_a_group_is_scaled_as_a_group() -> None:
    """The scaler of llama-405b targets the LeaderWorkerSet, whose replicas are groups."""
    target = one(SAMPLE, "ScaledObject", "llama-405b-aggregated")["spec"]["scaleTargetRef"]
    assert {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "llama-405b-aggregated"} == target


def test_names_in_queries_are_data() -> None:
    """Quotes, backslashes and braces of a served name are escaped inside the query."""
    plan: DeploymentPlan = one_pool({"served_name": 'a"} or vector(1) # \\'})
    query = triggers(one(plan, "ScaledObject"))["queue"]["metadata"]["query"]
    assert 'sum(vllm:num_requests_waiting{namespace="acme-contract-qa",model_name="a\\"} or vector(1) # \\\\"})' == query
