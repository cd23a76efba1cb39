"""The serving family: namespace, accounts, weights, workloads, services and disruption budgets."""

from __future__ import annotations

from typing import Any

from inferform import labels
from inferform.engines import find_engine
from inferform.plan import DeploymentPlan, ModelPlan, PoolPlan
from inferform.quantities import kubernetes_bytes
from inferform.render import closeness, images, kv_tiers, naming, quantize, weights
from inferform.render.graph import graph_view
from inferform.render.naming import Workload
from inferform.render.pods import CONFIG_FILE, cache_claim, config_name, config_text, pod_view
from inferform.render.podtext import environment
from inferform.render.router import answering, has_graph, has_router, router_view
from inferform.render.templating import fill


def render_serving(plan: DeploymentPlan) -> dict[str, str]:
    """Files of the family by path."""
    files = {
        "namespace.yaml": fill("serving/namespace.yaml.j2", {"name": plan.namespace, "labels": naming.deployment_labels(plan)}),
        "model-scripts.yaml": fill(
            "serving/model-scripts.yaml.j2",
            {"name": weights.scripts_name(), "namespace": plan.namespace, "labels": naming.deployment_labels(plan), "scripts": weights.scripts()},
        ),
    }
    if kv_tiers.needs_scripts(plan):
        values = {"name": kv_tiers.scripts_name(), "namespace": plan.namespace, "labels": naming.deployment_labels(plan), "scripts": kv_tiers.scripts()}
        files["kv-scripts.yaml"] = fill("serving/model-scripts.yaml.j2", values)
    volume = weights.store_volume(plan)
    if volume:
        files["model-store-volume.yaml"] = fill("serving/model-store-volume.yaml.j2", {"store": volume})
    for name, model in sorted(plan.models.items()):
        files[naming.file_name(name, "model")] = fill("serving/model.yaml.j2", {"model": model_view(plan, name, model)})
        if weights.is_on_hub(model):
            files[naming.file_name(name, "import")] = fill("serving/import-job.yaml.j2", {"job": _import(plan, name, model)})
        if has_router(model):
            files[naming.file_name(name, "router")] = fill("serving/router.yaml.j2", {"router": router_view(plan, name, model)})
        if has_graph(model):
            files[naming.file_name(name, "graph")] = fill("serving/graph.yaml.j2", {"graph": graph_view(plan, name, model)})
    quantized = {name: model.quantize for name, model in sorted(plan.models.items()) if model.quantize}
    if quantized:
        values = {"name": quantize.scripts_name(), "namespace": plan.namespace, "labels": naming.deployment_labels(plan), "scripts": quantize.scripts()}
        files["quantize-scripts.yaml"] = fill("serving/model-scripts.yaml.j2", values)
    for name, made in quantized.items():
        job = quantize.job_view(plan, name, plan.models[name], made)
        files[naming.file_name(name, "quantize")] = fill("serving/quantize-job.yaml.j2", {"job": job})
    for workload in naming.workloads(plan):
        files[naming.file_name(workload.model_name, workload.pool_name, "support")] = fill("serving/pool-support.yaml.j2", {"pool": support_view(workload)})
        if has_graph(workload.model):
            continue
        view = workload_view(workload)
        template = "serving/leader-worker-set.yaml.j2" if workload.grouped else "serving/deployment.yaml.j2"
        files[naming.file_name(workload.model_name, workload.pool_name)] = fill(template, {"workload": view, "pod": view["leader"]})
        config_map = config_name(workload)
        if config_map:
            config = {"name": config_map, "namespace": plan.namespace, "labels": workload.labels, "data": {CONFIG_FILE: config_text(workload)}}
            files[naming.file_name(workload.model_name, workload.pool_name, "config")] = fill("serving/engine-config.yaml.j2", {"config": config})
    return files


def model_view(plan: DeploymentPlan, name: str, model: ModelPlan) -> dict[str, Any]:
    """Accounts and Service of one model."""
    return {
        "name": name,
        "namespace": plan.namespace,
        "labels": naming.model_labels(plan, name),
        "accounts": [labels.serving_account(name), *([labels.import_account(name)] if weights.is_on_hub(model) else [])],
        "selector": answering(name, model),
        "port": find_engine(model.engine).port,
    }


def _import(plan: DeploymentPlan, name: str, model: ModelPlan) -> dict[str, Any]:
    view = weights.import_view(plan, name, model)
    engine = find_engine(model.engine)
    return {**view, "environment": environment(view["environment"]), "image": images.AWS_CLI, "user": engine.user_id, "group": engine.group_id}


def workload_view(workload: Workload) -> dict[str, Any]:
    """The Deployment or LeaderWorkerSet of one pool."""
    pool = workload.pool
    return {
        "name": workload.name,
        "namespace": workload.plan.namespace,
        "labels": dict(sorted({**workload.labels, **closeness.queue_labels(workload)}.items())),
        "selector": workload.selector,
        # FC-39: a scaler owns the count, so it does not stand here, where a sync would put it back.
        "replicas": pool.replicas.steady if pool.scaling.kind == "fixed" else None,
        "progress_deadline_s": pool.lifecycle.progress_deadline_s,
        "strategy": _strategy(pool),
        "rollout": _rollout(pool),
        "group_size": pool.nodes_per_replica,
        "leader": pod_view(workload),
        "worker": pod_view(workload, worker=True) if workload.grouped else None,
    }


def _strategy(pool: PoolPlan) -> dict[str, Any]:
    """FC-40: always explicit."""
    life = pool.lifecycle
    if life.strategy == "Recreate":
        return {"type": "Recreate"}
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": life.max_surge, "maxUnavailable": life.max_unavailable}}


def _rollout(pool: PoolPlan) -> dict[str, Any]:
    """A LeaderWorkerSet knows no Recreate: without surge and with one replica out at a time it does the same for one replica."""
    life = pool.lifecycle
    recreate = life.strategy == "Recreate"
    return {"maxSurge": 0 if recreate else life.max_surge, "maxUnavailable": 1 if recreate else life.max_unavailable}


def support_view(workload: Workload) -> dict[str, Any]:
    """What stands beside a workload: the volume of the node's cache, its claim, and the disruption budget."""
    return {
        "name": workload.name,
        "namespace": workload.plan.namespace,
        "labels": workload.labels,
        "volume": weights.volume_name(workload),
        "claim": cache_claim(workload),
        "folder": weights.cache_folder(workload),
        "size": kubernetes_bytes(workload.pool.pod.model_cache_bytes),
        "cached": not weights.shared(workload.pool),
        "budget_selector": _budget_selector(workload),
    }


def _budget_selector(workload: Workload) -> dict[str, Any]:
    """All pods of the pool's replicas: one lost worker takes its whole group down, so draining a worker's node must wait as well.

    `maxUnavailable: 1` counts right for groups. The disruption controller adds the scales of the StatefulSets that own the selected
    pods, which are one of all leaders and one of each group's workers; a group that is gone takes its workers' set out of that sum
    but its leader stays in it, so it is the one pod away and no other group's is let go. (kubernetes, pkg/controller/disruption,
    getExpectedScale; lws, pkg/controllers, handleRestartPolicy; 2026-12.) `minAvailable` of all groups but one would let as many pods
    go as a group has, each of another group, and could not follow a scaler.
    """
    if not workload.grouped:
        return {"matchLabels": {**workload.selector, naming.COMPONENT: naming.ENGINE}}
    parts = {"key": naming.COMPONENT, "operator": "In", "values": [naming.ENGINE, naming.WORKER]}
    return {"matchLabels": workload.selector, "matchExpressions": [parts]}
