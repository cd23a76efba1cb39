"""Arrival rates as functions of time."""

from __future__ import annotations

import statistics

import pytest
from inferform.simulate import arrivals


def test_shapes() -> None:
    """A step, a dip and a day have the rates they say."""
    step, dip, day = arrivals.step(2, 6, 100), arrivals.dip(6, 1, 100, 400), arrivals.day(10, 0.5)
    assert [2, 6] == [step(99), step(100)]
    assert [6, 1, 1, 6] == [dip(99), dip(100), dip(399), dip(400)]
    assert [10.0, 15.0, 10.0, 5.0] == [pytest.approx(day(hour * 3600)) for hour in (0, 6, 12, 18)]


@pytest.mark.parametrize("rate", [0.5, 8.0, 80.0])
def test_noise_is_poisson(rate: float) -> None:
    """Over an hour the counts have the rate as mean and as variance, within four standard errors (and 15 %)."""
    counts = [arrivals.noisy(arrivals.constant(rate), 1)(second) for second in range(3600)]
    assert rate == pytest.approx(statistics.fmean(counts), abs=4 * (rate / 3600) ** 0.5)
    assert rate == pytest.approx(statistics.variance(counts), rel=0.15)


def test_noise_is_the_same_for_the_same_seed() -> None:
    """A second's count follows from seed and second alone, whatever was asked before."""
    one, again, other = (arrivals.noisy(arrivals.constant(8), seed) for seed in (1, 1, 2))
    counts = [one(second) for second in range(60)]
    assert counts == [again(second) for second in reversed(range(60))][::-1]
    assert counts != [other(second) for second in range(60)]
