"""Queueing formulas by hand and against the event simulation."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model
from inferform.sizing.lengths import Lengths
from inferform.sizing.queueing import Limits, Load, decode_s, highest_rate, open_loop, prompt_cost
from inferform.sizing.roofline import Layout, Link, StepCosts, step_costs, step_s

from tests.sizing.simulation import Seen, simulate

LIMITS = Limits(256, 4096, 1e7)


def costs(model: str = "meta-llama/Meta-Llama-3.1-8B", gpu: str = "H100", *, link: Link = "none", tp: int = 1, pp: int = 1, weights: str = "bf16") -> StepCosts:
    return step_costs(find_model(model), Layout(find_gpu(gpu), link, tp, pp, weights, "auto", "vllm"))


def test_lognormal_lengths_keep_mean_and_tail() -> None:
    """mean 4,000 and p95 6,000: sigma = 1.645 - sqrt(1.645^2 - 2 ln 1.5) = 0.2676, and the 95th percentile comes out as 6,000."""
    lengths = Lengths(4000, 6000)
    assert lengths.shape.sigma == pytest.approx(0.2676, abs=1e-3)
    assert lengths.at(1.645) == pytest.approx(6000, rel=1e-6)
    assert Lengths(500, 500).at(2.0) == 500


@pytest.mark.parametrize("ratio", [1.0, 2.0, 3.8, 3.9, 4.5, 5.5, 5.7, 8.0, 12.0, 16.0])
def test_any_tail_keeps_mean_and_95th_percentile(ratio: float) -> None:
    """Also above 3.87 x the mean, where no lognormal distribution has both: mean, 95th percentile and variance of a million equal slices are as stated."""
    lengths, normal = Lengths(500, 500 * ratio), NormalDist()
    drawn = [lengths.at(normal.inv_cdf((n + 0.5) / 200_000)) for n in range(200_000)]
    mean = sum(drawn) / len(drawn)
    assert lengths.at(1.645) == pytest.approx(500 * ratio, rel=1e-6)
    assert mean == pytest.approx(500, rel=5e-3)
    assert 1 + lengths.variation == pytest.approx(sum(x * x for x in drawn) / len(drawn) / mean**2, rel=0.15 if 3 < ratio < 4 else 0.02)


def test_a_heavier_tail_is_seen_in_the_first_token() -> None:
    """Prompts of 500 tokens on average: with a 95th percentile of 3,000, then 5,000, the 95th percentile of the first token grows."""
    times = [
        point.ttft.p95
        for p95 in (1935, 3000, 5000, 8000)
        if (point := open_loop(costs(gpu="L4", weights="fp8"), LIMITS, Load(Lengths(500, p95), Lengths(100, 200), 0), requests_per_s=0.5, host_s=0)) is not None
    ]
    assert 4 == len(times)
    assert all(later > 1.2 * earlier for earlier, later in pairwise(times))


def test_no_request_is_longer_than_the_context() -> None:
    """Quantiles end at the longest that is admitted."""
    assert (4000, 3000) == (Lengths(2000, 4000, 4000).at(3.0), Lengths(2000, 4000, 3000).at(1.645))


def test_prompt_in_chunks_takes_whole_steps() -> None:
    """A prompt of 10,000 tokens with a budget of 4,096 takes three steps of a third each."""
    c = costs()
    cost = prompt_cost(c, 10_000, 0, decode=0, context=0, step_tokens=4096)
    one = step_s(c, decode=0, context=0, prompt=10_000 / 3, prompt_context=5000, prompts=1 / 3)
    assert 3 == cost.steps
    assert cost.first_s == pytest.approx(3 * one)


def test_chunks_follow_each_other_through_the_stages() -> None:
    """With two stages a three-chunk prompt needs four steps to its first token, and three of each stage."""
    cost = prompt_cost(costs(pp=2), 10_000, 0, decode=0, context=0, step_tokens=4096)
    assert cost.first_s / cost.stage_s == pytest.approx(4 / 3)


def test_cached_prefix_saves_the_products() -> None:
    """3,000 of 4,000 prompt tokens from the cache leave about a quarter of the time."""
    c = costs()
    whole, rest = (prompt_cost(c, 4000, cached, decode=0, context=0, step_tokens=8192).first_s for cached in (0, 3000))
    assert 0.2 < rest / whole < 0.4


def test_a_replica_that_cannot_keep_up_has_no_point() -> None:
    """More prompts than the card computes give None, not a large number."""
    assert open_loop(costs(), LIMITS, Load(Lengths(8000, 8000), Lengths(10, 10), 0), requests_per_s=50, host_s=0) is None


@settings(max_examples=25, deadline=None)
@given(st.integers(100, 6000), st.integers(2, 800), st.floats(0.05, 0.9))
def test_more_load_is_never_faster(prompt: int, output: int, share: float) -> None:
    """Latencies grow with the arrival rate."""
    load = Load(Lengths(prompt, 2 * prompt), Lengths(output, 2 * output), 0)
    best = highest_rate(costs(), LIMITS, load, ttft_p95_s=20, tpot_p95_s=0.5, host_s=0)
    assert best is not None
    low, high = (open_loop(costs(), LIMITS, load, requests_per_s=best.requests_per_s * f, host_s=0) for f in (share * 0.9, share))
    assert low is not None and high is not None
    assert low.tpot.p95 <= high.tpot.p95 * 1.005
    assert low.ttft.p95 <= high.ttft.p95 * 1.02


@pytest.mark.parametrize(("ttft", "tpot"), [(0.5, 0.03), (2.0, 0.1), (None, 0.05), (1.0, None)])
def test_the_highest_rate_meets_the_objectives_and_a_little_more_does_not(ttft: float | None, tpot: float | None) -> None:
    """The rate found is inside both objectives; 3 % above it one of them is missed."""
    load = Load(Lengths(2000, 4000), Lengths(200, 400), 0)

    def inside(rate: float) -> bool:
        point = open_loop(costs(), LIMITS, load, requests_per_s=rate, host_s=0.02)
        return point is not None and (ttft is None or point.ttft.p95 <= ttft * 1.005) and (tpot is None or point.tpot.p95 <= tpot * 1.005)

    best = highest_rate(costs(), LIMITS, load, ttft_p95_s=ttft, tpot_p95_s=tpot, host_s=0.02)
    assert best is not None
    assert inside(best.requests_per_s)
    assert not inside(best.requests_per_s * 1.03)


CASES = {
    "70B, shared prefix": ("meta-llama/Llama-3.3-70B-Instruct", "H100", "nvswitch", 4, "fp8", Load(Lengths(4000, 6000), Lengths(300, 700), 2992.0)),
    "8B on a small card": ("meta-llama/Meta-Llama-3.1-8B", "L4", "none", 1, "fp8", Load(Lengths(800, 2000), Lengths(250, 600), 0.0)),
    "8B, long prompts and short answers": ("meta-llama/Meta-Llama-3.1-8B", "H100", "none", 1, "bf16", Load(Lengths(4000, 9000), Lengths(50, 100), 0.0)),
    "70B, long prompts": ("meta-llama/Llama-3.3-70B-Instruct", "H100", "nvswitch", 4, "fp8", Load(Lengths(8000, 16000), Lengths(200, 400), 0.0)),
    "70B, fixed lengths": ("meta-llama/Llama-3.3-70B-Instruct", "H100", "nvswitch", 8, "fp8", Load(Lengths(3000, 3000), Lengths(150, 150), 0.0)),
    "8B, mostly prompts": ("meta-llama/Meta-Llama-3.1-8B", "H100", "none", 1, "bf16", Load(Lengths(2000, 5000), Lengths(100, 200), 0.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("share", [0.3, 0.7, 0.85])
def test_formulas_agree_with_the_event_simulation(case: str, share: float) -> None:
    """TPOT p50 within 15 %, TTFT p50 within 30 %, both p95 within 28 % of a simulated replica, at light, planned and heavy load."""
    model, gpu, link, tp, weights, load = CASES[case]
    c = costs(model, gpu, link=link, tp=tp, weights=weights)  # type: ignore[arg-type]
    best = highest_rate(c, LIMITS, load, ttft_p95_s=2.0, tpot_p95_s=0.1, host_s=0)
    assert best is not None
    rate = best.requests_per_s * share
    formula = open_loop(c, LIMITS, load, requests_per_s=rate, host_s=0)
    seen = simulate(c, LIMITS, load, requests_per_s=rate, requests=6000, seed=5)
    assert formula is not None
    for value, simulated, band in (
        (formula.ttft.p50, Seen.quantile(seen.ttft, 0.5), 0.3),
        (formula.ttft.p95, Seen.quantile(seen.ttft, 0.95), 0.28),
        (formula.tpot.p50, Seen.quantile(seen.tpot, 0.5), 0.15),
        (formula.tpot.p95, Seen.quantile(seen.tpot, 0.95), 0.28),
    ):
        assert abs(math.log(value / simulated)) < math.log(1 / (1 - band)), (value, simulated)


@pytest.mark.slow
@pytest.mark.parametrize("p95", [4500, 8000])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.85])
def test_heavy_tails_stay_within_what_the_plan_warns_of(p95: int, share: float) -> None:
    """Prompts whose 95th percentile is 4.5 or 8 means: TTFT p95 within a factor of 1.8 of a simulated replica, TPOT p50 of 1.4."""
    c, load = costs(), Load(Lengths(1000, p95), Lengths(200, 400), 0.0)
    best = highest_rate(c, LIMITS, load, ttft_p95_s=2.0, tpot_p95_s=0.1, host_s=0)
    assert best is not None
    formula = open_loop(c, LIMITS, load, requests_per_s=best.requests_per_s * share, host_s=0)
    seen = simulate(c, LIMITS, load, requests_per_s=best.requests_per_s * share, requests=6000, seed=5)
    assert formula is not None
    assert 1 / 1.8 < formula.ttft.p95 / Seen.quantile(seen.ttft, 0.95) < 1.8
    assert 1 / 1.4 < formula.tpot.p50 / Seen.quantile(seen.tpot, 0.5) < 1.4


@pytest.mark.parametrize("sequences", [4, 32, 128])
def test_a_full_replica_bounds_the_rate(sequences: int) -> None:
    """With so many sequences no rate above sequences / (answer's tokens x a step of them all) has a point, and nine tenths of it have one where prompts are short."""
    limits, load = Limits(sequences, 4096, 1e7), Load(Lengths(16, 16), Lengths(400, 400), 0)
    most = sequences / (399 * decode_s(costs(), sequences, load.context))
    assert open_loop(costs(), limits, load, requests_per_s=most * 1.02, host_s=0) is None
    share = (sequences - 2 * math.sqrt(sequences)) / sequences * 0.9
    if share > 0:
        assert open_loop(costs(), limits, load, requests_per_s=most * share, host_s=0) is not None
