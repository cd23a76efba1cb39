"""KEDA triggers. Thresholds and flags are strings there, and an empty answer of Prometheus is an error unless nothing runs (FC-27)."""

from __future__ import annotations

import math
from typing import Any

from inferform.plan import DeploymentPlan
from inferform.plan_scaling import TriggerPlan
from inferform.render import queries
from inferform.render.naming import Workload
from inferform.render.quantities import number
from inferform.render.ratio import counterpart, fewest

# Far above any rate, so that the trigger wakes a workload and never sizes it.
_NEVER = "1000000000"


def to_zero(workload: Workload) -> bool:
    """Whether the workload may have no replica at all."""
    scaling = workload.pool.scaling
    return scaling.min == 0 or scaling.idle == 0


def zero_cooldown_s(workload: Workload) -> int | None:
    """Wait before the step to zero, which skips the behaviour block (FC-29); None where there is no such step."""
    scaling = workload.pool.scaling
    return max(scaling.cooldown_s, scaling.scale_down_window_s, math.ceil(workload.model.load.total_s)) if to_zero(workload) else None


def keda_trigger(workload: Workload, signal: tuple[str, str], trigger: TriggerPlan) -> dict[str, Any]:
    """One trigger. `Value` together with a fallback is allowed from KEDA 2.18 on; objects here are for 2.20 (compatibility.py)."""
    query, kind = signal
    if trigger.signal == "cpu":
        return {"type": "cpu", "name": "cpu", "metricType": kind, "metadata": {"value": number(trigger.target)}}
    if to_zero(workload):
        # While no replica is ready nobody reports: that is no load, whereas silence of ready replicas is an error.
        query = f"({query}) or ({queries.ready_replicas(workload)} == 0)"
    return _prometheus(workload.plan, trigger.signal.replace("_", "-"), kind, query, number(trigger.target))


def ratio_trigger(workload: Workload) -> dict[str, Any] | None:
    """Keeps prefill and decode in their planned ratio: each has at least its share of the other's ready replicas, less the band.

    None for a pool without a counterpart.
    """
    other = counterpart(workload)
    return _prometheus(workload.plan, "ratio", "AverageValue", fewest(workload, other), "1") if other else None


def standby_trigger(workload: Workload) -> dict[str, Any] | None:
    """Keeps the spare replicas that the spec asks for beside those that the load needs; None without any, or where all may go."""
    if not workload.pool.scaling.standby or to_zero(workload):
        return None
    return _prometheus(workload.plan, "standby", "AverageValue", queries.needed_and_standby(workload), "1")


def cron_triggers(workload: Workload) -> list[dict[str, Any]]:
    """Replicas that stand ready for known traffic, a trigger a window; a window that asks for no more than is always there has none."""
    schedule, scaling = workload.pool.schedule, workload.pool.scaling
    if schedule is None:
        return []
    rest = 0 if scaling.idle == 0 else scaling.min
    return [
        {
            "type": "cron",
            "name": f"schedule-{window.name}",
            "metricType": "AverageValue",
            "metadata": {"timezone": schedule.timezone, "start": window.start, "end": window.end, "desiredReplicas": str(window.replicas)},
        }
        for window in schedule.windows
        if window.replicas > rest
    ]


def wake_trigger(plan: DeploymentPlan) -> dict[str, Any]:
    """Traffic at the gateway: the only signal that lives while no replica does."""
    return _prometheus(plan, "gateway", "AverageValue", queries.gateway_requests(plan), _NEVER)


def _prometheus(plan: DeploymentPlan, name: str, kind: str, query: str, threshold: str) -> dict[str, Any]:
    metadata = {
        "serverAddress": plan.observability.prometheus_url,
        "query": query,
        "threshold": threshold,
        "activationThreshold": "0",
        "ignoreNullValues": "false",
    }
    return {"type": "prometheus", "name": name, "metricType": kind, "metadata": metadata}
