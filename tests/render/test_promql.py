"""Every query that is rendered, for every engine, role and kind of scaler, run by Prometheus itself on series as that engine shows them.

Each pool has three pods whose numbers are known; beside them stand pods of another pool, of another model and of another namespace
with large numbers, which must not count. Each query gives exactly one series and the right value.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import rendered
import samples
import yaml
from inferform.engines import find_engine
from inferform.plan import DeploymentPlan
from inferform.render import naming, render
from rendered import one

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (apt-get install prometheus)")
NAMES = ("queue", "queue_wait", "request_rate", "kv_use", "in_flight_tokens", "ttft_p95")
TRIGGERS = [{"signal": name, "target": 1.0, "why": ""} for name in NAMES]
NAMESPACE = "acme-contract-qa"
VERSIONS = {
    "vllm": ("0.33.0", "vllm/vllm-openai:v0.33.0"),
    "sglang": ("0.5.23", "lmsysorg/sglang:v0.5.23"),
    "tensorrt-llm": ("1.3.0rc22", "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc22"),
}
# What each engine writes on its series beside the model's name (reference data read 2026-12-01).
OWN_LABELS = {"vllm": 'engine="0"', "sglang": 'engine_type="unified",tp_rank="0",pp_rank="0"', "tensorrt-llm": 'engine_type="pytorch"'}


@dataclass(frozen=True)
class Case:
    """One pool: its engine, role, how its model's pools are joined, and data-parallel ranks."""

    engine: str
    role: str = "aggregated"
    runtime: str | None = None
    version: str | None = None
    dp: int = 1

    @property
    def pods(self) -> tuple[str, ...]:
        """Names as the controllers make them: a hash of the template and of the pod, or with the number of Dynamo's gang."""
        stem = f"m-0-{self.role}" if self.runtime == "dynamo" else f"m-{self.role}-6d9f"
        return tuple(f"{stem}-{tail}" for tail in ("abcde", "fghij", "klmno"))

    def plan(self, kind: str) -> DeploymentPlan:
        version, image = VERSIONS[self.engine]
        version = self.version or version
        image = f"vllm/vllm-openai:v{version}" if self.engine == "vllm" else image
        counts = {"aggregated": (2, 8)} if self.runtime is None else {"prefill": (1, 2), "decode": (4, 8)}
        scaling = {"kind": kind, "triggers": TRIGGERS}
        life = {"shutdown_timeout_s": 103 if self.engine == "vllm" else None}
        pools = {
            role: samples.pool(
                role=role, replicas={"min": low, "steady": low, "max": high}, dp=self.dp, tp=4 if self.dp == 1 else 1, ep=self.dp, lifecycle=life,
                scaling={**scaling, "min": low, "max": high, "fallback_replicas": low},
            )
            for role, (low, high) in counts.items()
        }  # fmt: skip
        model = {
            "engine": self.engine, "engine_version": version, "image": image, "checkpoint_quantized": True, "served_name": "m", "disaggregation": self.runtime,
            "topology": "aggregated" if self.runtime is None else "disaggregated",
        }  # fmt: skip
        return rendered.plan(lambda data: data.update(models={"m": samples.model(pools, **model)}))


CASES = {
    "vllm": Case("vllm"),
    "vllm-0.19": Case("vllm", version="0.19.0"),
    "vllm-ranks": Case("vllm", dp=2),
    "vllm-prefill": Case("vllm", "prefill", "vllm-router"),
    "vllm-decode": Case("vllm", "decode", "vllm-router"),
    "dynamo-prefill": Case("vllm", "prefill", "dynamo", version="0.31.0"),
    "dynamo-decode": Case("vllm", "decode", "dynamo", version="0.31.0"),
    "sglang": Case("sglang"),
    "tensorrt-llm": Case("tensorrt-llm"),
    "tensorrt-llm-ranks": Case("tensorrt-llm", dp=4),
}
PODS = 3
# Per pod. Counters grow by so much a minute; quantiles are 100 requests a minute of pod one.
GAUGES = {"queue": (4, 0, 5), "running": (1, 2, 3), "kv_use": (0.9, 0.5, 0.1)}
COUNTERS = {
    "requests": (90, 30, 0),
    "prompt_tokens": (600, 0, 0),
    "generation_tokens": (1200, 600, 0),
    "prefix_hits": (150, 0, 0),
    "prefix_queries": (600, 0, 0),
}
BUCKETS = {"ttft": {"0.5": 90, "1.0": 100, "+Inf": 100}, "tpot": {"0.02": 50, "0.05": 100, "+Inf": 100}}
READY = {"m-aggregated": 2, "m-prefill": 3, "m-decode": 9}


def series_of(case: Case) -> list[dict[str, str]]:
    """What Prometheus recorded of the pool and of others."""
    engine = find_engine(case.engine)
    version = case.version or VERSIONS[case.engine][0]
    found: dict[str, str] = {}

    def add(name: str, values: tuple[float, ...], extra: str = "", *, counter: bool) -> None:
        for at, (pod, value) in enumerate(zip(case.pods, values, strict=True)):
            ranks = range(case.dp if case.engine == "vllm" else 1)
            for rank in ranks:
                own = OWN_LABELS[case.engine].replace('engine="0"', f'engine="{rank}"')
                part = value if name == engine.metric(version, "kv_use") else value / len(ranks)
                labels = f'namespace="{NAMESPACE}",pod="{pod}",container="engine",job="monitoring/contract-qa-engines",model_name="m",{own}{extra}'
                found[f"{name}{{{labels}}}"] = f"0+{part:g}x60" if counter else f"{part:g}x60"
            if at == 0:
                others = [("other-aggregated-6d9f-abcde", NAMESPACE, "other"), (pod, "elsewhere", "m")]
                others += [("m-other-6d9f-abcde", NAMESPACE, "m")] if case.runtime else []
                for other_pod, namespace, model in others:
                    labels = f'namespace="{namespace}",pod="{other_pod}",container="engine",model_name="{model}",{OWN_LABELS[case.engine]}{extra}'
                    found[f"{name}{{{labels}}}"] = "9+7000x60"

    for signal, values in GAUGES.items():
        add(engine.metric(version, signal), values, counter=False)  # type: ignore[arg-type]
    for signal, values in COUNTERS.items():
        add(engine.metric(version, signal), values, ',finished_reason="stop"' if signal == "requests" else "", counter=True)  # type: ignore[arg-type]
    for signal, buckets in BUCKETS.items():
        for edge, count in buckets.items():
            add(f"{engine.metric(version, signal)}_bucket", (count, 0, 0), f',le="{edge}"', counter=True)  # type: ignore[arg-type]
    add(f"{engine.metric(version, 'queue_time')}_sum", (30, 0, 0), counter=True)
    add(f"{engine.metric(version, 'queue_time')}_count", (90, 30, 0), counter=True)
    for workload, count in READY.items():
        found[f'kube_deployment_status_replicas_ready{{namespace="{NAMESPACE}",deployment="{workload}"}}'] = f"{count}x60"
        if case.runtime == "dynamo":
            for at in range(count):
                found[f'kube_pod_status_ready{{namespace="{NAMESPACE}",pod="m-0-{workload[2:]}-{at}",condition="true"}}'] = "1x60"
    return [{"series": series, "values": values} for series, values in found.items()]


def values_of(case: Case) -> dict[str, float]:
    """What each signal is: 4 + 0 + 5 wait; 30 s of waits over 120 requests; 120 requests a minute; 0.9 at the fullest; 1.5 caches of 600,000 tokens a rank.

    Of 100 first tokens 90 come below 0.5 s and all below 1 s: p95 = 0.5 + 0.5 x 5 / 10.
    """
    values = {"queue": 9, "queue-wait": 0.25, "request-rate": 2, "kv-use": 0.9, "in-flight-tokens": 900_000 * case.dp, "ttft-p95": 0.75}
    # floor(9 decode x 0.1875) and floor(3 prefill x 3).
    return {**values, **({"ratio": 1} if case.role == "prefill" else {"ratio": 9} if case.role == "decode" else {})}


def check(folder: Path, series: list[dict[str, str]], checks: list[dict[str, Any]], groups: list[dict[str, Any]] | None = None) -> None:
    """Every check by promtool in one run; fails with what it says."""
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups or []}))
    test = {"rule_files": ["rules.yaml"], "evaluation_interval": "30s", "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": checks}]}
    (folder / "test.yaml").write_text(yaml.safe_dump(test))
    done = subprocess.run(["promtool", "test", "rules", "test.yaml"], cwd=folder, text=True, capture_output=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr


def expect(query: str, *samples: tuple[str, float], at: str = "30m") -> dict[str, Any]:
    """The query gives exactly these series; values are rounded, because sums of tenths are not exact."""
    return {"expr": f"round({query}, 0.000001)", "eval_time": at, "exp_samples": [{"labels": labels, "value": value} for labels, value in samples]}


@pytest.mark.parametrize("name", CASES)
def test_every_query_of_keda_is_one_right_number(name: str, tmp_path: Path) -> None:
    """All signals and, for prefill and decode, the ratio."""
    case = CASES[name]
    triggers = one(case.plan("keda"), "ScaledObject", f"m-{case.role}")["spec"]["triggers"]
    right = values_of(case)
    assert set(right) == {t["name"] for t in triggers}
    check(tmp_path, series_of(case), [expect(t["metadata"]["query"], ("{}", right[t["name"]])) for t in triggers])


@pytest.mark.parametrize("name", CASES)
def test_fc27_silence_is_no_answer_and_idleness_is_zero(name: str, tmp_path: Path) -> None:
    """Without series every query but the ratio's is empty; with pods that report and never had a request the latencies and the rate are 0."""
    case = CASES[name]
    queries = {t["name"]: t["metadata"]["query"] for t in one(case.plan("keda"), "ScaledObject", f"m-{case.role}")["spec"]["triggers"] if t["name"] != "ratio"}
    check(tmp_path, [], [expect(query) for query in queries.values()])
    idle = {s["series"]: s["values"] for s in series_of(case) if s["series"].startswith(find_engine(case.engine).metric(VERSIONS[case.engine][0], "running"))}
    series = [{"series": series, "values": "0x60"} for series in idle]
    check(tmp_path, series, [expect(queries[name], ("{}", 0)) for name in ("queue-wait", "request-rate", "ttft-p95")])


@pytest.mark.parametrize("name", CASES)
def test_every_rule_of_the_adapter_serves_its_metric(name: str, tmp_path: Path) -> None:
    """Each metric that the HPA asks for has one rule. Templates are filled in as prometheus-adapter does: metrics of pods give a series a pod, external ones one."""
    case = CASES[name]
    plan = case.plan("hpa")
    metrics = {m[m["type"].lower()]["metric"]["name"]: m["type"] for m in one(plan, "HorizontalPodAutoscaler", f"m-{case.role}")["spec"]["metrics"]}
    rules = yaml.safe_load(render(plan)["scaling/prometheus-adapter-values.yaml"])["rules"]
    pods = [f'{{pod="{pod}"}}' for pod in case.pods]
    per_pod = {
        "requests_waiting": [4, 0, 5],
        "requests_per_second": [1.5, 0.5, 0],
        "kv_cache_use": [0.9, 0.5, 0.1],
        "tokens_in_flight": [540_000 * case.dp, 300_000 * case.dp, 60_000 * case.dp],
    }
    right = values_of(case)
    external = {"queue_wait_seconds": right["queue-wait"], "ttft_p95_seconds": right["ttft-p95"], "replicas_by_ratio": right.get("ratio", 0)}
    checks = []
    for metric, kind in metrics.items():
        (rule,) = [r for r in rules["custom" if kind == "Pods" else "external"] if r["name"]["as"] == metric]
        # The adapter looks for the series itself first.
        checks.append({"expr": f"count(({rule['seriesQuery']})) > bool 0", "eval_time": "30m", "exp_samples": [{"labels": "{}", "value": 1}]})
        matchers = f'namespace="{NAMESPACE}"' + (f',pod=~"{"|".join(case.pods)}"' if kind == "Pods" else "")
        query = rule["metricsQuery"].replace("<<.Series>>", rule["seriesQuery"].partition("{")[0]).replace("<<.LabelMatchers>>", matchers)
        query = query.replace("<<.GroupBy>>", "pod")
        stem = metric.removeprefix("inferform_").removeprefix(f"{case.engine.replace('-', '_')}_").removesuffix(f"_{naming.short_hash(f'm-{case.role}')}")
        wanted = list(zip(pods, per_pod[stem], strict=True)) if kind == "Pods" else [("{}", external[stem])]
        checks.append(expect(query, *wanted))
    assert len(NAMES) + (case.role != "aggregated") == len(metrics)
    check(tmp_path, series_of(case), checks)


@pytest.mark.parametrize("name", CASES)
def test_every_rule_records_one_right_number(name: str, tmp_path: Path) -> None:
    """Recording rules of the pool: one series each, with the pool's labels."""
    case = CASES[name]
    groups = one(case.plan("keda"), "PrometheusRule", f"m-{case.role}")["spec"]["groups"]
    hits = 0.25
    right: dict[str, float] = {
        "inferform:requests_waiting:sum": 9,
        "inferform:requests_running:sum": 6,
        "inferform:requests:rate5m": 2,
        "inferform:prompt_tokens:rate5m": 10,
        "inferform:generation_tokens:rate5m": 30,
        "inferform:kv_cache_use:max": 0.9,
        "inferform:prefix_hit_ratio:rate5m": hits,
        # 0.5 x 50 / 90; 0.5 + 0.5 x 9 / 10; 0.02 + 0.03 x 45 / 50 and x 49 / 50.
        "inferform:ttft_seconds:p50": 0.277778,
        "inferform:ttft_seconds:p95": 0.75,
        "inferform:ttft_seconds:p99": 0.95,
        "inferform:tpot_seconds:p50": 0.02,
        "inferform:tpot_seconds:p95": 0.047,
        "inferform:tpot_seconds:p99": 0.0494,
    }
    recorded = [rule["record"] for group in groups for rule in group["rules"] if "record" in rule]
    assert len(set(recorded)) == len(recorded) >= 10
    labels = f'{{model="m",pool="{case.role}"}}'
    check(tmp_path, series_of(case), [expect(record, (labels, right[record])) for record in recorded], groups)


@pytest.mark.parametrize("name", CASES)
def test_every_alert_can_fire(name: str, tmp_path: Path) -> None:
    """On a pool in trouble each alert's expression is one series; on a silent one the alert about that is."""
    case = CASES[name]
    plan = case.plan("keda")
    rules = {r["alert"]: r["expr"] for g in one(plan, "PrometheusRule", f"m-{case.role}")["spec"]["groups"] for r in g["rules"] if "alert" in r}
    engine, version = find_engine(case.engine), case.version or VERSIONS[case.engine][0]
    names = {signal: engine.metric(version, signal) for signal in ("queue", "kv_use", "ttft", "tpot")}  # type: ignore[arg-type]
    bad = []
    for row in series_of(case):
        series, values = row["series"], row["values"]
        mine = any(f'pod="{pod}"' in series for pod in case.pods) and f'namespace="{NAMESPACE}"' in series
        if mine and series.startswith(f"{names['queue']}{{"):
            values = "500x60"
        elif mine and series.startswith(f"{names['kv_use']}{{"):
            values = "0.99x60"
        elif mine and "_bucket{" in series:
            # Everything takes between the first edge and a minute.
            values = "0x60" if 'le="0.5"' in series or 'le="0.02"' in series else values
            series = series.replace('le="1.0"', 'le="60.0"').replace('le="0.05"', 'le="60.0"')
        elif series.startswith("kube_deployment_status_replicas_ready"):
            values = "0x60"
        elif series.startswith("kube_pod_status_ready"):
            values = "1x60" if series.endswith('0",condition="true"}') and case.role == "decode" else "0x60"
        bad.append({"series": series, "values": values})
    loud = [expr for alert, expr in rules.items() if alert != "InferformNoMetrics"]
    assert len(loud) >= 4
    check(tmp_path, bad, [{"expr": f"count({expr})", "eval_time": "30m", "exp_samples": [{"labels": "{}", "value": 1}]} for expr in loud])
    check(tmp_path, [], [{"expr": rules["InferformNoMetrics"], "eval_time": "30m", "exp_samples": [{"labels": "{}", "value": 1}]}])


def test_every_series_is_one_that_the_engine_shows() -> None:
    """Names in all queries of an engine stand in the lists read from its own code."""
    folder = rendered.REFERENCE
    if not folder.exists():
        pytest.skip(rendered.NO_REFERENCE)
    known: dict[str, set[str]] = {}
    for engine, file, key in (
        ("vllm", "vllm_metrics", "metrics"),
        ("sglang", "sglang_metrics", "metrics"),
        ("tensorrt-llm", "trtllm_triton_metrics", "trtllm_serve"),
    ):
        known[engine] = {row["name"].removesuffix("_total") for row in json.loads((folder / f"{file}.json").read_text())[key]}
    prefix = {"vllm": "vllm:", "sglang": "sglang:", "tensorrt-llm": "trtllm_"}
    for name, case in CASES.items():
        text = "".join(t for kind in ("keda", "hpa") for path, t in render(case.plan(kind)).items() if path.startswith(("observability/", "scaling/")))
        words = {prefix[case.engine] + part.split("{")[0].split("[")[0] for part in text.split(prefix[case.engine])[1:]}
        for word in words:
            stems = {word, *(word.removesuffix(s) for s in ("_total", "_bucket", "_sum", "_count"))}
            assert stems & known[case.engine], (name, word)
