"""KEDA's two halves: the operator that polls and takes the workload to and from zero, and the metrics server that answers the HPA.

Source: KEDA 2.20.2, pkg/scaling/scale_handler.go (state of a ScaledObject, metrics for the HPA), pkg/scaling/executor/scale_scaledobjects.go
(activation, idle, cooldown), pkg/fallback/fallback.go (failures, replicas turned into a metric value), pkg/scalers/prometheus_scaler.go
(empty answers). Both halves count failures in the same status, so that a fallback comes after fewer polls than its threshold says.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from inferform.simulate.hpa import MetricUnavailableError, Scale, Verdict
from inferform.simulate.objects import Metric, Query, ScaledSpec

# Values of the elements that Prometheus answers a query with; raises MetricUnavailableError where it does not answer.
Ask = Callable[[str], tuple[float, ...]]


class Keda:
    """One ScaledObject and what KEDA remembers of it."""

    def __init__(self, spec: ScaledSpec, created_s: float = 0.0) -> None:
        self.spec = spec
        self._created_s = created_s
        self._active_s: float | None = None
        self._failures = dict.fromkeys((q.metric.name for q in spec.queries), 0)
        self._cache: dict[str, int | MetricUnavailableError] = {}
        self._by_name = {q.metric.name: q for q in spec.queries}

    def poll(self, now: float, scale: Scale, ask: Ask) -> Verdict | None:
        """One pass of the operator; None where it leaves the count to the HPA."""
        active: list[str] = []
        failed = ""
        for query in self.spec.queries:
            name = query.metric.name
            try:
                value, is_active = self._read(query, scale, ask)
            except MetricUnavailableError as err:
                failed = failed or str(err)
                if query.cached:
                    self._cache[name] = err
                continue
            if query.cached:
                self._cache[name] = value
            if is_active:
                active.append(name)
        if not self.spec.queries:
            active.append("cpu and memory triggers are always active")
        return self._activate(now, scale, active, failed) if active else self._rest(now, scale, failed)

    def metric(self, wanted: Metric, scale: Scale, ask: Ask) -> int:
        """Thousandths of one metric as the HPA gets it: read anew, or as last polled where the trigger says so."""
        query = self._by_name[wanted.name]
        cached = self._cache.get(wanted.name) if query.cached else None
        if cached is not None:
            return self._checked(query, scale, cached)[0]
        return self._read(query, scale, ask)[0]

    def _activate(self, now: float, scale: Scale, active: list[str], failed: str) -> Verdict | None:
        spec = self.spec
        if scale.asked == 0 or (spec.idle is not None and scale.asked < spec.min):
            self._active_s = now
            return Verdict(max(1, spec.min), f"activated by {', '.join(active)}")
        if not failed:
            self._active_s = now
        return None

    def _rest(self, now: float, scale: Scale, failed: str) -> Verdict | None:
        """No trigger is active. The step to zero (or idle) waits for the cooldown and nothing else."""
        spec = self.spec
        if failed and (spec.fallback is None or spec.fallback.replicas):
            return None
        if (spec.idle is not None and scale.asked > spec.idle) or (scale.asked > 0 and spec.min == 0):
            since, wait = (self._created_s, spec.initial_cooldown_s) if self._active_s is None else (self._active_s, spec.cooldown_s)
            if since + wait < now:
                return Verdict(spec.idle if spec.idle is not None else spec.min, f"no trigger active for more than {wait} s")
            return None
        if spec.idle is None and scale.asked < spec.min:
            return Verdict(spec.min, "fewer replicas than minReplicaCount")
        return None

    def _read(self, query: Query, scale: Scale, ask: Ask) -> tuple[int, bool]:
        """(thousandths, active) of a trigger now, after the fallback."""
        try:
            value = _one_value(query, ask(query.query))
        except MetricUnavailableError as err:
            return self._checked(query, scale, err)
        return self._checked(query, scale, max(0, round(value * 1000)))[0], value > query.activation

    def _checked(self, query: Query, scale: Scale, found: int | MetricUnavailableError) -> tuple[int, bool]:
        """A success clears the count of failures; a failure beyond the threshold becomes the fallback's value, which counts as active."""
        name, fallback = query.metric.name, self.spec.fallback
        if isinstance(found, int):
            self._failures[name] = 0
            return found, True
        self._failures[name] += 1
        if fallback is None or self._failures[name] <= fallback.failures:
            raise found
        replicas: float = {
            "static": fallback.replicas,
            "currentReplicas": scale.asked,
            "currentReplicasIfHigher": max(scale.asked, fallback.replicas),
            "currentReplicasIfLower": min(scale.asked, fallback.replicas),
        }[fallback.behavior]
        if query.metric.compare == "Value":
            if not scale.ready:
                raise MetricUnavailableError(f"{name}: no fallback while no replica is ready")
            replicas /= scale.ready
        return int(query.metric.target * replicas), True


def _one_value(query: Query, answer: tuple[float, ...]) -> float:
    """The number in an answer of Prometheus, read as the prometheus scaler reads it."""
    name = query.metric.name
    if len(answer) > 1:
        raise MetricUnavailableError(f"{name}: the query returned {len(answer)} elements")
    if not answer or not math.isfinite(answer[0]):
        if query.ignore_null_values:
            return 0.0
        raise MetricUnavailableError(f"{name}: the answer is {'empty' if not answer else answer[0]}")
    return answer[0]
