"""Fits the efficiencies of the step model to measured rows: damped least squares on logarithms, in plain Python.

Errors are ratios, so residuals are logarithms of prediction over measurement. Large residuals weigh less (a row can be wrong), and
every constant is pulled a little towards where physics puts it, so that one no row speaks about stays there.
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
# A constant counts for a row whose prediction moves by more than this when the constant grows by a tenth.
_FELT = 2e-4


@dataclass(frozen=True, slots=True)
class Row:
    """One measured row: the request that describes it, what was measured (figure -> value), and the group it belongs to.

    Rows of one `fold` are left out together in cross-validation.
    """

    id: str
    group: str
    request: EstimateRequest
    measured: Mapping[str, float]
    weights: Mapping[str, float]
    fold: str = ""


def figures(found: Estimate) -> dict[str, float]:
    """The figures that rows measure."""
    return {"output_tokens_per_s": found.output_tokens_per_s, "tpot_ms": found.tpot_ms.p50, "ttft_ms": found.ttft_ms.p50}


def log_errors(row: Row, fitted: Constants) -> dict[str, float]:
    """Logarithm of prediction over measurement, by figure."""
    got = figures(estimate(row.request, fitted))
    return {name: math.log(max(got[name], 1e-9) / want) for name, want in sorted(row.measured.items())}


def residuals(rows: Sequence[Row], values: Mapping[str, float]) -> list[float]:
    """Weighted logarithms of prediction over measurement, row by row and figure by figure."""
    fitted = Constants(dict(values), "")
    return [row.weights.get(name, 1.0) * max(-_WORST, min(_WORST, error)) for row in rows for name, error in log_errors(row, fitted).items()]


def dependence(rows: Sequence[Row], values: Mapping[str, float]) -> dict[str, frozenset[str]]:
    """Constant -> ids of the rows whose prediction depends on it; constants that no row depends on are left out."""
    fitted = Constants(dict(values), "")
    found = [log_errors(row, fitted) for row in rows]
    out = {}
    for name, value in values.items():
        moved = Constants({**values, name: value * 1.1}, "")
        felt = [row.id for i, row in enumerate(rows) if any(abs(e - found[i][k]) > _FELT for k, e in log_errors(row, moved).items())]
        if felt:
            out[name] = frozenset(felt)
    return out


def fit(
    rows: Sequence[Row],
    start: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]],
    *,
    physics: Mapping[str, float] | None = None,
    felt: Mapping[str, frozenset[str]] | None = None,
    rounds: int = 25,
    told: Callable[[int, float], None] | None = None,
) -> dict[str, float]:
    """Values of the constants named in `bounds` that fit the rows best; the others keep their start.

    `physics` is where constants are pulled to; without it, their start. `felt` saves finding the rows that each constant speaks about.
    """
    names = sorted(bounds)
    low, high = ({name: math.log(bounds[name][side]) for name in names} for side in (0, 1))
    x = {name: min(max(math.log(start[name]), low[name]), high[name]) for name in names}
    origin = {name: math.log((physics or start)[name]) for name in names}
    # The rows that each constant speaks about, and where the residuals of a row begin: columns are computed for those alone.
    speaking = dependence(rows, start) if felt is None else felt
    places = {name: [i for i, row in enumerate(rows) if row.id in speaking.get(name, ())] for name in names}
    begins = [0]
    for row in rows:
        begins.append(begins[-1] + len(row.measured))

    def values(at: Mapping[str, float]) -> dict[str, float]:
        return {**start, **{name: math.exp(at[name]) for name in names}}

    def loss(at: Mapping[str, float], found: Sequence[float]) -> float:
        soft = sum(2 * _SOFT**2 * (math.sqrt(1 + (r / _SOFT) ** 2) - 1) for r in found)
        return soft + sum((_PULL * (at[name] - origin[name])) ** 2 for name in names)

    def column(name: str, found: Sequence[float]) -> dict[int, float]:
        """Derivative of the residuals by one constant, where it is not zero."""
        moved = iter(residuals([rows[i] for i in places[name]], values({**x, name: x[name] + _STEP})))
        return {at: (next(moved) - found[at]) / _STEP for i in places[name] for at in range(begins[i], begins[i + 1])}

    found = residuals(rows, values(x))
    best, damping = loss(x, found), 1e-2
    for turn in range(rounds):
        columns = {name: column(name, found) for name in names}
        pull = [1 / math.sqrt(1 + (r / _SOFT) ** 2) for r in found]
        down = {n: -sum(pull[i] * a * found[i] for i, a in columns[n].items()) - _PULL**2 * (x[n] - origin[n]) for n in names}
        # A constant that stands at a bound and wants beyond it stays, so that the others move as if it were given.
        moving = [n for n in names if not (x[n] <= low[n] and down[n] < 0) and not (x[n] >= high[n] and down[n] > 0)]
        matrix = [[sum(pull[i] * a * columns[o][i] for i, a in columns[n].items() if i in columns[o]) for o in moving] for n in moving]
        improved = False
        while damping < 1e4:
            system = [[v + ((_PULL**2 + damping * (line[i] + 1e-6)) if i == j else 0.0) for j, v in enumerate(line)] for i, line in enumerate(matrix)]
            move = _solved(system, [down[n] for n in moving])
            trial = {**x, **{n: min(max(x[n] + m, low[n]), high[n]) for n, m in zip(moving, move, strict=True)}}
            after = residuals(rows, values(trial))
            value = loss(trial, after)
            if value < best:
                improved = best - value > 1e-4 * best
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
