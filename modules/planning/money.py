"""What the plan costs: by pool, platform part, model version and tenant, and per token and request (requirements A9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from inferform.catalog.platform_prices import LUSTRE_ITEMS, PlatformPrice, in_extended_support, kubernetes_versions
from inferform.catalog.price_book import PriceBook
from inferform.catalog.prices import catalog_as_of
from inferform.plan import ModelPlan, PoolPlan
from inferform.plan_cost import HOURS_PER_MONTH, CostPlan, ModelCost, PlatformCost
from inferform.plan_platform import SystemPool
from inferform.planning.cluster import interface_services
from inferform.planning.warm_pool import warm_usd_per_hour
from inferform.quantities import GIB
from inferform.spec import DeploymentSpec, Workload

_SECONDS_PER_HOUR = 3600
# Root volume of a system node, as the cluster stack makes it.
_SYSTEM_ROOT_BYTES = 100 * GIB


@dataclass(frozen=True, slots=True)
class Platform:
    """The parts around the pools that are paid by the hour. Traffic, log lines and stored bytes are billed by use and not counted."""

    parts: tuple[PlatformCost, ...]

    @property
    def usd_per_hour(self) -> float:
        """All parts together."""
        return sum(part.usd_per_hour for part in self.parts)

    def by_name(self) -> dict[str, float]:
        """USD an hour as the bill names the parts."""
        table: dict[str, float] = {}
        for part in self.parts:
            table[f"platform/{part.name}"] = round(table.get(f"platform/{part.name}", 0.0) + part.usd_per_hour, 6)
        return table


def platform(spec: DeploymentSpec, system: SystemPool, zones: Sequence[str], book: PriceBook, *, system_nodes: int | None = None) -> Platform:
    """Control plane, system nodes with their disks, one NAT gateway and its address a zone, interface endpoints, the file system, and the gateway's load balancer."""
    region, version = spec.cloud.region, spec.cloud.kubernetes_version
    nodes = system.nodes.steady if system_nodes is None else system_nodes
    extended = in_extended_support(version, catalog_as_of())
    control = book.part("eks-extended" if extended else "eks-standard", region)
    listed = book.price(system.instance_type, region, "on_demand")
    assert listed is not None, system.instance_type
    disk = book.part("gp3", region)
    parts = [
        _part("eks", 1, control),
        PlatformCost(
            name="system", count=nodes, unit="hour", usd_per_unit=system.usd_per_hour, usd_per_hour=nodes * system.usd_per_hour, as_of=listed.as_of, source=listed.source
        ),
        _part("system-disks", nodes * _SYSTEM_ROOT_BYTES / GIB, disk),
        _part("nat-gateway", len(zones), book.part("nat-gateway", region)),
        _part("public-ipv4", len(zones), book.part("public-ipv4", region)),
    ]  # fmt: skip
    endpoints = interface_services(spec)
    if endpoints:
        parts.append(_part("interface-endpoints", len(endpoints) * len(zones), book.part("interface-endpoint", region)))
    lustre = spec.model_store.lustre
    if lustre:
        parts.append(_part("lustre", lustre.storage / GIB, book.part(LUSTRE_ITEMS[lustre.throughput], region)))
    if spec.gateway.enabled:
        parts.append(_part("load-balancer", 1, book.part("load-balancer", region)))
    return Platform(tuple(parts))


def support_warnings(spec: DeploymentSpec, book: PriceBook) -> list[str]:
    """What an old Kubernetes version costs a month, and the version that does not."""
    version, region = spec.cloud.kubernetes_version, spec.cloud.region
    if not in_extended_support(version, catalog_as_of()):
        return []
    dates = {known.version: known.standard_until for known in kubernetes_versions()}
    newest = kubernetes_versions()[-1].version
    dearer = book.part("eks-extended", region).usd - book.part("eks-standard", region).usd
    return [
        f"Kubernetes {version} left standard support on EKS on {dates[version]}, which makes its control plane ${dearer * HOURS_PER_MONTH:,.0f} a month dearer; "
        f"set cloud.kubernetes_version to {newest} (in standard support until {dates[newest]})"
    ]


def disk_usd_per_hour(root_bytes: int, region: str, book: PriceBook) -> float:
    """USD an hour of one node's root volume."""
    return root_bytes / GIB * book.part("gp3", region).usd / HOURS_PER_MONTH


def pool_usd_per_hour(pool: PoolPlan, which: Literal["min", "steady", "max"], disk_usd: float) -> float:
    """A pool's nodes with their root volumes, at its `min`, `steady` or `max` nodes, and the nodes kept ready beside them."""
    warm = warm_usd_per_hour(pool.infrastructure.warm_pool, pool.purchase, disk_usd)
    return warm + sum(
        {"min": part.nodes.min, "steady": part.nodes.steady, "max": part.nodes.max}[which] * (part.usd_per_hour + disk_usd) for part in pool.purchase
    )


def cost_plan(
    spec: DeploymentSpec,
    models: dict[str, ModelPlan],
    system: SystemPool,
    zones: Sequence[str],
    *,
    prompt_shares: Mapping[tuple[str, str], float],
    book: PriceBook,
) -> CostPlan:
    """Price of the steady fleet part by part, of the largest fleet, and per token and request at the planned load.

    `prompt_shares`: by (model, pool), the share of its GPU time that prompts take.
    """
    around = platform(spec, system, zones, book)
    region = spec.cloud.region
    by_pool: dict[str, float] = {}
    largest = platform(spec, system, zones, book, system_nodes=system.nodes.max).usd_per_hour
    for name, model in sorted(models.items()):
        for role, pool in sorted(model.pools.items()):
            disk = disk_usd_per_hour(pool.infrastructure.root_volume_bytes, region, book)
            by_pool[f"{name}/{role}"] = round(pool_usd_per_hour(pool, "steady", disk), 6)
            largest += pool_usd_per_hour(pool, "max", disk)
    hourly = sum(by_pool.values()) + around.usd_per_hour
    on_prompts = {name: _on_prompts(name, model, by_pool, prompt_shares) for name, model in models.items()}
    by_model = _by_model(spec, models, by_pool, hourly, on_prompts)
    by_pool |= around.by_name()
    requests = sum(spec.models[name].workload.average_rps for name in models) * _SECONDS_PER_HOUR
    hourly_mtok = {name: _mtok_per_hour(spec.models[name].workload, model.task) for name, model in models.items()}
    prompts, answers = (sum(of_model) for of_model in zip(*hourly_mtok.values(), strict=True))
    spent_on_prompts = sum(cost.usd_per_hour * on_prompts[name] for name, cost in by_model.items())
    return CostPlan(
        usd_per_hour=round(hourly, 4), usd_per_month=round(hourly * HOURS_PER_MONTH, 2), usd_per_hour_max=round(largest, 4),
        usd_per_mtok=_per(hourly, prompts + answers), usd_per_mtok_input=_per(spent_on_prompts, prompts),
        usd_per_mtok_output=_per(hourly - spent_on_prompts, answers), usd_per_request=round(hourly / requests, 8) if requests else 0.0,
        by_pool=by_pool, by_model=by_model, by_tenant={spec.tenant: round(hourly, 4)}, platform=around.parts,
        budget_usd_per_month=spec.budget.usd_per_month if spec.budget else None,
    )  # fmt: skip


def carried_per_s(model: ModelPlan) -> float:
    """Requests a second that the steady replicas carry inside their objectives; the scarcer role decides where prefill and decode are apart."""
    by_role: dict[str, float] = {}
    for pool in model.pools.values():
        by_role[pool.role] = by_role.get(pool.role, 0.0) + pool.requests_per_s * pool.replicas.steady
    together = by_role.pop("aggregated", 0.0)
    return together + min(by_role.values(), default=0.0)


def _part(name: str, count: float, price: PlatformPrice) -> PlatformCost:
    hours = 1.0 if price.unit == "hour" else HOURS_PER_MONTH
    return PlatformCost(
        name=name, count=count, unit=price.unit, usd_per_unit=price.usd, usd_per_hour=round(count * price.usd / hours, 6), as_of=price.as_of, source=price.source
    )  # fmt: skip


def _by_model(
    spec: DeploymentSpec, models: dict[str, ModelPlan], by_pool: Mapping[str, float], hourly: float, on_prompts: Mapping[str, float]
) -> dict[str, ModelCost]:
    own = {name: sum(by_pool[f"{name}/{role}"] for role in model.pools) for name, model in models.items()}
    all_pools = sum(own.values())
    table = {}
    for name, model in sorted(models.items()):
        work = spec.models[name].workload
        usd = hourly * (own[name] / all_pools if all_pools else 1 / len(models))
        prompts, answers = _mtok_per_hour(work, model.task)
        share = on_prompts[name]
        table[name] = ModelCost(
            version=f"{model.source} {model.weights} on {model.engine} {model.engine_version}", usd_per_hour=round(usd, 4),
            usd_per_month=round(usd * HOURS_PER_MONTH, 2), usd_per_request=round(usd / (work.average_rps * _SECONDS_PER_HOUR), 8),
            usd_per_mtok=_per(usd, prompts + answers), usd_per_mtok_input=_per(usd * share, prompts), usd_per_mtok_output=_per(usd * (1 - share), answers),
            utilization=round(min(1.0, work.average_rps / carried), 4) if (carried := carried_per_s(model)) else 0.0,
        )  # fmt: skip
    return table


def _on_prompts(name: str, model: ModelPlan, by_pool: Mapping[str, float], prompt_shares: Mapping[tuple[str, str], float]) -> float:
    """The share of a model's bill that prompts take; all of it where nothing else is answered."""
    if model.task == "embed":
        return 1.0
    pools = {role: by_pool[f"{name}/{role}"] for role in model.pools}
    own = sum(pools.values())
    return sum(usd * prompt_shares[name, role] for role, usd in pools.items()) / own if own else 0.5


def _mtok_per_hour(work: Workload, task: Literal["generate", "embed"]) -> tuple[float, float]:
    """Million tokens an hour at the mean load: (prompts, answers). An embedding model answers with a vector, which is no token."""
    output = 0.0 if task == "embed" else work.output_tokens.mean
    return work.average_rps * work.input_tokens.mean * _SECONDS_PER_HOUR / 1e6, work.average_rps * output * _SECONDS_PER_HOUR / 1e6


def _per(usd: float, millions: float) -> float:
    return round(usd / millions, 4) if millions else 0.0
