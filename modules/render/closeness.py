"""The pods of one replica on nodes that stand close: pod affinity by the network's layers, or a Kueue topology that admits them together.

Sources: LeaderWorkerSet 0.10 (the label that a group's pods share); Kueue 0.19 documentation, topology aware scheduling of
LeaderWorkerSets (read 2026-12-01). Kueue admits what asks for a queue and nothing else.
"""

from __future__ import annotations

from typing import Any

from inferform.render.naming import Workload

GROUP_KEY = "leaderworkerset.sigs.k8s.io/group-key"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_KUEUE = "kueue.x-k8s.io/podset"
_STRONGEST = 100


def group_affinity(workload: Workload) -> dict[str, Any] | None:
    """Pod affinity among a replica's own pods; None where none is planned, or where a queue places them."""
    plan = workload.pool.infrastructure.closeness
    if plan is None or plan.scheduler != "kubernetes":
        return None

    def term(key: str) -> dict[str, Any]:
        return {"labelSelector": {"matchLabels": workload.selector}, "matchLabelKeys": [GROUP_KEY], "topologyKey": key}

    if plan.required:
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term(plan.within)]}
    # What is closest counts most; each wider layer half as much.
    wider = plan.levels[: plan.levels.index(plan.within) + 1][::-1]
    terms = [{"weight": max(1, _STRONGEST >> step), "podAffinityTerm": term(key)} for step, key in enumerate(wider)]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def queue_labels(workload: Workload) -> dict[str, str]:
    """Labels of the workload that a queue admits; empty where none does."""
    plan = workload.pool.infrastructure.closeness
    return {QUEUE_LABEL: workload.name} if plan is not None and plan.scheduler == "kueue" else {}


def pod_annotations(workload: Workload) -> dict[str, str]:
    """What a queue reads on the pods: leader and workers are one group, within one domain."""
    plan = workload.pool.infrastructure.closeness
    if plan is None or plan.scheduler != "kueue":
        return {}
    return {f"{_KUEUE}-group-name": "replica", f"{_KUEUE}-{'required' if plan.required else 'preferred'}-topology": plan.within}
