"""Nodes that a scaling group makes ahead, and who cannot have them.

AWS took its refusal of groups with several types back in 2025-11, that of spot instances stands. Sources: EC2 Auto Scaling API, PutWarmPool,
and the announcement "EC2 Auto Scaling warm pool mixed instances policies" of 2025-11 (read 2026-12-01).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from inferform.catalog.types import Instance
from inferform.errors import Problem
from inferform.plan_nodes import PurchasePart, WarmPoolPlan
from inferform.quantities import GIB
from inferform.spec_nodes import Capacity, NodePool, WarmPool

_STATES: dict[str, Literal["Stopped", "Hibernated", "Running"]] = {"stopped": "Stopped", "hibernated": "Hibernated", "running": "Running"}
# Source: EC2 user guide, "Prerequisites for EC2 instance hibernation" (read 2026-12-01): no accelerated types, memory below 150 GiB.
_HIBERNATED_MOST_BYTES = 150 * GIB


def warm_pool(capacity: Capacity) -> WarmPoolPlan | None:
    """The warm pool of a pool's scaling group, as asked."""
    asked = capacity.warm_pool
    return None if asked is None else WarmPoolPlan(size=asked.size, state=_STATES[asked.state], reuse=asked.reuse)


def warm_usd_per_hour(pool: WarmPoolPlan | None, purchase: tuple[PurchasePart, ...], disk_usd: float) -> float:
    """Price of the nodes kept ready: their disks, and the nodes themselves while they run."""
    if pool is None:
        return 0.0
    return pool.size * ((purchase[0].usd_per_hour if pool.state == "Running" else 0.0) + disk_usd)


def warm_pool_problems(field: str, asked: WarmPool, spec: NodePool, *, kind: str, instance: Instance, purchase: tuple[PurchasePart, ...]) -> Iterator[Problem]:
    """Why this pool cannot have one."""
    if kind != "self_managed":
        whose = "an EKS managed node group" if kind == "managed" else "Karpenter"
        yield Problem(
            f"{whose} keeps no nodes ready beside it", field, value=f"size {asked.size}", fix="set nodes.kind to self_managed, or use capacity.warm_standby"
        )
    for refused, why in (("spot", "spot nodes cannot be kept ready"), ("capacity_block", "the nodes of a capacity block are paid for whether they run or not")):
        if any(part.kind == refused for part in purchase):
            yield Problem(why, field, value=refused, fix="leave warm_pool out, or buy otherwise")
    if asked.state == "hibernated":
        yield from _hibernation(field, spec, instance)


def _hibernation(field: str, spec: NodePool, instance: Instance) -> Iterator[Problem]:
    where, fix = f"{field}.state", "use stopped or running"
    if instance.gpu:
        yield Problem(f"EC2 does not hibernate {instance.name}", where, value="hibernated", legal=("stopped", "running"), fix=fix)
    elif instance.memory_bytes >= _HIBERNATED_MOST_BYTES:
        yield Problem(f"EC2 hibernates no more than 150 GiB, {instance.name} has {instance.memory_bytes / GIB:.0f}", where, value="hibernated", fix=fix)
    elif spec.root_size <= instance.memory_bytes:
        yield Problem(
            f"the root volume of {spec.root_size / GIB:.0f} GiB does not hold the {instance.memory_bytes / GIB:.0f} GiB of memory", where, value="hibernated",
            fix="raise nodes.root_size",
        )  # fmt: skip
    elif not spec.ami_id:
        yield Problem("the images of EKS bring no hibernation agent", where, value="hibernated", fix="name an own image in nodes.ami_id, or use stopped")
