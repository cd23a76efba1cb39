"""What the way of a prompt's cache from a prefill to a decode node takes."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.planning.prepare import Prepared
from inferform.sizing.kv_cache import held_bytes
from inferform.sizing.search import Choice

# Bulk transfers between nodes fill most of a network card.
_NETWORK_SHARE = 0.7


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
