"""How long prompts and answers are: distributions by mean and 95th percentile."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

# Standard normal quantiles.
Z95, Z99 = 1.645, 2.326
# 95th percentiles this many times the mean or more are taken for this.
_WIDEST = 17.0


@dataclass(frozen=True, slots=True)
class Shape:
    """A lognormal distribution of mean 1 whose quantiles above normal quantile `cap` are that one: exp(center + sigma z)."""

    sigma: float
    center: float
    cap: float
    variation: float


@lru_cache(maxsize=1024)
def shape(ratio: float) -> Shape:
    """The distribution of mean 1 whose 95th percentile is `ratio`.

    ratio = exp(Z95 sigma - sigma^2 / 2) has no solution above 3.87, where sigma is Z95: so heavy a tail leaves nothing for the
    rest. Above it the tail ends, ever closer to the 95th percentile, and from 5.58 at it, while the body spreads. No distribution
    reaches 20: a twentieth of the requests would have all tokens.
    """
    log_ratio = math.log(min(max(1.0, ratio), _WIDEST))
    if log_ratio <= Z95 * Z95 / 2:
        sigma = Z95 - math.sqrt(Z95 * Z95 - 2 * log_ratio)
        return Shape(sigma, -sigma * sigma / 2, math.inf, math.expm1(sigma * sigma))
    if log_ratio <= _log_ratio(Z95, Z95):
        sigma, cap = Z95, _root(lambda cap: _log_ratio(Z95, cap), log_ratio, Z95, 8.0)
    else:
        sigma, cap = _root(lambda sigma: _log_ratio(sigma, Z95), log_ratio, Z95, 16.0), Z95
    center = -math.log(_moment(sigma, cap, 1))
    return Shape(sigma, center, cap, math.exp(2 * center) * _moment(sigma, cap, 2) - 1)


def _moment(sigma: float, cap: float, power: int) -> float:
    """Mean of exp(power sigma z) over a normal z that ends at `cap`."""
    s = sigma * power
    return math.exp(s * s / 2) * _below(cap - s) + math.exp(s * cap) * (1 - _below(cap))


def _below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _log_ratio(sigma: float, cap: float) -> float:
    return sigma * Z95 - math.log(_moment(sigma, cap, 1))


def _root(of: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Where a function that runs one way between two places takes a value."""
    rises = of(high) > of(low)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (of(middle) < value) == rises else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of token counts by mean and 95th percentile, lognormal as far as one has both; equal values mean a fixed length.

    None is longer than `longest`: what does not fit the context is refused.
    """

    mean: float
    p95: float
    longest: float = math.inf

    @property
    def shape(self) -> Shape:
        """The distribution over its mean."""
        return shape(self.p95 / self.mean)

    @property
    def variation(self) -> float:
        """Variance over the mean's square."""
        return self.shape.variation

    def at(self, z: float) -> float:
        """The quantile at normal quantile `z`."""
        s = self.shape
        return min(self.longest, self.mean * math.exp(s.center + s.sigma * min(z, s.cap)))
