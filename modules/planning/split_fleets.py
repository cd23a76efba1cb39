"""How many nodes each pool of a pair gets: what its own work needs, and more where the first token would come late."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from inferform.planning.candidates import Option, buy, root_usd_per_hour
from inferform.planning.hand_over import hand_over
from inferform.planning.prepare import Prepared
from inferform.sizing.layouts import planned
from inferform.sizing.search import Choice
from inferform.spec import Disaggregation

Pools = dict[str, Choice]
Priced = tuple[float, Pools]

# More nodes (or groups of an asked ratio) than this are not looked at where no price ends the search.
_MOST = 4096
# Requests a second of someone who is alone.
_LONE = 1e-6


class Growth:
    """Sizes pairs of pools for one model. What a replica shows at a load is asked once, however many pairs it is part of."""

    def __init__(self, prepared: Prepared, ratio: Disaggregation | None):
        self._prepared, self._ratio = prepared, ratio
        self._seconds: dict[tuple[int, float], tuple[Choice, float]] = {}
        self._prices: dict[tuple[int, int], tuple[Choice, float | None]] = {}

    def cheapest(self, pools: Pools, best: Priced | None, ceiling_usd_per_hour: float) -> Priced | None:
        """The cheapest fleets of these pools whose first token is in time, where they cost less than `best` and at most the ceiling; else `best`."""
        prefill, decode = pools["prefill"], pools["decode"]
        objective = self._prepared.demand.ttft_p95_s
        left = math.inf if objective is None else objective - hand_over(self._prepared, prefill, decode).seconds

        def offer(sizes: tuple[int, int]) -> None:
            nonlocal best
            usd = self._price(pools, sizes)
            if usd is not None and usd <= ceiling_usd_per_hour and (best is None or usd < best[0]):
                best = usd, {role: self._sized(pools, role, size) for role, size in zip(("prefill", "decode"), sizes, strict=True)}

        def in_time(more: tuple[float, float]) -> bool:
            return left == math.inf or self._first_s(pools, "prefill", more[0]) + self._first_s(pools, "decode", more[1]) <= left

        def affordable(more: tuple[int, int]) -> bool:
            usd = self._price(pools, more)
            return usd is not None and usd <= ceiling_usd_per_hour and (best is None or usd < best[0])

        if in_time((0, 0)):
            offer((0, 0))
            return best
        if not affordable((0, 0)) or not in_time((math.inf, math.inf)):
            return best
        if self._ratio is not None:
            groups = _least(lambda n: in_time((n, n)), lambda n: affordable((n, n)))
            if groups is not None:
                offer((groups, groups))
            return best
        # Fewest prefill nodes with which any decode fleet is in time; from there on each further one may spare decode nodes.
        first = _least(lambda n: in_time((n, math.inf)), lambda n: affordable((n, 0)))
        for more in range(first, _MOST) if first is not None else ():
            if not affordable((more, 0)):
                break
            beside = _least(partial(_beside, in_time, more), partial(_beside, affordable, more))
            if beside is not None:
                offer((more, beside))
            if beside == 0:
                break
        return best

    def _first_s(self, pools: Pools, role: str, more: float) -> float:
        """What a pool with `more` nodes adds to the first token: the prompt's 95th percentile or a decode step; infinitely many leave a lone request."""
        choice, replicas = pools[role], math.inf if more == math.inf else self._sized(pools, role, int(more)).fleet.replicas[1]
        key = id(choice), replicas
        if key not in self._seconds:
            one = self._prepared
            rate = _LONE if replicas == math.inf else one.demand.requests_per_s / replicas / choice.dp
            point = planned(choice.fit, one.demand_of(role), one.engine, rate)
            self._seconds[key] = choice, point.ttft.p95 if role == "prefill" else point.tpot.p50
        return self._seconds[key][1]

    def _price(self, pools: Pools, more: tuple[int, int]) -> float | None:
        """USD an hour of both pools; None where the spec's counts or purchase list do not hold one of them."""
        usd = 0.0
        for role, size in zip(("prefill", "decode"), more, strict=True):
            sized = self._sized(pools, role, size)
            key = id(pools[role]), sized.fleet.replicas[1]
            if key not in self._prices:
                made = buy(self._prepared, sized.instance, sized.fleet)
                cost = None if isinstance(made, str) else Option(sized, *made, root_usd_per_hour(self._prepared)).usd_per_hour
                self._prices[key] = pools[role], cost
            found = self._prices[key][1]
            if found is None:
                return None
            usd += found
        return usd

    def _sized(self, pools: Pools, role: str, more: int) -> Choice:
        """A pool with `more` nodes than its own work needs, or `more` groups of the asked ratio than either pool's work needs."""
        choice = pools[role]
        fleet = choice.fleet
        if self._ratio is not None:
            parts = {"prefill": self._ratio.prefill, "decode": self._ratio.decode}
            groups = [max(math.ceil(pools[part].fleet.replicas[at] / parts[part]) for part in parts) for at in range(3)]
            wanted = [count * parts[role] for count in _raised(groups, groups[1] + more)]
        elif more:
            wanted = _raised(list(fleet.replicas), fleet.replicas[1] + more * fleet.replicas_per_node)
            wanted = [-(-count // fleet.replicas_per_node) * fleet.replicas_per_node for count in wanted]
        else:
            return choice
        nodes = [-(-count // fleet.replicas_per_node) * fleet.nodes_per_replica for count in wanted]
        return replace(choice, fleet=replace(fleet, replicas=(wanted[0], wanted[1], wanted[2]), nodes=(nodes[0], nodes[1], nodes[2])))


def _beside(asked: Callable[[tuple[int, int]], bool], prefill: int, decode: int) -> bool:
    return asked((prefill, decode))


def _raised(counts: list[int], steady: int) -> list[int]:
    """(fewest, steady, most) with the steady one raised: the burst meets as little load a replica as the busiest hour does."""
    if steady <= counts[1]:
        return counts
    return [max(counts[0], -(-steady // 2)), steady, math.ceil(counts[2] * steady / counts[1])]


def _least(fits: Callable[[int], bool], affordable: Callable[[int], bool]) -> int | None:
    """The smallest number that fits, where it can be paid: more always fit better and cost more."""
    if fits(0):
        return 0 if affordable(0) else None
    low, high = 0, 1
    while not fits(high):
        if high >= _MOST or not affordable(high):
            return None
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high if affordable(high) else None
