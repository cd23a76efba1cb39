"""One data-parallel rank as it behaves: the step model's queueing answers, corrected by own runs where there are any."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.sizing.corrections import NOT_MEASURED, Scale
from inferform.sizing.queueing import Limits, Load, Point, highest_rate, keeps, open_loop
from inferform.sizing.roofline import StepCosts


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Costs of a step, seconds outside of steps, and the factors that own runs ask for."""

    costs: StepCosts
    host_s: float
    scale: Scale = NOT_MEASURED

    def at(self, limits: Limits, load: Load, requests_per_s: float) -> Point | None:
        """The operating point at this rate; None where the rank does not carry it."""
        asked = requests_per_s / self.scale.output_tokens_per_s
        found = open_loop(self.costs, limits, load, requests_per_s=asked, host_s=self.host_s)
        return None if found is None else self.scale.point(found)

    def keeps(self, limits: Limits, load: Load, requests_per_s: float, *, ttft_p95_s: float | None, tpot_p95_s: float | None) -> bool | None:
        """Whether the rank keeps the objectives at this rate; None where it does not carry it. Cheaper than the point."""
        ttft, tpot = self._asked(ttft_p95_s, tpot_p95_s)
        asked = requests_per_s / self.scale.output_tokens_per_s
        return keeps(self.costs, limits, load, requests_per_s=asked, ttft_p95_s=ttft, tpot_p95_s=tpot, host_s=self.host_s)

    def _asked(self, ttft_p95_s: float | None, tpot_p95_s: float | None) -> tuple[float | None, float | None]:
        """The objectives as the step model has to meet them."""
        scale = self.scale
        return (None if ttft_p95_s is None else ttft_p95_s / scale.ttft_ms, None if tpot_p95_s is None else tpot_p95_s / scale.tpot_ms)

    def most(self, limits: Limits, load: Load, *, ttft_p95_s: float | None, tpot_p95_s: float | None) -> Point | None:
        """The highest rate inside the objectives; None where not even a lone request keeps them."""
        ttft, tpot = self._asked(ttft_p95_s, tpot_p95_s)
        found = highest_rate(self.costs, limits, load, ttft_p95_s=ttft, tpot_p95_s=tpot, host_s=self.host_s)
        return None if found is None else self.scale.point(found)
