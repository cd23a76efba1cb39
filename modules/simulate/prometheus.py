"""What Prometheus has of a fleet: scrapes of the engines, kube-state-metrics and the gateway, and the failures of all that."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from inferform.engines import Signal, engine_names, find_engine
from inferform.simulate.fleet import Exposed, Firsts, Fleet, Pool
from inferform.simulate.hpa import MetricUnavailableError
from inferform.simulate.promql import Element, Expression, Labels, Ranged, Vector, parse

SCRAPE_S = 15
# The longest window that is kept.
_KEEP_S = 900
_READ: dict[Signal, Callable[[Exposed], float]] = {"queue": lambda e: e.waiting, "running": lambda e: e.running, "kv_use": lambda e: e.kv_use}


def _names(signal: Signal, suffix: str = "") -> tuple[str, ...]:
    """The series that the engines of today show for a signal."""
    engines = [find_engine(name) for name in engine_names()]
    return tuple(engine.metric(engine.default_version, signal) + suffix for engine in engines)


_GAUGES: dict[str, Callable[[Exposed], float]] = {name: read for signal, read in _READ.items() for name in _names(signal)}
_COUNTERS: dict[str, Callable[[Exposed], float]] = {name: lambda e: e.finished for name in _names("requests")}
_KV_USE = _names("kv_use")
_TTFT_BUCKETS = _names("ttft", "_bucket")
_QUEUE_SUMS, _QUEUE_COUNTS = _names("queue_time", "_sum"), _names("queue_time", "_count")
# vLLM 0.33, vllm/v1/metrics/loggers.py; the other engines' are as fine.
_TTFT_EDGES = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0, math.inf,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outage:
    """A time without monitoring: `prometheus` does not answer, all `targets` are gone, or the `engines` are."""

    start_s: float
    end_s: float
    kind: Literal["prometheus", "targets", "engines"]


@dataclass(frozen=True, slots=True)
class _Scrape:
    at_s: float
    engines: tuple[Exposed, ...]
    firsts: Firsts
    ready: int
    arrived: float
    lost: Literal["", "targets", "engines"]


class Prometheus:
    """Answers queries from the scrapes so far. A failed scrape ends a series at once, as a stale marker does."""

    def __init__(self, pool: Pool, outages: tuple[Outage, ...] = ()) -> None:
        self.pool = pool
        self._outages = outages
        self._scrapes: deque[_Scrape] = deque()
        self._answers: dict[str, Vector] = {}

    def _outage(self, now: float) -> str:
        return next((o.kind for o in self._outages if o.start_s <= now < o.end_s), "")

    def scrape(self, now: float, fleet: Fleet) -> Firsts:
        """Read every target once; gives the first tokens since the last time."""
        kind = self._outage(now)
        lost: Literal["", "targets", "engines"] = "targets" if kind == "targets" else "engines" if kind == "engines" else ""
        firsts = fleet.firsts()
        self._scrapes.append(_Scrape(now, fleet.expose(), firsts, fleet.serving, fleet.arrived, lost))
        while self._scrapes[0].at_s < now - _KEEP_S:
            self._scrapes.popleft()
        self._answers.clear()
        return firsts

    def ask(self, query: str, now: float) -> tuple[float, ...]:
        """Values of the elements that a query gives now. Raises MetricUnavailableError while Prometheus does not answer."""
        return tuple(e.value for e in self.elements(query, now))

    def elements(self, query: str, now: float) -> Vector:
        """The same with labels."""
        if self._outage(now) == "prometheus":
            raise MetricUnavailableError("Prometheus does not answer")
        # Windows end at the newest scrape, so that an answer holds until the next one.
        if query not in self._answers:
            found = _parsed(query)(self)
            if isinstance(found, float):
                raise MetricUnavailableError("the query gives a scalar, which no scaler reads")
            self._answers[query] = found
        return self._answers[query]

    def instant(self, name: str) -> Vector:
        """The newest scrape's series of that name."""
        if not self._scrapes:
            return []
        last = self._scrapes[-1]
        if last.lost == "targets":
            return []
        if name in _GAUGES:
            read, ranks = _GAUGES[name], self.pool.ranks
            # Every rank's cache is as full as the pod's; counts are shared out.
            share = 1 if name in _KV_USE else ranks
            engines = () if last.lost else last.engines
            return [Element(self._pod_labels(e.pods[0], rank), read(e) / share, len(e.pods)) for e in engines for rank in range(ranks)]
        kind = "statefulset" if self.pool.grouped else "deployment"
        counts = ((self.pool.workload, last.ready), *self.pool.neighbours)
        if name == f"kube_{kind}_status_replicas_ready":
            return [Element((("namespace", self.pool.namespace), (kind, workload)), float(ready)) for workload, ready in counts]
        if name == "kube_pod_status_ready":
            where = (("namespace", self.pool.namespace), ("condition", "true"))
            return [Element((*where, ("pod", f"{workload}-{at}")), 1.0) for workload, ready in counts for at in range(ready)]
        return [Element(r.labels, r.samples[-1][1]) for r in self.window(name, SCRAPE_S)]

    def window(self, name: str, seconds: float) -> list[Ranged]:
        """Samples of the last seconds. Counters start from 0 in each window: only their differences count."""
        since = self._scrapes[-1].at_s - seconds if self._scrapes else 0.0
        kept = [s for s in self._scrapes if s.at_s >= since and s.lost != "targets"]
        if name == "envoy_http_downstream_rq_total" and kept:
            labels = (
                ("namespace", self.pool.gateway_namespace),
                ("gateway_envoyproxy_io_owning_gateway_name", self.pool.gateway_name),
                ("gateway_envoyproxy_io_owning_gateway_namespace", self.pool.namespace),
                ("envoy_http_conn_manager_prefix", "http-10080"),
            )
            return [Ranged(labels, tuple((s.at_s, s.arrived) for s in kept))]
        kept = [s for s in kept if not s.lost and s.engines]
        if name in (*_QUEUE_SUMS, *_QUEUE_COUNTS) and kept:
            return [self._queue_time(kept, seconds=name in _QUEUE_SUMS)]
        if name in _TTFT_BUCKETS and kept:
            return [self._bucket(edge, kept) for edge in _TTFT_EDGES]
        return self._histories(name, kept)

    def _histories(self, name: str, scrapes: list[_Scrape]) -> list[Ranged]:
        """Every pod's own samples of one of the engines' series."""
        counter = name in _COUNTERS
        read = _COUNTERS.get(name) or _GAUGES.get(name)
        histories: dict[str, list[tuple[float, float]]] = {}
        for scrape in scrapes if read else ():
            for exposed in scrape.engines:
                value = read(exposed) if read else 0.0
                for pod in exposed.pods:
                    samples = histories.setdefault(pod, [])
                    before = samples[-1][1] if samples else -value
                    samples.append((scrape.at_s, before + value if counter else value))
        return [Ranged(self._pod_labels(pod), tuple(samples)) for pod, samples in histories.items()]

    def _bucket(self, edge: float, scrapes: list[_Scrape]) -> Ranged:
        """Requests whose first token came within `edge` seconds: a wait, then a lognormal time with the plan's spread."""
        spread = max(0.01, math.log(max(1.0, self.pool.ttft_p95_s / self.pool.ttft_s)) / 1.645)
        total, samples = 0.0, []
        for at, scrape in enumerate(scrapes):
            firsts = scrape.firsts
            if at and firsts.count and edge > firsts.wait_s:
                total += (
                    firsts.count * 0.5 * (1 + math.erf(math.log((edge - firsts.wait_s) / firsts.median_s) / spread / math.sqrt(2)))
                    if edge < math.inf
                    else firsts.count
                )
            samples.append((scrape.at_s, total))
        return Ranged((*self._pod_labels(scrapes[-1].engines[0].pods[0]), ("le", str(edge))), tuple(samples))

    def _queue_time(self, scrapes: list[_Scrape], *, seconds: bool) -> Ranged:
        """Requests that left a queue, or the seconds that they waited in it."""
        total, samples = 0.0, []
        for at, scrape in enumerate(scrapes):
            total += scrape.firsts.count * (scrape.firsts.wait_s if seconds else 1.0) if at else 0.0
            samples.append((scrape.at_s, total))
        return Ranged(self._pod_labels(scrapes[-1].engines[0].pods[0]), tuple(samples))

    def _pod_labels(self, pod: str, rank: int = 0) -> Labels:
        return (("namespace", self.pool.namespace), ("model_name", self.pool.model_name), ("pod", pod), ("engine", str(rank)))


@lru_cache(maxsize=256)
def _parsed(query: str) -> Expression:
    return parse(query)
