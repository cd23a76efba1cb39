"""Metrics of plain HPAs, and the rules by which prometheus-adapter serves them from the engines' series."""

from __future__ import annotations

from typing import Any

from inferform.engines import Signal, find_engine
from inferform.plan_scaling import TriggerPlan
from inferform.render import queries
from inferform.render.naming import Workload, short_hash
from inferform.render.quantities import quantity

_NAMES = {
    "queue": "inferform_requests_waiting",
    "request_rate": "inferform_requests_per_second",
    "kv_use": "inferform_kv_cache_use",
    "in_flight_tokens": "inferform_tokens_in_flight",
}
# The series by which the adapter finds the pods of a metric.
_SERIES: dict[str, Signal] = {"queue": "queue", "request_rate": "running", "kv_use": "kv_use", "in_flight_tokens": "kv_use"}
_TTFT = "inferform_ttft_p95_seconds"


def _name(workload: Workload, signal: str) -> str:
    """Name in the custom metrics API. The tokens that a cache holds differ by pool, so that metric does too."""
    return _NAMES[signal] + (f"_{short_hash(workload.name)}" if signal == "in_flight_tokens" else "")


def _label(workload: Workload) -> str:
    """The label of the engine's series that names the model; empty where there is none."""
    return find_engine(workload.model.engine).model_label


def _ttft_name(workload: Workload) -> str:
    """Name in the external metrics API, one a pool where a label cannot tell models apart."""
    return _TTFT if _label(workload) else f"{_TTFT}_{short_hash(workload.name)}"


def hpa_metric(workload: Workload, trigger: TriggerPlan) -> dict[str, Any]:
    """One metric: averages over pods for counts, rates and shares, one value for a latency of the whole model."""
    if trigger.signal == "cpu":
        return {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": max(1, round(trigger.target))}}}
    if trigger.signal == "ttft_p95":
        metric: dict[str, Any] = {"name": _ttft_name(workload)}
        if _label(workload):
            metric["selector"] = {"matchLabels": {_label(workload): workload.model.served_name}}
        return {"type": "External", "external": {"metric": metric, "target": {"type": "Value", "value": quantity(trigger.target)}}}
    target = {"type": "AverageValue", "averageValue": quantity(trigger.target)}
    return {"type": "Pods", "pods": {"metric": {"name": _name(workload, trigger.signal)}, "target": target}}


def adapter_rules(workloads: list[Workload]) -> dict[str, Any]:
    """The `rules` value of prometheus-adapter's chart."""
    custom: dict[str, dict[str, Any]] = {}
    external: dict[str, dict[str, Any]] = {}
    for workload in workloads:
        for trigger in workload.pool.scaling.triggers:
            if trigger.signal in _NAMES:
                rule = _custom_rule(workload, trigger.signal)
                custom[f"{rule['name']['as']} {rule['seriesQuery']}"] = rule
            elif trigger.signal == "ttft_p95":
                rule = _external_rule(workload)
                external[f"{rule['name']['as']} {rule['seriesQuery']}"] = rule
    return {"default": False, "custom": [custom[k] for k in sorted(custom)], "external": [external[k] for k in sorted(external)]}


def _custom_rule(workload: Workload, signal: str) -> dict[str, Any]:
    matchers = [f"namespace={queries.text(workload.plan.namespace)}", 'pod!=""']
    join, factor = "sum" if signal in {"queue", "request_rate"} else "max", ""
    if signal == "in_flight_tokens":
        label = _label(workload)
        matchers.append(f"{label}={queries.text(workload.model.served_name)}" if label else queries.pod_matcher(workload))
        factor = f" * {workload.pool.kv_cache_tokens}"
    found = f"{join}(<<.Series>>{{<<.LabelMatchers>>}}) by (<<.GroupBy>>){factor}"
    if signal == "request_rate":
        # As for KEDA: a pod that has finished nothing yet may not have the counter.
        finished = queries.series(workload.model, "requests")
        found = f"sum(rate({finished}{{<<.LabelMatchers>>}}[{queries.WINDOW}])) by (<<.GroupBy>>) or 0 * {found}"
    return {
        "seriesQuery": f"{queries.series(workload.model, _SERIES[signal])}{{{','.join(matchers)}}}",
        "resources": {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}},
        "name": {"as": _name(workload, signal)},
        "metricsQuery": found,
    }


def _external_rule(workload: Workload) -> dict[str, Any]:
    matchers = "<<.LabelMatchers>>" if _label(workload) else f"<<.LabelMatchers>>,{queries.pod_matcher(workload)}"
    return {
        "seriesQuery": f"{queries.series(workload.model, 'ttft')}_bucket{{namespace={queries.text(workload.plan.namespace)}}}",
        "resources": {"overrides": {"namespace": {"resource": "namespace"}}},
        "name": {"as": _ttft_name(workload)},
        "metricsQuery": f"histogram_quantile(0.95, sum(rate(<<.Series>>{{{matchers}}}[{queries.WINDOW}])) by (le))",
    }
