"""What the planner does once a constraint is moved: the whole decision again, with its order of precisions, its splits and the budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from inferform.errors import InputError
from inferform.planning.levers import Lever
from inferform.planning.models import Variant, first_variant, later_variants, pools_of


@dataclass(frozen=True, slots=True)
class Settled:
    """The plan with one constraint moved: its pools' price an hour, and latency of a whole request in seconds."""

    lever: Lever
    variant: Variant
    ttft_p95_s: float
    tpot_p95_s: float

    @property
    def usd_per_hour(self) -> float:
        """The steady fleet."""
        return self.variant.usd_per_hour


def settle(levers: Iterable[Lever], *, left_usd_per_hour: float | None, ceiling_usd_per_hour: float) -> tuple[Settled, ...]:
    """The plans below the ceiling, cheapest first; `left_usd_per_hour` is what the budget leaves to this model (None: there is no budget)."""
    found = []
    for lever in levers:
        variant = _decided(lever, math.inf if left_usd_per_hour is None else left_usd_per_hour)
        if variant is None or variant.usd_per_hour > ceiling_usd_per_hour:
            continue
        pools = pools_of(lever.prepared, variant, []).values()
        ttft, tpot = max(pool.plan.ttft_ms.p95 for pool in pools), max(pool.plan.tpot_ms.p95 for pool in pools)
        found.append(Settled(lever, variant, ttft / 1e3, tpot / 1e3))
    return tuple(sorted(found, key=lambda one: (one.usd_per_hour, one.lever.change)))


def _decided(lever: Lever, left_usd_per_hour: float) -> Variant | None:
    """The published checkpoint where the money allows, else the cheapest of all precisions."""
    try:
        first = first_variant(lever.prepared)
    except InputError:
        return None
    if first.usd_per_hour <= left_usd_per_hour:
        return first
    return min((first, *later_variants(lever.prepared, first)), key=lambda variant: variant.usd_per_hour)
