"""The stacks of a deployment on AWS, each after those it reads.

network <- cluster <- nodes; cluster, model_store <- identity. Kubernetes objects are in none of them (FC-37): they need the
API of a cluster that one of these stacks makes.
"""

from __future__ import annotations

from inferform.stacks.aws import cluster, gpu_pool, identity, model_store, network
from inferform.stacks.resource import StackKind

STACKS = (
    StackKind("network", network.build, network.OUTPUTS),
    StackKind("cluster", cluster.build, cluster.OUTPUTS, ("network",)),
    StackKind("model_store", model_store.build, model_store.OUTPUTS),
    StackKind("identity", identity.build, identity.OUTPUTS, ("cluster", "model_store")),
    StackKind("nodes", gpu_pool.build, gpu_pool.OUTPUTS, ("network", "cluster")),
)
