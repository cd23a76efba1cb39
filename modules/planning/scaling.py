"""How the replicas of a pool follow the load: signals with thresholds from the pool's capacity, up fast and down slowly (FC-26..29)."""

from __future__ import annotations

import math

from inferform.errors import Problem
from inferform.plan_nodes import Count, LoadPlan
from inferform.plan_scaling import ScalingPlan, TriggerPlan
from inferform.sizing.layouts import Fit
from inferform.sizing.workload import Demand
from inferform.spec_scaling import KedaScaling, Scaling, Trigger

SCALE_UP_WINDOW_S = 30
SCALE_DOWN_PERIOD_S = 120
KV_USE = 0.85
# Act before the objective is missed: a new replica takes minutes.
_EARLY = 0.8
_CPU_USE = 70.0
# Requirement E1: waits above this are felt. Behind a queue waits are about exponential, so that the 95th percentile is three times the mean.
_WAIT_S, _P95_OVER_MEAN = 0.2, 3.0
# Without an objective nobody waits for the answer: half a minute of work may lie in the queue.
_PATIENCE_S = 30.0
# An HPA lets a metric be 10 % off its target before it acts, so a target below the rate by as much acts at the rate.
_TOLERANCE = 1.1


def plan_scaling(
    field: str,
    scaling: Scaling,
    *,
    replicas: Count,
    load: LoadPlan,
    fit: Fit,
    rate: float,
    demand: Demand,
    prefix_caching: bool,
    embed: bool,
    problems: list[Problem],
) -> ScalingPlan:
    """The scaler of one pool, of which a replica carries `rate` requests a second, all data-parallel ranks together.

    KEDA unless the spec names an HPA; none where nothing is to scale.
    """
    kind = "fixed" if scaling.fixed or replicas.min == replicas.max else "hpa" if scaling.hpa else "keda"
    keda = scaling.keda or KedaScaling()
    # A block without triggers leaves the choice to the kind of model.
    named = scaling.hpa.triggers if scaling.hpa else keda.triggers if "triggers" in keda.model_fields_set else None
    signals = named if named is not None else _usual(embed, demand.role)
    triggers = []
    for at, trigger in enumerate(signals):
        if embed and trigger.signal in {"kv_use", "in_flight_tokens"}:
            problems.append(
                Problem(
                    "embedding models keep no KV cache",
                    f"{field}.{'hpa' if scaling.hpa else 'keda'}.triggers.{at}.signal",
                    value=trigger.signal,
                    legal=("queue", "queue_wait", "request_rate", "ttft_p95", "cpu"),
                    fix="use queue and request_rate",
                )
            )
            continue
        triggers.append(_trigger(trigger, fit, rate, demand, prefix_caching=prefix_caching))
    window = math.ceil(scaling.scale_in_delay)
    fallback = keda.fallback.replicas if keda.fallback.replicas is not None else replicas.steady
    if kind == "keda" and not replicas.min <= fallback <= replicas.max:
        problems.append(
            Problem(
                f"is outside {replicas.min} to {replicas.max} replicas", f"{field}.keda.fallback.replicas", value=str(fallback), fix=f"use {replicas.steady}"
            )
        )
    return ScalingPlan(
        kind=kind, min=replicas.min, max=replicas.max, idle=0 if scaling.idle == 0 and replicas.min >= 1 else None, triggers=tuple(triggers),
        polling_interval_s=math.ceil(keda.polling_interval),
        # The step to zero skips the window, so the cooldown has to outlast both the window and a reload.
        cooldown_s=max(window, math.ceil(load.total_s)), scale_up_window_s=SCALE_UP_WINDOW_S, scale_down_window_s=window,
        scale_down_period_s=SCALE_DOWN_PERIOD_S, fallback_failures=keda.fallback.failures, fallback_replicas=fallback,
    )  # fmt: skip


def _usual(embed: bool, role: str) -> tuple[Trigger, ...]:
    """Prefill replicas are short when first tokens come late, decode replicas when their caches fill up.

    Those signals tell an overload, and are near nothing at the planned load: the request rate holds the count that the load needs.
    """
    queue, rate, kv_use = Trigger(signal="queue", target=None), Trigger(signal="request_rate", target=None), Trigger(signal="kv_use", target=KV_USE)
    by_role = {"prefill": (queue, rate, Trigger(signal="ttft_p95", target=None)), "decode": (kv_use, rate, Trigger(signal="in_flight_tokens", target=None))}
    return (queue, rate) if embed else by_role.get(role, (queue, rate, kv_use))


def _trigger(trigger: Trigger, fit: Fit, rate: float, demand: Demand, *, prefix_caching: bool) -> TriggerPlan:
    target, why = _derived(trigger.signal, fit, rate, demand, prefix_caching=prefix_caching)
    if trigger.target is not None and trigger.signal != "kv_use":
        return TriggerPlan(signal=trigger.signal, target=trigger.target, why="set in the spec")
    if trigger.signal == "kv_use" and trigger.target is not None:
        return TriggerPlan(signal=trigger.signal, target=trigger.target, why=f"above {trigger.target:.0%} of the KV cache new requests push running ones out")
    return TriggerPlan(signal=trigger.signal, target=target, why=why)


def _derived(signal: str, fit: Fit, rate: float, demand: Demand, *, prefix_caching: bool) -> tuple[float, str]:
    """(threshold per replica, reason) from what one replica carries: a fit is of one data-parallel rank, and signals add up over ranks."""
    best, ranks = fit.best, fit.cut.dp
    if signal == "queue":
        # Prompts leave the queue at this pace while the replica works at its limit.
        pace = best.requests_per_s * ranks / max(best.busy, 0.05)
        if demand.ttft_p95_s is None:
            waiting = max(1, round(best.requests_per_s * ranks * _PATIENCE_S))
            return float(waiting), f"{waiting} waiting requests are half a minute of one replica's work"
        waiting = max(1, math.floor(max(0.0, demand.ttft_p95_s - best.ttft.p50) * pace * _EARLY))
        return (
            float(waiting),
            f"{waiting} waiting request{'s' if waiting > 1 else ''} still clear inside the TTFT objective of {demand.ttft_p95_s:g} s at {pace:.1f} prompts a second",
        )
    if signal == "queue_wait":
        return _wait(best.ttft.p50, demand)
    if signal == "request_rate":
        # Scalers count in thousandths.
        target = max(0.001, round(rate / _TOLERANCE, 3))
        return target, f"the {rate:.4g} requests a second that one replica carries, less the 10 % that a scaler waits before it acts"
    if signal == "kv_use":
        return KV_USE, f"above {KV_USE:.0%} of the KV cache new requests push running ones out"
    if signal == "in_flight_tokens":
        running, load = best.concurrency * ranks, demand.load(prefix_caching=prefix_caching)
        # A rank holds the shared prefix once, and each request what is its own: the prompt's rest and on average half its answer.
        shared = load.cached if load.shared is None else load.shared
        tokens = math.floor((running * max(1.0, load.prompt.mean - shared + load.output.mean / 2) + shared * ranks) * _EARLY)
        return float(max(1, tokens)), f"{_EARLY:.0%} of the {running:.0f} requests in flight at which one replica still meets its objectives"
    if signal == "ttft_p95":
        seconds = (demand.ttft_p95_s or best.ttft.p95) * _EARLY
        return round(seconds, 3), f"{_EARLY:.0%} of the TTFT objective, because a new replica takes minutes"
    return _CPU_USE, "percent of the CPU request; only beside another signal"


def _wait(first_s: float, demand: Demand) -> tuple[float, str]:
    """Mean seconds in the queue: 200 ms, or longer where the objective leaves room for it."""
    if demand.ttft_p95_s is None:
        return _PATIENCE_S, f"{_PATIENCE_S:g} s in the queue, since no objective says how soon the first token is due"
    room = round(max(0.0, demand.ttft_p95_s - first_s) * _EARLY / _P95_OVER_MEAN, 3)
    if room <= _WAIT_S:
        return _WAIT_S, f"a mean wait of {_WAIT_S * 1e3:.0f} ms in the queue is felt"
    return (
        room,
        f"a mean wait of {room * 1e3:.0f} ms still keeps the TTFT objective of {demand.ttft_p95_s:g} s, of which the prompt itself takes {first_s:.2g} s",
    )
