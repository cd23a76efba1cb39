"""Runs a rendered scaling object against a pool and an arrival rate, and keeps what happened."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from inferform.simulate.adapter import read_adapter
from inferform.simulate.autoscaler import MIDNIGHT, Autoscaler
from inferform.simulate.fleet import Firsts, Fleet, Pool
from inferform.simulate.hpa import SYNC_S, Verdict
from inferform.simulate.prometheus import SCRAPE_S, Outage, Prometheus

STEP_S = 1
_COLUMNS = 100
# Requests a second at a time in seconds since the start.
Arrivals = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Phases:
    """Seconds after the start at which scrapes, KEDA's polls and the HPA's syncs first happen; in a cluster these are chance."""

    scrape_s: int = 0
    poll_s: int = 4
    sync_s: int = 9


@dataclass(frozen=True, slots=True)
class Decision:
    """A change of the replica count."""

    at_s: int
    by: Literal["keda", "hpa"]
    before: int
    after: int
    reason: str


@dataclass(frozen=True, slots=True)
class Moment:
    """The pool at one sync of the HPA. Requests are of the whole pool, `ttft_s` the median of the last scrape interval."""

    at_s: int
    desired: int
    ready: int
    arrivals: float
    waiting: float
    running: float
    kv_use: float
    ttft_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened, oldest first. `lost` requests found no serving replica, or their replica's grace ended before they did."""

    moments: tuple[Moment, ...]
    decisions: tuple[Decision, ...]
    arrived: float
    lost: float

    @property
    def turns(self) -> int:
        """How often the replica count changed its direction."""
        directions = [d.after > d.before for d in self.decisions]
        return sum(a != b for a, b in itertools.pairwise(directions))

    def first_rise_s(self, after_s: float) -> float | None:
        """Seconds from a moment to the next raised count; None when it is never raised."""
        return next((d.at_s - after_s for d in self.decisions if d.at_s >= after_s and d.after > d.before), None)

    def least(self, start_s: float, end_s: float) -> int:
        """The lowest replica count asked for between two times."""
        return min(m.desired for m in self.moments if start_s <= m.at_s <= end_s)

    def table(self, every_s: int = 60) -> str:
        """One line each `every_s` seconds, then the decisions."""
        head = f"{'time':>8} {'desired':>7} {'ready':>5} {'req/s':>7} {'waiting':>8} {'running':>8} {'kv':>5} {'ttft s':>7}"
        rows = [m for at, m in enumerate(self.moments) if at == 0 or m.at_s // every_s != self.moments[at - 1].at_s // every_s]
        lines = [
            f"{_clock(m.at_s):>8} {m.desired:>7} {m.ready:>5} {m.arrivals:>7.1f} {m.waiting:>8.1f} {m.running:>8.1f} {m.kv_use:>5.0%} {m.ttft_s:>7.2f}"
            for m in rows
        ]
        changes = [f"{_clock(d.at_s):>8} {d.by:>4} {d.before} -> {d.after}: {d.reason}"[:_COLUMNS] for d in self.decisions]
        return "\n".join([head, *lines, f"decisions: {len(changes)}", *changes])

    def __str__(self) -> str:
        return self.table()


def _clock(seconds: int) -> str:
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def run(
    scaling_object: Mapping[str, Any],
    pool: Pool,
    arrivals: Arrivals,
    minutes: float,
    *,
    replicas: int | None = None,
    outages: Sequence[Outage] = (),
    phases: Phases = Phases(),
    adapter: Mapping[str, Any] | None = None,
    rivals: Sequence[Mapping[str, Any]] = (),
    began: datetime = MIDNIGHT,
) -> Trace:
    """Let a ScaledObject or HorizontalPodAutoscaler work on a pool for some minutes, from `replicas` ready ones (the steady count).

    `adapter` are the values of prometheus-adapter that a plain HPA on engine metrics needs; `rivals` are further scaling
    objects that point at the same pool; `began` is the moment that seconds are counted from. Raises InputError for an object that its API server would refuse.
    """
    fleet = Fleet(pool, pool.replicas if replicas is None else replicas)
    prometheus = Prometheus(pool, tuple(outages))
    rules = read_adapter(adapter or {})
    scalers = [Autoscaler(each, fleet, prometheus, rules, began=began) for each in (scaling_object, *rivals)]
    moments: list[Moment] = []
    decisions: list[Decision] = []
    firsts = Firsts(0.0, 0.0, pool.ttft_s)

    def act(at_s: int, by: Literal["keda", "hpa"], verdict: Verdict | None) -> None:
        before = fleet.scale.asked
        if verdict is not None and verdict.replicas != before:
            decisions.append(Decision(at_s, by, before, verdict.replicas, verdict.reason))
            fleet.resize(verdict.replicas, at_s)

    scrape_at, sync_at = phases.scrape_s % SCRAPE_S, phases.sync_s % SYNC_S
    polls = [(scaler, scaler.polling_s, phases.poll_s % scaler.polling_s) for scaler in scalers if scaler.polling_s is not None]
    for now in range(0, round(minutes * 60) + 1, STEP_S):
        rate = arrivals(now)
        if now % SCRAPE_S == scrape_at:
            firsts = prometheus.scrape(now, fleet)
        for scaler, every_s, at_s in polls:
            if now % every_s == at_s:
                act(now, "keda", scaler.poll(now))
        if now % SYNC_S == sync_at:
            reasons = []
            for scaler in scalers:
                verdict = scaler.sync(now)
                reasons.append(verdict.reason)
                act(now, "hpa", verdict)
            moments.append(_moment(now, fleet, rate, firsts, "; ".join(reasons)))
        fleet.step(now, STEP_S, rate)
    return Trace(tuple(moments), tuple(decisions), fleet.arrived, fleet.lost)


def _moment(now: int, fleet: Fleet, rate: float, firsts: Firsts, reason: str) -> Moment:
    return Moment(now, fleet.scale.asked, fleet.serving, rate, fleet.waiting, fleet.running, fleet.kv_use, firsts.wait_s + firsts.median_s, reason)
