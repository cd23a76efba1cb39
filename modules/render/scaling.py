"""The scaling family: one scaler a workload (FC-28), a KEDA ScaledObject or a plain HPA, and nothing where the count is fixed."""

from __future__ import annotations

from typing import Any

from inferform.plan import DeploymentPlan
from inferform.plan_scaling import TriggerPlan
from inferform.render import naming, queries
from inferform.render.graph import adapter_name
from inferform.render.hpa import adapter_rules, hpa_metrics
from inferform.render.keda import cron_triggers, keda_trigger, ratio_trigger, standby_trigger, wake_trigger, zero_cooldown_s
from inferform.render.naming import Workload
from inferform.render.router import has_graph
from inferform.render.templating import fill


def render_scaling(plan: DeploymentPlan) -> dict[str, str]:
    """Files of the family by path; empty when every count is fixed."""
    files = {}
    by_hpa = []
    for workload in naming.workloads(plan):
        path = naming.file_name(workload.model_name, workload.pool_name)
        if workload.pool.scaling.kind == "keda":
            files[path] = fill("scaling/scaled-object.yaml.j2", {"scaler": keda_view(workload)})
        elif workload.pool.scaling.kind == "hpa":
            files[path] = fill("scaling/horizontal-pod-autoscaler.yaml.j2", {"scaler": hpa_view(workload)})
            by_hpa.append(workload)
    if by_hpa:
        files["prometheus-adapter-values.yaml"] = fill("scaling/prometheus-adapter-values.yaml.j2", {"rules": adapter_rules(by_hpa)})
    return files


def _common(workload: Workload) -> dict[str, Any]:
    name = workload.name
    kind, api = ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1") if workload.grouped else ("Deployment", "apps/v1")
    if has_graph(workload.model):
        kind, api, name = "DynamoGraphDeploymentScalingAdapter", "nvidia.com/v1beta1", adapter_name(workload)
    scaling = workload.pool.scaling
    return {
        "name": workload.name,
        "namespace": workload.plan.namespace,
        "labels": workload.labels,
        "target": {"apiVersion": api, "kind": kind, "name": name},
        "min": scaling.min,
        "max": scaling.max,
        # Up at once to what is needed, down one replica at a time after a long look back (FC-29).
        "behavior": {
            "scaleUp": {
                "stabilizationWindowSeconds": scaling.scale_up_window_s,
                "selectPolicy": "Max",
                "policies": [{"type": "Pods", "value": max(1, scaling.max), "periodSeconds": 15}],
            },
            "scaleDown": {
                "stabilizationWindowSeconds": scaling.scale_down_window_s,
                "selectPolicy": "Min",
                "policies": [{"type": "Pods", "value": 1, "periodSeconds": scaling.scale_down_period_s}],
            },
        },
    }


def keda_view(workload: Workload) -> dict[str, Any]:
    """One ScaledObject with all triggers of the workload."""
    scaling = workload.pool.scaling
    cooldown_s = zero_cooldown_s(workload)
    triggers = [keda_trigger(workload, signal(workload, trigger), trigger) for trigger in scaling.triggers]
    triggers += [made for made in (ratio_trigger(workload), standby_trigger(workload)) if made]
    triggers += cron_triggers(workload)
    return {
        **_common(workload),
        "hpa_name": f"{workload.name}-scaler",
        "idle": 0 if scaling.idle == 0 and scaling.min >= 1 else None,
        "cooldown_s": cooldown_s,
        "polling_s": scaling.polling_interval_s,
        # An outage of monitoring says nothing about the load: it may raise the fleet to the steady count, and never lowers it.
        "fallback": {"failureThreshold": scaling.fallback_failures, "replicas": scaling.fallback_replicas, "behavior": "currentReplicasIfHigher"},
        "triggers": triggers if cooldown_s is None else [*triggers, wake_trigger(workload.plan)],
    }


def hpa_view(workload: Workload) -> dict[str, Any]:
    """A plain HPA on metrics that prometheus-adapter serves."""
    return {**_common(workload), "metrics": hpa_metrics(workload)}


def signal(workload: Workload, trigger: TriggerPlan) -> tuple[str, str]:
    """(query, metric type) of one signal; latencies are in seconds, like the series.

    Counts and rates are totals that one replica's share divides (AverageValue); shares and latencies are levels that a replica's
    level is compared with (Value).
    """
    if trigger.signal == "queue":
        return queries.total(workload, "queue"), "AverageValue"
    if trigger.signal == "request_rate":
        return queries.request_rate(workload), "AverageValue"
    if trigger.signal == "in_flight_tokens":
        return queries.tokens_in_flight(workload), "AverageValue"
    if trigger.signal == "kv_use":
        return queries.highest(workload, "kv_use"), "Value"
    if trigger.signal == "queue_wait":
        return queries.mean_wait(workload), "Value"
    if trigger.signal == "ttft_p95":
        return queries.quantile(workload, "ttft", q=0.95), "Value"
    return "", "Utilization"
