"""The disk tier of a pool's KV cache: its volume, and what keeps its files below their size."""

from __future__ import annotations

from typing import Any

from inferform.engines.tiers import DISK_FILL, DISK_MOUNT
from inferform.plan import DeploymentPlan
from inferform.plan_serving import TRIM_CPU_MILLIS, TRIM_MEMORY_BYTES
from inferform.quantities import kubernetes_bytes
from inferform.render import images, naming
from inferform.render.naming import Workload
from inferform.render.podtext import environment
from inferform.render.templating import source

_RESOURCES = {
    "requests": {"cpu": f"{TRIM_CPU_MILLIS}m", "memory": kubernetes_bytes(TRIM_MEMORY_BYTES)},
    "limits": {"memory": kubernetes_bytes(TRIM_MEMORY_BYTES)},
}


def disk_view(workload: Workload) -> dict[str, Any] | None:
    """Volume of a pod's disk tier and, where the engine removes nothing itself, the container that trims it; None without the tier."""
    tiers = workload.pool.pod.kv_tiers
    if tiers is None or not tiers.disk_bytes:
        return None
    values = {"FOLDER": DISK_MOUNT, "LIMIT": str(int(tiers.disk_bytes * DISK_FILL))}
    trim = {"image": images.BUSYBOX, "scripts": scripts_name(), "environment": environment(values), "resources": _RESOURCES} if tiers.trimmed else None
    return {"mount": DISK_MOUNT, "size": kubernetes_bytes(tiers.disk_bytes), "trim": trim}


def needs_scripts(plan: DeploymentPlan) -> bool:
    """Whether any pool has files to trim."""
    return any(pool.pod.kv_tiers and pool.pod.kv_tiers.trimmed for _, _, _, pool in plan.pool_items())


def scripts() -> dict[str, str]:
    """The script by file name."""
    return {"kv-trim.sh": source("scripts/kv-trim.sh.j2")}


def scripts_name() -> str:
    """Name of the ConfigMap that holds it; it changes with it, so that pods pick up a new one by a rollout."""
    return f"kv-scripts-{naming.short_hash(*scripts().values())}"
