"""Budgets and infeasible specs: what binds, and the ways out with their price."""

from __future__ import annotations

import re
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.plan_cost import HOURS_PER_MONTH
from pydantic import ValidationError

from tests.planning.specs import LARGE, model, plan

CONTRACTS = model(
    LARGE, workload={"peak_rps": 6, "input_tokens": {"mean": 4000, "p95": 6000}, "output_tokens": {"mean": 300, "p95": 700}, "shared_prefix_tokens": 3000},
    slo={"ttft_p95": "1.2s", "tpot_p95": "50ms"},
)  # fmt: skip


def refused(models: dict[str, Any], **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        plan(models, **changes)
    return str(caught.value)


def inside(made: DeploymentPlan) -> bool:
    budget = made.cost.budget_usd_per_month
    return budget is None or made.cost.usd_per_month <= budget


def test_a_plan_is_inside_its_budget() -> None:
    """$12,000 a month carry a lighter load of long prompts inside both objectives (the field's second scenario)."""
    made = plan({"qa": {**CONTRACTS, "workload": {**CONTRACTS["workload"], "peak_rps": 1.2}}}, budget={"usd_per_month": 12000})
    pool = made.models["qa"].pools["aggregated"]
    assert inside(made)
    assert pool.ttft_ms.p95 <= 1200 and pool.tpot_ms.p95 <= 50


def test_an_exceeded_budget_names_the_ways_out_with_their_price() -> None:
    """What the objectives cost, what the budget carries at them, and what it gives at this load."""
    text = refused({"qa": CONTRACTS}, budget={"usd_per_month": 12000})
    assert "budget.usd_per_month: budget: the cheapest plan that meets the objectives costs $" in text
    assert "and $12,000 is allowed" in text
    assert re.search(r"raise budget\.usd_per_month to [\d,]+", text)
    assert "within the budget" in text


def test_raising_the_budget_as_told_works() -> None:
    """The price in the message is one that the plan can be had for."""
    text = refused({"qa": CONTRACTS}, budget={"usd_per_month": 12000})
    told = int(re.search(r"raise budget\.usd_per_month to ([\d,]+)", text).group(1).replace(",", ""))  # type: ignore[union-attr]
    assert inside(plan({"qa": CONTRACTS}, budget={"usd_per_month": told + 1}))


def test_a_budget_may_cost_the_published_checkpoint() -> None:
    """A tight budget turns to a precision that needs another checkpoint, and warns; without the budget it does not."""
    free = plan({"qa": model(LARGE)})
    tight = plan({"qa": model(LARGE)}, budget={"usd_per_month": free.cost.usd_per_month * 0.8})
    assert free.models["qa"].weights in {"bf16", "fp8"}
    assert tight.models["qa"].weights in {"awq", "nvfp4"}
    assert tight.cost.usd_per_month < free.cost.usd_per_month
    assert any("into the model store" in text for text in tight.warnings)


def test_only_as_many_models_give_way_as_must() -> None:
    """Of two models the one that saves most changes precision, the other keeps its checkpoint."""
    models = {"small": model(), "large": model(LARGE)}
    free = plan(models)
    tight = plan(models, budget={"usd_per_month": free.cost.usd_per_month * 0.85})
    assert free.models["small"].weights == tight.models["small"].weights
    assert free.models["large"].weights != tight.models["large"].weights


def test_an_impossible_pace_names_tpot() -> None:
    """One millisecond a token: the message names TPOT, the nearest candidate with its number, and the plan without it with its price."""
    text = refused({"m": model(LARGE, slo={"tpot_p95": "1ms"})})
    assert text.startswith("models.m.slo.tpot_p95: TPOT: no candidate carries m")
    assert re.search(r"TPOT p95 is \d+ ms for a lone request; the objective is 1 ms", text)
    told = re.search(r"TPOT p95 ([\d.]+) ms instead of 1 ms: .*? for \$([\d,]+) a month", text)
    assert told
    # The spec with the told objective has a plan at the told price.
    made = plan({"m": model(LARGE, slo={"tpot_p95": f"{told[1]}ms"})})
    assert made.cost.by_pool["m/aggregated"] * HOURS_PER_MONTH == pytest.approx(float(told[2].replace(",", "")), abs=1)


def test_an_impossible_first_token_names_ttft() -> None:
    """One millisecond to the first token."""
    text = refused({"m": model(LARGE, slo={"ttft_p95": "1ms", "tpot_p95": "200ms"})})
    assert "models.m.slo.ttft_p95: TTFT: no candidate carries m" in text
    assert re.search(r"TTFT p95 [\d.]+ s instead of 0\.001 s: .* for \$[\d,]+ a month", text)


def test_a_model_that_fits_nowhere_names_memory() -> None:
    """405B in 16 bit on cards of 24 GB."""
    text = refused({"m": model("meta-llama/Meta-Llama-3.1-405B", quantization="bf16", hardware={"gpus": ["L4"]})})
    assert "memory: no candidate carries m" in text
    assert re.search(r"any hardware: .* for \$[\d,]+ a month", text)


def test_counts_that_hold_too_little_name_their_field() -> None:
    """At most one node where the load needs more."""
    text = refused({"m": model(workload={"peak_rps": 400}, hardware={"instance_types": ["g6.xlarge"]})}, capacity={"max_nodes": 1})
    assert text.startswith("capacity: count:")
    assert "capacity.max_nodes is 1" in text
    assert re.search(r"as many nodes as it takes: \d+ x g6\.xlarge .* for \$[\d,]+ a month", text)


def test_a_load_that_the_budget_carries_is_told_and_can_be_planned() -> None:
    """`X requests/s instead of 6` names the largest load to two figures: planned with the same budget it fits, a tenth more does not."""
    text = refused({"qa": CONTRACTS}, budget={"usd_per_month": 12000})
    told = float(re.search(r"([\d.]+) requests/s instead of 6: .* for \$[\d,]+ a month", text).group(1))  # type: ignore[union-attr]

    def asked(rate: float) -> dict[str, Any]:
        return {"qa": {**CONTRACTS, "workload": {**CONTRACTS["workload"], "peak_rps": rate}}}

    assert inside(plan(asked(told), budget={"usd_per_month": 12000}))
    assert "budget" in refused(asked(told * 1.1), budget={"usd_per_month": 12000})


def test_a_region_that_has_the_cards_is_named_with_its_price() -> None:
    """H200 nodes in Ireland are not offered; the nearest relaxations are other hardware there and a region that has them."""
    text = refused({"m": model(hardware={"instance_types": ["p5en.48xlarge"]})}, cloud={"region": "eu-west-1"})
    assert "offer: no candidate carries m: p5en.48xlarge: not offered in eu-west-1" in text
    assert re.search(r"region us-[a-z]+-\d: 1 x p5en\.48xlarge .* for \$[\d,]+ a month", text)
    assert re.search(r"any hardware: .* for \$[\d,]+ a month", text)


def test_of_two_models_the_dearest_is_asked_to_give() -> None:
    """The load that the money left by the other model carries."""
    text = refused({"qa": CONTRACTS, "chat": model()}, budget={"usd_per_month": 12000})
    assert re.search(r"; qa: [\d.]+ requests/s instead of 6: ", text)


def test_an_unpriced_region_is_named() -> None:
    """A region of which no price is known."""
    assert "cloud.region" in refused({"m": model()}, cloud={"region": "mx-central-9"})


@pytest.mark.parametrize("factor", [1.0, 1.5, 3.0])
def test_the_bill_adds_up(factor: float) -> None:
    """by_pool is the hourly price, a month has 730 hours, and tokens are those of the planned load."""
    work = {"peak_rps": 2 * factor, "input_tokens": {"mean": 800, "p95": 2000}, "output_tokens": {"mean": 200, "p95": 500}}
    cost = plan({"chat": model(workload=work)}).cost
    assert cost.usd_per_hour == pytest.approx(sum(cost.by_pool.values()), abs=1e-3)
    assert cost.usd_per_month == pytest.approx(cost.usd_per_hour * HOURS_PER_MONTH, rel=1e-4)
    # 2 requests/s x (800 + 200) tokens x 3,600 s = 7.2 M tokens an hour, 1.44 M of them output.
    assert cost.usd_per_mtok == pytest.approx(cost.usd_per_hour / (7.2 * factor), rel=1e-3)
    # Input and output prices split the same bill.
    assert cost.usd_per_hour == pytest.approx(cost.usd_per_mtok_input * 5.76 * factor + cost.usd_per_mtok_output * 1.44 * factor, rel=1e-3)
    assert cost.usd_per_mtok_input < cost.usd_per_mtok < cost.usd_per_mtok_output
    assert cost.usd_per_request == pytest.approx(cost.usd_per_hour / (7200 * factor), rel=1e-3)
    assert cost.usd_per_hour <= cost.usd_per_hour_max


def test_the_mean_load_of_the_month_spreads_the_bill() -> None:
    """At half the peak on the mean, the same fleet costs twice as much a token and a request, and half of it is used."""
    load = {"peak_rps": 4, "input_tokens": {"mean": 800}, "output_tokens": {"mean": 200}}
    held, half = (plan({"m": model(workload={**load, **more})}) for more in ({}, {"mean_rps": 2}))
    assert held.cost.usd_per_hour == half.cost.usd_per_hour
    for name in ("usd_per_mtok", "usd_per_mtok_input", "usd_per_mtok_output", "usd_per_request"):
        assert getattr(half.cost, name) == pytest.approx(2 * getattr(held.cost, name), rel=1e-3), name
    assert half.cost.by_model["m"].utilization == pytest.approx(held.cost.by_model["m"].utilization / 2, abs=1e-3)


def test_a_mean_above_the_peak_is_refused() -> None:
    """The mean of a month is at most its busiest hour."""
    with pytest.raises(ValidationError, match="mean_rps 5 is above peak_rps 4"):
        plan({"m": model(workload={"peak_rps": 4, "mean_rps": 5, "input_tokens": {"mean": 800}, "output_tokens": {"mean": 200}})})


@pytest.mark.parametrize(
    ("changes", "field", "told"),
    [({"scaling": {"max": 3}}, "scaling", "scaling.max is 3 replicas"), ({"capacity": {"max_nodes": 1}}, "capacity", "capacity.max_nodes is 1")],
)
def test_a_count_that_is_too_small_is_named_before_cards_that_are_too_slow(changes: dict[str, Any], field: str, told: str) -> None:
    """Where some card keeps the objectives and only the count is too small, the count is what binds, with the price of as many as it takes."""
    load = {"peak_rps": 4000, "input_tokens": {"mean": 800, "p95": 2000}, "output_tokens": {"mean": 200, "p95": 500}}
    with pytest.raises(InputError) as caught:
        plan({"m": model("Qwen/Qwen3-8B", workload=load, slo={"tpot_p95": "50ms"})}, **changes)
    (problem,) = caught.value.problems
    assert field == problem.field
    assert told in problem.message and problem.message.startswith("count: ")
    assert "as many" in problem.fix and "a month" in problem.fix


def test_two_objectives_that_are_both_too_tight_are_moved_together() -> None:
    """Where moving one alone helps nobody, the nearest pair that can be met is offered with its price."""
    text = refused({"m": model(LARGE, slo={"ttft_p95": "20ms", "tpot_p95": "1ms"})})
    assert re.search(r"TTFT p95 [\d.]+ s instead of 0\.02 s and TPOT p95 [\d.]+ ms instead of 1 ms: .* for \$[\d,]+ a month", text)
    assert "without latency objectives" not in text
