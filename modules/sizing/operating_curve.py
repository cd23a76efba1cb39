"""How latency grows with the load of one replica."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.sizing.layouts import Engine, Fit
from inferform.sizing.queueing import Point
from inferform.sizing.workload import Demand

# Shares of the highest rate inside the objectives; beyond it the curve shows what the objectives keep away.
_SHARES = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5)


@dataclass(frozen=True, slots=True)
class Operating:
    """One replica, all its ranks, at one rate: tokens are generated ones, latencies 95th percentiles (TPOT 0 where nothing follows the first token)."""

    requests_per_s: float
    output_tokens_per_s: float
    ttft_p95_s: float
    tpot_p95_s: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Points by rising rate, the planned one, the last one inside the objectives, and the objectives (None: there is none)."""

    name: str
    points: tuple[Operating, ...]
    planned: Operating
    most: Operating
    ttft_p95_s: float | None
    tpot_p95_s: float | None


def operating_curve(name: str, fit: Fit, demand: Demand, engine: Engine, requests_per_s: float) -> Curve:
    """The curve of one replica; `requests_per_s` is what it is planned to carry."""
    ranks, load = fit.cut.dp, demand.load(prefix_caching=engine.prefix_caching)

    def at(rate: float) -> Operating | None:
        point = fit.behaviour.at(fit.limits, load, rate / ranks)
        return None if point is None else stated(point)

    def stated(point: Point) -> Operating:
        rate = point.requests_per_s * ranks
        return Operating(rate, rate * demand.output.mean, point.ttft.p95, point.tpot.p95)

    most = stated(fit.best)
    planned = at(min(requests_per_s, most.requests_per_s)) or most
    found = [at(share * most.requests_per_s) for share in _SHARES if share != 1.0]
    points = sorted([most, *(p for p in found if p is not None)], key=lambda p: p.requests_per_s)
    return Curve(name, tuple(points), planned, most, demand.ttft_p95_s, demand.tpot_p95_s)
