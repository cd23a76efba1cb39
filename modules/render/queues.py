"""Queues of Kueue: a topology, a flavor and a quota for each pool whose replicas are admitted as a whole."""

from __future__ import annotations

import math
from typing import Any

from inferform.plan import DeploymentPlan
from inferform.quantities import kubernetes_bytes
from inferform.render import naming
from inferform.render.closeness import queue_labels
from inferform.render.naming import Workload
from inferform.render.pods import resources, tolerations
from inferform.render.templating import fill

_HOSTNAME = "kubernetes.io/hostname"
_BYTES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def queues(plan: DeploymentPlan) -> str:
    """Topology, flavor, queues of every pool that a queue places; empty where there is none."""
    found = [_queue(workload) for workload in naming.workloads(plan) if queue_labels(workload)]
    return fill("platform/queues.yaml.j2", {"queues": found, "namespace": plan.namespace}) if found else ""


def _queue(workload: Workload) -> dict[str, Any]:
    plan, pool = workload.pool.infrastructure.closeness, workload.pool
    assert plan is not None
    surge = pool.lifecycle.max_surge if pool.lifecycle.strategy == "RollingUpdate" else 0
    most = (max(pool.replicas.max, pool.scaling.max) + surge) * pool.pod.pods_per_replica
    return {
        # Flavors and queues are the cluster's, so their names say whose they are.
        "name": f"{workload.plan.namespace}-{workload.name}",
        "queue": workload.name,
        "labels": workload.labels,
        "levels": [{"nodeLabel": key} for key in (*plan.levels, _HOSTNAME)],
        "node_labels": workload.selector,
        "tolerations": tolerations([pool]),
        "resources": [{"name": name, "nominalQuota": _times(amount, most)} for name, amount in sorted(resources(pool)["requests"].items())],
        "namespace_selector": {"matchLabels": {"kubernetes.io/metadata.name": workload.plan.namespace}},
    }


def _times(amount: Any, count: int) -> str:
    """A quantity of the pod, for so many of them."""
    if isinstance(amount, int):
        return str(amount * count)
    text = str(amount)
    if text.endswith("m"):
        return str(math.ceil(int(text[:-1]) * count / 1000))
    return kubernetes_bytes(_BYTES[text[-2:]] * int(text[:-2]) * count)
