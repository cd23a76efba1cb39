"""How the nodes of a pool are bought: floors, caps and order, with the price of each part (requirements A8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from inferform.catalog.instances import cpu_instances, gpu_instances
from inferform.catalog.price_book import LISTED, PriceBook
from inferform.catalog.types import Instance, Price
from inferform.errors import Problem
from inferform.plan_nodes import Count, PurchasePart
from inferform.planning.nodes import offered_zones, usable_zones
from inferform.spec_nodes import Capacity, Purchase, PurchaseSource

# Interchangeable types make a spot pool deeper; more than this adds little and makes the bill hard to read.
_ALTERNATES = 2
_DEAREST_ALTERNATE = 2.0


@dataclass(frozen=True, slots=True)
class Source:
    """One step of the purchase order with its price; `cap` None is no limit."""

    kind: Purchase
    floor: int
    cap: int | None
    given: PurchaseSource | None
    price: Price
    note: str


class Market:
    """What one model's pools may buy in a region, and what it costs.

    `zones` are those that the spec asks for, empty for the network's own. `stand_ins`: the on-demand price counts where another is not known.
    """

    def __init__(
        self, region: str, capacity: Capacity, *, latency_sensitive: bool, zones: tuple[str, ...] = (), book: PriceBook = LISTED, stand_ins: bool = True
    ):
        self.region = region
        self.capacity = capacity
        self.latency_sensitive = latency_sensitive
        self.zones = zones
        self.book = book
        self.stand_ins = stand_ins

    def problems(self, field: str) -> Iterator[Problem]:
        """Purchase lists that cannot be used at all, whatever is bought."""
        listed = self.capacity.purchase
        if listed == "auto":
            return
        kinds = [source.kind for source in listed]
        if Purchase.CAPACITY_BLOCK in kinds and Purchase.SPOT in kinds:
            yield Problem(
                "a capacity block and spot do not go together", f"{field}.purchase", value=", ".join(kinds),
                fix="put the spot nodes into a model or deployment of their own, or use on_demand after the block",
            )  # fmt: skip
        firm = [source for source in listed if source.kind is not Purchase.SPOT and source.max_nodes != 0]
        if self.latency_sensitive and Purchase.SPOT in kinds and not any(s.min_nodes >= 1 for s in firm) and (not firm or listed[0].kind is Purchase.SPOT):
            yield Problem(
                "spot nodes can be taken away at two minutes' notice, so they never carry a latency-sensitive model alone", f"{field}.purchase",
                value=", ".join(kinds), fix="put on_demand with min_nodes of at least 1 before spot, or set workload.profile to batch",
            )  # fmt: skip

    def sources(self, instance: Instance) -> tuple[Source, ...] | str:
        """The purchase order for one instance type, or why it cannot be bought so."""
        return self._sources(instance)

    @lru_cache(maxsize=512)  # noqa: B019 - one Market lives as long as one planning run
    def _sources(self, instance: Instance) -> tuple[Source, ...] | str:
        listed = self.capacity.purchase
        if listed == "auto":
            on_demand = self.book.price(instance.name, self.region, "on_demand")
            if on_demand is None:
                return f"no on-demand price is known in {self.region}"
            first = Source(Purchase.ON_DEMAND, 0, None, None, on_demand, "")
            spot = self._priced(instance, Purchase.SPOT) if not self.latency_sensitive else ""
            return (first,) if isinstance(spot, str) or spot[0].purchase != "spot" else (first, Source(Purchase.SPOT, 0, None, None, *spot))
        found: list[Source] = []
        for source in listed:
            priced = self._priced(instance, source.kind)
            if isinstance(priced, str):
                return priced
            if priced[0].purchase == "on_demand" and source.kind is not Purchase.ON_DEMAND and not self.stand_ins:
                return f"no {source.kind.value} price is known in {self.region}"
            found.append(Source(source.kind, source.min_nodes, source.max_nodes, source, *priced))
        return tuple(found)

    def _priced(self, instance: Instance, kind: Purchase) -> tuple[Price, str] | str:
        """(price, note) of one way to buy; the on-demand price stands in where none is known and the note says so."""
        region = self.region
        if kind is Purchase.SPOT and not instance.spot:
            return f"{instance.name} is not sold as spot"
        if kind is Purchase.CAPACITY_BLOCK and not instance.capacity_blocks:
            return f"{instance.name} is not sold in capacity blocks"
        if kind is Purchase.SPOT:
            found = self.book.spot(instance.name, region, usable_zones(instance, region, self.zones))
        else:
            found = self.book.price(instance.name, region, kind.value)
        if found is not None:
            return found, f"spot of {instance.name} in {region}: {found.note}" if kind is Purchase.SPOT and found.note else ""
        if kind is Purchase.ON_DEMAND:
            return f"no on-demand price is known in {region}"
        stand_in = self.book.price(instance.name, region, "on_demand")
        if stand_in is None:
            return f"no {kind.value} price is known in {region}"
        return stand_in, f"no {kind.value} price of {instance.name} in {region} is known: the on-demand price is counted instead; give your own with --prices"

    def parts(self, instance: Instance, nodes: tuple[int, int, int]) -> tuple[PurchasePart, ...] | str:
        """The nodes (fewest, steady, most) spread over the order, or why the order cannot hold them.

        A source without a cap that stands before spot takes the steady nodes and leaves the burst to spot.
        """
        sources = self.sources(instance)
        if isinstance(sources, str):
            return sources
        steady = max(nodes[1], sum(s.floor for s in sources))
        caps: list[float] = []
        for at, source in enumerate(sources):
            later_spot = source.kind is not Purchase.SPOT and any(s.kind is Purchase.SPOT for s in sources[at + 1 :])
            caps.append(source.cap if source.cap is not None else max(source.floor, steady) if later_spot else float("inf"))
        filled = [_fill(sources, caps, count) for count in nodes]
        if filled[1] is None or filled[0] is None:
            return f"the purchase list holds {sum(caps):.0f} nodes and {nodes[1]} are needed"
        most = filled[2] or [int(cap) for cap in caps]
        several = any(s.kind is Purchase.SPOT for s in sources)
        types = (instance.name, *(alternates(instance, self.region, self.book, self.zones) if several else ()))
        return tuple(
            PurchasePart(
                kind=source.kind.value, instance_types=types, nodes=Count(min=filled[0][at], steady=filled[1][at], max=max(most[at], filled[1][at])),
                usd_per_hour=source.price.usd_per_hour, price_as_of=source.price.as_of, price_source=source.price.source,
                reservation_id=source.given.reservation_id if source.given else None, zone=source.given.zone if source.given else None,
                ends_at=source.given.ends_at if source.given else None,
            )
            for at, source in enumerate(sources)
            if max(most[at], filled[1][at], filled[0][at]) > 0
        )  # fmt: skip

    def idle(self, parts: tuple[PurchasePart, ...]) -> tuple[str, ...]:
        """Sources of the list that get no node even at the most: nobody should count on them as a fallback."""
        listed = self.capacity.purchase
        if listed == "auto":
            return ()
        used = [(part.kind, part.reservation_id) for part in parts]
        left = [f"purchase[{at}] ({s.kind.value})" for at, s in enumerate(listed) if (s.kind.value, s.reservation_id) not in used]
        return (
            (f"{', '.join(left)} of the list gets no node, so it is no fallback: the sources before it hold them all; cap those with max_nodes",)
            if left
            else ()
        )

    def notes(self, instance: Instance) -> tuple[str, ...]:
        """What a buyer should know about the prices used."""
        sources = self.sources(instance)
        return () if isinstance(sources, str) else tuple(s.note for s in sources if s.note)


def _fill(sources: tuple[Source, ...], caps: list[float], count: int) -> list[int] | None:
    """Nodes of each source: floors first, then in order up to the caps; None when the caps are too small."""
    got = [source.floor for source in sources]
    left = count - sum(got)
    for at, cap in enumerate(caps):
        if left <= 0:
            break
        take = int(min(left, cap - got[at]))
        got[at] += take
        left -= take
    return None if left > 0 else got


@lru_cache(maxsize=256)
def alternates(instance: Instance, region: str, book: PriceBook = LISTED, zones: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Types that can stand in for another in a mixed group: same GPUs, no less of anything else, at most twice the price, offered in a zone of its own; cheapest first."""
    own = book.price(instance.name, region, "on_demand")
    if own is None:
        return ()
    found = []
    own_zones = set(usable_zones(instance, region, zones))
    for other in gpu_instances() if instance.gpu else cpu_instances():
        alike = (
            other.gpu == instance.gpu and other.gpu_count == instance.gpu_count and other.arch == instance.arch and other.interconnect == instance.interconnect
        )
        enough = (
            other.memory_bytes >= instance.memory_bytes and other.vcpus >= instance.vcpus and (other.local_nvme_count > 0) == (instance.local_nvme_count > 0)
        )
        family = instance.gpu is not None or other.name.split(".")[0] == instance.name.split(".")[0]
        cost = book.price(other.name, region, "on_demand")
        if (
            other.name != instance.name
            and alike
            and enough
            and family
            and own_zones & set(offered_zones(other, region))
            and other.spot
            and cost
            and cost.usd_per_hour <= _DEAREST_ALTERNATE * own.usd_per_hour
        ):
            found.append((cost.usd_per_hour, other.name))
    return tuple(name for _, name in sorted(found)[:_ALTERNATES])
