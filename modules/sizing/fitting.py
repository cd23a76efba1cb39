"""Fits the efficiencies of the step model to measured rows: damped least squares on logarithms, in plain Python.

Errors are ratios, so residuals are logarithms of prediction over measurement. Large residuals weigh less (a row can be wrong), and
every constant is pulled a little towards its starting value, so that one no row speaks about stays where physics put it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from inferform.sizing.performance import Estimate, EstimateRequest, estimate
from inferform.sizing.roofline import Constants

# A residual of this size (about 10 %) is where a row's pull starts to level off.
_SOFT = 0.1
_PULL = 0.1
_STEP = 1e-3
_WORST = 1.5


@dataclass(frozen=True, slots=True)
class Row:
    """One measured row: the request that describes it, what was measured (figure -> value), and the group it belongs to."""

    id: str
    group: str
    request: EstimateRequest
    measured: Mapping[str, float]
    weights: Mapping[str, float]


def figures(found: Estimate) -> dict[str, float]:
    """The figures that rows measure."""
    return {"output_tokens_per_s": found.output_tokens_per_s, "tpot_ms": found.tpot_ms.p50, "ttft_ms": found.ttft_ms.p50}


def residuals(rows: Sequence[Row], values: Mapping[str, float]) -> list[float]:
    """Weighted logarithms of prediction over measurement, row by row and figure by figure."""
    fitted = Constants(dict(values), "", {})
    out = []
    for row in rows:
        got = figures(estimate(row.request, fitted))
        for name, want in sorted(row.measured.items()):
            error = math.log(max(got[name], 1e-9) / want)
            out.append(row.weights.get(name, 1.0) * max(-_WORST, min(_WORST, error)))
    return out


def fit(
    rows: Sequence[Row],
    start: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]],
    *,
    rounds: int = 25,
    told: Callable[[int, float], None] | None = None,
) -> dict[str, float]:
    """Values of the constants named in `bounds` that fit the rows best; the others keep their start."""
    names = sorted(bounds)
    x = {name: math.log(min(max(start[name], bounds[name][0]), bounds[name][1])) for name in names}
    origin = {name: math.log(start[name]) for name in names}

    def values(at: Mapping[str, float]) -> dict[str, float]:
        return {**start, **{name: math.exp(at[name]) for name in names}}

    def loss(at: Mapping[str, float], found: Sequence[float]) -> float:
        soft = sum(2 * _SOFT**2 * (math.sqrt(1 + (r / _SOFT) ** 2) - 1) for r in found)
        return soft + sum((_PULL * (at[name] - origin[name])) ** 2 for name in names)

    found = residuals(rows, values(x))
    best, damping = loss(x, found), 1e-2
    for turn in range(rounds):
        columns = [[(a - b) / _STEP for a, b in zip(residuals(rows, values({**x, name: x[name] + _STEP})), found, strict=True)] for name in names]
        pull = [1 / math.sqrt(1 + (r / _SOFT) ** 2) for r in found]
        matrix = [[sum(p * a * b for p, a, b in zip(pull, ca, cb, strict=True)) for cb in columns] for ca in columns]
        slope = [sum(p * a * r for p, a, r in zip(pull, ca, found, strict=True)) + _PULL**2 * (x[n] - origin[n]) for ca, n in zip(columns, names, strict=True)]
        improved = False
        while damping < 1e4:
            system = [[v + ((_PULL**2 + damping * (line[i] + 1e-6)) if i == j else 0.0) for j, v in enumerate(line)] for i, line in enumerate(matrix)]
            move = _solved(system, [-s for s in slope])
            trial = {n: min(max(x[n] + m, math.log(bounds[n][0])), math.log(bounds[n][1])) for n, m in zip(names, move, strict=True)}
            after = residuals(rows, values(trial))
            value = loss(trial, after)
            if value < best:
                improved = best - value > 1e-5 * best
                x, found, best, damping = trial, after, value, damping / 3
                break
            damping *= 4
        if told:
            told(turn, best)
        if not improved:
            break
    return values(x)


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination with partial pivoting."""
    n = len(right)
    work = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at in range(n):
        pivot = max(range(at, n), key=lambda i: abs(work[i][at]))
        work[at], work[pivot] = work[pivot], work[at]
        for below in range(at + 1, n):
            factor = work[below][at] / work[at][at]
            if factor:
                work[below] = [b - factor * a for a, b in zip(work[at], work[below], strict=True)]
    out = [0.0] * n
    for at in reversed(range(n)):
        out[at] = (work[at][n] - sum(work[at][j] * out[j] for j in range(at + 1, n))) / work[at][at]
    return out
