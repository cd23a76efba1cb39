"""Arrival rates as functions of time, for trials of a scaler."""

from __future__ import annotations

import math
import random

from inferform.simulate.run import Arrivals


def constant(rate: float) -> Arrivals:
    """The same rate for ever."""
    return lambda now: rate


def step(before: float, after: float, at_s: float) -> Arrivals:
    """One rate up to a time, another from then on."""
    return lambda now: after if now >= at_s else before


def dip(rate: float, low: float, start_s: float, end_s: float) -> Arrivals:
    """A rate that falls to `low` for a while."""
    return lambda now: low if start_s <= now < end_s else rate


def day(mean: float, swing: float) -> Arrivals:
    """A sine over 24 hours that starts at its mean and goes up and down by `swing` times the mean."""
    return lambda now: mean * (1 + swing * math.sin(2 * math.pi * now / 86400))


def noisy(rate: Arrivals, seed: int) -> Arrivals:
    """Random arrivals: in each second a Poisson count around the rate, the same for the same seed and second."""

    def count(now: float) -> float:
        # A generator per second, so that the count depends on nothing that was asked before.
        chance = random.Random(f"{seed}/{math.floor(now)}")  # noqa: S311 - not for secrets
        mean = rate(now)
        if mean > 50:
            return max(0.0, round(chance.gauss(mean, math.sqrt(mean))))
        total, left = 0, chance.random()
        term = math.exp(-mean)
        while left > term and total < 1000:
            left -= term
            total += 1
            term *= mean / total
        return float(total)

    return count
