"""A model with separate prefill and decode pools as a graph of NVIDIA Dynamo: frontends, prefill and decode workers.

Frontends read the model's tokenizer and configuration at the same path as workers, so they fetch the store's small files.
"""

from __future__ import annotations

from typing import Any

from inferform import labels
from inferform.engines import dynamo, find_engine
from inferform.plan import DeploymentPlan, ModelPlan
from inferform.quantities import kubernetes_bytes
from inferform.render import images, naming, router, weights
from inferform.render.naming import Workload
from inferform.render.pods import pod_view
from inferform.render.podtext import environment

# Tokenizers are tens of MB, the smallest shards of weights hundreds.
_MOST_BYTES = 64 * 2**20


def component_name(workload: Workload) -> str:
    """Name of a pool in its graph."""
    return workload.pool.role


def adapter_name(workload: Workload) -> str:
    """Name of the object that the operator makes for scaling a component."""
    return f"{workload.model_name}-{component_name(workload)}"


def graph_view(plan: DeploymentPlan, name: str, model: ModelPlan) -> dict[str, Any]:
    """Graph, the Services of the roles, and leave for the workers' account to announce themselves."""
    workloads = [w for w in naming.workloads(plan) if w.model_name == name]
    return {
        "name": name,
        "namespace": plan.namespace,
        "labels": naming.model_labels(plan, name),
        "roles": router.roles_view(name, model),
        "account": labels.serving_account(name),
        "discovery_role": dynamo.discovery_role(name),
        "frontend": _frontend(plan, name, model),
        "components": [_component(workload) for workload in workloads],
    }


def _component(workload: Workload) -> dict[str, Any]:
    pool = workload.pool
    return {
        "name": component_name(workload),
        "type": pool.role,
        # FC-39: a scaler owns the count through the adapter.
        "replicas": pool.replicas.steady if pool.scaling.kind == "fixed" else None,
        "shm_size": kubernetes_bytes(pool.pod.shm_bytes),
        "pod": pod_view(workload),
    }


def _frontend(plan: DeploymentPlan, name: str, model: ModelPlan) -> dict[str, Any]:
    view = router.router_view(plan, name, model)
    engine = find_engine(model.engine)
    command = dynamo.frontend_command()
    fetch = {**weights.prefetch_environment(plan, name), "MOST_BYTES": str(_MOST_BYTES)}
    return {
        **view,
        "account": labels.serving_account(name),
        "image": dynamo.FRONTEND_IMAGE,
        "user": engine.user_id,
        "group": engine.group_id,
        "command": command[:2],
        "args": command[2:],
        "port": dynamo.HTTP_PORT,
        "live_path": dynamo.LIVE_PATH,
        "health_path": dynamo.HEALTH_PATH,
        "home": engine.home,
        "prefetch_image": images.AWS_CLI,
        "prefetch_environment": environment(fetch),
        "scripts": weights.scripts_name(),
        "scripts_mount": weights.SCRIPTS_MOUNT,
        "cache_mount": weights.CACHE_MOUNT,
        "model_mount": weights.MODEL_MOUNT,
        "environment": environment({"HF_HUB_OFFLINE": "1", "HOME": engine.home}),
    }
