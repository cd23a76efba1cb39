"""A measured run beside a prediction: the share by which each figure differs."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.measurements.run import LatencyMs, MeasuredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What a model says about a run; None for what it does not predict."""

    requests_per_s: float | None = None
    output_tokens_per_s: float | None = None
    total_tokens_per_s: float | None = None
    ttft_ms: LatencyMs | None = None
    tpot_ms: LatencyMs | None = None
    itl_ms: LatencyMs | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure (`tpot_ms.p95`) of both. `share` is (predicted - measured) / measured: 0.1 = 10 % too high."""

    figure: str
    measured: float
    predicted: float
    share: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every figure that the run and the prediction both have, in a fixed order."""

    run: MeasuredRun
    differences: tuple[Difference, ...]

    def beyond(self, allowed_share: float) -> tuple[Difference, ...]:
        """The figures that differ by more than the allowed share, the worst first."""
        return tuple(sorted((d for d in self.differences if abs(d.share) > allowed_share), key=lambda d: (-abs(d.share), d.figure)))


def compare(run: MeasuredRun, predicted: Predicted) -> Comparison:
    """How far the prediction is from the run, figure by figure; a figure measured as 0 has no share and is left out."""
    measured, said = _figures(run), _figures(predicted)
    both = [(name, measured[name], said[name]) for name in measured if name in said and measured[name] > 0]
    return Comparison(run, tuple(Difference(name, m, p, (p - m) / m) for name, m, p in both))


def _figures(source: MeasuredRun | Predicted) -> dict[str, float]:
    """The figures that are there, by name, in a fixed order."""
    values: dict[str, float | None] = {name: getattr(source, name) for name in ("requests_per_s", "output_tokens_per_s", "total_tokens_per_s")}
    for name in ("ttft_ms", "tpot_ms", "itl_ms"):
        latency: LatencyMs | None = getattr(source, name)
        if latency is not None:
            values |= {f"{name}.{statistic}": getattr(latency, statistic) for statistic in ("mean", "p50", "p95", "p99")}
    return {name: value for name, value in values.items() if value is not None}
