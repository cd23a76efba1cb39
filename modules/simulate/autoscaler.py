"""One scaling object at work: KEDA with the HPA it makes, or a plain HPA with prometheus-adapter, on one fleet's Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from inferform.simulate.adapter import Adapter
from inferform.simulate.fleet import Fleet
from inferform.simulate.hpa import Hpa, PodReadings, Reading, Verdict
from inferform.simulate.keda import Keda
from inferform.simulate.objects import Metric, ScaledSpec, read_object
from inferform.simulate.prometheus import Prometheus

# A Monday: windows of the week are counted from here.
MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)


class Autoscaler:
    """The controllers that one rendered object brings to life. Raises InputError for an object that its API server refuses."""

    def __init__(self, scaling_object: Mapping[str, Any], fleet: Fleet, prometheus: Prometheus, adapter: Adapter, *, began: datetime = MIDNIGHT) -> None:
        spec = read_object(scaling_object)
        self._windows = spec.windows if isinstance(spec, ScaledSpec) else {}
        self._began = began
        self._fleet, self._prometheus, self._adapter = fleet, prometheus, adapter
        self._keda = Keda(spec) if isinstance(spec, ScaledSpec) else None
        self._hpa = Hpa(spec.hpa if isinstance(spec, ScaledSpec) else spec)
        self.polling_s = spec.polling_s if isinstance(spec, ScaledSpec) else None

    def poll(self, now: float) -> Verdict | None:
        """KEDA's operator looks once; None where it changes nothing."""
        if self._keda is None:
            return None
        return self._keda.poll(now, self._fleet.scale, lambda query: self._ask(query, now))

    def sync(self, now: float) -> Verdict:
        """The HPA controller looks once."""
        return self._hpa.sync(now, self._fleet.scale, lambda metric: self._read(metric, now))

    def _read(self, metric: Metric, now: float) -> Reading:
        if metric.kind == "Resource":
            return self._fleet.cpu()
        if self._keda is not None:
            return self._keda.metric(metric, self._fleet.scale, lambda query: self._ask(query, now))
        if metric.kind == "Pods":
            values = self._adapter.by_pod(metric, self._fleet.serving_pods, self._prometheus, now)
            # A pod that still loads its model runs, but says nothing yet.
            return PodReadings(values, self._fleet.scale.existing - len(values), 0)
        # Metrics of an object are looked up as external ones are.
        return self._adapter.external(metric, self._prometheus, now)

    def _ask(self, query: str, now: float) -> tuple[float, ...]:
        """What KEDA's scaler of a trigger gets: the clock's answer for a window, else Prometheus's."""
        window = self._windows.get(query)
        if window is None:
            return self._prometheus.ask(query, now)
        return (float(window.replicas) if window.is_open(self._began + timedelta(seconds=now)) else 0.0,)
