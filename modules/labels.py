"""Keys of labels and taints that nodes and pods share: stacks put them on nodes, render selects and tolerates them."""

from __future__ import annotations

PREFIX = "inferform.dev"
DEPLOYMENT_LABEL = f"{PREFIX}/deployment"
TENANT_LABEL = f"{PREFIX}/tenant"
ENVIRONMENT_LABEL = f"{PREFIX}/environment"
MODEL_LABEL = f"{PREFIX}/model"
POOL_LABEL = f"{PREFIX}/pool"
ROLE_LABEL = f"{PREFIX}/role"
# What the node offers, so that one agent can serve all pools of a kind: "nvidia" or "none"; operating system of the node image; "true" with EFA.
ACCELERATOR_LABEL = f"{PREFIX}/accelerator"
NODE_OS_LABEL = f"{PREFIX}/os"
EFA_LABEL = f"{PREFIX}/efa"
# How the node's GPUs are divided, where they are: "mig-3g.40gb", "time-slicing-4".
SHARING_LABEL = f"{PREFIX}/gpu-sharing"
# What the catalogue calls the GPU, such as H100 or L40S; GPU feature discovery writes a longer name under a label of its own.
GPU_LABEL = f"{PREFIX}/gpu"
# Nodes with one value stand close to each other: they share a placement group, a capacity block or a reservation.
FABRIC_LABEL = f"{PREFIX}/fabric"
# Value of ROLE_LABEL on nodes of the system pool (gateway, controllers, agents).
SYSTEM_ROLE = "system"
# Value of POOL_LABEL and ROLE_LABEL on nodes of quantization jobs.
QUANTIZE_POOL = "quantize"

# Key prefix of all models in the model store, and their folder on a file system linked to it.
STORE_ROOT = "models/"
# Namespace of node agents; it is not the tenants', because agents need what tenants must not have.
AGENTS_NAMESPACE = "inferform-system"

TAINT_EFFECT = "NoSchedule"
# The EKS API spells the same effect in its own way.
TAINT_EFFECT_EKS = "NO_SCHEDULE"
TAINT_VALUE = "present"


def node_taints(*, gpu_taint: str | None, tenant: str | None) -> dict[str, str]:
    """Values of the NoSchedule taints of a pool's nodes by key: GPUs keep away what needs none, and a tenant's nodes everyone else's pods."""
    return {**({gpu_taint: TAINT_VALUE} if gpu_taint else {}), **({TENANT_LABEL: tenant} if tenant else {})}


def node_labels(
    *, model: str, pool: str, role: str, os: str, gpu: str | None, efa: bool, fabric: str | None, tenant: str | None = None, sharing: str | None = None
) -> dict[str, str]:
    """Labels of every node of one pool; pods of the pool select on MODEL_LABEL and POOL_LABEL.

    Where a node stands (zone, network layers, capacity block) the cloud's own labels tell; `fabric` is what it shares with its neighbours.
    """
    found = {
        ACCELERATOR_LABEL: "nvidia" if gpu else "none",
        EFA_LABEL: "true" if efa else "false",
        MODEL_LABEL: model,
        NODE_OS_LABEL: os,
        POOL_LABEL: pool,
        ROLE_LABEL: role,
    }
    if gpu:
        found[GPU_LABEL] = gpu.partition("/")[0].replace(" ", "-")
    if fabric:
        found[FABRIC_LABEL] = fabric
    if tenant:
        found[TENANT_LABEL] = tenant
    if sharing:
        found[SHARING_LABEL] = sharing
    return dict(sorted(found.items()))


def serving_account(model: str) -> str:
    """Kubernetes service account of a model's serving pods: it may read that model's weights in the store."""
    return f"{model}-serving"


def import_account(model: str) -> str:
    """Kubernetes service account of the job that fills the store with a model's weights: it may write them."""
    return f"{model}-import"


def cache_account(model: str) -> str:
    """Kubernetes service account of the agents that fill nodes' caches with a model's weights: it may read them in the store."""
    return f"{model}-cache"


def store_prefix(model: str) -> str:
    """Key prefix of one model in the model store."""
    return f"{STORE_ROOT}{model}/"


def node_cache_path(*, os: str, local_disks: bool) -> str:
    """Folder on a node that holds model caches and outlives pods.

    AL2023 mounts the RAID0 of local disks at /mnt/k8s-disks/0 (nodeadm, localStorage.strategy RAID0); Bottlerocket allows
    binding a folder below /mnt to its ephemeral storage; other nodes keep it on the root volume.
    """
    if os == "bottlerocket":
        return "/mnt/inferform"
    return "/mnt/k8s-disks/0/inferform" if local_disks else "/var/lib/inferform"
