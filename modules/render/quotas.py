"""How much a namespace may take: every pool at its largest, and no container more than the largest of them."""

from __future__ import annotations

import math
from typing import Any

from inferform.plan import DeploymentPlan
from inferform.plan_nodes import EFA_RESOURCE
from inferform.plan_serving import TRIM_CPU_MILLIS, TRIM_MEMORY_BYTES
from inferform.quantities import GIB, kubernetes_bytes
from inferform.render import weights
from inferform.render.pods import GPU_RESOURCE, resources
from inferform.render.router import CPU_MILLIS, MEMORY_BYTES, REPLICAS, SURGE, has_graph, has_router

_IMPORT_CPU_MILLIS, _IMPORT_MEMORY_BYTES = 2000, 4 * GIB


def quota(plan: DeploymentPlan) -> dict[str, Any]:
    """What the namespace may take: every pool at its largest with its surge, and the imports; nothing that opens it to the outside."""
    cpu = memory = pods = 0
    # A device that no pool asks for may not be taken at all.
    devices: dict[str, int] = {GPU_RESOURCE: 0}
    for _, _, _, pool in plan.pool_items():
        surge = pool.lifecycle.max_surge if pool.lifecycle.strategy == "RollingUpdate" else 0
        count = (max(pool.replicas.max, pool.scaling.max) + surge) * pool.pod.pods_per_replica
        pods += count
        cpu += count * pool.pod.cpu_millis
        memory += count * pool.pod.memory_bytes
        if pool.pod.kv_tiers and pool.pod.kv_tiers.trimmed:
            cpu, memory = cpu + count * TRIM_CPU_MILLIS, memory + count * TRIM_MEMORY_BYTES
        for key, value in resources(pool)["limits"].items():
            if key == EFA_RESOURCE or key.startswith("nvidia.com/"):
                devices[key] = devices.get(key, 0) + count * value
    routers = sum(REPLICAS + SURGE for model in plan.models.values() if has_router(model) or has_graph(model))
    pods, cpu, memory = pods + routers, cpu + routers * CPU_MILLIS, memory + routers * MEMORY_BYTES
    imports = sum(1 for model in plan.models.values() if weights.is_on_hub(model))
    jobs = [model.quantize for model in plan.models.values() if model.quantize]
    # Steps of a job run one after the other, so the largest is what it takes.
    pods, cpu, memory = pods + len(jobs), cpu + sum(job.cpu_millis for job in jobs), memory + sum(job.memory_bytes for job in jobs)
    devices[GPU_RESOURCE] += len(jobs)
    return {
        "persistentvolumeclaims": str(len(plan.pool_items())),
        "limits.memory": kubernetes_bytes(memory + imports * _IMPORT_MEMORY_BYTES),
        "pods": str(pods + imports),
        "requests.cpu": str(math.ceil((cpu + imports * _IMPORT_CPU_MILLIS) / 1000)),
        "requests.memory": kubernetes_bytes(memory + imports * _IMPORT_MEMORY_BYTES),
        "requests.storage": kubernetes_bytes(sum(pool.pod.model_cache_bytes for _, _, _, pool in plan.pool_items())),
        **{f"requests.{key}": str(devices[key]) for key in sorted(devices)},
        "services.loadbalancers": "0",
        "services.nodeports": "0",
    }


def most(plan: DeploymentPlan) -> dict[str, Any]:
    """The most memory that one container may ask for: what the largest of the plan's does, so that a stray pod cannot take a node.

    Devices have no such limit: a LimitRange with one refuses every container that names none, and the quota counts them.
    """
    return {
        "memory": kubernetes_bytes(
            max(
                [
                    _IMPORT_MEMORY_BYTES,
                    MEMORY_BYTES,
                    *(pool.pod.memory_bytes for _, _, _, pool in plan.pool_items()),
                    *(model.quantize.memory_bytes for model in plan.models.values() if model.quantize),
                ]
            )
        )
    }


def largest_volume(plan: DeploymentPlan) -> str:
    """The most that one claim may ask for: the largest cache of weights, or the file system that pods read from."""
    lustre = plan.model_store.lustre
    shared = lustre.storage_gib * GIB if lustre and weights.store_volume(plan) else 0
    return kubernetes_bytes(max(shared, *(pool.pod.model_cache_bytes for _, _, _, pool in plan.pool_items())))
