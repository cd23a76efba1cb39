"""Prefill and decode pools follow their own signals; this keeps them from drifting apart."""

from __future__ import annotations

from inferform.render import queries
from inferform.render.naming import Workload, workloads
from inferform.render.quantities import number

# How far prefill and decode may drift from their planned ratio.
BAND = 0.25


def counterpart(workload: Workload) -> Workload | None:
    """The pool on the other side of a hand-over; None for a pool that answers alone."""
    if workload.pool.role == "aggregated":
        return None
    return next((w for w in workloads(workload.plan) if w.model_name == workload.model_name and w.pool.role != workload.pool.role), None)


def fewest(workload: Workload, other: Workload) -> str:
    """Replicas that a pool needs beside the other's ready ones: its planned share less the band, rounded down so that two pools never hold each other up."""
    return f"floor({queries.ready_replicas(other)} * {number(share(workload, other))})"


def share(workload: Workload, other: Workload) -> float:
    """Fewest replicas of a pool for each one of the other's."""
    return workload.pool.replicas.steady / other.pool.replicas.steady * (1 - BAND)
