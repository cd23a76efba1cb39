"""The observability family: what is scraped, and the rules over it."""

from __future__ import annotations

from typing import Any

from inferform import labels
from inferform.engines import dynamo, find_engine
from inferform.plan import DeploymentPlan
from inferform.render import naming
from inferform.render.alerts import gpu_alerts, pool_alerts, recording_rules
from inferform.render.router import has_graph, has_router
from inferform.render.templating import fill

_OWNER = "gateway.envoyproxy.io/owning-gateway-"


def render_observability(plan: DeploymentPlan) -> dict[str, str]:
    """Files of the family by path; empty when observability is off."""
    if not plan.observability.enabled:
        return {}
    gpus = any(pool.infrastructure.gpus_per_node for _, _, _, pool in plan.pool_items())
    common = {"namespace": plan.namespace, "labels": naming.deployment_labels(plan)}
    files = {"pod-monitors.yaml": fill("observability/pod-monitors.yaml.j2", {**common, "monitors": monitors(plan, gpus=gpus)})}
    for workload in naming.workloads(plan):
        groups = [_group(f"{workload.name}.recording", recording_rules(workload)), _group(f"{workload.name}.alerts", pool_alerts(workload))]
        rule = {"name": workload.name, "labels": workload.labels, "groups": groups}
        path = naming.file_name(workload.model_name, workload.pool_name, "rules")
        files[path] = fill("observability/prometheus-rule.yaml.j2", {**common, "rule": rule})
    if gpus:
        rule = {"name": f"{plan.name}-gpus", "labels": naming.deployment_labels(plan), "groups": [_group("gpus.alerts", gpu_alerts(plan))]}
        files["gpu-rules.yaml"] = fill("observability/prometheus-rule.yaml.j2", {**common, "rule": rule})
    return files


def _group(name: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "interval": "30s", "rules": rules}


def _engine_monitors(plan: DeploymentPlan) -> list[dict[str, Any]]:
    """One for all engines, or one a path where engines answer at several."""
    models: dict[tuple[str, int], list[str]] = {}
    for name, model in sorted(plan.models.items()):
        place = ("/metrics", dynamo.SYSTEM_PORT) if has_graph(model) else (find_engine(model.engine).metrics_path, 0)
        models.setdefault(place, []).append(name)
    found = []
    for (path, port), names in sorted(models.items()):
        selector: dict[str, Any] = {"matchLabels": {naming.COMPONENT: naming.ENGINE, labels.DEPLOYMENT_LABEL: plan.name}}
        if len(models) > 1:
            selector["matchExpressions"] = [{"key": labels.MODEL_LABEL, "operator": "In", "values": names}]
        found.append(
            {
                "name": f"{plan.name}-engines" + ("" if path == "/metrics" else path.replace("/", "-")) + (f"-{port}" if port else ""),
                "namespaces": [plan.namespace],
                "selector": selector,
                "target_labels": [],
                "endpoint": {**({"portNumber": port} if port else {"port": "http"}), "path": path, "interval": "15s"},
            }
        )
    return found


def monitors(plan: DeploymentPlan, *, gpus: bool) -> list[dict[str, Any]]:
    """Engines, and GPUs and the gateway's proxies where there are any."""
    found: list[dict[str, Any]] = _engine_monitors(plan)
    for suffix, test, port in (("routers", has_router, "metrics"), ("frontends", has_graph, "http")):
        routed = [name for name, model in sorted(plan.models.items()) if test(model)]
        if not routed:
            continue
        selector = {
            "matchLabels": {naming.COMPONENT: naming.ROUTER, labels.DEPLOYMENT_LABEL: plan.name},
            "matchExpressions": [{"key": labels.MODEL_LABEL, "operator": "In", "values": routed}],
        }
        endpoint = {"port": port, "path": "/metrics", "interval": "15s"}
        found.append(
            {"name": f"{plan.name}-{suffix}", "namespaces": [plan.namespace], "selector": selector, "target_labels": [labels.MODEL_LABEL], "endpoint": endpoint}
        )
    if gpus:
        found.append(
            {
                "name": f"{plan.name}-gpus",
                "namespaces": [naming.SYSTEM_NAMESPACE],
                "selector": {"matchLabels": {"app.kubernetes.io/name": "dcgm-exporter"}},
                "target_labels": [],
                # The exporter's own pod and namespace labels name who uses the GPU, which is what one wants to know.
                "endpoint": {"port": "metrics", "path": "/metrics", "interval": "15s", "honorLabels": True},
            }
        )
    if plan.gateway.enabled:
        found.append(
            {
                "name": f"{plan.name}-gateway",
                "namespaces": [plan.gateway.namespace],
                "selector": {"matchLabels": {f"{_OWNER}name": plan.name, f"{_OWNER}namespace": plan.namespace}},
                "target_labels": [f"{_OWNER}name", f"{_OWNER}namespace"],
                "endpoint": {"portNumber": 19001, "path": "/stats/prometheus", "interval": "15s"},
            }
        )
    return found
