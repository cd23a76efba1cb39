"""Prefill and decode apart: both pools chosen together, each on its own hardware (requirements A5).

A pair has to fit: decode's tensor-parallel degree is a whole multiple of prefill's, so that each decode rank fetches whole
heads, replicas lie on one node each, and the way of the cache from one to the other counts towards the first token.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from inferform.planning.candidates import Option, find, option
from inferform.planning.prepare import Prepared
from inferform.planning.split_fleets import Growth, Priced
from inferform.sizing.search import Choice, Dropped
from inferform.spec import Disaggregation

ROLES: tuple[Literal["prefill", "decode"], ...] = ("prefill", "decode")
# Engines whose split pools can be rendered.
_ENGINES = frozenset({"vllm"})
# Two kinds of pools and a router are more to run, so a plan turns to them by itself only for a fleet of this size and a saving of this share;
# of a smaller fleet it says what they would save.
LEAST_REPLICAS, LEAST_SAVING = 4, 0.1


@dataclass(frozen=True, slots=True)
class Pair:
    """A prefill and a decode pool that fit together."""

    prefill: Choice
    decode: Choice

    def by_role(self) -> dict[str, Choice]:
        return {"prefill": self.prefill, "decode": self.decode}

    def least_usd_per_hour(self) -> float:
        """Price of what each role needs for itself."""
        return self.prefill.usd_per_hour + self.decode.usd_per_hour

    def fits(self) -> bool:
        """Whether caches can be handed over: whole multiples of the tensor-parallel degree, replicas on one node each."""
        alone = self.prefill.fleet.nodes_per_replica == self.decode.fleet.nodes_per_replica == 1
        return alone and self.decode.fit.cut.tp % self.prefill.fit.cut.tp == 0


def may_split(prepared: Prepared) -> bool:
    """Whether a plan may choose split pools by itself: an engine and a scaler that run them, and nothing in the spec against it."""
    scaling = prepared.limits.scaling
    to_zero = scaling.min == 0 or scaling.idle == 0
    runs = prepared.task == "generate" and prepared.settings.engine.name in _ENGINES
    # Two pools would each take what a purchase list allows once.
    listed = prepared.market.capacity.purchase
    capped = listed != "auto" and any(source.max_nodes is not None or source.reservation_id for source in listed)
    return runs and prepared.spec.topology == "auto" and not to_zero and not capped and prepared.engine.chunked_prefill


def best_split(
    prepared: Prepared, weights: tuple[str, ...], ratio: Disaggregation | None, ceiling_usd_per_hour: float
) -> tuple[dict[str, Option] | None, tuple[Dropped, ...]]:
    """(the cheapest pair below the ceiling by role, what was dropped); `ratio` None leaves the ratio to what each role needs.

    Both roles run the same precision. Every layout of every type is tried for each role, and every pair that fits; a pair whose first
    token comes late gets more nodes while it stays below the best.
    """
    best: Priced | None = None
    dropped: list[Dropped] = []
    growth = Growth(prepared, ratio)

    def consider(pair: Pair) -> None:
        nonlocal best
        if pair.fits():
            best = growth.cheapest(pair.by_role(), best, ceiling_usd_per_hour)

    for kind in weights:
        ceiling = ceiling_usd_per_hour if best is None else min(best[0], ceiling_usd_per_hour)
        # No pair costs less than the cheapest of each role, whatever fits together, so each role may cost what the other leaves.
        least: dict[str, Choice] = {}
        for role in reversed(ROLES):
            cheapest = find(prepared, prepared.demand_of(role), (kind,), ceiling_usd_per_hour=max(ceiling - _sum(least.values()), 0.0), keep=1)
            dropped += cheapest.dropped
            if not cheapest.choices:
                break
            least[role] = cheapest.choices[0]
        if len(least) < len(ROLES):
            continue
        # Where those two fit together they bound what is worth looking at.
        consider(Pair(**least))
        ceiling = ceiling_usd_per_hour if best is None else min(best[0], ceiling_usd_per_hour)
        found = {}
        for role in ROLES:
            left = max(ceiling - _sum(choice for other, choice in least.items() if other != role), 0.0)
            found[role] = find(prepared, prepared.demand_of(role), (kind,), ceiling_usd_per_hour=left, keep=None, every=True).choices
        pairs = [Pair(prefill, decode) for prefill in found["prefill"] for decode in found["decode"] if prefill.usd_per_hour + decode.usd_per_hour <= ceiling]
        for pair in sorted(pairs, key=Pair.least_usd_per_hour):
            # Whole groups and more nodes only add to what the roles need, so the sum of their own prices is a bound.
            if best is not None and pair.least_usd_per_hour() >= best[0]:
                break
            consider(pair)
    if best is None and not any(row.kind in {"TTFT", "TPOT", "memory", "throughput"} for row in dropped):
        dropped.append(Dropped("", "", "prefill + decode", "TTFT", "no pair of pools that fit together hands the prompt's cache over in time", 1.1))
    return (None if best is None else {role: option(prepared, choice) for role, choice in best[1].items()}), tuple(dropped)


def _sum(choices: Iterable[Choice]) -> float:
    return sum(choice.usd_per_hour for choice in choices)
