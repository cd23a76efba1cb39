"""The isolation family: what pods of the namespace may talk to, and how much of the cluster they may take."""

from __future__ import annotations

from typing import Any

from inferform import labels
from inferform.engines import dynamo, find_engine
from inferform.plan import DeploymentPlan
from inferform.render import naming, priorities, quotas
from inferform.render.router import METRICS_PORT, has_graph, has_router
from inferform.render.templating import fill

# The agent that gives pods their AWS credentials (EKS Pod Identity), and the instance metadata that they must not reach.
POD_IDENTITY, INSTANCE_METADATA = "169.254.170.23/32", "169.254.169.254/32"


def render_isolation(plan: DeploymentPlan) -> dict[str, str]:
    """Files of the family by path."""
    common = {"namespace": plan.namespace, "labels": naming.deployment_labels(plan)}
    return {
        "network-policies.yaml": fill("isolation/network-policies.yaml.j2", {**common, "policies": network_policies(plan)}),
        "resource-quota.yaml": fill("isolation/resource-quota.yaml.j2", {**common, "hard": quotas.quota(plan), "foreign": priorities.foreign(plan)}),
        "limit-range.yaml": fill("isolation/limit-range.yaml.j2", {**common, "most": quotas.most(plan), "volume": quotas.largest_volume(plan)}),
    }


def network_policies(plan: DeploymentPlan) -> list[dict[str, Any]]:
    """Everything is closed; then names are looked up, the gateway and Prometheus reach engines, and weights are fetched."""
    components = naming.COMPONENT
    engines = {"matchLabels": {components: naming.ENGINE}}
    system = {dynamo.SYSTEM_PORT for model in plan.models.values() if has_graph(model)}
    ports = sorted(system | {find_engine(model.engine).port for model in plan.models.values()})
    to_engine = [{"protocol": "TCP", "port": port} for port in ports]
    routed = [name for name, model in sorted(plan.models.items()) if has_router(model) or has_graph(model)]
    # Routers watch pods, for which they ask the cluster's API over TLS.
    made = [naming.QUANTIZE] if any(model.quantize for model in plan.models.values()) else []
    outside = [naming.ENGINE, naming.WORKER, naming.IMPORT, *made, *([naming.ROUTER] if routed else [])]
    fetching = {"matchExpressions": [{"key": components, "operator": "In", "values": outside}]}
    answering = {"matchExpressions": [{"key": components, "operator": "In", "values": [naming.ENGINE, naming.ROUTER]}]} if routed else engines
    policies: list[dict[str, Any]] = [
        {"name": "default-deny", "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}},
        {
            "name": "allow-dns",
            "spec": {
                "podSelector": {},
                "policyTypes": ["Egress"],
                "egress": [
                    {
                        "to": [{"namespaceSelector": _namespace("kube-system"), "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}],
                        "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
                    }
                ],
            },
        },
        {
            "name": "allow-weights",
            "spec": {
                "podSelector": fetching,
                "policyTypes": ["Egress"],
                "egress": [
                    {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": [INSTANCE_METADATA]}}], "ports": [{"protocol": "TCP", "port": 443}]},
                    {"to": [{"ipBlock": {"cidr": POD_IDENTITY}}], "ports": [{"protocol": "TCP", "port": 80}]},
                ],
            },
        },
    ]
    callers: list[dict[str, Any]] = [{"podSelector": {}}]
    if plan.gateway.enabled:
        callers.append({"namespaceSelector": _namespace(plan.gateway.namespace)})
    policies.append(
        {"name": "allow-requests", "spec": {"podSelector": answering, "policyTypes": ["Ingress"], "ingress": [{"from": callers, "ports": to_engine}]}}
    )
    if plan.observability.enabled:
        scrapers = [{"namespaceSelector": _namespace(plan.observability.namespace)}]
        policies.append(
            {"name": "allow-metrics", "spec": {"podSelector": engines, "policyTypes": ["Ingress"], "ingress": [{"from": scrapers, "ports": to_engine}]}}
        )
    for name in routed:
        members: dict[str, Any] = {"matchLabels": {labels.MODEL_LABEL: name}, "matchExpressions": answering["matchExpressions"]}
        inside = [{"podSelector": members}]
        # Routers ask engines, and decode engines fetch caches from prefill engines on ports they agree on.
        spec: dict[str, Any] = {"podSelector": members, "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": inside}], "egress": [{"to": inside}]}
        policies.append({"name": f"allow-transfer-{name}", "spec": spec})
        if plan.observability.enabled:
            routers = {"matchLabels": {labels.MODEL_LABEL: name, components: naming.ROUTER}}
            metrics = [{"protocol": "TCP", "port": dynamo.HTTP_PORT if has_graph(plan.models[name]) else METRICS_PORT}]
            scrapers = [{"namespaceSelector": _namespace(plan.observability.namespace)}]
            policies.append(
                {
                    "name": f"allow-router-metrics-{name}",
                    "spec": {"podSelector": routers, "policyTypes": ["Ingress"], "ingress": [{"from": scrapers, "ports": metrics}]},
                }
            )
    for workload in naming.workloads(plan):
        if workload.grouped:
            group = {"matchLabels": workload.selector}
            inside = [{"podSelector": group}]
            # Members of a group talk on ports they agree on at start.
            spec = {"podSelector": group, "policyTypes": ["Ingress", "Egress"], "ingress": [{"from": inside}], "egress": [{"to": inside}]}
            policies.append({"name": f"allow-group-{workload.name}", "spec": spec})
    return policies


def _namespace(name: str) -> dict[str, Any]:
    return {"matchLabels": {"kubernetes.io/metadata.name": name}}
