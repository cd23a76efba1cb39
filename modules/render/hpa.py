"""Metrics of plain HPAs, and the rules by which prometheus-adapter serves them from the engines' series.

The adapter knows one rule a name, so a name says which engine's series stand behind it, and which pool where the rule is of one
pool. Counts, rates and shares are metrics of pods; latencies and the ratio of two pools are external metrics with one value.
"""

from __future__ import annotations

from typing import Any

from inferform.engines import Signal
from inferform.plan_scaling import TriggerPlan
from inferform.render import queries
from inferform.render.naming import Workload, short_hash
from inferform.render.quantities import quantity
from inferform.render.ratio import counterpart, fewest

_PODS = {"queue": "requests_waiting", "request_rate": "requests_per_second", "kv_use": "kv_cache_use", "in_flight_tokens": "tokens_in_flight"}
_EXTERNAL = {"queue_wait": "queue_wait_seconds", "ttft_p95": "ttft_p95_seconds"}
# The series by which the adapter finds the pods of a metric, or whether an external one exists.
_SERIES: dict[str, Signal] = {"queue": "queue", "request_rate": "running", "kv_use": "kv_use", "in_flight_tokens": "kv_use"}
_RATIO, _STANDBY = "replicas_by_ratio", "replicas_with_standby"


def _name(workload: Workload, signal: str) -> str:
    """Name in the custom metrics API. The tokens that a cache holds differ by pool, so that metric does too."""
    engine = workload.model.engine.replace("-", "_")
    return f"inferform_{engine}_{_PODS[signal]}" + (f"_{short_hash(workload.name)}" if signal == "in_flight_tokens" else "")


def _external_name(workload: Workload, what: str) -> str:
    """Name in the external metrics API: one a pool."""
    return f"inferform_{what}_{short_hash(workload.name)}"


def hpa_metrics(workload: Workload) -> list[dict[str, Any]]:
    """A metric a signal, the ratio for prefill and decode, and what stands by."""
    metrics = [_metric(workload, trigger) for trigger in workload.pool.scaling.triggers]
    if counterpart(workload):
        metrics.append(_external(workload, _RATIO, {"type": "AverageValue", "averageValue": "1"}))
    if workload.pool.scaling.standby:
        metrics.append(_external(workload, _STANDBY, {"type": "AverageValue", "averageValue": "1"}))
    return metrics


def _metric(workload: Workload, trigger: TriggerPlan) -> dict[str, Any]:
    if trigger.signal == "cpu":
        return {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": max(1, round(trigger.target))}}}
    if trigger.signal in _EXTERNAL:
        return _external(workload, _EXTERNAL[trigger.signal], {"type": "Value", "value": quantity(trigger.target)})
    target = {"type": "AverageValue", "averageValue": quantity(trigger.target)}
    return {"type": "Pods", "pods": {"metric": {"name": _name(workload, trigger.signal)}, "target": target}}


def _external(workload: Workload, what: str, target: dict[str, Any]) -> dict[str, Any]:
    return {"type": "External", "external": {"metric": {"name": _external_name(workload, what)}, "target": target}}


def adapter_rules(workloads: list[Workload]) -> dict[str, Any]:
    """The `rules` value of prometheus-adapter's chart."""
    custom: dict[str, dict[str, Any]] = {}
    external: list[dict[str, Any]] = []
    for workload in workloads:
        for trigger in workload.pool.scaling.triggers:
            if trigger.signal in _PODS:
                rule = _custom_rule(workload, trigger.signal)
                custom[rule["name"]["as"]] = rule
            elif trigger.signal in _EXTERNAL:
                external.append(_latency_rule(workload, trigger.signal))
        other = counterpart(workload)
        if other:
            external.append(_rule(workload, _RATIO, queries.ready_series(other), fewest(workload, other)))
        if workload.pool.scaling.standby:
            running = f"{queries.series(workload.model, 'running')}{queries.selector(workload)}"
            external.append(_rule(workload, _STANDBY, running, queries.needed_and_standby(workload)))
    return {"default": False, "custom": [custom[k] for k in sorted(custom)], "external": sorted(external, key=lambda rule: str(rule["name"]["as"]))}


def _custom_rule(workload: Workload, signal: str) -> dict[str, Any]:
    matchers = [f"namespace={queries.text(workload.plan.namespace)}", 'pod!=""']
    # A share is that of the fullest rank of a pod; everything else adds up.
    join, factor = "max" if signal == "kv_use" else "sum", ""
    if signal == "in_flight_tokens":
        # The rule is of one pool, so its series are looked for among that pool's.
        matchers = [queries.selector(workload)[1:-1], 'pod!=""']
        factor = f" * {queries.cache_tokens(workload)}"
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


def _latency_rule(workload: Workload, signal: str) -> dict[str, Any]:
    query = queries.mean_wait(workload) if signal == "queue_wait" else queries.quantile(workload, "ttft", q=0.95)
    series = f"{queries.series(workload.model, 'running')}{queries.selector(workload)}"
    return _rule(workload, _EXTERNAL[signal], series, query)


def _rule(workload: Workload, what: str, series: str, query: str) -> dict[str, Any]:
    """An external metric of one pool: the query is whole as KEDA would ask it, and the adapter only looks whether its series exist."""
    return {
        "seriesQuery": series,
        "resources": {"overrides": {"namespace": {"resource": "namespace"}}},
        "name": {"as": _external_name(workload, what)},
        "metricsQuery": query,
    }
