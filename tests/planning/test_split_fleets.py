"""Fleets of split pools where the first token is what they are sized by."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from inferform.planning.candidates import find
from inferform.planning.hand_over import hand_over
from inferform.planning.prepare import Prepared, prepare
from inferform.planning.split import Pair, best_split
from inferform.planning.split_fleets import Growth
from inferform.sizing.layouts import planned
from inferform.sizing.search import Choice
from inferform.spec import Disaggregation

from tests.planning.specs import model, spec

# Prompts of 8,000 tokens within 0.2 s: a prefill replica alone takes most of that, so at its full rate it is late.
WORK = {"profile": "batch", "peak_rps": 20, "input_tokens": {"mean": 8000, "p95": 8000}, "output_tokens": {"mean": 2000, "p95": 3000}}
TYPES = ["g7e.48xlarge", "p4d.24xlarge"]
KIND = ("fp8", "bf16")


def prepared(**changes: Any) -> Prepared:
    asked = spec(
        {"m": model("Qwen/Qwen2.5-7B", **{"max_model_len": 22528, "workload": WORK, "slo": {"ttft_p95": "200ms", "tpot_p95": "15ms"}, "hardware": {"instance_types": TYPES}, "nodes": {"efa": True}, **changes})},
        cloud={"provider": "aws", "region": "eu-central-1"},
    )  # fmt: skip
    return prepare("m", asked.models["m"], asked)


def cost(one: Prepared, ratio: Disaggregation | None, ceiling: float = math.inf) -> float:
    options, _ = best_split(one, KIND, ratio, ceiling)
    return math.inf if options is None else sum(o.usd_per_hour for o in options.values())


@pytest.fixture(scope="module")
def one() -> Prepared:
    return prepared()


def test_no_ratio_is_cheaper_than_the_free_one(one: Prepared) -> None:
    """Fleets that the plan finds by itself cost at most what they do in any ratio asked for, and so many are compared that one matters."""
    free = cost(one, None)
    asked = [cost(one, Disaggregation(prefill=p, decode=d)) for p, d in ((1, 2), (1, 4), (2, 3))]
    assert free < math.inf
    assert free <= min(asked) + 1e-6


def test_fleets_equal_those_of_every_size_tried(one: Prepared) -> None:
    """Each pair with up to 24 more nodes in either pool, tried one by one: none in time is cheaper, and the pair's own need is not in time."""
    every = {role: find(one, one.demand_of(role), KIND, keep=None, every=True).choices for role in ("prefill", "decode")}

    def seconds(choice: Choice, role: str, nodes: int) -> float:
        replicas = choice.fleet.replicas[1] + nodes * choice.fleet.replicas_per_node
        point = planned(choice.fit, one.demand_of(role), one.engine, one.demand.requests_per_s / replicas / choice.dp)
        return point.ttft.p95 if role == "prefill" else point.tpot.p50

    more = range(25)
    cheapest, grown = math.inf, False
    pairs = [Pair(p, d) for p, d in product(every["prefill"], every["decode"]) if p.fit.cut.weights == d.fit.cut.weights]
    for pair in sorted((p for p in pairs if p.fits()), key=Pair.least_usd_per_hour):
        if pair.least_usd_per_hour() >= cheapest:
            break
        left = 0.2 - hand_over(one, pair.prefill, pair.decode).seconds
        prompts, steps = ([seconds(choice, role, n) for n in more] for role, choice in pair.by_role().items())
        unit = [choice.usd_per_hour / choice.fleet.nodes[1] for choice in (pair.prefill, pair.decode)]
        for a, b in product(more, more):
            usd = pair.least_usd_per_hour() + a * unit[0] + b * unit[1]
            if usd < cheapest and prompts[a] + steps[b] <= left:
                cheapest, grown = usd, a + b > 0
    assert grown
    assert cost(one, None) == pytest.approx(cheapest)


def test_a_grown_fleet_has_the_same_load_a_replica_in_a_burst() -> None:
    """Three times the steady replicas are three times the replicas at most, and never fewer than half of the steady ones stay."""
    one = prepared(workload={**WORK, "burst": 2.0})
    prefill, decode = (find(one, one.demand_of(role), ("fp8",), keep=1).choices[0] for role in ("prefill", "decode"))
    pools = {"prefill": prefill, "decode": decode}
    found = Growth(one, None).cheapest(pools, None, math.inf)
    assert found is not None
    assert found[1]["prefill"].fleet.replicas[1] > prefill.fleet.replicas[1]
    for role, choice in found[1].items():
        own, grown = pools[role].fleet, choice.fleet
        assert grown.replicas[2] / grown.replicas[1] >= own.replicas[2] / own.replicas[1] - 1e-9
        assert grown.replicas[0] >= grown.replicas[1] / 2
        assert grown.nodes[1] * grown.replicas_per_node == grown.replicas[1]


def test_what_no_fleet_brings_in_time_is_left(one: Prepared) -> None:
    """A ceiling below the grown fleet gives none, nor does an objective that a lone request misses."""
    assert math.inf == cost(one, None, ceiling=cost(one, None) - 0.01)
    assert math.inf == cost(prepared(slo={"ttft_p95": "30ms", "tpot_p95": "15ms"}), None)
