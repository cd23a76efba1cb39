"""A benchmark run as the model sees it."""

from __future__ import annotations

import pytest
from inferform.sizing.bench_run import run_point
from inferform.sizing.estimate_request import parse
from inferform.sizing.performance import EstimateRequest, estimate


def request(prompt: int = 1000, output: int = 200, **more: object) -> EstimateRequest:
    return parse({"model": "meta-llama/Meta-Llama-3.1-8B", "gpu": "H100", "input_tokens": prompt, "output_tokens": output, **more})


def test_a_closed_loop_of_ten_rounds_is_what_estimate_says() -> None:
    """16 clients with 160 requests: mean TTFT and TPOT of `estimate --concurrency 16`."""
    found = run_point(request(), clients=16, requests_per_s=None, requests=160)
    said = estimate(request(concurrency=16))
    assert found.ttft_mean_s == pytest.approx(said.ttft_ms.p50 / 1e3)
    assert found.tpot_mean_s == pytest.approx(said.tpot_ms.p50 / 1e3)


def test_start_and_tail_cost_a_short_run_throughput() -> None:
    """The fewer rounds, the larger the share of the start in which nothing is answered: requests a second grow with the rounds."""
    rates = [run_point(request(), clients=16, requests_per_s=None, requests=16 * rounds).requests_per_s for rounds in (1, 3, 30)]
    assert rates == sorted(rates)
    assert rates[-1] <= estimate(request(concurrency=16)).requests_per_s


def test_half_of_a_long_run_never_sees_the_start() -> None:
    """With ten rounds the median lies below the mean, which holds the start wave."""
    found = run_point(request(4000, 100), clients=32, requests_per_s=None, requests=320)
    assert found.ttft is not None and found.ttft_mean_s is not None
    assert found.ttft.p50 < found.ttft_mean_s < found.ttft.p99


def test_all_at_once_is_one_wave() -> None:
    """Without limit or rate every request starts together: as many clients as requests."""
    free, many = (run_point(request(), clients=clients, requests_per_s=None, requests=64) for clients in (None, 64))
    assert free == many
    assert "64 clients, 1 requests each" == free.how


def test_offered_requests_come_out_again_until_they_are_too_many() -> None:
    """2 a second are carried; 500 are not, and then only the throughput is told."""
    light, heavy = (run_point(request(), clients=None, requests_per_s=rate, requests=1000) for rate in (2.0, 500.0))
    assert 2.0 == light.requests_per_s and light.ttft is not None
    assert heavy.ttft is None and heavy.requests_per_s < 500
    assert heavy.requests_per_s == pytest.approx(estimate(request()).requests_per_s)


def test_a_limit_below_what_the_rate_needs_decides() -> None:
    """4 clients cannot offer 50 requests a second of a second each: the run is their closed loop."""
    assert "4 clients, 100 requests each" == run_point(request(), clients=4, requests_per_s=50, requests=400).how
