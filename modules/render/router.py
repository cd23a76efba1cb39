"""The router of a model with separate prefill and decode pools, and the order in which the three start; and that of equal replicas.

For each request the router asks a prefill engine for one token, which leaves the prompt's cache there, and then a decode
engine for the answer, which fetches that cache over NIXL. It finds engines by their labels. Prefill starts first; decode
pods wait until a prefill engine is ready, and routers until a decode engine is. Before equal replicas it only chooses: prompts
that begin alike go to the same one, as long as none has much more to do than the others.
"""

from __future__ import annotations

import math
from typing import Any

from inferform import labels
from inferform.engines import dynamo, find_engine
from inferform.plan import DeploymentPlan, ModelPlan
from inferform.quantities import GIB, kubernetes_bytes
from inferform.render import images, naming, priorities
from inferform.render.podtext import environment

REPLICAS, SURGE, CPU_MILLIS, MEMORY_BYTES = 2, 1, 1000, 2 * GIB
PORT, METRICS_PORT = 8000, 29000
DRAIN_S = 15
_REQUEST_TIMEOUT_S = 1800
_USER = 2000
# Role -> the role that must be ready before it starts.
_AFTER = {"decode": "prefill", naming.ROUTER: "decode"}
# The pod sets URL; curl fails on connection errors and on answers from 400 on.
WAIT = 'until curl --fail --silent --output /dev/null --max-time 5 "$URL"; do echo "waiting for $URL"; sleep 5; done'


def has_router(model: ModelPlan) -> bool:
    """Whether requests of the model go through a router that is rendered here."""
    return (model.topology == "disaggregated" and model.disaggregation == "vllm-router") or follows_prefixes(model)


def follows_prefixes(model: ModelPlan) -> bool:
    """Whether the router stands before replicas that prefill and decode."""
    return model.topology == "aggregated" and model.routing == "prefix"


def has_graph(model: ModelPlan) -> bool:
    """Whether the model's pools and frontends are a graph that Dynamo's operator runs."""
    return model.topology == "disaggregated" and model.disaggregation == "dynamo"


def router_name(name: str) -> str:
    """Name of the router's Deployment and account."""
    return f"{name}-router"


def role_service(name: str, model: ModelPlan, role: str) -> str:
    """Name of the Service over the ready engines of one role; the operators of Dynamo and of groups of pods have Services of the plain name."""
    return f"{name}-{role}-ready" if has_graph(model) or follows_prefixes(model) else f"{name}-{role}"


def answering(name: str, model: ModelPlan) -> dict[str, str]:
    """Labels of the pods that answer a model's clients: its routers or frontends where it has them, else its engines."""
    return {labels.MODEL_LABEL: name, naming.COMPONENT: naming.ROUTER if has_router(model) or has_graph(model) else naming.ENGINE}


def pods_service(name: str) -> str:
    """Name of the headless Service over the same pods, for a gateway that chooses among them itself."""
    return f"{name}-pods"


def waits_for(name: str, model: ModelPlan, role: str) -> dict[str, Any] | None:
    """What a pod of that role waits for before it starts; None when for nothing."""
    before = _AFTER.get(role) if has_router(model) or has_graph(model) else None
    if follows_prefixes(model):
        before = "aggregated" if role == naming.ROUTER else None
    if before is None:
        return None
    engine = find_engine(model.engine)
    port, path = (dynamo.SYSTEM_PORT, dynamo.HEALTH_PATH) if has_graph(model) else (engine.port, engine.health_path)
    url = f"http://{role_service(name, model, before)}:{port}{path}"
    return {"image": images.AWS_CLI, "command": ["/bin/bash", "-c", WAIT], "environment": environment({"URL": url})}


def router_view(plan: DeploymentPlan, name: str, model: ModelPlan) -> dict[str, Any]:
    """Router, its account with leave to watch pods, and the Services of the roles."""
    own = {**naming.model_labels(plan, name), naming.COMPONENT: naming.ROUTER}
    selector = {labels.MODEL_LABEL: name, naming.COMPONENT: naming.ROUTER}
    memory = kubernetes_bytes(MEMORY_BYTES)
    return {
        "name": router_name(name),
        "namespace": plan.namespace,
        "labels": dict(sorted(own.items())),
        "selector": selector,
        "replicas": REPLICAS,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": SURGE, "maxUnavailable": 0}},
        "spread": [
            {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": selector}}
            for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
        ],
        "node_selector": {labels.ROLE_LABEL: labels.SYSTEM_ROLE},
        "priority_class": priorities.of_model(plan, model),
        "image": images.VLLM_ROUTER,
        "user": _USER,
        "args": arguments(plan, name, model),
        "port": PORT,
        "metrics_port": METRICS_PORT,
        "wait": waits_for(name, model, naming.ROUTER),
        "resources": {"requests": {"cpu": f"{CPU_MILLIS}m", "memory": memory}, "limits": {"memory": memory}},
        "pre_stop_s": DRAIN_S,
        "grace_s": 2 * DRAIN_S + longest_s(model),
        "roles": roles_view(name, model),
    }


def roles_view(name: str, model: ModelPlan) -> list[dict[str, Any]]:
    """The Service over each role's ready engines."""
    port = dynamo.SYSTEM_PORT if has_graph(model) else find_engine(model.engine).port
    roles = sorted(pool.role for pool in model.pools.values())
    return [{"name": role_service(name, model, role), "selector": engine_labels(name, role), "port": port} for role in roles]


def arguments(plan: DeploymentPlan, name: str, model: ModelPlan) -> list[str]:
    """The router's command line: both its builds take these flags. Prompts follow their prefix, answers the shorter of two queues."""
    words = ["--host", "0.0.0.0", "--port", str(PORT), "--prometheus-host", "0.0.0.0", "--prometheus-port", str(METRICS_PORT)]  # noqa: S104 - pods are reached at their own address
    if follows_prefixes(model):
        words += ["--policy", "cache_aware"]
    else:
        words += ["--vllm-pd-disaggregation", "--kv-connector", "nixl", "--prefill-policy", "cache_aware", "--decode-policy", "power_of_two"]
    words += ["--service-discovery", "--service-discovery-namespace", plan.namespace, "--service-discovery-port", str(find_engine(model.engine).port)]
    for role in roles(model):
        flag = "--selector" if follows_prefixes(model) else f"--{role}-selector"
        words += [flag, *(f"{key}={value}" for key, value in sorted(engine_labels(name, role).items()))]
    start_s = max(pool.lifecycle.startup_failure_threshold * pool.lifecycle.startup_period_s for pool in model.pools.values())
    words += ["--worker-startup-timeout-secs", str(start_s), "--worker-startup-check-interval", "5", "--health-check-interval-secs", "10"]
    return [*words, "--request-timeout-secs", str(max(_REQUEST_TIMEOUT_S, 2 * longest_s(model)))]


def roles(model: ModelPlan) -> tuple[str, ...]:
    """Roles of the engines behind the router, in the order in which they start."""
    return ("aggregated",) if follows_prefixes(model) else ("prefill", "decode")


def engine_labels(name: str, role: str) -> dict[str, str]:
    """Labels of one role's engines."""
    return {labels.MODEL_LABEL: name, labels.ROLE_LABEL: role, naming.COMPONENT: naming.ENGINE}


def longest_s(model: ModelPlan) -> int:
    """Seconds of the longest answer at the planned pace."""
    return math.ceil(max(model.max_output_tokens * pool.tpot_ms.p95 / 1000 for pool in model.pools.values()))
