"""The parts of a plan about how replicas follow the load, start and stop."""

from __future__ import annotations

from typing import Literal

from inferform.plan_cost import Part
from pydantic import Field


class LifecyclePlan(Part):
    """Start and stop of one replica, in whole seconds, and how a rollout replaces it."""

    startup_failure_threshold: int
    startup_period_s: int
    progress_deadline_s: int
    pre_stop_s: int
    shutdown_timeout_s: int | None = Field(description="Engine drain time; None where the engine version has no such flag.")
    grace_s: int
    strategy: Literal["Recreate", "RollingUpdate"]
    max_surge: int
    max_unavailable: int
    rollout_interrupts: bool


class TriggerPlan(Part):
    """One scaling signal with its threshold per replica."""

    signal: Literal["queue", "queue_wait", "request_rate", "kv_use", "in_flight_tokens", "ttft_p95", "cpu"]
    target: float
    why: str


class ScalingPlan(Part):
    """How the replicas of one pool follow the load."""

    kind: Literal["keda", "hpa", "fixed"]
    min: int
    max: int
    idle: int | None
    triggers: tuple[TriggerPlan, ...]
    polling_interval_s: int
    cooldown_s: int
    scale_up_window_s: int
    scale_down_window_s: int
    scale_down_period_s: int
    fallback_failures: int
    fallback_replicas: int
    standby: int = Field(0, description="Replicas kept loaded beyond what the load needs at any time.")
