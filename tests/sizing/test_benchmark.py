"""What benchmarks print, by hand."""

from __future__ import annotations

import pytest
from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model
from inferform.sizing.benchmark import closed_loop, saturated
from inferform.sizing.queueing import Limits, decode_s, prompt_cost
from inferform.sizing.roofline import Layout, StepCosts, step_costs

LIMITS = Limits(256, 4096, 1e7)


def costs() -> StepCosts:
    return step_costs(find_model("meta-llama/Meta-Llama-3.1-8B"), Layout(find_gpu("H100"), "none", 1, 1, "bf16", "auto", "vllm"))


def test_one_client_waits_for_nobody() -> None:
    """Concurrency one: the first token takes the prompt's own steps, every further one a step of one sequence."""
    c = costs()
    point = closed_loop(c, LIMITS, prompt=1000, cached=0, output=100, clients=1, host_s=0.0).point
    assert point.ttft.p50 == pytest.approx(prompt_cost(c, 1000, 0, decode=0, context=1050, step_tokens=4096).first_s)
    assert point.tpot.p50 == pytest.approx(decode_s(c, 1, 1050))


def test_clients_beyond_the_cache_queue() -> None:
    """With room for 10 requests, 20 clients see the same pace as 10 and wait for a slot first."""
    few = Limits(256, 4096, 10 * 1050.0)
    ten, twenty = (closed_loop(costs(), few, prompt=1000, cached=0, output=100, clients=n, host_s=0.0).point for n in (10, 20))
    assert twenty.tpot.p50 == pytest.approx(ten.tpot.p50, rel=0.02)
    assert twenty.ttft.p50 > ten.ttft.p50 + 0.8 * 10 / ten.requests_per_s


def test_saturated_replica_fills_cache_or_batch() -> None:
    """21,000 cache tokens hold ten requests of 2,000 + 100; a batch limit of 4 holds four."""
    for limits, running in ((Limits(256, 8192, 21_000), 10), (Limits(4, 8192, 21_000), 4)):
        assert running == pytest.approx(saturated(costs(), limits, prompt=2000, cached=0, output=100)[1])
    assert (0.0, 0.0) == saturated(costs(), Limits(256, 8192, 2000), prompt=2000, cached=0, output=100)
