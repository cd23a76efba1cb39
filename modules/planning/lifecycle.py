"""Start and stop of a replica: probes that outlast loading (FC-20), a drain that outlasts a generation (FC-21), a rollout that ends (FC-40)."""

from __future__ import annotations

import math

from inferform.engines import Engine
from inferform.errors import Problem
from inferform.plan_nodes import Count
from inferform.plan_scaling import LifecyclePlan
from inferform.spec_scaling import Lifecycle

STARTUP_PERIOD_S = 10
# Ten minutes: pulling an image of this size on a new node alone takes minutes.
STARTUP_FLOOR = 60
# Time for a node to be bought, to boot and to pull the image, before the probe's own budget starts.
NODE_READY_S = 600
_GRACE_MARGIN_S = 10
_COMMON_GRACE_S = 30


def startup_failure_threshold(load_s: float) -> int:
    """Failed probes of ten seconds that cover twice the estimated load time, at least sixty."""
    return max(STARTUP_FLOOR, math.ceil(load_s * 2 / STARTUP_PERIOD_S))


def drain_s(max_output_tokens: int, tokens_per_s: float) -> int:
    """Seconds that the longest generation takes on one stream."""
    return math.ceil(max_output_tokens / tokens_per_s - 1e-9)


def plan_lifecycle(
    field: str, lifecycle: Lifecycle, engine: Engine, version: str, *, load_s: float, drain: int, streaming: bool, nodes: Count, replicas: Count,
    nodes_per_replica: int, replicas_per_node: int, problems: list[Problem],
) -> LifecyclePlan:  # fmt: skip
    """The pool's start and stop; a grace period that cuts running streams is a problem."""
    pre_stop = math.ceil(lifecycle.pre_stop)
    least = pre_stop + drain
    grace = least + _GRACE_MARGIN_S
    if lifecycle.grace is not None:
        grace = math.ceil(lifecycle.grace)
        if grace <= least and streaming:
            problems.append(
                Problem(
                    f"cuts running streams: {pre_stop} s before the stop signal and {drain} s for the longest generation need more than {least} s", f"{field}.grace",
                    value=f"{grace}s", fix=f"set at least {least + 1}s or leave it out",
                )
            )  # fmt: skip
    threshold = startup_failure_threshold(load_s)
    strategy, surge, unavailable, interrupts = rollout(
        replicas=replicas.steady, spare_replicas=(nodes.max // nodes_per_replica) * replicas_per_node - replicas.steady
    )
    return LifecyclePlan(
        startup_failure_threshold=threshold, startup_period_s=STARTUP_PERIOD_S, progress_deadline_s=threshold * STARTUP_PERIOD_S + NODE_READY_S,
        pre_stop_s=pre_stop, shutdown_timeout_s=drain if engine.accepts("--shutdown-timeout", version) else None, grace_s=grace, strategy=strategy,
        max_surge=surge, max_unavailable=unavailable, rollout_interrupts=interrupts,
    )  # fmt: skip


def rollout(*, replicas: int, spare_replicas: int) -> tuple[str, int, int, bool]:
    """(strategy, max surge, max unavailable, interrupts service) from the GPUs that are free beside the steady replicas."""
    if spare_replicas >= 1:
        return "RollingUpdate", 1, 0, False
    if replicas <= 1:
        return "Recreate", 0, 1, True
    return "RollingUpdate", 0, 1, False
