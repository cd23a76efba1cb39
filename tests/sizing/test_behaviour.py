"""A rank as own runs corrected it."""

from __future__ import annotations

import pytest
from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model
from inferform.sizing.behaviour import Behaviour
from inferform.sizing.corrections import Scale
from inferform.sizing.lengths import Lengths
from inferform.sizing.queueing import Limits, Load
from inferform.sizing.roofline import Layout, step_costs

COSTS = step_costs(find_model("meta-llama/Meta-Llama-3.1-8B"), Layout(find_gpu("H100"), "none", 1, 1, "bf16", "auto", "vllm"))
LIMITS, LOAD = Limits(256, 8192, 400_000.0), Load(Lengths(1000, 2000), Lengths(200, 400), 0.0)


def test_objectives_are_met_as_measured() -> None:
    """The highest rate of a rank whose latency was measured 1.5 times as long keeps the objective with those 1.5, and so carries less."""
    plain, slow = Behaviour(COSTS, 0.01), Behaviour(COSTS, 0.01, Scale(tpot_ms=1.5))
    best, corrected = (b.most(LIMITS, LOAD, ttft_p95_s=2.0, tpot_p95_s=0.03) for b in (plain, slow))
    assert best is not None and corrected is not None
    assert corrected.requests_per_s < best.requests_per_s
    assert 0.027 < corrected.tpot.p95 <= 0.03


def test_a_rate_is_looked_up_as_the_model_knows_it() -> None:
    """At half the measured throughput, 2 requests/s load the rank as the model's 4 do."""
    found, wanted = Behaviour(COSTS, 0.01, Scale(output_tokens_per_s=0.5)).at(LIMITS, LOAD, 2.0), Behaviour(COSTS, 0.01).at(LIMITS, LOAD, 4.0)
    assert found is not None and wanted is not None
    assert (found.ttft, found.concurrency) == (wanted.ttft, wanted.concurrency)
    assert 2.0 == pytest.approx(found.requests_per_s)


@pytest.mark.parametrize("scale", [Scale(), Scale(output_tokens_per_s=0.8, tpot_ms=1.3, ttft_ms=0.7)])
@pytest.mark.parametrize(("ttft", "tpot"), [(0.2, 0.02), (1.0, None), (None, 0.03), (None, None)])
def test_keeping_objectives_is_what_the_point_shows(scale: Scale, ttft: float | None, tpot: float | None) -> None:
    """At rates from a lone request to beyond what is carried: None where there is no point, else whether its 95th percentiles are inside."""
    rank, seen = Behaviour(COSTS, 0.01, scale), set()
    for rate in (1e-4, 1.0, 4.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0, 200.0):
        point = rank.at(LIMITS, LOAD, rate)
        shown = None if point is None else (ttft is None or point.ttft.p95 <= ttft) and (tpot is None or point.tpot.p95 <= tpot)
        assert shown is rank.keeps(LIMITS, LOAD, rate, ttft_p95_s=ttft, tpot_p95_s=tpot)
        seen.add(shown)
    assert {None, True} <= seen
