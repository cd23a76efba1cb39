"""The observability family: rules and scaler queries run by Prometheus itself on series as the engine exposes them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import rendered
import samples
import yaml
from inferform.engines import find_engine
from inferform.plan import DeploymentPlan
from inferform.render import render
from rendered import objects, one, one_pool

SAMPLE = samples.sample_plan()
PROMTOOL = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (apt-get install prometheus)")
WHERE = 'namespace="acme-contract-qa",model_name="m"'
NAMES = ("queue", "request_rate", "kv_use", "in_flight_tokens", "ttft_p95")
TARGETS = [{"signal": name, "target": 1.0, "why": ""} for name in NAMES]


def pods_of(series: str, values: dict[str, str], extra: str = "") -> list[dict[str, str]]:
    """Input series of several pods, and one of another model and one of another namespace, which must not count."""
    rows = [{"series": f'{series}{{{WHERE},engine="0",pod="m-aggregated-{pod}"{extra}}}', "values": v} for pod, v in values.items()]
    for other in ('namespace="acme-contract-qa",model_name="other"', 'namespace="elsewhere",model_name="m"'):
        rows.append({"series": f'{series}{{{other},engine="0",pod="x"{extra}}}', "values": "999+1000x40"})
    return rows


def histogram(series: str, counts: dict[str, int]) -> list[dict[str, str]]:
    """Buckets that each grow by their cumulative count a minute."""
    return [row for le, count in counts.items() for row in pods_of(f"{series}_bucket", {"a": f"0+{count}x40"}, f',le="{le}"')]


def rules_file(plan: DeploymentPlan, folder: Path) -> Path:
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [g for o in objects(plan, "PrometheusRule") for g in o["spec"]["groups"]]}))
    return path


def promtool(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *words], cwd=folder, text=True, capture_output=True, check=False)


def run(folder: Path, plan: DeploymentPlan, series: list[dict[str, str]], **checks: Any) -> None:
    """Runs rules and queries on recorded series; fails with what promtool says."""
    rules_file(plan, folder)
    test = {"rule_files": ["rules.yaml"], "evaluation_interval": "30s", "tests": [{"interval": "1m", "input_series": series, **checks}]}
    (folder / "test.yaml").write_text(yaml.safe_dump(test))
    done = promtool(folder, "test", "rules", "test.yaml")
    assert 0 == done.returncode, done.stdout + done.stderr


def expect(query: str, value: float | None, at: str = "10m") -> dict[str, Any]:
    """A query gives exactly one series without labels, or none."""
    # Rounded, because sums of tenths are not exact.
    return {"expr": f"round({query}, 0.000001)", "eval_time": at, "exp_samples": [] if value is None else [{"labels": "{}", "value": value}]}


@PROMTOOL
@pytest.mark.parametrize("plan", [SAMPLE, one_pool({"engine_version": "0.19.0"})], ids=["sample", "older"])
def test_prometheus_accepts_every_rule(plan: DeploymentPlan, tmp_path: Path) -> None:
    """promtool check rules finds no fault in recording rules and alerts."""
    done = promtool(tmp_path, "check", "rules", str(rules_file(plan, tmp_path)))
    assert 0 == done.returncode, done.stdout + done.stderr


def gateway_series(namespace: str) -> str:
    """Requests at the proxy of the gateway `contract-qa` of that namespace."""
    owner = f'gateway_envoyproxy_io_owning_gateway_name="contract-qa",gateway_envoyproxy_io_owning_gateway_namespace="{namespace}"'
    return f'envoy_http_downstream_rq_total{{namespace="envoy-gateway-system",{owner},envoy_http_conn_manager_prefix="https-10443",pod="envoy"}}'


def queries(plan: DeploymentPlan) -> dict[str, str]:
    return {t["name"]: t["metadata"]["query"] for t in one(plan, "ScaledObject")["spec"]["triggers"]}


@PROMTOOL
def test_every_scaler_query_gives_one_right_number(tmp_path: Path) -> None:
    """Three pods: 4 + 0 + 5 requests wait = 9; the fullest cache is at 0.9; 0.9 + 0.5 + 0.1 of 600000 tokens = 900000; p95 TTFT interpolates.

    90 + 30 requests finished a minute are 2 a second.
    """
    plan = one_pool(scaling={"triggers": TARGETS})
    found = queries(plan)
    series = [
        *pods_of("vllm:num_requests_waiting", {"a": "4x40", "b": "0x40", "c": "5x40"}),
        *pods_of("vllm:num_requests_running", {"a": "1x40"}),
        *pods_of("vllm:kv_cache_usage_perc", {"a": "0.9x40", "b": "0.5x40", "c": "0.1x40"}),
        *pods_of("vllm:request_success_total", {"a": "0+90x40", "b": "0+30x40", "c": "0x40"}, ',finished_reason="stop"'),
        # 100 requests a minute: 90 below 0.5 s, all below 1 s. The 95th lies half way between: 0.5 + 0.5 x (95 - 90) / 10 = 0.75 s.
        *histogram("vllm:time_to_first_token_seconds", {"0.5": 90, "1.0": 100, "+Inf": 100}),
    ]
    right = {"queue": 9, "request-rate": 2, "kv-use": 0.9, "in-flight-tokens": 900_000, "ttft-p95": 0.75}
    checks = [expect(found[name], value) for name, value in right.items()]
    run(tmp_path, plan, series, promql_expr_test=checks)


@PROMTOOL
def test_fc27_an_outage_is_no_answer(tmp_path: Path) -> None:
    """Without any series every scaler query is empty, which KEDA takes for an error; with idle pods TTFT and request rate are 0, not nothing."""
    plan = one_pool(scaling={"triggers": TARGETS})
    found = queries(plan)
    others = [*pods_of("vllm:num_requests_waiting", {}), *pods_of("vllm:kv_cache_usage_perc", {}), *pods_of("vllm:num_requests_running", {})]
    run(tmp_path, plan, others, promql_expr_test=[expect(query, None) for query in found.values()])
    idle = [*pods_of("vllm:num_requests_running", {"a": "0x40"}), *histogram("vllm:time_to_first_token_seconds", {"0.5": 0, "+Inf": 0})]
    run(tmp_path, plan, idle, promql_expr_test=[expect(found["ttft-p95"], 0), expect(found["request-rate"], 0)])


@PROMTOOL
def test_at_zero_replicas_silence_is_no_load(tmp_path: Path) -> None:
    """A workload that may go to zero answers 0 while no replica is ready, and nothing when ready replicas are silent; the gateway wakes it."""
    plan = one_pool(scaling={"min": 0, "triggers": TARGETS})
    found = queries(plan)
    ready = 'kube_deployment_status_replicas_ready{namespace="acme-contract-qa",deployment="m-aggregated"}'
    gateway = gateway_series("acme-contract-qa")
    signals = [query for name, query in found.items() if name != "gateway"]
    # 60 requests a minute are 1 a second.
    series = [{"series": ready, "values": "0x40"}, {"series": gateway, "values": "0+60x40"}]
    run(tmp_path, plan, series, promql_expr_test=[*(expect(query, 0) for query in signals), expect(found["gateway"], 1)])
    run(tmp_path, plan, [{"series": ready, "values": "1x40"}], promql_expr_test=[expect(query, None) for query in signals])


@PROMTOOL
def test_another_tenants_traffic_wakes_nobody(tmp_path: Path) -> None:
    """Gateways of one name in other namespaces do not count: 5 requests a second there beside 1 a second here are 1; alone they are nothing."""
    plan = one_pool(scaling={"min": 0, "triggers": TARGETS})
    (monitor,) = [m["spec"] for m in objects(plan, "PodMonitor") if m["metadata"]["name"].endswith("-gateway")]
    # Without these labels on the series the query would find none.
    assert {f"gateway.envoyproxy.io/owning-gateway-{part}" for part in ("name", "namespace")} == set(monitor["podTargetLabels"])
    query = queries(plan)["gateway"]
    other = {"series": gateway_series("other-contract-qa"), "values": "0+300x40"}
    run(tmp_path, plan, [other, {"series": gateway_series("acme-contract-qa"), "values": "0+60x40"}], promql_expr_test=[expect(query, 1)])
    run(tmp_path, plan, [other], promql_expr_test=[expect(query, None)])


@PROMTOOL
def test_alerts_fire_on_what_they_say(tmp_path: Path) -> None:
    """p95 TTFT of 1.9 s against 1.2 s, a full cache, a queue and missing replicas fire; a healthy pool fires nothing."""
    plan = one_pool(scaling={"min": 2, "triggers": [{"signal": "queue", "target": 8.0, "why": ""}]})
    ready = 'kube_deployment_status_replicas_ready{namespace="acme-contract-qa",deployment="m-aggregated"}'
    # All requests between 1 and 2 s: the 95th percentile is 1.95 s.
    slow = [
        *histogram("vllm:time_to_first_token_seconds", {"1.0": 0, "2.0": 100, "+Inf": 100}),
        *pods_of("vllm:num_requests_running", {"a": "9x40"}),
        *pods_of("vllm:num_requests_waiting", {"a": "17x40"}),
        *pods_of("vllm:kv_cache_usage_perc", {"a": "0.99x40"}),
        {"series": ready, "values": "1x40"},
    ]
    names = ("InferformTtftAboveObjective", "InferformQueueGrowing", "InferformKvCacheFull", "InferformReplicasNotReady", "InferformNoMetrics")
    summaries = {r["alert"]: r for o in objects(plan, "PrometheusRule") for g in o["spec"]["groups"] for r in g["rules"] if "alert" in r}

    def alert(name: str, fires: bool) -> dict[str, Any]:
        rule = summaries[name]
        entry = {"exp_labels": rule["labels"], "exp_annotations": rule["annotations"]}
        return {"eval_time": "35m", "alertname": name, "exp_alerts": [entry] if fires else []}

    run(tmp_path, plan, slow, alert_rule_test=[alert(name, name != "InferformNoMetrics") for name in names])
    healthy = [
        *histogram("vllm:time_to_first_token_seconds", {"0.5": 100, "1.0": 100, "+Inf": 100}),
        *pods_of("vllm:num_requests_running", {"a": "9x40"}),
        *pods_of("vllm:num_requests_waiting", {"a": "3x40"}),
        *pods_of("vllm:kv_cache_usage_perc", {"a": "0.6x40"}),
        {"series": ready, "values": "2x40"},
    ]
    run(tmp_path, plan, healthy, alert_rule_test=[alert(name, False) for name in names])
    run(tmp_path, plan, [{"series": ready, "values": "2x40"}], alert_rule_test=[alert("InferformNoMetrics", True)])


@PROMTOOL
def test_recorded_series_hold_the_right_numbers(tmp_path: Path) -> None:
    """Hit ratio 30 of 40, 120 tokens a minute = 2 a second, median TTFT of a bucket from 0 to 0.5 s = 0.25 s."""
    plan = one_pool()
    series = [
        *pods_of("vllm:prefix_cache_hits_total", {"a": "0+30x40"}),
        *pods_of("vllm:prefix_cache_queries_total", {"a": "0+40x40"}),
        *pods_of("vllm:generation_tokens_total", {"a": "0+120x40"}),
        *pods_of("vllm:num_requests_running", {"a": "1x40"}),
        *histogram("vllm:time_to_first_token_seconds", {"0.5": 100, "+Inf": 100}),
    ]
    own = 'model="m",pool="aggregated"'
    values = {"inferform:prefix_hit_ratio:rate5m": 0.75, "inferform:generation_tokens:rate5m": 2, "inferform:ttft_seconds:p50": 0.25}
    checks = [
        {"expr": f"round({name}, 0.000001)", "eval_time": "30m", "exp_samples": [{"labels": f"{{{own}}}", "value": value}]} for name, value in values.items()
    ]
    run(tmp_path, plan, series, promql_expr_test=checks)


@PROMTOOL
def test_gpu_faults_fire(tmp_path: Path) -> None:
    """XID 79 (fallen off the bus) and an uncorrected memory error page; XID 13 (a program's fault) does not."""
    where = 'namespace="acme-contract-qa",pod="p",gpu="0",UUID="u"'
    series = [
        {"series": f"DCGM_FI_DEV_XID_ERRORS{{{where}}}", "values": "79x40"},
        {"series": f"DCGM_FI_DEV_XID_ERRORS{{{where.replace('u', 'v')}}}", "values": "13x40"},
        {"series": f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{where}}}", "values": "0x20 1x20"},
    ]
    rules = {r["alert"]: r for o in objects(SAMPLE, "PrometheusRule", "contract-qa-gpus") for g in o["spec"]["groups"] for r in g["rules"]}
    labels = {"namespace": "acme-contract-qa", "pod": "p", "gpu": "0", "UUID": "u", "severity": "critical"}

    def alert(name: str, at: str) -> dict[str, Any]:
        return {"eval_time": at, "alertname": name, "exp_alerts": [{"exp_labels": labels, "exp_annotations": rules[name]["annotations"]}]}

    run(tmp_path, SAMPLE, series, alert_rule_test=[alert("InferformGpuXid", "5m"), alert("InferformGpuEccUncorrected", "25m")])


def test_fc30_rules_and_scalers_read_the_same_table() -> None:
    """Every vLLM series in rules and scalers is a name of the pinned version's table."""
    engine = find_engine("vllm")
    signals = ("queue", "running", "kv_use", "ttft", "tpot", "requests", "prompt_tokens", "generation_tokens", "prefix_hits", "prefix_queries")
    for version in ("0.19.0", "0.33.0"):
        plan = one_pool({"engine_version": version, "image": f"vllm/vllm-openai:v{version}"}, scaling={"triggers": TARGETS})
        known = {engine.metric(version, signal) for signal in signals}
        text = "".join(t for path, t in render(plan).items() if path.startswith(("observability/", "scaling/")))
        used = {"vllm:" + part.split("{")[0].split("[")[0].removesuffix("_bucket") for part in text.split("vllm:")[1:]}
        assert used == known


def test_scrapes_reach_engines_and_leave_out_workers() -> None:
    """The monitor selects engines by component, on their named port; GPU labels of the exporter win over the scraper's."""
    monitors = {o["metadata"]["name"]: o["spec"] for o in objects(SAMPLE, "PodMonitor")}
    assert {"contract-qa-engines", "contract-qa-gpus", "contract-qa-gateway"} == set(monitors)
    selector = monitors["contract-qa-engines"]["selector"]["matchLabels"]
    template = one(SAMPLE, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    assert [True, False] == [selector.items() <= template[p]["metadata"]["labels"].items() for p in ("leaderTemplate", "workerTemplate")]
    assert monitors["contract-qa-gpus"]["podMetricsEndpoints"][0]["honorLabels"]
    assert ["inferform-system"] == monitors["contract-qa-gpus"]["namespaceSelector"]["matchNames"]


def test_no_observability_no_family() -> None:
    """Turned off, nothing is rendered for Prometheus."""
    files = render(rendered.plan(lambda data: data["observability"].update(enabled=False)))
    assert [] == [path for path in files if path.startswith("observability/")]
