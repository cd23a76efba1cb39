"""A run beside a prediction: which figures are compared, by what share they differ, which are beyond a limit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inferform.measurements import LatencyMs, MeasuredRun, Predicted, compare

RUN = MeasuredRun(
    tool="vllm bench serve",
    duration_s=10.0,
    requests=100,
    requests_per_s=10.0,
    output_tokens=200.0,
    output_tokens_per_s=2000.0,
    ttft_ms=LatencyMs(mean=100.0, p99=400.0),
    tpot_ms=LatencyMs(mean=20.0, p50=19.0),
    path="result.json",
    line=1,
)
SAID = Predicted(output_tokens_per_s=2200.0, ttft_ms=LatencyMs(mean=70.0, p95=250.0), tpot_ms=LatencyMs(mean=20.0, p50=20.9))


def test_shares_are_of_the_measured_figure() -> None:
    """2,200 predicted for 2,000 measured is +10 %, 70 for 100 is -30 %; figures that only one side has are not compared."""
    found = {d.figure: d.share for d in compare(RUN, SAID).differences}
    assert {"output_tokens_per_s": 0.1, "ttft_ms.mean": -0.3, "tpot_ms.mean": 0.0, "tpot_ms.p50": 0.1} == pytest.approx(found)


def test_what_is_beyond_the_allowed_share_comes_worst_first() -> None:
    """At 5 % three figures are beyond, TTFT before the two of 10 % in the order of their names; at 30 % none is."""
    comparison = compare(RUN, SAID)
    assert ["ttft_ms.mean", "output_tokens_per_s", "tpot_ms.p50"] == [d.figure for d in comparison.beyond(0.05)]
    assert () == comparison.beyond(0.3)
    assert RUN is comparison.run


def test_a_perfect_prediction_differs_nowhere() -> None:
    """The run's own figures as prediction: every share is 0, and all the figures are there."""
    same = Predicted(requests_per_s=RUN.requests_per_s, output_tokens_per_s=RUN.output_tokens_per_s, ttft_ms=RUN.ttft_ms, tpot_ms=RUN.tpot_ms)
    differences = compare(RUN, same).differences
    assert ["requests_per_s", "output_tokens_per_s", "ttft_ms.mean", "ttft_ms.p99", "tpot_ms.mean", "tpot_ms.p50"] == [d.figure for d in differences]
    assert {0.0} == {d.share for d in differences}


def test_nothing_in_common_is_an_empty_comparison() -> None:
    """A prediction of chunk gaps says nothing about a run that has none."""
    assert () == compare(RUN, replace(Predicted(), itl_ms=LatencyMs(mean=1.0))).differences


def test_a_measured_zero_has_no_share() -> None:
    """A median gap of 0 ms (several chunks at once) cannot be divided by."""
    run = RUN.model_copy(update={"itl_ms": LatencyMs(mean=5.0, p50=0.0)})
    assert ["itl_ms.mean"] == [d.figure for d in compare(run, Predicted(itl_ms=LatencyMs(mean=6.0, p50=1.0))).differences]
