"""Agents that make nodes ready for a model before its pods come: cache folder, weights, image; and what lets nodes share images."""

from __future__ import annotations

from typing import Any

from inferform import labels
from inferform.engines import dynamo, find_engine
from inferform.engines.images import read_image
from inferform.plan import DeploymentPlan
from inferform.quantities import GIB, kubernetes_bytes
from inferform.render import images, naming, weights
from inferform.render.naming import Workload
from inferform.render.pods import tolerations
from inferform.render.podtext import environment
from inferform.render.router import has_graph
from inferform.render.templating import fill

_BASE = "/base"
# The transfer client holds parts of files in memory; an agent that takes more than it asked for is the first to go.
_FETCH_MEMORY_BYTES = 8 * GIB
SPEGEL_VALUES = "spegel-values.yaml"


def model_cache(plan: DeploymentPlan) -> str:
    """The agents of all pools."""
    workloads = naming.workloads(plan)
    fetching = sorted({w.model_name for w in workloads if plan.model_store.distribution.node_agents and not weights.shared(w.pool)})
    return fill(
        "platform/model-cache.yaml.j2",
        {
            "namespace": naming.SYSTEM_NAMESPACE,
            "labels": naming.deployment_labels(plan),
            "caches": [_agent(workload) for workload in workloads if plan.model_store.distribution.node_agents or not weights.shared(workload.pool)],
            "accounts": [labels.cache_account(name) for name in fetching],
            "scripts": {
                "name": weights.scripts_name(),
                "files": {"aws-config": weights.scripts()["aws-config"], "prefetch.sh": weights.scripts()["prefetch.sh"]},
            },
        },
    )


def image_peers(plan: DeploymentPlan) -> str:
    """Values of the Spegel chart: a mirror on every model node in front of the registries that the plan's engines come from.

    containerd asks the mirror first and the registry when no node has a layer, so a mirror that is gone only costs the time saved.
    Source: charts/spegel/values.yaml of spegel-org/spegel (MIT; read 2026-12-01).
    """
    registries = sorted({_registry(dynamo.WORKER_IMAGE if has_graph(m) else m.image) for m in plan.models.values()})
    term = {"matchExpressions": [{"key": labels.MODEL_LABEL, "operator": "Exists"}]}
    values = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}},
        "commonLabels": naming.deployment_labels(plan),
        "spegel": {"debugWebEnabled": False, "mirroredRegistries": [f"https://{name}" for name in registries], "prependExisting": True},
        "tolerations": tolerations([pool for _, _, _, pool in plan.pool_items()]),
    }
    return fill("platform/spegel-values.yaml.j2", {"values": values})


def _registry(image: str) -> str:
    first, _, rest = read_image(image).repository.partition("/")
    return first if rest and ("." in first or ":" in first or first == "localhost") else "docker.io"


def _agent(workload: Workload) -> dict[str, Any]:
    """The agent of one pool."""
    plan, name, model, _, pool = workload
    engine = find_engine(model.engine)
    wanted, shared = plan.model_store.distribution.node_agents, weights.shared(pool)
    own = {"app.kubernetes.io/name": "model-cache", **workload.selector}
    peers = wanted and pool.pod.weights_from == "peers"
    folder = None if shared else f"{_BASE}/{plan.namespace}/{name}"
    agent = f"model-cache-{workload.name}"
    return {
        "name": agent,
        "account": labels.cache_account(name),
        "selector": own,
        "labels": dict(sorted({**naming.deployment_labels(plan), **own}.items())),
        "node_selector": workload.selector,
        "tolerations": tolerations([pool]),
        "base": weights.cache_base(pool),
        "folder": folder,
        "owner": f"{engine.user_id}:{engine.group_id}",
        "user": engine.user_id,
        "group": engine.group_id,
        "tool": images.BUSYBOX,
        "pause": images.PAUSE,
        "image": (dynamo.WORKER_IMAGE if has_graph(model) else model.image) if wanted else None,
        "fetch": _fetch(workload, folder, f"{agent}.{naming.SYSTEM_NAMESPACE}.svc:{weights.PEER_PORT}" if peers else None) if wanted and folder else None,
        "serve": {"port": weights.PEER_PORT, "port_text": str(weights.PEER_PORT)} if peers else None,
    }


def _fetch(workload: Workload, folder: str, peers: str | None) -> dict[str, Any]:
    """The container that fills the cache: as a pod of the model would, only before it."""
    values = weights.prefetch_environment(workload.plan, workload.model_name) | {"CACHE": folder, "LINK": f"{weights.SCRATCH_MOUNT}/weights"}
    return {
        "image": images.AWS_CLI,
        "environment": environment(values | ({"PEERS": peers} if peers else {})),
        "memory": kubernetes_bytes(min(workload.pool.pod.memory_bytes, _FETCH_MEMORY_BYTES)),
    }
