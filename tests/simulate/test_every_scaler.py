"""Every kind of scaler that is rendered, for every engine, role and topology, at work on the pool that was planned for it.

Plans come from the planner, objects and adapter rules from the renderer, so that a threshold, a query or a metric name that fits
nothing shows as flapping, as a late reaction, or as a metric without a value.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import yaml
from inferform.plan import DeploymentPlan
from inferform.render import render
from inferform.simulate import arrivals
from inferform.simulate.fleet import Pool, pool_of
from inferform.simulate.run import Phases, Trace, run

from tests.planning.specs import SMALL, model, plan

LOAD = {"burst": 3.0, "peak_rps": 30}
LONG = {"peak_rps": 20, "burst": 2.0, "input_tokens": {"mean": 8000, "p95": 8000}, "output_tokens": {"mean": 200, "p95": 200}}
SPLIT: dict[str, Any] = {"max_model_len": 32768, "workload": LONG, "slo": {"ttft_p95": "3s", "tpot_p95": "15ms"}, "quantization": "fp8"}
EVERY = [{"signal": s} for s in ("queue", "queue_wait", "request_rate", "kv_use", "in_flight_tokens", "ttft_p95")]
SPECS: dict[str, dict[str, Any]] = {
    "vllm": model(workload=LOAD),
    "sglang": model(engine="sglang", workload=LOAD),
    "tensorrt-llm": model(engine="tensorrt-llm", workload=LOAD),
    "every-signal": model(workload=LOAD, scaling={"keda": {"triggers": EVERY}}),
    "data-parallel": model(parallelism={"tp": 1, "dp": 2}, workload=LOAD, hardware={"instance_types": ["g6e.48xlarge"]}),
    "experts": model("openai/gpt-oss-120b", parallelism={"tp": 1, "dp": 2, "ep": 2}, workload={**LOAD, "peak_rps": 60}),
    "two-nodes": model(
        "meta-llama/Meta-Llama-3.1-405B", parallelism={"tp": 8, "pp": 2}, workload={**LOAD, "peak_rps": 6}, slo={"ttft_p95": "5s", "tpot_p95": "100ms"}
    ),
    "batch": model(workload={**LOAD, "profile": "batch"}, slo={}),
    "embeddings": model(
        "BAAI/bge-large-en-v1.5",
        max_model_len=512,
        workload={"burst": 3.0, "peak_rps": 3000, "input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}},
    ),
    "router": model(SMALL, **SPLIT, topology={"prefill": 2, "decode": 1}),
    "dynamo": model(SMALL, **SPLIT, topology={"prefill": 2, "decode": 1, "runtime": "dynamo"}, engine_version="0.31.0"),
}
POOLS = [(name, role) for name in SPECS for role in (("prefill", "decode") if name in ("router", "dynamo") else ("aggregated",))]
KINDS = ("keda", "hpa")


@cache
def planned(name: str, kind: str) -> DeploymentPlan:
    """The plan with that kind of scaler; an HPA takes the signals that were planned for KEDA."""
    made = plan({"m": SPECS[name]})
    if kind == "keda":
        return made
    data = made.model_dump(mode="json")
    for pool in data["models"]["m"]["pools"].values():
        pool["scaling"]["kind"] = kind
    return DeploymentPlan.model_validate(data)


@cache
def rendered(name: str, kind: str) -> dict[str, str]:
    return render(planned(name, kind))


def trial(name: str, role: str, kind: str) -> tuple[dict[str, Any], dict[str, Any], Pool, int, int]:
    """(scaler, adapter values, pool, fewest, most replicas)."""
    files, made = rendered(name, kind), planned(name, kind)
    scaling = made.models["m"].pools[role].scaling
    # The workload's own lengths; the served context says too much where it is long.
    work = SPECS[name]["workload"]
    tokens = work["input_tokens"]["mean"] + work["output_tokens"]["mean"] / 2
    pool = pool_of(made, "m", role, tokens_per_request=tokens)
    adapter = yaml.safe_load(files.get("scaling/prometheus-adapter-values.yaml", "{}"))
    return yaml.safe_load(files[f"scaling/m-{role}.yaml"]), adapter, pool, scaling.min, scaling.max


def silent(trace: Trace) -> list[str]:
    """Reasons that tell of a metric without a value, once everything was scraped twice."""
    return [m.reason for m in trace.moments[4:] if any(word in m.reason for word in ("no value", "no series", "empty", "elements", "no pod reports"))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "role"), POOLS)
def test_a_noisy_constant_load_turns_nothing(name: str, role: str, kind: str) -> None:
    """No change of direction in an hour and a half, after half an hour to settle, at two loads; every metric has a value all the time."""
    item, adapter, pool, least, most = trial(name, role, kind)
    for share in (0.45, 0.85):
        busy = max(least, most * share) * 0.9
        load = arrivals.noisy(arrivals.constant(busy * pool.rate), seed=3)
        trace = run(item, pool, load, 120, replicas=max(least, round(busy + 0.5)), adapter=adapter)
        assert [] == silent(trace)[:1]
        settled = Trace(trace.moments, tuple(d for d in trace.decisions if d.at_s > 1800), trace.arrived, trace.lost)
        assert 0 == settled.turns, trace


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "role"), POOLS)
def test_a_step_is_answered_within_a_minute(name: str, role: str, kind: str) -> None:
    """From what the fewest replicas carry to twice that: more are asked for in less than 60 s, at whichever moment between two scrapes."""
    item, adapter, pool, least, _ = trial(name, role, kind)
    for at_s, sync_s in ((600, 9), (601, 5)):
        load = arrivals.step(0.75 * least * pool.rate, 2 * least * pool.rate, at_s)
        wait = run(item, pool, load, 13, replicas=least, adapter=adapter, phases=Phases(sync_s=sync_s)).first_rise_s(at_s)
        assert wait is not None and wait < 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "role"), POOLS)
def test_a_dip_of_five_minutes_takes_nothing(name: str, role: str, kind: str) -> None:
    """All replicas that the load needs stay while it falls to a tenth for five minutes, and for ten minutes after."""
    item, adapter, pool, _, most = trial(name, role, kind)
    load = arrivals.noisy(arrivals.dip(0.92 * most * pool.rate, 0.09 * most * pool.rate, 1500, 1800), seed=2)
    assert most == run(item, pool, load, 40, replicas=most, adapter=adapter).least(1500, 2400)


@pytest.mark.parametrize("kind", KINDS)
def test_a_backlog_is_answered_with_the_count_that_it_needs(kind: str) -> None:
    """Five times the load of the fewest replicas for a minute: one decision, and not one replica after another, asks for what the backlog over its threshold needs."""
    item, adapter, pool, least, most = trial("vllm", "aggregated", kind)
    trace = run(item, pool, arrivals.step(0.5 * least * pool.rate, 5 * least * pool.rate, 1800), 40, replicas=least, adapter=adapter)
    rise = next(d for d in trace.decisions if d.at_s >= 1800)
    assert least < rise.after - 2
    assert most == max(d.after for d in trace.decisions if d.at_s < 1800 + 120)


@pytest.mark.parametrize("name", ["router", "dynamo"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_pool_follows_its_counterpart_within_the_band(name: str, kind: str) -> None:
    """Without load of its own a prefill pool keeps three quarters of its planned share of the decode replicas, rounded down.

    16 for 8 at the most decode replicas is 12; a count within 10 % of that is left alone, so it rests at 13.
    """
    item, adapter, pool, least, most = trial(name, "prefill", kind)
    pools = planned(name, kind).models["m"].pools
    assert (8, 4, 8) == (pools["prefill"].replicas.steady, pools["decode"].replicas.steady, pools["decode"].replicas.max)
    beside = replace(pool, neighbours=(("m-decode", 8),))
    idle = arrivals.constant(0.01)
    assert (8, 13) == (least, run(item, beside, idle, 60, replicas=most, adapter=adapter).moments[-1].desired)
    assert 12 == run(item, beside, idle, 10, replicas=least, adapter=adapter).moments[-1].desired
    assert 8 == run(item, pool, idle, 60, replicas=most, adapter=adapter).moments[-1].desired


def test_known_traffic_finds_its_replicas_ready() -> None:
    """From 08:00 in Berlin, 07:00 UTC in January, the steady fleet stands ready, loaded minutes before; after 18:00 it goes back to the fewest.

    The lead is eleven minutes or so: a node's start and the cold start. Outside the window nothing is held.
    """
    day = {"timezone": "Europe/Berlin", "windows": {"day": {"days": ["mon"], "start": "08:00", "end": "18:00"}}}
    made = plan({"m": model(workload={**LOAD, "schedule": day})})
    own = made.models["m"].pools["aggregated"]
    item = yaml.safe_load(render(made)["scaling/m-aggregated.yaml"])
    (cron,) = [t for t in item["spec"]["triggers"] if t["type"] == "cron"]
    assert ("Europe/Berlin", str(own.replicas.steady), "0 18 * * 1") == tuple(cron["metadata"][key] for key in ("timezone", "desiredReplicas", "end"))
    trace = run(item, pool_of(made, "m", "aggregated"), arrivals.constant(0.1), 24 * 60, replicas=own.scaling.min)
    ready = {m.at_s // 3600: m.ready for m in trace.moments if m.at_s % 3600 < 15}
    assert [own.replicas.min] * 7 == [ready[hour] for hour in range(7)]
    assert [own.replicas.steady] * 10 == [ready[hour] for hour in range(7, 17)]
    assert [own.replicas.min] * 6 == [ready[hour] for hour in range(18, 24)]


def test_at_zero_a_window_wakes_the_pool() -> None:
    """min 0: nothing runs at night, and the steady fleet stands ready in the window without one request."""
    made = plan({"m": model(workload={**LOAD, "schedule": {"windows": {"day": {"start": "08:00", "end": "18:00"}}}}, scaling={"min": 0})})
    own = made.models["m"].pools["aggregated"]
    item = yaml.safe_load(render(made)["scaling/m-aggregated.yaml"])
    trace = run(item, pool_of(made, "m", "aggregated"), arrivals.constant(0), 24 * 60, replicas=0)
    ready = {m.at_s // 3600: m.ready for m in trace.moments if m.at_s % 3600 < 15}
    assert [0, 0, own.replicas.steady, own.replicas.steady, 0] == [ready[hour] for hour in (1, 6, 8, 17, 20)]
