"""Prefill and decode apart: both pools chosen together, each on its own hardware (requirements A5).

A pair has to fit: decode's tensor-parallel degree is a whole multiple of prefill's, so that each decode rank fetches whole
heads, replicas lie on one node each, and the way of the cache from one to the other counts towards the first token.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from inferform.planning.candidates import Option, buy, find, option, root_usd_per_hour
from inferform.planning.prepare import Prepared
from inferform.sizing.kv_cache import held_bytes
from inferform.sizing.layouts import planned
from inferform.sizing.search import Choice, Dropped, Fleet
from inferform.spec import Disaggregation

ROLES: tuple[Literal["prefill", "decode"], ...] = ("prefill", "decode")
# Engines whose split pools can be rendered.
_ENGINES = frozenset({"vllm"})
# Two kinds of pools and a router are more to run, so a plan turns to them by itself only for a fleet of this size and a saving of this share.
LEAST_REPLICAS, LEAST_SAVING = 8, 0.1
# Bulk transfers between nodes fill most of a network card.
_NETWORK_SHARE = 0.7


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

    Both roles run the same precision. Every layout of every type is tried for each role, and every pair that fits.
    """
    best: tuple[float, dict[str, Choice]] | None = None
    dropped: list[Dropped] = []

    def consider(pair: Pair) -> None:
        nonlocal best
        sized = pair.by_role() if ratio is None else _in_ratio(pair.by_role(), {"prefill": ratio.prefill, "decode": ratio.decode})
        usd = _price(prepared, sized) if pair.fits() and _in_time(prepared, sized) else None
        if usd is not None and usd <= ceiling_usd_per_hour and (best is None or usd < best[0]):
            best = usd, sized

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
            # Whole groups only add to what the roles need, so the sum of their own prices is a bound.
            if best is not None and pair.least_usd_per_hour() >= best[0]:
                break
            consider(pair)
    if best is None and not any(row.kind in {"TTFT", "TPOT", "memory", "throughput"} for row in dropped):
        dropped.append(Dropped("", "", "prefill + decode", "TTFT", "no pair of pools that fit together hands the prompt's cache over in time", 1.1))
    return (None if best is None else {role: option(prepared, choice) for role, choice in best[1].items()}), tuple(dropped)


@dataclass(frozen=True, slots=True)
class HandOver:
    """The way of a long prompt's cache from a prefill to a decode node: seconds, and the network that they count on."""

    seconds: float
    over: str


def hand_over(prepared: Prepared, prefill: Choice, decode: Choice) -> HandOver:
    """How the cache of a long (95th percentile) prompt goes over: every byte once, by a replica's share of the slower node's network.

    A node has all its network cards for this only with EFA on; by TCP the traffic of its one address takes one card.
    """
    held = held_bytes(prepared.model, prepared.engine.kv_cache, prepared.demand.prompt.p95)
    rates = {}
    for choice in (prefill, decode):
        rate, cards = choice.instance.network_bytes_per_s, max(choice.instance.network_cards, choice.instance.efa_interfaces, 1)
        efa = _has_efa(prepared, choice)
        share = (rate if efa else rate / cards) / choice.fleet.replicas_per_node
        rates[share] = f"EFA, {rate * 8e-9:,.0f} Gbit/s a node" if efa else f"one network card of {rate / cards * 8e-9:,.0f} Gbit/s a node, without EFA"
    slower = min(rates)
    return HandOver(held / (slower * _NETWORK_SHARE) if slower else 0.0, rates[slower])


def _has_efa(prepared: Prepared, choice: Choice) -> bool:
    asked = prepared.spec.nodes.efa
    wanted = choice.fleet.nodes_per_replica > 1 if asked == "auto" else asked
    return wanted and choice.instance.efa_interfaces > 0


def _sum(choices: Iterable[Choice]) -> float:
    return sum(choice.usd_per_hour for choice in choices)


def _in_time(prepared: Prepared, sized: dict[str, Choice]) -> bool:
    """Whether prompt, hand-over and the first decode step together keep the TTFT objective."""
    demand = prepared.demand
    if demand.ttft_p95_s is None:
        return True
    points = {role: planned(c.fit, prepared.demand_of(role), prepared.engine, demand.requests_per_s / c.fleet.replicas[1] / c.dp) for role, c in sized.items()}
    return points["prefill"].ttft.p95 + hand_over(prepared, sized["prefill"], sized["decode"]).seconds + points["decode"].tpot.p50 <= demand.ttft_p95_s


def _price(prepared: Prepared, sized: dict[str, Choice]) -> float | None:
    """USD an hour of both pools; None where the spec's counts or purchase list do not hold one of them."""
    usd = 0.0
    for choice in sized.values():
        made = buy(prepared, choice.instance, choice.fleet)
        if isinstance(made, str):
            return None
        usd += Option(choice, *made, root_usd_per_hour(prepared)).usd_per_hour
    return usd


def _in_ratio(chosen: dict[str, Choice], ratio: dict[str, int]) -> dict[str, Choice]:
    """Both pools enlarged to whole groups, so that the ratio of their replicas is the asked one at every size."""
    groups = [max(math.ceil(chosen[role].fleet.replicas[at] / ratio[role]) for role in ratio) for at in range(3)]
    sized = {}
    for role, choice in chosen.items():
        fleet = choice.fleet
        replicas = (groups[0] * ratio[role], groups[1] * ratio[role], groups[2] * ratio[role])
        nodes = tuple(-(-count // fleet.replicas_per_node) * fleet.nodes_per_replica for count in replicas)
        sized[role] = replace(choice, fleet=Fleet(replicas, (nodes[0], nodes[1], nodes[2]), fleet.nodes_per_replica, fleet.replicas_per_node))
    return sized
