"""The search for one model: which cuts are legal, what a fleet of them costs, and what comes out by precision tier."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache

from inferform.catalog.types import Instance
from inferform.errors import Problem
from inferform.plan_nodes import PurchasePart, WarmPoolPlan
from inferform.planning.fleet import Counted, count
from inferform.planning.loading import checkpoint_bytes
from inferform.planning.money import disk_usd_per_hour
from inferform.planning.nodes import offered_zones
from inferform.planning.pod import CACHE_FACTOR
from inferform.planning.prepare import Prepared
from inferform.planning.warm_pool import warm_pool, warm_usd_per_hour
from inferform.quantities import format_bytes
from inferform.sizing.cpu import VENDOR
from inferform.sizing.layouts import Cut
from inferform.sizing.parallelism import check_parallelism
from inferform.sizing.precision import check_precision, compute_kind
from inferform.sizing.search import Choice, Fleet, Found, Space, search
from inferform.sizing.workload import Demand
from inferform.spec import Quantization

# A GPU worker, the engine's core, the API server and node agents want a core each.
_LEAST_VCPUS = 4
_LEAST_MEMORY_BYTES = 15 * 2**30
# Engines whose expert-parallel ranks are part of one process group, so that a choice of them needs no other settings.
_EXPERT_PARALLEL_ENGINES = frozenset({"vllm"})
# Answers of searches that are kept: one spec for many tenants asks the same again and again.
_MOST_FOUND = 256
_found: dict[tuple[Hashable, ...], Found] = {}


@dataclass(frozen=True, slots=True)
class Option:
    """A choice with its counts inside the user's limits and the way its nodes are bought."""

    choice: Choice
    counted: Counted
    parts: tuple[PurchasePart, ...]
    disk_usd_per_hour: float = 0.0
    warm: WarmPoolPlan | None = None

    @property
    def usd_per_hour(self) -> float:
        """The steady fleet with its root volumes, and the nodes kept ready beside it."""
        return warm_usd_per_hour(self.warm, self.parts, self.disk_usd_per_hour) + sum(
            part.nodes.steady * (part.usd_per_hour + self.disk_usd_per_hour) for part in self.parts
        )


def buy(prepared: Prepared, instance: Instance, fleet: Fleet) -> tuple[Counted, tuple[PurchasePart, ...]] | str:
    """Counts and purchase of a fleet, or what stands in the way."""
    counted = count(fleet, prepared.limits, nodes_per_replica=fleet.nodes_per_replica, replicas_per_node=fleet.replicas_per_node)
    if isinstance(counted, str):
        return counted
    nodes = counted.nodes
    parts = prepared.market.parts(instance, (nodes.min, nodes.steady, nodes.max))
    return parts if isinstance(parts, str) else (within(counted, parts, fleet), parts)


def within(counted: Counted, parts: tuple[PurchasePart, ...], fleet: Fleet) -> Counted:
    """The counts without the burst that the purchase list cannot hold; the steady need was bought whole."""
    bought = sum(part.nodes.max for part in parts)
    held = max(counted.replicas.steady, bought // fleet.nodes_per_replica * fleet.replicas_per_node)
    if counted.replicas.max <= held:
        return counted
    note = f"the purchase list holds {bought} node{'s' if bought > 1 else ''} and cuts the burst fleet from {counted.replicas.max} to {held} replicas"
    return replace(counted, replicas=counted.replicas.model_copy(update={"max": held}), notes=(*counted.notes, note))


def find(
    prepared: Prepared,
    demand: Demand,
    weights: tuple[str, ...],
    *,
    ceiling_usd_per_hour: float = math.inf,
    keep: int | None = 2,
    every: bool = False,
    thorough: bool = False,
) -> Found:
    """Candidates of one precision tier, cheapest first, and what was dropped; see `search` for `keep` and `every`, `Space` for `thorough`."""
    key = (_needs(prepared), demand, weights, ceiling_usd_per_hour, keep, every, thorough)
    if key not in _found:
        if len(_found) >= _MOST_FOUND:
            _found.clear()
        _found[key] = _find(prepared, demand, weights, ceiling_usd_per_hour=ceiling_usd_per_hour, keep=keep, every=every, thorough=thorough)
    return _found[key]


def _needs(prepared: Prepared) -> tuple[Hashable, ...]:
    """All that a search depends on. Whose nodes they are is not part of it, so tenants with the same needs share the answer."""
    market, limits, settings = prepared.market, prepared.limits, prepared.settings
    return (
        prepared.name, prepared.spec.model_dump_json(), prepared.model, settings.engine.name, settings.version, prepared.engine, prepared.degrees, prepared.tiers,
        prepared.instances, market.region, market.capacity.model_dump_json(), market.latency_sensitive, market.zones, market.book, market.stand_ins,
        limits.capacity.model_dump_json(), limits.scaling.model_dump_json(), limits.spare, replace(prepared.site, tenant=None), prepared.streaming,
    )  # fmt: skip


def _find(prepared: Prepared, demand: Demand, weights: tuple[str, ...], *, ceiling_usd_per_hour: float, keep: int | None, every: bool, thorough: bool) -> Found:
    disk, warm = root_usd_per_hour(prepared), warm_pool(prepared.limits.capacity)

    @lru_cache(maxsize=4096)
    def cost(instance: Instance, fleet: Fleet) -> float | str:
        refused = _unsuited(prepared, instance, weights)
        if refused:
            return refused
        bought = buy(prepared, instance, fleet)
        if isinstance(bought, str):
            return bought
        return warm_usd_per_hour(warm, bought[1], disk) + sum(part.nodes.steady * (part.usd_per_hour + disk) for part in bought[1])

    space = Space(
        prepared.instances, weights, prepared.degrees, cost, lambda cut: forbidden(prepared, cut), prepared.limits.capacity.warm_standby, spreads_experts(prepared), thorough, ceiling_usd_per_hour
    )  # fmt: skip
    return search(prepared.model, demand, prepared.engine, space, keep=keep, every=every)


def option(prepared: Prepared, choice: Choice) -> Option:
    """The choice with counts and purchase; it was priced before, so it can be bought."""
    bought = buy(prepared, choice.instance, choice.fleet)
    assert not isinstance(bought, str), bought
    return Option(choice, *bought, root_usd_per_hour(prepared), warm_pool(prepared.limits.capacity))


def root_usd_per_hour(prepared: Prepared) -> float:
    """USD an hour of the root volume of one of the model's nodes."""
    return disk_usd_per_hour(prepared.spec.nodes.root_size, prepared.site.region, prepared.market.book)


def spreads_experts(prepared: Prepared) -> bool:
    """Whether ranks of a replica may hold whole experts: the model has some and the engine lays them out so."""
    return prepared.model.moe is not None and prepared.settings.engine.name in _EXPERT_PARALLEL_ENGINES


def forbidden(prepared: Prepared, cut: Cut) -> tuple[str, str] | None:
    """(kind, reason) of what rules a cut out before it is evaluated: divisibility, precision, PCIe."""
    if cut.gpu.vendor == VENDOR:
        return None
    if not cut.gpu.fp16_flops or cut.gpu.device_memory_bytes is None:
        return "offer", f"memory or peaks of {cut.gpu.name} are not known"
    settings = prepared.settings
    precision = check_precision(
        prepared.model, cut.gpu, weights=cut.weights, kv_cache=prepared.engine.kv_cache, engine=settings.engine.name, engine_version=settings.version
    )
    if precision.problems:
        return "precision", _text(precision.problems[0])
    if cut.weights == "nvfp4" and len(prepared.tiers) > 1 and compute_kind(cut.gpu, "nvfp4") != "native":
        # Without FP4 arithmetic it only saves memory, and awq saves more.
        return "precision", f"{cut.gpu.name} does not compute in FP4; it is chosen on Blackwell only"
    if cut.weights == "fp8" and prepared.spec.quantization is Quantization.AUTO and compute_kind(cut.gpu, "fp8") != "native":
        # Engines have kernels that unpack it there, but rule SIZ002 denies what the card does not compute (requirements A4).
        return "precision", f"{cut.gpu.name} does not compute in FP8; without being asked it is chosen from compute capability 8.9 up"
    broken = check_parallelism(prepared.model, tp=cut.tp, pp=cut.pp, ep=cut.ep, weights=cut.weights, engine_version=settings.version)
    if broken:
        return "parallelism", _text(broken[0])
    return None


def _text(problem: Problem) -> str:
    return problem.message + (f" ({problem.fix})" if problem.fix else "")


def cache_bytes(prepared: Prepared, weights: str) -> int:
    """Disk that a node needs for this model's weights."""
    if prepared.spec.model_cache is not None:
        return prepared.spec.model_cache
    return round(checkpoint_bytes(prepared.model, weights, as_published=prepared.online(weights)) * CACHE_FACTOR)


def _unsuited(prepared: Prepared, instance: Instance, weights: tuple[str, ...]) -> str | None:
    """Why an instance type cannot be a node here, whatever runs on it."""
    spec = prepared.spec
    usable = offered_zones(instance, prepared.site.region)
    asked = spec.nodes.zones or prepared.site.zones
    if (asked and not set(usable) & set(asked)) or not usable:
        return f"not offered in {', '.join(asked) if asked else prepared.site.region}"
    if instance.arch != "x86_64":
        return f"{instance.arch} nodes need their own image"
    if instance.vcpus < _LEAST_VCPUS or instance.memory_bytes < _LEAST_MEMORY_BYTES:
        return f"{instance.vcpus} vCPUs and {format_bytes(instance.memory_bytes)} are too few for an engine process"
    disk = instance.local_nvme_bytes if instance.local_nvme_count else spec.nodes.root_size
    needed = min(cache_bytes(prepared, kind) for kind in weights)
    if needed > disk:
        return f"the weight cache needs {format_bytes(needed)} and the node has {format_bytes(disk)}"
    return None
