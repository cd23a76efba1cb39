"""Where a pod finds a model's weights: the store, the node's cache, and the scripts that move files between them.

The import job fills the store from the model hub once; each node's first pod copies the weights from the store to the
node's disk; later pods of that node load from the disk. A manifest with checksums says which files belong to a model and
is written last, so that a half-filled store or cache is never taken for a whole one.
"""

from __future__ import annotations

import math
import re
from typing import Any

from inferform import labels
from inferform.plan import DeploymentPlan, ModelPlan, PoolPlan
from inferform.quantities import kubernetes_bytes
from inferform.render import naming
from inferform.render.templating import source

CACHE_MOUNT = "/cache"
# Where pods see the file system that is linked to the store, and its claim, which all pods of the namespace share.
STORE_CLAIM = "model-store"
# Agents serve their node's cache to other nodes there.
PEER_PORT = 8200
# A link in the pod's own volume, so that the engine's command names no revision.
MODEL_MOUNT = "/models"
MODEL_PATH = f"{MODEL_MOUNT}/weights"
SCRIPTS_MOUNT = "/scripts"
# The pod's own volume for temporary files, not the host's folder of that name.
SCRATCH_MOUNT = "/tmp"  # noqa: S108
_HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
GIB = 2**30


def is_on_hub(model: ModelPlan) -> bool:
    """Whether the source names a repository of the model hub; a path of a config.json does not."""
    return bool(_HUB_ID.fullmatch(model.source)) and not model.source.endswith(".json")


def base_store(store: str) -> str:
    """Where the original stands in the store of a model that is quantized by a job."""
    return f"{store}/base"


def scripts() -> dict[str, str]:
    """The scripts by file name."""
    return {"aws-config": source("scripts/aws-config.j2"), "import.sh": source("scripts/import.sh.j2"), "prefetch.sh": source("scripts/prefetch.sh.j2")}


def scripts_name() -> str:
    """Name of the ConfigMap that holds the scripts; it changes with them, so that pods pick up new ones by a rollout."""
    return f"model-scripts-{naming.short_hash(*scripts().values())}"


def cache_base(pool: PoolPlan) -> str:
    """Folder on the nodes of a pool that holds all caches."""
    nodes = pool.infrastructure
    return labels.node_cache_path(os=nodes.os, local_disks=nodes.local_nvme_count > 0)


def cache_folder(workload: naming.Workload) -> str:
    """Folder on the nodes for one model's files."""
    return f"{cache_base(workload.pool)}/{workload.plan.namespace}/{workload.model_name}"


def volume_name(workload: naming.Workload) -> str:
    """Name of the cluster-wide volume; it carries the namespace because such names are not namespaced."""
    return f"{workload.plan.namespace}-{workload.name}-cache"


def store_environment(plan: DeploymentPlan, name: str) -> dict[str, str]:
    """Environment of both scripts."""
    return {
        "AWS_CONFIG_FILE": f"{SCRIPTS_MOUNT}/aws-config",
        "AWS_REGION": plan.cloud.region,
        "STORE": f"s3://{plan.model_store.bucket}/{labels.store_prefix(name)}".removesuffix("/"),
    }


def prefetch_environment(plan: DeploymentPlan, name: str) -> dict[str, str]:
    """Environment of the container that fills the node's cache."""
    return {**store_environment(plan, name), "CACHE": CACHE_MOUNT, "HOME": SCRATCH_MOUNT, "LINK": MODEL_PATH, "JOBS": "4"}


def link_environment(name: str) -> dict[str, str]:
    """Environment of the container that points at the weights on the file system."""
    return {"HOME": SCRATCH_MOUNT, "LINK": MODEL_PATH, "SHARED": f"{CACHE_MOUNT}/{labels.store_prefix(name)}".removesuffix("/")}


def shared(pool: PoolPlan) -> bool:
    """Whether the pool's pods read weights from the file system instead of their node's disk."""
    return pool.pod.weights_from == "lustre"


def store_volume(plan: DeploymentPlan) -> dict[str, Any] | None:
    """The file system as a static volume, and its claim; None where no pool reads from it."""
    lustre = plan.model_store.lustre
    if lustre is None or lustre.file_system_id is None or not any(shared(pool) for _, _, _, pool in plan.pool_items()):
        return None
    return {
        "volume": f"{plan.namespace}-{STORE_CLAIM}",
        "claim": STORE_CLAIM,
        "namespace": plan.namespace,
        "labels": naming.deployment_labels(plan),
        "size": f"{lustre.storage_gib}Gi",
        "handle": lustre.file_system_id,
        "dns_name": f"{lustre.file_system_id}.fsx.{plan.cloud.region}.amazonaws.com",
        "mount_name": lustre.mount_name,
    }


def import_view(plan: DeploymentPlan, name: str, model: ModelPlan) -> dict[str, Any]:
    """The import job of one model. Its name follows from what it imports, because a job cannot be changed."""
    store = store_environment(plan, name)
    if model.quantize:
        # Pods load what the quantization job makes of it.
        store["STORE"] = base_store(store["STORE"])
    identity = (model.source, store["STORE"], scripts_name()) if model.quantize else (model.source, plan.model_store.bucket, scripts_name())
    # Files pass through one at a time; the largest shards that hubs hold are 50 GB, most are 5.
    scratch = min(60 * GIB, max(8 * GIB, math.ceil(model.load.weights_bytes / GIB) * GIB))
    return {
        "name": f"{name}-import-{naming.short_hash(*identity)}",
        "namespace": plan.namespace,
        "labels": dict(sorted({**naming.model_labels(plan, name), naming.COMPONENT: naming.IMPORT}.items())),
        "service_account": labels.import_account(name),
        "environment": {**store, "MODEL": model.source, "REVISION": "main", "WORK": "/work", "HOME": "/work"},
        "token": model.hf_token_secret.model_dump() if model.hf_token_secret else None,
        "scratch": kubernetes_bytes(scratch),
        "scripts": scripts_name(),
    }
