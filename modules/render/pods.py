"""The pod of a serving replica as a prepared view: one shape for Deployments, leaders and workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from inferform import labels
from inferform.engines import Engine, Place, PodVariable, dynamo, find_engine
from inferform.plan import ModelPlan, PoolPlan
from inferform.plan_nodes import EFA_HUGE_PAGES, EFA_RESOURCE, HUGE_PAGE, HUGE_PAGES_RESOURCE
from inferform.plan_serving import HOME_BYTES, TMP_BYTES
from inferform.quantities import GIB, kubernetes_bytes
from inferform.render import closeness, images, kv_tiers, naming, priorities, weights
from inferform.render.naming import Workload
from inferform.render.podtext import environment, pod_text
from inferform.render.quoting import block
from inferform.render.router import has_graph, waits_for

# What engines with a configuration file read, as a ConfigMap mounted into the pod.
CONFIG_FILE = "llm-args.yaml"
CONFIG_MOUNT = "/config"
CONFIG_PATH = f"{CONFIG_MOUNT}/{CONFIG_FILE}"
LEADER_ADDRESS = PodVariable("$(LWS_LEADER_ADDRESS)")
WORKER_INDEX = PodVariable("$(LWS_WORKER_INDEX)")
GPU_RESOURCE = "nvidia.com/gpu"


def tolerations(pools: Iterable[PoolPlan]) -> list[dict[str, str]]:
    """Tolerations of the pools' taints, one a key (FC-14), and of a tenant's by its name; harmless where a CPU pool carries none."""
    nodes = [pool.infrastructure for pool in pools]
    keys = sorted({node.taint_key for node in nodes})
    tenants = sorted({node.tenant for node in nodes if node.tenant})
    return [
        *({"key": key, "operator": "Exists", "effect": labels.TAINT_EFFECT} for key in keys),
        *({"key": labels.TENANT_LABEL, "operator": "Equal", "value": tenant, "effect": labels.TAINT_EFFECT} for tenant in tenants),
    ]


def gpu_resource(pool: PoolPlan) -> str:
    """What the pool's device plugin calls a GPU, or the part of one that a pod gets."""
    sharing = pool.infrastructure.sharing
    return sharing.resource if sharing else GPU_RESOURCE


def resources(pool: PoolPlan) -> dict[str, Any]:
    """Requests and limits of the engine container. Memory and devices are guaranteed; CPU may burst, because throttling stalls the GPU."""
    fixed: dict[str, Any] = {"memory": kubernetes_bytes(pool.pod.memory_bytes)}
    if pool.pod.gpus:
        fixed[gpu_resource(pool)] = pool.pod.gpus
    efa = pool.infrastructure.efa
    if efa:
        # Replicas that share a node share its interfaces.
        share = max(1, pool.replicas_per_node) if pool.nodes_per_replica == 1 else 1
        fixed[EFA_RESOURCE] = max(1, efa.interfaces // share)
        if pool.infrastructure.kind != "karpenter":
            fixed[HUGE_PAGES_RESOURCE] = kubernetes_bytes(EFA_HUGE_PAGES // share * HUGE_PAGE)
    disk = {"ephemeral-storage": kubernetes_bytes(pool.pod.kv_tiers.disk_bytes)} if pool.pod.kv_tiers and pool.pod.kv_tiers.disk_bytes else {}
    return {"requests": {"cpu": f"{pool.pod.cpu_millis}m", **disk, **fixed}, "limits": fixed}


def _engine_environment(engine: Engine, model: ModelPlan, pool: PoolPlan) -> list[dict[str, Any]]:
    values = {**engine.environment(model, pool), **(dynamo.worker_environment(pool) if has_graph(model) else {})}
    if pool.infrastructure.efa:
        values |= {"FI_PROVIDER": "efa", "NCCL_DEBUG": "WARN"}
        if pool.infrastructure.kind == "karpenter":
            # Karpenter knows no huge pages of nodes that are not there yet and would start none for a pod that asks for them
            # (aws/karpenter-provider-aws#3315); libfabric does without.
            values["FI_EFA_USE_HUGE_PAGE"] = "0"
    if pool.nodes_per_replica > 1:
        # A pod has one IP interface; without the name NCCL and Gloo may pick the loopback.
        values |= {"GLOO_SOCKET_IFNAME": "eth0", "NCCL_SOCKET_IFNAME": "eth0"}
    fields = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in sorted(engine.pod_fields(pool).items())]
    return [*environment(values), *fields]


def _spread(workload: Workload) -> list[dict[str, Any]]:
    """Replicas over zones and nodes where there is a choice; never a reason to stay unscheduled."""
    keys = [] if workload.pool.infrastructure.coupled or workload.pool.role != "aggregated" else ["topology.kubernetes.io/zone"]
    selector = {"matchLabels": workload.selector}
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector} for key in [*keys, "kubernetes.io/hostname"]]


def _affinity(workload: Workload) -> dict[str, Any] | None:
    """A tenant's own nodes only; the pods of one replica close together; prefill and decode in one zone where there is room, since caches of whole prompts pass between them."""
    found: dict[str, Any] = {}
    tenant = workload.pool.infrastructure.tenant
    if tenant:
        own = {"matchExpressions": [{"key": labels.TENANT_LABEL, "operator": "In", "values": [tenant]}]}
        found["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [own]}}
    if workload.pool.role != "aggregated":
        term = {
            "labelSelector": {"matchLabels": {labels.MODEL_LABEL: workload.model_name, naming.COMPONENT: naming.ENGINE}},
            "topologyKey": "topology.kubernetes.io/zone",
        }
        found["podAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
    group = closeness.group_affinity(workload) if workload.grouped else None
    return {**found, **({"podAffinity": group} if group else {})} or None


def pod_view(workload: Workload, *, worker: bool = False) -> dict[str, Any]:
    """The pod of one replica, or of one member of a group: the leader serves, workers only compute."""
    plan, name, model, _, pool = workload
    engine = find_engine(model.engine, field=f"models.{name}.engine")
    place = Place(weights.MODEL_PATH, CONFIG_PATH)
    if workload.grouped:
        place = Place(weights.MODEL_PATH, CONFIG_PATH, nodes=pool.nodes_per_replica, rank=WORKER_INDEX if worker else "0", leader=LEADER_ADDRESS)
    graph = has_graph(model)
    command = dynamo.worker_command(model, pool, weights.MODEL_PATH) if graph else engine.command(model, pool, place)
    life = pool.lifecycle
    component = naming.WORKER if worker else naming.ENGINE
    return {
        "labels": dict(sorted({**workload.labels, naming.COMPONENT: component}.items())),
        "annotations": closeness.pod_annotations(workload),
        "service_account": labels.serving_account(name),
        "priority_class": priorities.of_model(plan, model),
        "grace_s": life.grace_s,
        "user": engine.user_id,
        "group": engine.group_id,
        "node_selector": workload.selector,
        "tolerations": tolerations([pool]),
        "spread": _spread(workload),
        "affinity": _affinity(workload),
        "token": graph,
        # Dynamo's operator adds to the container of this name, and mounts shared memory itself.
        "container": "main" if graph else "engine",
        "image": dynamo.WORKER_IMAGE if graph else model.image,
        "command": command[:2],
        "args": [pod_text(word) for word in command[2:]],
        "environment": _engine_environment(engine, model, pool),
        "resources": resources(pool),
        "port": dynamo.SYSTEM_PORT if graph else engine.port,
        "port_name": dynamo.SYSTEM_PORT_NAME if graph else "http",
        "serves": not worker,
        "health_path": dynamo.HEALTH_PATH if graph else engine.health_path,
        "live_path": dynamo.LIVE_PATH if graph else engine.health_path,
        "startup_failures": life.startup_failure_threshold,
        "startup_period_s": life.startup_period_s,
        "pre_stop_s": life.pre_stop_s,
        "home": engine.home,
        "home_size": kubernetes_bytes(HOME_BYTES),
        "tmp_size": kubernetes_bytes(TMP_BYTES),
        "shm_size": None if graph else kubernetes_bytes(pool.pod.shm_bytes),
        "cache_claim": weights.STORE_CLAIM if weights.shared(pool) else cache_claim(workload),
        "cache_shared": weights.shared(pool),
        "prefetch_image": images.AWS_CLI,
        "prefetch_environment": environment(weights.link_environment(name) if weights.shared(pool) else weights.prefetch_environment(plan, name)),
        # The transfer client buffers parts in memory; the engine needs more than this later anyway.
        "prefetch_memory": kubernetes_bytes(min(pool.pod.memory_bytes, 16 * GIB)),
        "scripts": weights.scripts_name(),
        "config": config_name(workload),
        "kv": kv_tiers.disk_view(workload),
        "wait": None if worker else waits_for(name, model, pool.role),
        "config_mount": CONFIG_MOUNT,
        "cache_mount": weights.CACHE_MOUNT,
        "model_mount": weights.MODEL_MOUNT,
        "scripts_mount": weights.SCRIPTS_MOUNT,
    }


def config_text(workload: Workload) -> str:
    """The engine's configuration file; empty where it has none."""
    engine = find_engine(workload.model.engine, field=f"models.{workload.model_name}.engine")
    values = engine.configuration(workload.model, workload.pool)
    return f"{block(values, 0)}\n" if values else ""


def config_name(workload: Workload) -> str | None:
    """Name of the ConfigMap with that file; it changes with the file, so that pods pick up a new one by a rollout."""
    text = config_text(workload)
    return f"{workload.name}-config-{naming.short_hash(text)}" if text else None


def cache_claim(workload: Workload) -> str:
    """Name of the claim on the node's cache."""
    return f"{workload.name}-cache"
