"""The parts of a spec that say how replicas follow the load, start and stop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from inferform.names import Strict
from inferform.quantities import DurationS
from pydantic import Field


class Trigger(Strict):
    """One scaling signal."""

    signal: Literal["queue", "queue_wait", "request_rate", "kv_use", "in_flight_tokens", "ttft_p95", "cpu"] = Field(
        description="What is measured: queue counts waiting requests, queue_wait is the seconds they wait, ttft_p95 seconds too; request_rate alone holds the "
        "count that a steady load needs; cpu only beside another signal."
    )
    target: float | None = Field(None, gt=0, description="Threshold per replica; derived from the plan's capacity when left out.")


class Fallback(Strict):
    """What KEDA holds when metrics fail: the running replicas, but not fewer than these."""

    failures: int = Field(3, ge=1, le=100, description="Failed polls before the fallback applies.")
    replicas: int | None = Field(None, ge=1, le=10_000, description="Fewest replicas to hold; the steady count when left out.")


class KedaScaling(Strict):
    """Scaling by KEDA ScaledObject."""

    triggers: tuple[Trigger, ...] = Field(
        (Trigger(signal="queue", target=None), Trigger(signal="request_rate", target=None), Trigger(signal="kv_use", target=0.85)),
        min_length=1,
        description="Signals; the strongest wins.",
    )
    polling_interval: DurationS = Field("15s", ge=1, le=3600, description="How often KEDA reads the signals.")  # type: ignore[assignment]
    fallback: Fallback = Field(Fallback(), description="Behaviour when the metrics source fails.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if all(t.signal == "cpu" for t in self.triggers):
            yield "triggers", "only cpu triggers: KEDA's fallback does not apply to them and cpu says nothing about a GPU model; add queue or request_rate"


class HpaScaling(Strict):
    """Scaling by a plain HorizontalPodAutoscaler on custom metrics."""

    triggers: tuple[Trigger, ...] = Field(
        (Trigger(signal="queue", target=None), Trigger(signal="request_rate", target=None)), min_length=1, description="Signals; the strongest wins."
    )


class Scaling(Strict):
    """How replicas follow the load. KEDA unless `hpa` is given; `fixed: true` for none."""

    min: int | None = Field(None, ge=0, le=10_000, description="Fewest replicas; planned when left out.")
    max: int | None = Field(None, ge=1, le=10_000, description="Most replicas; planned when left out.")
    idle: int | None = Field(None, description="Replicas when idle; Kubernetes allows only 0, below a min of at least 1.")
    # Kubernetes holds a stabilization window to one hour.
    scale_in_delay: DurationS = Field("15m", ge=0, le=3600, description="How long a lower need must last before replicas go.")  # type: ignore[assignment]
    fixed: bool = Field(False, description="True keeps the steady replica count and renders no scaler.")
    keda: KedaScaling | None = Field(None, description="Scale with KEDA (the default).")
    hpa: HpaScaling | None = Field(None, description="Scale with a plain HPA instead.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.keda and self.hpa:
            yield "hpa", "both keda and hpa are given; one target has exactly one scaler: keep one of the two"
        if self.fixed and (self.keda or self.hpa):
            yield "fixed", "fixed: true and a scaler (keda or hpa) contradict each other"
        if self.idle is not None and self.idle != 0:
            yield "idle", f"idle {self.idle} cannot be held: an idle count is only possible as 0; drop idle and set min to the always-on count"
        if self.idle == 0 and self.min == 0:
            yield "idle", "idle 0 needs min >= 1; with min 0 leave idle out"
        if self.hpa and (self.idle == 0 or self.min == 0):
            yield "hpa", "an HPA does not scale to zero; use keda, or min 1 without idle"
        if self.min is not None and self.max is not None and self.min > self.max:
            yield "min", f"min {self.min} is above max {self.max}"
        held = self.keda.fallback.replicas if self.keda else None
        if held is not None and not (self.min or 0) <= held <= (self.max if self.max is not None else held):
            yield "keda", f"fallback.replicas {held} is outside min {self.min} to max {self.max}"


class Lifecycle(Strict):
    """How replicas start and stop."""

    pre_stop: DurationS = Field("15s", ge=0, le=3600, description="Pause before the stop signal, so that routing stops first.")  # type: ignore[assignment]
    grace: DurationS | None = Field(None, ge=1, le=86400, description="Termination grace; derived from the longest generation when left out.")
