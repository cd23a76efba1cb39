"""The decision told: second best, what would be cheaper and by how much, memory, curve."""

from __future__ import annotations

import pytest
from inferform.plan_cost import HOURS_PER_MONTH
from inferform.planner import Explanation, explain

from tests.planning.specs import LARGE, SMALL, model, plan, spec


def told(**changes: object) -> Explanation:
    return explain(spec({"m": model(SMALL, **changes)}))[1]


def test_the_second_best_stands_with_its_difference() -> None:
    """The plan's price, the next candidate's, and the difference between the two."""
    made, explanation = explain(spec({"m": model(LARGE)}))
    one = explanation.models["m"]
    assert one.chosen.usd_per_month == pytest.approx(made.cost.by_pool["m/aggregated"] * HOURS_PER_MONTH, abs=0.02)
    assert one.second is not None and one.second_costs_more_usd_per_month is not None
    assert one.second.usd_per_month == pytest.approx(one.chosen.usd_per_month + one.second_costs_more_usd_per_month, abs=0.02)
    assert one.second_costs_more_usd_per_month >= 0
    assert one.candidates > one.instance_types > 20


def test_what_would_be_cheaper_is_cheaper_when_it_is_set() -> None:
    """A spec changed as `cheaper_if` says has a plan at the told price."""
    made, explanation = explain(spec({"m": model(LARGE, quantization="bf16", workload={"peak_rps": 4}, slo={"ttft_p95": "0.6s", "tpot_p95": "30ms"})}))
    ways = {way.field: way for way in explanation.models["m"].cheaper_if}
    assert ways
    before = made.cost.by_pool["m/aggregated"] * HOURS_PER_MONTH
    for way in ways.values():
        assert way.usd_per_month < before
        assert way.saves_usd_per_month == pytest.approx(before - way.usd_per_month, abs=0.05)
    way = ways["models.m.slo.tpot_p95"]
    moved = way.change.split(" instead of ")[0].removeprefix("TPOT p95 ").replace(" ", "")
    after = plan({"m": model(LARGE, quantization="bf16", workload={"peak_rps": 4}, slo={"ttft_p95": "0.6s", "tpot_p95": moved})})
    assert way.usd_per_month == pytest.approx(after.cost.by_pool["m/aggregated"] * HOURS_PER_MONTH, abs=0.05)


def test_no_lever_takes_credit_for_another_checkpoint() -> None:
    """A looser objective or cache that leaves the published checkpoint where it is saves what the planner then saves, not what a quantized one would."""
    load = {"peak_rps": 2, "input_tokens": {"mean": 2500, "p95": 5000}, "output_tokens": {"mean": 300, "p95": 700}}
    chat = {"workload": load, "slo": {"ttft_p95": "2s", "tpot_p95": "60ms"}}
    _, explanation = explain(spec({"m": model(LARGE, **chat)}))
    ways = explanation.models["m"].cheaper_if
    assert any(way.field.endswith("quantization") for way in ways)
    for way in ways:
        change = way.change.split(" instead of ")[0]
        if way.field.endswith(("ttft_p95", "tpot_p95")):
            name, value = change.split(" p95 ")
            moved = {**chat, "slo": {**chat["slo"], f"{name.lower()}_p95": value.replace(" ", "")}}
        elif way.field.endswith("kv_cache"):
            moved = {**chat, "kv_cache": "fp8"}
        else:
            continue
        after = plan({"m": model(LARGE, **moved)})
        got = sum(usd for name, usd in after.cost.by_pool.items() if name.startswith("m/")) * HOURS_PER_MONTH
        assert way.usd_per_month == pytest.approx(got, abs=0.05), way.change


def test_spot_behind_a_floor_is_told_and_never_alone() -> None:
    """A fleet of several nodes would be cheaper on spot with one node on demand; a single node has nothing to move."""
    ways = [w for w in told(workload={"peak_rps": 40}, hardware={"gpus": ["L4"]}).models["m"].cheaper_if if w.field == "capacity.purchase"]
    assert ["spot with an on-demand floor of 1"] == [w.change for w in ways]
    assert not any("spot" in w.change for w in told(workload={"peak_rps": 0.1}, hardware={"gpus": ["H100"]}).models["m"].cheaper_if)


def test_memory_adds_up_to_the_device() -> None:
    """Weights, activations, runtime, KV cache and what is kept free are the whole GPU."""
    (bar,) = told().models["m"].memory
    assert bar.device_bytes == sum(bar.parts.values())
    assert ["weights", "activations", "runtime", "KV cache", "kept free"] == list(bar.parts)


def test_the_curve_holds_the_planned_point() -> None:
    """Latency rises with load, the planned point stands inside the objectives, and what is beyond the last good point misses one."""
    (curve,) = told().models["m"].curves
    assert [p.requests_per_s for p in curve.points] == sorted(p.requests_per_s for p in curve.points)
    assert curve.ttft_p95_s is not None and curve.tpot_p95_s is not None
    assert curve.planned.ttft_p95_s <= curve.ttft_p95_s and curve.planned.tpot_p95_s <= curve.tpot_p95_s
    assert curve.planned.requests_per_s <= curve.most.requests_per_s
    beyond = [p for p in curve.points if p.requests_per_s > curve.most.requests_per_s * 1.04]
    assert all(p.ttft_p95_s > curve.ttft_p95_s * 0.98 or p.tpot_p95_s > curve.tpot_p95_s * 0.98 for p in beyond)


def test_a_checkpoint_over_the_budget_is_told() -> None:
    """Where the budget turned to another precision, what the published checkpoint would cost is among what was not chosen."""
    free = plan({"m": model(LARGE)})
    _, explanation = explain(spec({"m": model(LARGE)}, budget={"usd_per_month": free.cost.usd_per_month * 0.8}))
    assert "budget: runs the checkpoint as published for $" in explanation.models["m"].rejected[0].reason


def test_explaining_changes_no_plan() -> None:
    """The plan is the one that `size` makes."""
    assert plan({"m": model(LARGE)}) == explain(spec({"m": model(LARGE)}))[0]
