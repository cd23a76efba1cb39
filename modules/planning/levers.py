"""One constraint moved at a time, each priced by a search of its own: what would make a plan cheaper, or possible at all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from inferform.catalog.instances import cpu_instances, gpu_instances
from inferform.plan_cost import HOURS_PER_MONTH
from inferform.planning.candidates import Option, find, option
from inferform.planning.nodes import Site
from inferform.planning.prepare import Prepared, quality_floor
from inferform.planning.purchase import Market
from inferform.sizing.layouts import planned
from inferform.sizing.precision import accuracy_class, at_least
from inferform.sizing.search import Dropped
from inferform.spec import Quantization
from inferform.spec_nodes import Capacity, Purchase, PurchaseSource

# How far an objective is moved to see what it costs.
_LOOSER = 1.5
# Where the nearest objective that can be met costs much, a looser one is told too.
_MUCH = 0.75
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Lever:
    """A constraint of the spec moved: in words, where the spec says it, and the model with the constraint moved."""

    change: str
    field: str
    prepared: Prepared


@dataclass(frozen=True, slots=True)
class Way:
    """The cheapest plan with one constraint moved. `usd_per_hour` is that of the model's pools."""

    lever: Lever
    option: Option
    ttft_p95_s: float
    tpot_p95_s: float

    @property
    def change(self) -> str:
        """The constraint that was moved, in words."""
        return self.lever.change

    @property
    def usd_per_hour(self) -> float:
        """The steady fleet."""
        return self.option.usd_per_hour

    def __str__(self) -> str:
        tpot = f", TPOT p95 {self.tpot_p95_s * 1e3:.0f} ms" if self.tpot_p95_s else ""
        return f"{self.change}: {self.option.choice} for ${self.usd_per_hour * HOURS_PER_MONTH:,.0f} a month (TTFT p95 {self.ttft_p95_s:.2f} s{tpot})"


def pull(lever: Lever, *, ceiling_usd_per_hour: float = math.inf, thorough: bool = False) -> Way | None:
    """The cheapest plan with the constraint moved, in the first precision tier that has one below the ceiling."""
    prepared = lever.prepared
    for weights in prepared.tiers:
        if not weights:
            continue
        choices = find(prepared, prepared.demand, weights, ceiling_usd_per_hour=ceiling_usd_per_hour, keep=1, thorough=thorough).choices
        if choices:
            best = option(prepared, choices[0])
            point = planned(choices[0].fit, prepared.demand, prepared.engine, prepared.demand.requests_per_s / best.counted.replicas.steady / choices[0].dp)
            return Way(lever, best, point.ttft.p95, point.tpot.p95)
    return None


def cheaper(prepared: Prepared, usd_per_hour: float, *, tier: int) -> tuple[Lever, ...]:
    """Constraints that may cost money: with each moved, some precision has a plan below this price. What the planner makes of it is another question."""
    levers = [*_looser_objectives(prepared, {}), *_precisions(prepared, tier), *_others(prepared), *_standby(prepared)]
    return tuple(way.lever for way in [*_pulled(levers, usd_per_hour), *_cheapest_region(prepared, usd_per_hour)])


def inside(prepared: Prepared, usd_per_hour: float) -> tuple[Way, ...]:
    """Ways to carry a model for this money: less load, the first looser objective that does, or another constraint moved; no precision, all were tried."""
    found = [way] if (way := load_within(prepared, usd_per_hour)) is not None else []
    steps = list(_looser_objectives(prepared, {"TTFT": 1.2, "TPOT": 1.2}))
    for name in ("TTFT", "TPOT"):
        found += next(([way] for lever in steps if lever.change.startswith(name) and (way := pull(lever, ceiling_usd_per_hour=usd_per_hour)) is not None), [])
    found += [*_pulled([*_others(prepared), *_standby(prepared)], usd_per_hour), *_cheapest_region(prepared, usd_per_hour)]
    return tuple(found)


def possible(prepared: Prepared, dropped: Sequence[Dropped], binding: str) -> tuple[Way, ...]:
    """Ways to carry a load that no candidate carries: the nearest relaxation of each constraint, cheapest first."""
    found: list[Way] = []
    if binding in {"TTFT", "TPOT", "throughput"}:
        short = {kind: min((row.distance for row in dropped if row.kind == kind), default=1.0) for kind in ("TTFT", "TPOT")}
        for name in ("TTFT", "TPOT"):
            found += _nearest(_looser_objectives(prepared, short), name)
        if not found:
            found += _both_looser(prepared, short)
        if not found:
            loose = replace(prepared, demand=replace(prepared.demand, ttft_p95_s=None, tpot_p95_s=None))
            found += _pulled([Lever("without latency objectives", f"{prepared.field}.slo", loose)])
    if binding == "count":
        found += _pulled(_counts(prepared))
    if binding == "memory":
        found += _pulled(_contexts(prepared))
        found += _pulled([*_kv_cache(prepared), *_lower_quality(prepared)])
    found += _pulled(_own_limits(prepared))
    found += _cheapest_region(prepared, math.inf)
    return tuple(sorted(found, key=lambda way: (way.usd_per_hour, way.change)))


def load_within(prepared: Prepared, usd_per_hour: float) -> Way | None:
    """The largest load, to two figures, that the objectives allow for this money; None when not even a hundredth fits."""
    asked = prepared.demand.requests_per_s

    def at(rate: float) -> Way | None:
        change = f"{rate:.2g} requests/s instead of {asked:g}"
        moved = replace(prepared, demand=replace(prepared.demand, requests_per_s=rate))
        return pull(Lever(change, f"{prepared.field}.workload.peak_rps", moved), ceiling_usd_per_hour=usd_per_hour, thorough=True)

    low, high, best = 0.01 * asked, asked, None
    if at(low) is None:
        return None
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if at(middle) is not None else (low, middle)
    for rate in (_down(low), low):
        best = best or at(rate)
    return best


def _pulled(levers: Iterable[Lever], ceiling_usd_per_hour: float = math.inf) -> list[Way]:
    return [way for lever in levers if (way := pull(lever, ceiling_usd_per_hour=ceiling_usd_per_hour)) is not None]


def _others(prepared: Prepared) -> Iterator[Lever]:
    yield from _kv_cache(prepared)
    yield from _lower_quality(prepared)
    yield from _purchases(prepared)
    yield from _own_limits(prepared)


def _nearest(levers: Iterable[Lever], name: str) -> list[Way]:
    """The first of ever looser objectives of one kind that can be met, and one beyond it where that is much cheaper."""
    kept: list[Way] = []
    for lever in (one for one in levers if one.change.startswith(name)):
        way = pull(lever, ceiling_usd_per_hour=kept[0].usd_per_hour * _MUCH if kept else math.inf)
        if way is not None:
            kept.append(way)
        if len(kept) == 2 or (kept and way is None):
            break
    return kept


def _looser_objectives(prepared: Prepared, short: dict[str, float]) -> Iterator[Lever]:
    """TTFT and TPOT moved; `short` says by which factor the nearest candidate misses each, and asks for several steps."""
    demand = prepared.demand
    for name, now, field in (("TTFT", demand.ttft_p95_s, "ttft_p95"), ("TPOT", demand.tpot_p95_s, "tpot_p95")):
        if now is None:
            continue
        factor = max(1.1, 1.05 * short[name]) if short else _LOOSER
        for _ in range(_TRIES if short else 1):
            value = _nice(now * factor)
            moved = replace(demand, ttft_p95_s=value) if name == "TTFT" else replace(demand, tpot_p95_s=value)
            text = f"{value:g} s instead of {now:g} s" if name == "TTFT" else f"{value * 1e3:g} ms instead of {now * 1e3:g} ms"
            yield Lever(f"{name} p95 {text}", f"{prepared.field}.slo.{field}", replace(prepared, demand=moved))
            factor *= _LOOSER


def _both_looser(prepared: Prepared, short: dict[str, float]) -> list[Way]:
    """The first of ever looser pairs of objectives that can be met, where neither alone helps, and the first beyond it that is much cheaper."""
    demand = prepared.demand
    if demand.ttft_p95_s is None or demand.tpot_p95_s is None:
        return []
    ttft, tpot = (now * max(1.1, 1.05 * short[name]) for name, now in (("TTFT", demand.ttft_p95_s), ("TPOT", demand.tpot_p95_s)))
    kept: list[Way] = []
    for _ in range(2 * _TRIES):
        moved = replace(demand, ttft_p95_s=_nice(ttft), tpot_p95_s=_nice(tpot))
        change = (
            f"TTFT p95 {_nice(ttft):g} s instead of {demand.ttft_p95_s:g} s and TPOT p95 {_nice(tpot) * 1e3:g} ms instead of {demand.tpot_p95_s * 1e3:g} ms"
        )
        ceiling = kept[0].usd_per_hour * _MUCH if kept else math.inf
        way = pull(Lever(change, f"{prepared.field}.slo", replace(prepared, demand=moved)), ceiling_usd_per_hour=ceiling)
        kept += [] if way is None else [way]
        if len(kept) == 2:
            break
        ttft, tpot = ttft * _LOOSER, tpot * _LOOSER
    return kept


def _precisions(prepared: Prepared, tier: int) -> Iterator[Lever]:
    for weights in prepared.tiers[tier + 1 :]:
        for kind in weights:
            change = f"a checkpoint quantized to {kind} ({accuracy_class(kind).replace('_', ' ')})"
            yield Lever(change, f"{prepared.field}.quantization", replace(prepared, tiers=((kind,),)))


def _lower_quality(prepared: Prepared) -> Iterator[Lever]:
    """Precisions that the spec's quality floor keeps out."""
    floor, own = quality_floor(prepared.spec), prepared.model.quantization
    if own is not None or prepared.spec.quantization is not Quantization.AUTO or prepared.model.encoder:
        return
    for kind in ("fp8", "nvfp4", "awq"):
        if not at_least(kind, floor):
            change = f"quality {accuracy_class(kind)} with {kind} weights"
            yield Lever(change, f"{prepared.field}.quality", replace(prepared, tiers=((kind,),)))


def _kv_cache(prepared: Prepared) -> Iterator[Lever]:
    """An FP8 cache where the spec leaves the type open and its quality floor allows eight bits."""
    if prepared.engine.kv_cache != "auto" or prepared.task == "embed" or not at_least("fp8", quality_floor(prepared.spec)):
        return
    yield Lever("an FP8 KV cache", f"{prepared.field}.kv_cache", replace(prepared, engine=replace(prepared.engine, kv_cache="fp8")))


def _purchases(prepared: Prepared) -> Iterator[Lever]:
    """Spot behind an on-demand floor, and a reservation of the steady nodes where its price is known."""
    market = prepared.market
    if market.capacity.purchase != "auto":
        return
    floor = PurchaseSource(kind=Purchase.ON_DEMAND, min_nodes=1, max_nodes=1)
    mixed = (floor, PurchaseSource(kind=Purchase.SPOT))
    yield _bought(prepared, mixed, "spot with an on-demand floor of 1")
    yield _bought(prepared, (PurchaseSource(kind=Purchase.RESERVED),), "reserved for a year")


def _bought(prepared: Prepared, purchase: tuple[PurchaseSource, ...], change: str) -> Lever:
    field = f"{prepared.field}.capacity" if prepared.spec.capacity else "capacity"
    market = prepared.market
    capacity = market.capacity.model_copy(update={"purchase": purchase})
    moved = Market(market.region, capacity, latency_sensitive=market.latency_sensitive, zones=market.zones, book=market.book, stand_ins=False)
    return Lever(change, f"{field}.purchase", replace(prepared, market=moved))


def _standby(prepared: Prepared) -> Iterator[Lever]:
    capacity = prepared.limits.capacity
    if capacity.warm_standby:
        yield _limited(prepared, capacity.model_copy(update={"warm_standby": 0}), "no warm standby", "capacity.warm_standby")


def _counts(prepared: Prepared) -> Iterator[Lever]:
    """More nodes or replicas than the spec allows."""
    capacity, scaling = prepared.limits.capacity, prepared.limits.scaling
    free = capacity.model_copy(update={"max_nodes": None, "desired_nodes": None, "purchase": "auto"})
    if free != capacity:
        yield _limited(prepared, free, "as many nodes as it takes", "capacity")
    if scaling.max is not None:
        limits = replace(prepared.limits, scaling=scaling.model_copy(update={"max": None}))
        yield Lever("as many replicas as it takes", "scaling.max", replace(prepared, limits=limits))


def _limited(prepared: Prepared, capacity: Capacity, change: str, field: str) -> Lever:
    market = prepared.market
    moved = Market(market.region, capacity, latency_sensitive=market.latency_sensitive, zones=market.zones, book=market.book)
    return Lever(change, field, replace(prepared, market=moved, limits=replace(prepared.limits, capacity=capacity)))


def _contexts(prepared: Prepared) -> Iterator[Lever]:
    """A context that just holds the workload's 95th percentiles."""
    demand, engine = prepared.demand, prepared.engine
    needed = int(-(-(demand.prompt.p95 + demand.output.p95) // 1024) * 1024)
    if needed < engine.max_model_len:
        change = f"max_model_len {needed} instead of {engine.max_model_len}"
        yield Lever(change, f"{prepared.field}.max_model_len", replace(prepared, engine=replace(engine, max_model_len=needed)))


def _own_limits(prepared: Prepared) -> Iterator[Lever]:
    """What the spec fixes of hardware, degrees, and batch, left to the plan."""
    spec, on_gpu = prepared.spec, any(i.gpu for i in prepared.instances)
    if spec.hardware.gpus or spec.hardware.instance_types:
        yield Lever("any hardware", f"{prepared.field}.hardware", replace(prepared, instances=gpu_instances() if on_gpu else cpu_instances()))
    if prepared.degrees is not None and spec.hardware.sharing is None:
        yield Lever("parallelism chosen by the plan", f"{prepared.field}.parallelism", replace(prepared, degrees=None))
    if prepared.engine.max_num_seqs is not None or prepared.engine.max_num_batched_tokens is not None:
        free = replace(prepared.engine, max_num_seqs=None, max_num_batched_tokens=None)
        yield Lever("batch limits chosen by the plan", f"{prepared.field}.max_num_seqs", replace(prepared, engine=free))


def _cheapest_region(prepared: Prepared, ceiling_usd_per_hour: float) -> list[Way]:
    """The same in the region where it is cheapest; none where the spec names zones."""
    site, market = prepared.site, prepared.market
    if site.zones or prepared.spec.nodes.zones or (market.capacity.purchase != "auto" and any(s.reservation_id for s in market.capacity.purchase)):
        return []
    found: list[Way] = []
    for region in market.book.regions():
        if region == site.region:
            continue
        moved = replace(
            prepared, site=Site(region, (), site.kubernetes_version),
            market=Market(region, market.capacity, latency_sensitive=market.latency_sensitive, book=market.book),
        )  # fmt: skip
        ceiling = min([ceiling_usd_per_hour, *(way.usd_per_hour * 0.999 for way in found)])
        way = pull(Lever(f"region {region}", "cloud.region", moved), ceiling_usd_per_hour=ceiling)
        found = [way] if way is not None else found
    return found


def _nice(value: float) -> float:
    """Rounded up to two figures."""
    scale = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / scale - 1e-9) * scale, 12)


def _down(value: float) -> float:
    """Rounded down to two figures."""
    scale = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.floor(value / scale + 1e-9) * scale, 12)
