"""The decision told from the plan's own search: what was chosen and next best, what fell and why, what would be cheaper (requirements A11)."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.plan import ModelPlan, PoolPlan, Rejected
from inferform.plan_cost import HOURS_PER_MONTH
from inferform.planning.levers import cheaper
from inferform.planning.models import Variant
from inferform.planning.prepare import Prepared
from inferform.planning.settled import settle
from inferform.sizing.operating_curve import Curve, operating_curve
from inferform.sizing.search import Choice

# A saving below this share of the price is not worth moving a constraint for.
_WORTH_TELLING = 0.97


@dataclass(frozen=True, slots=True)
class Offer:
    """A candidate with its price a month, the model's pools alone."""

    candidate: str
    usd_per_month: float


@dataclass(frozen=True, slots=True)
class Cheaper:
    """A constraint that costs money: moved as `change` says, `candidate` carries the load and saves this much a month."""

    change: str
    field: str
    candidate: str
    usd_per_month: float
    saves_usd_per_month: float
    ttft_p95_s: float
    tpot_p95_s: float


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """Bytes of one GPU of a pool: what takes them, in order; they add up to the device."""

    pool: str
    device_bytes: int
    parts: dict[str, int]


@dataclass(frozen=True, slots=True)
class ModelExplanation:
    """Why one model runs as it does. `candidates` were looked at on `instance_types` types; `second` is None where nothing else is inside the objectives."""

    chosen: Offer
    second: Offer | None
    second_costs_more_usd_per_month: float | None
    candidates: int
    instance_types: int
    objectives: str
    why: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    cheaper_if: tuple[Cheaper, ...]
    memory: tuple[MemoryBar, ...]
    curves: tuple[Curve, ...]


def explain(prepared: Prepared, variant: Variant, plan: ModelPlan, left_usd_per_hour: float | None) -> ModelExplanation:
    """The explanation of one model's part of the plan; `left_usd_per_hour` is what the budget leaves to its pools (None: there is no budget)."""
    own = variant.usd_per_hour
    second = variant.others[0] if variant.others else None
    looked_at = {(row.instance, row.cut) for row in variant.dropped} | {(c.instance.name, str(c.fit.cut)) for c in _choices(variant)}
    split = len(plan.pools) > 1
    ceiling = own * _WORTH_TELLING
    ways = () if split else settle(cheaper(prepared, ceiling, tier=variant.tier), left_usd_per_hour=left_usd_per_hour, ceiling_usd_per_hour=ceiling)
    return ModelExplanation(
        chosen=Offer(_named(variant), _month(own)),
        second=None if second is None else Offer(str(second), _month(second.usd_per_hour)),
        second_costs_more_usd_per_month=None if second is None else _month(second.usd_per_hour - own),
        candidates=len(looked_at), instance_types=len({name for name, _ in looked_at}), objectives=_objectives(prepared), why=plan.why, rejected=plan.rejected,
        cheaper_if=tuple(
            Cheaper(
                w.lever.change, w.lever.field, _named(w.variant), _month(w.usd_per_hour), _month(own - w.usd_per_hour), round(w.ttft_p95_s, 4), round(w.tpot_p95_s, 5)
            )
            for w in ways
        ),
        memory=tuple(_bar(name, pool) for name, pool in sorted(plan.pools.items()) if pool.gpu),
        curves=tuple(_curve(prepared, variant, name, pool) for name, pool in sorted(plan.pools.items())),
    )  # fmt: skip


def _named(variant: Variant) -> str:
    return " + ".join(str(option.choice) for option in variant.options.values())


def _choices(variant: Variant) -> list[Choice]:
    return [*(option.choice for option in variant.options.values()), *variant.others]


def _month(usd_per_hour: float) -> float:
    return round(usd_per_hour * HOURS_PER_MONTH, 2)


def _objectives(prepared: Prepared) -> str:
    demand = prepared.demand
    said = [f"TTFT p95 of {demand.ttft_p95_s:g} s"] if demand.ttft_p95_s else []
    said += [f"TPOT p95 of {demand.tpot_p95_s * 1e3:g} ms"] if demand.tpot_p95_s else []
    load = f"{demand.requests_per_s:g} requests/s and {demand.defaults.headroom:.0%} headroom"
    return f"{load} with {' and '.join(said)}" if said else f"{load}, without latency objectives"


def _bar(name: str, pool: PoolPlan) -> MemoryBar:
    memory = pool.memory
    parts = {
        "weights": memory.weights_bytes_per_gpu, "activations": memory.activation_bytes_per_gpu, "runtime": memory.runtime_bytes_per_gpu,
        "KV cache": memory.kv_cache_bytes_per_gpu,
    }  # fmt: skip
    parts["kept free"] = max(0, memory.device_memory_bytes - sum(parts.values()))
    return MemoryBar(name, memory.device_memory_bytes, parts)


def _curve(prepared: Prepared, variant: Variant, name: str, pool: PoolPlan) -> Curve:
    option = variant.options[name]
    demand = prepared.demand_of(name)
    label = f"{prepared.name}/{name}: {option.choice.instance.name}, {option.choice.fit.cut.weights}, {option.choice.fit.cut.degrees}"
    return operating_curve(label, option.choice.fit, demand, prepared.engine, demand.requests_per_s / pool.replicas.steady)
