"""Prefill and decode pools chosen together."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.plan_cost import HOURS_PER_MONTH
from inferform.planning.candidates import find
from inferform.planning.hand_over import hand_over
from inferform.planning.prepare import Prepared, prepare
from inferform.planning.split import best_split
from inferform.render import render
from inferform.sizing.layouts import planned
from inferform.sizing.search import Choice

from tests.planning.specs import SMALL, model, plan, spec

# Long prompts and a quick pace: a prompt beside running streams slows them, so that many aggregated replicas are needed.
WORK = {"peak_rps": 20, "input_tokens": {"mean": 8000, "p95": 8000}, "output_tokens": {"mean": 200, "p95": 200}}
CARDS = ["L40S", "H100", "RTX-PRO-6000-BSE", "A100-40GB"]


def long_prompts(**changes: Any) -> dict[str, Any]:
    return model(SMALL, **{"max_model_len": 32768, "workload": WORK, "slo": {"ttft_p95": "3s", "tpot_p95": "15ms"}, "quantization": "fp8", **changes})


def prepared(**changes: Any) -> Prepared:
    asked = spec({"m": long_prompts(hardware={"gpus": CARDS}, **changes)})
    return prepare("m", asked.models["m"], asked)


def test_the_pair_is_the_cheapest_of_all_pairs() -> None:
    """Every layout of every type for each role, every pair that fits by degree and first token: none is cheaper."""
    one = prepared()
    options, _ = best_split(one, ("fp8",), None, float("inf"))
    assert options is not None
    every = {role: find(one, one.demand_of(role), ("fp8",), keep=None, every=True).choices for role in ("prefill", "decode")}

    def first_s(prefill: Choice, decode: Choice) -> float:
        rate = one.demand.requests_per_s
        prompt = planned(prefill.fit, one.demand_of("prefill"), one.engine, rate / prefill.fleet.replicas[1] / prefill.dp)
        pace = planned(decode.fit, one.demand_of("decode"), one.engine, rate / decode.fleet.replicas[1] / decode.dp)
        return prompt.ttft.p95 + hand_over(one, prefill, decode).seconds + pace.tpot.p50

    fits = [
        p.usd_per_hour + d.usd_per_hour
        for p, d in product(every["prefill"], every["decode"])
        if d.fit.cut.tp % p.fit.cut.tp == 0 and p.fleet.nodes_per_replica == d.fleet.nodes_per_replica == 1 and first_s(p, d) <= 3.0
    ]
    assert min(fits) == pytest.approx(sum(o.usd_per_hour for o in options.values()))


def test_the_cache_goes_over_one_network_card_without_efa() -> None:
    """131,072 bytes a token are 1.05 GB for 8,000: 120 ms at 70 % of 12.5 GB/s, the one card of a p4d that TCP takes.

    With EFA on there are four.
    """
    made = {}
    for efa in ("auto", True):
        one = prepared(quantization="bf16", nodes={"efa": efa})
        prefill = next(c for c in find(one, one.demand_of("prefill"), ("bf16",), keep=None, every=True).choices if c.instance.name == "p4d.24xlarge")
        alone = replace(prefill, fleet=replace(prefill.fleet, replicas_per_node=1))
        made[efa] = hand_over(one, alone, alone)
    assert made["auto"].seconds == pytest.approx(131_072 * 8000 / (12.5e9 * 0.7))
    assert made[True].seconds == pytest.approx(made["auto"].seconds / 4)
    assert ("one network card of 100 Gbit/s a node, without EFA", "EFA, 400 Gbit/s a node") == (made["auto"].over, made[True].over)


def test_the_cards_that_the_hand_over_counts_on_are_told() -> None:
    """The plan has no EFA by itself, and the line about the split says so."""
    chosen = plan({"m": long_prompts()}).models["m"]
    assert all(pool.infrastructure.efa is None for pool in chosen.pools.values())
    assert "without EFA" in next(line for line in chosen.why if line.startswith("prefill and decode apart"))


def test_a_large_fleet_of_long_prompts_is_split_where_it_saves() -> None:
    """The plan turns to two pools by itself, says what that saves, keeps the objectives with the hand-over counted, and can be rendered."""
    made = plan({"m": long_prompts()})
    chosen = made.models["m"]
    assert ("disaggregated", "vllm-router") == (chosen.topology, chosen.disaggregation)
    prefill, decode = chosen.pools["prefill"], chosen.pools["decode"]
    assert 0 == decode.tp % prefill.tp
    assert prefill.ttft_ms.p95 <= 3000 and decode.tpot_ms.p95 <= 15
    told = next(line for line in chosen.why if line.startswith("prefill and decode apart"))
    assert "a month less than" in told and "of the first token's time" in told
    together = plan({"m": long_prompts(topology="aggregated")})
    assert made.cost.usd_per_month < 0.92 * together.cost.usd_per_month
    assert render(made)


def test_small_fleets_and_fast_ones_stay_together() -> None:
    """Few replicas are never split, nor is what may go to zero."""
    assert "aggregated" == plan({"m": long_prompts(workload={**WORK, "peak_rps": 1})}).models["m"].topology
    assert "aggregated" == plan({"m": long_prompts()}, scaling={"min": 0}).models["m"].topology


def test_what_a_split_would_save_a_small_fleet_is_named() -> None:
    """Three replicas stay together; the pools that cost a tenth less are named, and asking for their ratio gives that price."""
    work = {**WORK, "peak_rps": 4}
    together = plan({"m": long_prompts(workload=work)})
    chosen = together.models["m"]
    assert ("aggregated", 3) == (chosen.topology, chosen.pools["aggregated"].replicas.steady)
    told = next(row for row in chosen.rejected if row.candidate.startswith("prefill "))
    p, d = (int(n) for n in re.findall(r"(?:prefill|decode): (\d+)", told.reason))
    asked = plan({"m": long_prompts(workload=work, topology={"prefill": p, "decode": d})})
    assert "disaggregated" == asked.models["m"].topology
    saved = (together.cost.usd_per_hour - asked.cost.usd_per_hour) * HOURS_PER_MONTH
    assert f"${saved:,.0f} a month less" in told.reason


def test_a_looser_pace_is_not_dearer() -> None:
    """Seven replicas together would cost 15 % more than two pools, which a pace of 20 ms turns to anyway."""
    work = {"peak_rps": 5, "input_tokens": {"mean": 16000, "p95": 16000}, "output_tokens": {"mean": 800, "p95": 1600}, "shared_prefix_tokens": 3200}
    cards = {"instance_types": ["g7e.12xlarge", "g7e.48xlarge", "p4d.24xlarge"]}
    quick, slower = (
        plan(
            {"m": model("Qwen/Qwen2.5-7B", max_model_len=35840, workload=work, slo={"ttft_p95": "500ms", "tpot_p95": tpot}, hardware=cards)},
            cloud={"provider": "aws", "region": "eu-central-1"},
        ).cost.usd_per_hour
        for tpot in ("20ms", "25ms")
    )
    assert slower <= quick + 1e-6


def test_an_asked_ratio_is_kept_and_priced_together() -> None:
    """1 to 1 where prefill needs more: both pools grow to whole groups, which costs at least what the free ratio does."""
    free, asked = (plan({"m": long_prompts(**t)}) for t in ({}, {"topology": {"prefill": 1, "decode": 1}}))
    pools = asked.models["m"].pools
    assert pools["prefill"].replicas == pools["decode"].replicas
    assert asked.cost.usd_per_hour >= free.cost.usd_per_hour - 1e-6


def test_an_impossible_split_names_what_binds() -> None:
    """A first token within 50 ms is too short for prompt and hand-over."""
    with pytest.raises(InputError, match=r"TTFT"):
        plan({"m": long_prompts(topology={"prefill": 1, "decode": 1}, slo={"ttft_p95": "50ms", "tpot_p95": "15ms"})})
