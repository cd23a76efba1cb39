"""What a fleet costs at a monthly volume of tokens: a staircase of nodes over a part that is paid once, and where an API's straight line meets it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

MTOK = 1e6
Unit = Literal["node", "fleet"]
# Past this many nodes the staircase says nothing that a person would buy; a search goes up no more steps than this.
_MOST_UNITS = 1_000_000
_MOST_STEPS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPart:
    """Nodes of one pool that are bought together: `nodes` of them for `usd_per_month` carry `capacity_tokens_per_month`.

    `steady` is how many such steps the planned fleet has; its bill has them already, maybe at another price.
    """

    name: str
    usd_per_month: float
    capacity_tokens_per_month: float
    steady: int = 1
    nodes: int = 1

    @property
    def usd_per_mtok(self) -> float:
        """Price of a million tokens when full."""
        return self.usd_per_month * MTOK / self.capacity_tokens_per_month

    def steps(self, tokens_per_month: float) -> int:
        """Steps that carry a volume, never fewer than planned; a division's last bits are forgiven."""
        return max(self.steady, math.ceil(tokens_per_month / self.capacity_tokens_per_month * (1 - 1e-12)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A fleet at its steady size. `capacity_tokens_per_month` counts input and output; None where nobody has stated it.

    `fixed_usd_per_month` is the share of the bill that does not grow with the volume; `parts` is what is bought when it does. Without
    parts the fleet is bought again whole. `source` says where the bill comes from, `capacity_source` where the capacity does.
    """

    usd_per_month: float
    capacity_tokens_per_month: float | None = None
    fixed_usd_per_month: float = 0.0
    parts: tuple[FleetPart, ...] = ()
    source: str = "given"
    capacity_source: str = "given"

    @property
    def unit(self) -> Unit:
        """What further volume buys."""
        return "node" if self.parts else "fleet"

    @property
    def growth(self) -> tuple[FleetPart, ...]:
        """The parts; the whole fleet where there are none; nothing where its capacity is not stated."""
        if self.parts or self.capacity_tokens_per_month is None:
            return self.parts
        return (FleetPart(name="fleet", usd_per_month=self.usd_per_month, capacity_tokens_per_month=self.capacity_tokens_per_month),)

    @property
    def usd_per_mtok_grown(self) -> float:
        """What a further million tokens cost when everything bought is full; 0 where the capacity is not stated."""
        return sum(part.usd_per_mtok for part in self.growth)

    def usd_at(self, tokens_per_month: float) -> float:
        """The monthly bill at a volume."""
        return self.usd_per_month + sum((part.steps(tokens_per_month) - part.steady) * part.usd_per_month for part in self.growth)

    def units_at(self, tokens_per_month: float) -> int:
        """Nodes at a volume, or fleets where the nodes are not known."""
        return sum(part.steps(tokens_per_month) * part.nodes for part in self.growth) or 1

    def edges(self, low: float, high: float) -> Iterator[float]:
        """The volumes between two at which something planned or bought is full, in order of the parts."""
        for part in self.growth:
            step = part.capacity_tokens_per_month
            first = max(part.steady, math.floor(low / step) + 1)
            yield from (n * step for n in range(first, min(first + _MOST_STEPS, math.ceil(high / step))))


def first_even(fleet: Fleet, staff_usd: float, usd_per_mtok: float) -> float | None:
    """The lowest volume at which the fleet with its staff costs no more than the API; None where there is none, or none below a million nodes.

    The bill never falls with the volume, so going from below to the volume at which the API costs the present bill never oversteps.
    """
    low, high = 0.0, math.inf
    for once, slope in _lines(fleet, staff_usd, begun=0):
        # The bill is nowhere below any of these lines. The last bits are given away, so that the start is below what is looked for.
        if slope < usd_per_mtok:
            low = max(low, once * MTOK / (usd_per_mtok - slope) * (1 - 1e-9))
        elif slope > usd_per_mtok:
            high = min(high, -once * MTOK / (slope - usd_per_mtok))
        elif once >= 0:
            return None
    for _ in range(_MOST_STEPS):
        if low > high:
            return None
        following = (fleet.usd_at(low) + staff_usd) * MTOK / usd_per_mtok
        if following <= low:
            return following if fleet.units_at(following) <= _MOST_UNITS else None
        low = following
    return None


def last_even(fleet: Fleet, staff_usd: float, usd_per_mtok: float) -> float | None:
    """The volume past which the API is never the cheaper one; None where there is no such volume."""
    high = 0.0
    for once, slope in _lines(fleet, staff_usd, begun=1):
        if usd_per_mtok <= slope:
            return None
        high = max(high, once * MTOK / (usd_per_mtok - slope) * (1 + 1e-9))
    for _ in range(_MOST_STEPS):
        following = (fleet.usd_at(high) + staff_usd) * MTOK / usd_per_mtok
        if following >= high:
            return high
        high = following
    return None


def _lines(fleet: Fleet, staff_usd: float, *, begun: int) -> Iterator[tuple[float, float]]:
    """Straight lines (USD, USD a million tokens) whose highest at each volume bounds the bill: from below, or from above with one step `begun` in each part.

    One line for each choice of the parts that have grown beyond what is planned.
    """
    for count in range(len(fleet.growth) + 1):
        for grown in combinations(fleet.growth, count):
            once = fleet.usd_per_month + staff_usd + sum((begun - part.steady) * part.usd_per_month for part in grown)
            yield once, sum(part.usd_per_mtok for part in grown)
