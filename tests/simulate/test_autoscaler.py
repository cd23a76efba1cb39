"""Rendered scaling objects at work: the field cases at behaviour level, and what a scaler must do and must not do.

The KV cache of the sample plan's llama-8b is three quarters full at the planned rate, those of the others never are, and bge has none.
Where a property hangs on one part of the object, a test takes that part away and shows what then goes wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import pytest
import samples
import yaml
from inferform.plan import DeploymentPlan
from inferform.render import render
from inferform.simulate import arrivals
from inferform.simulate.fleet import Pool, pool_of
from inferform.simulate.prometheus import Outage
from inferform.simulate.run import Phases, Trace, run
from rendered import one_pool

HOUR = 3600
MODELS = ("bge", "llama-405b", "llama-70b", "llama-8b")
SAMPLE = samples.sample_plan()


def scaler(plan: DeploymentPlan, model: str) -> dict[str, Any]:
    item: dict[str, Any] = yaml.safe_load(render(plan)[f"scaling/{model}-aggregated.yaml"])
    return item


def sample_pool(model: str) -> Pool:
    """A pool of the sample plan. The planner lets 32 + 1.645 x sqrt(32) = 41 requests fit, so one holds at most 60,000 / 41 tokens in llama-8b."""
    return pool_of(SAMPLE, model, "aggregated", tokens_per_request=1400)


def most(model: str) -> int:
    return SAMPLE.models[model].pools["aggregated"].scaling.max


def turns_at_a_constant_load(item: Mapping[str, Any], pool: Pool, replicas: float) -> int:
    """Changes of direction in two hours, after half an hour to settle, under noise around the work of so many replicas."""
    load = arrivals.noisy(arrivals.constant(replicas * pool.rate), seed=1)
    trace = run(item, pool, load, 150, replicas=max(1, round(replicas + 0.5)))
    return Trace(trace.moments, tuple(d for d in trace.decisions if d.at_s > 1800), trace.arrived, trace.lost).turns


@pytest.mark.parametrize("model", MODELS)
def test_no_flapping_on_a_noisy_constant_load(model: str) -> None:
    """Not one turn in two hours, at six loads from a quarter to nearly all of the most replicas, whole ones or between two."""
    pool, item = sample_pool(model), scaler(SAMPLE, model)
    assert [0] * 6 == [turns_at_a_constant_load(item, pool, most(model) * share) for share in (0.25, 0.45, 0.55, 0.65, 0.75, 0.85)]


@pytest.mark.parametrize(("alone", "busy"), [(0.3, 0.6), (0.3, 0.95), (0.9, 0.6), (0.9, 0.95)])
def test_the_findings_do_not_hang_on_what_is_assumed(alone: float, busy: float) -> None:
    """Why the request rate is a signal: the queue alone flaps, whether replicas slow each other down more or less and however wide the way in."""
    pool = replace(sample_pool("bge"), alone=alone, pace=sample_pool("bge").rate / busy)
    item = scaler(SAMPLE, "bge")
    assert 0 == turns_at_a_constant_load(item, pool, 1.5)
    item["spec"]["triggers"] = [t for t in item["spec"]["triggers"] if t["name"] == "queue"]
    assert turns_at_a_constant_load(item, pool, 1.5) >= 8


@pytest.mark.parametrize("model", MODELS)
def test_a_doubled_load_raises_the_count_within_a_minute(model: str) -> None:
    """From three quarters of the steady fleet's rate to one and a half of it, whenever that happens between two scrapes and two syncs."""
    pool, item = sample_pool(model), scaler(SAMPLE, model)
    waits = []
    for at_s, sync_s in itertools.product((1800, 1804, 1808, 1812), (1, 5, 9, 13)):
        load = arrivals.step(0.75 * pool.replicas * pool.rate, 1.5 * pool.replicas * pool.rate, at_s)
        waits.append(run(item, pool, load, 33, phases=Phases(sync_s=sync_s)).first_rise_s(at_s))
    assert all(wait is not None and wait < 60 for wait in waits), waits


def least_around_a_dip(item: Mapping[str, Any], pool: Pool, replicas: int) -> int:
    """The lowest count from a five-minute dip to a tenth until ten minutes later, for dips at three times; else the load needs all replicas."""
    found = []
    for start_s in (HOUR, HOUR + 400, HOUR + 800):
        load = arrivals.noisy(arrivals.dip(0.9 * replicas * pool.rate, 0.09 * replicas * pool.rate, start_s, start_s + 300), seed=2)
        found.append(run(item, pool, load, 90, replicas=replicas).least(start_s, start_s + 900))
    return min(found)


@pytest.mark.parametrize("model", MODELS)
def test_a_dip_of_five_minutes_takes_no_replica(model: str) -> None:
    """The count that the load needs before a dip is there during and after it."""
    assert most(model) == least_around_a_dip(scaler(SAMPLE, model), sample_pool(model), most(model))


def gone_in_an_outage(item: Mapping[str, Any], pool: Pool, replicas: int, *, kind: Literal["prometheus", "targets"], minutes: int) -> int:
    """Replicas that an outage at the work of nearly all replicas takes."""
    end_s = HOUR + 60 * minutes
    load = arrivals.constant(0.9 * replicas * pool.rate)
    trace = run(item, pool, load, 65 + minutes, replicas=replicas, outages=[Outage(HOUR, end_s, kind)])
    return next(m.desired for m in trace.moments if m.at_s >= HOUR) - trace.least(HOUR, end_s)


KINDS: tuple[Literal["prometheus", "targets"], ...] = ("prometheus", "targets")


def test_fc27_a_short_outage_takes_no_replica() -> None:
    """Ten minutes without series or without Prometheus at peak: the replicas of llama-8b stay."""
    assert [0, 0] == [gone_in_an_outage(scaler(SAMPLE, "llama-8b"), sample_pool("llama-8b"), 6, kind=kind, minutes=10) for kind in KINDS]


def test_fc27_ignored_nulls_take_the_fleet_to_its_minimum() -> None:
    """Why ignoreNullValues must be "false": with "true" six replicas are two, the minimum, within an hour without series."""
    item = scaler(SAMPLE, "llama-8b")
    for trigger in item["spec"]["triggers"]:
        assert "false" == trigger["metadata"]["ignoreNullValues"]
        trigger["metadata"]["ignoreNullValues"] = "true"
    assert 4 == gone_in_an_outage(item, sample_pool("llama-8b"), 6, kind="targets", minutes=60)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_fc27_an_outage_at_peak_takes_no_replica(model: str, kind: Literal["prometheus", "targets"]) -> None:
    """An hour without monitoring at peak: all replicas stay."""
    assert 0 == gone_in_an_outage(scaler(SAMPLE, model), sample_pool(model), most(model), kind=kind, minutes=60)


def test_fc27_a_static_fallback_lowers_a_fleet_at_peak() -> None:
    """Why the fallback's behaviour is written out: replicas alone take the six of llama-8b down to the steady three."""
    item = scaler(SAMPLE, "llama-8b")
    del item["spec"]["fallback"]["behavior"]
    assert 3 == gone_in_an_outage(item, sample_pool("llama-8b"), 6, kind="prometheus", minutes=60)


def test_fc26_idle_zero_sleeps_and_wakes_to_the_minimum() -> None:
    """Two hours of silence put the pool to sleep; the first requests at the gateway wake two replicas, not one, within half a minute."""
    plan = one_pool(scaling={"idle": 0, "min": 2, "max": 4})
    pool = pool_of(plan, "m", "aggregated")
    trace = run(scaler(plan, "m"), pool, arrivals.step(0, 3, 7200), 140)
    asleep, awake = trace.decisions[:2]
    assert (("keda", 2, 0), ("keda", 0, 2)) == ((asleep.by, asleep.before, asleep.after), (awake.by, awake.before, awake.after))
    assert awake.at_s - 7200 <= 30
    assert 2 == trace.moments[-1].ready


def test_fc26_an_idle_count_above_zero_flaps() -> None:
    """Why idle can only be 0: KEDA admits idle 1 below min 2, then its operator lowers to 1 and its HPA raises to 2, for ever."""
    item = scaler(one_pool(scaling={"min": 2, "max": 4}), "m")
    item["spec"]["idleReplicaCount"] = 1
    trace = run(item, pool_of(one_pool(), "m", "aggregated"), arrivals.constant(0), 60)
    assert trace.turns > 100
    assert {"keda", "hpa"} == {d.by for d in trace.decisions}


def test_fc28_two_scalers_of_one_target_fight() -> None:
    """An HPA on CPU beside the ScaledObject: one raises for its signal, the other lowers for its own; alone there is no such fight."""
    pool = sample_pool("llama-8b")
    item = scaler(SAMPLE, "llama-8b")
    rival = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "by-cpu"}, "spec": {"scaleTargetRef": {"name": "llama-8b-aggregated"}, "maxReplicas": 2}}
    load = arrivals.constant(4.5 * pool.rate)
    alone, both = run(item, pool, load, 120, replicas=5), run(item, pool, load, 120, replicas=5, rivals=[rival])
    assert (0, True) == (alone.turns, both.turns > 50)


def test_fc29_replicas_go_one_by_one_after_the_delay() -> None:
    """From six busy replicas and a load that ends at one hour: the rate is seen for two more minutes, the first goes 900 s later, the others 120 s apart, down to the minimum."""
    pool = sample_pool("llama-8b")
    trace = run(scaler(SAMPLE, "llama-8b"), pool, arrivals.dip(6.3 * pool.rate, 0, HOUR, 3 * HOUR), 120, replicas=6)
    falls = [d for d in trace.decisions if d.after < d.before]
    assert [(6, 5), (5, 4), (4, 3), (3, 2)] == [(d.before, d.after) for d in falls]
    assert 900 < falls[0].at_s - HOUR <= 900 + 120 + 30
    assert all(b.at_s - a.at_s >= 120 for a, b in itertools.pairwise(falls))


def test_fc29_the_step_to_zero_takes_all_at_once_after_the_cooldown() -> None:
    """min 0: finished requests are seen for two minutes after the last one, then 900 s of cooldown, then all replicas go at once.

    48 requests that stay 7.6 s die away in about a minute.
    """
    plan = one_pool(scaling={"min": 0, "max": 4, "fallback_replicas": 2})
    pool = pool_of(plan, "m", "aggregated")
    trace = run(scaler(plan, "m"), pool, arrivals.dip(1.5 * pool.rate, 0, HOUR, 9 * HOUR), 90, replicas=2)
    (fall,) = [d for d in trace.decisions if d.at_s > HOUR and d.after == 0]
    assert ("keda", True) == (fall.by, fall.before >= 1)
    assert 900 + 120 < fall.at_s - HOUR <= 900 + 120 + 60 + 30


ALL = [
    {"signal": signal, "target": target, "why": ""}
    for signal, target in (("queue", 8.0), ("kv_use", 0.8), ("in_flight_tokens", 40_000.0), ("ttft_p95", 0.96), ("cpu", 80.0), ("request_rate", 3.818))
]


def test_every_signal_is_read() -> None:
    """All six signals, through KEDA and through a plain HPA with prometheus-adapter: each has a value at every sync once scraped twice.

    In-flight tokens size both fleets alike: at 3 replicas' rate 96 requests of 2,048 tokens are 196,608, over 40,000 a replica: 5.
    """
    for kind in ("keda", "hpa"):
        plan = one_pool(scaling={"kind": kind, "min": 2, "max": 8, "triggers": ALL})
        pool = pool_of(plan, "m", "aggregated")
        files = render(plan)
        adapter = yaml.safe_load(files.get("scaling/prometheus-adapter-values.yaml", "{}"))
        trace = run(yaml.safe_load(files["scaling/m-aggregated.yaml"]), pool, arrivals.constant(3 * pool.rate), 60, replicas=3, adapter=adapter)
        assert [] == [m.reason for m in trace.moments[4:] if "no value" in m.reason or "no series" in m.reason or "empty" in m.reason]
        assert 4 <= trace.moments[-1].desired <= 5, trace
