"""The stacks of a deployment on AWS, each after those it reads.

network <- cluster <- nodes; cluster, model_store <- identity; network, cluster, model_store <- file_system. Kubernetes objects are in
none of them (FC-37): they need the API of a cluster that one of these stacks makes.
"""

from __future__ import annotations

from inferform.plan import DeploymentPlan
from inferform.stacks.aws import cluster, file_system, gpu_pool, identity, model_store, network
from inferform.stacks.resource import StackKind

_ALWAYS = (
    StackKind("network", network.build, network.OUTPUTS),
    StackKind("cluster", cluster.build, cluster.OUTPUTS, ("network",)),
    StackKind("model_store", model_store.build, model_store.OUTPUTS),
    StackKind("identity", identity.build, identity.OUTPUTS, ("cluster", "model_store")),
    StackKind("nodes", gpu_pool.build, gpu_pool.OUTPUTS, ("network", "cluster")),
)
_FILE_SYSTEM = StackKind("file_system", file_system.build, file_system.OUTPUTS, ("network", "cluster", "model_store"))


def stacks(plan: DeploymentPlan) -> tuple[StackKind, ...]:
    """The stacks that this plan needs."""
    return (*_ALWAYS, _FILE_SYSTEM) if plan.model_store.lustre else _ALWAYS
