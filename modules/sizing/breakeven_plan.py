"""What a DeploymentPlan says for a break-even of one of its models: the fleet's bill, its capacity, its traffic."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.errors import InputError, Nearest, Problem
from inferform.plan import DeploymentPlan, ModelPlan, PoolPlan
from inferform.quantities import GIB
from inferform.sizing.breakeven import Traffic
from inferform.sizing.breakeven_fleet import Fleet, FleetPart
from inferform.sizing.breakeven_request import Planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The traffic that a spec states for one model, tokens as means of a request."""

    peak_rps: float
    input_tokens: float
    output_tokens: float
    shared_prefix_tokens: float = 0.0
    mean_rps: float | None = None


def choose_model(plan: DeploymentPlan, name: str | None) -> str:
    """The model asked for, or the only one. Raises: InputError."""
    known = tuple(sorted(plan.models))
    if name in known:
        return name
    if name is None and len(known) == 1:
        return known[0]
    if name is None:
        raise InputError(
            Problem("the spec has several models, and an API replaces one", field="model", legal=known, fix=f"name one, such as --model {known[0]}")
        )
    raise InputError(Problem("there is no such model in the spec", field="model", value=name, legal=Nearest(name, known).suggestions() or known))


def planned(plan: DeploymentPlan, name: str, demand: Demand) -> Planned:
    """The steady fleet of one model, its traffic and its planned tokens: the spec's mean of the month, or its peak held all month.

    The bill is the deployment's, split over the models by the price of their pools; what is not theirs is the platform, which
    further nodes do not buy again. The capacity is what the replicas carry inside their objectives, around the clock. The shared prefix is taken to be served from the API's prompt cache
    just as from the engine's, and a batch model to use the batch API.
    """
    model = plan.models[name]
    # An embedding model answers with a vector, which is no token.
    embeds = model.task == "embed"
    tokens = demand.input_tokens + (0.0 if embeds else demand.output_tokens)
    seconds = plan.cost.hours_per_month * 3600
    share = _bill_share(plan, name)
    usd = plan.cost.usd_per_month * share
    pools = sum(plan.cost.by_pool.get(f"{name}/{role}", 0.0) for role in model.pools) * plan.cost.hours_per_month
    of = "the plan" if len(plan.models) == 1 else f"the plan, {share:.0%} of it for {name} by the price of its pools"
    return Planned(
        fleet=Fleet(
            usd_per_month=usd,
            fixed_usd_per_month=max(0.0, usd - pools),
            parts=_parts(plan, name, tokens),
            capacity_tokens_per_month=_requests_per_s(model) * tokens * seconds or None,
            source=of,
            capacity_source=f"{_requests_per_s(model):,.2f} requests a second inside the objectives, all month",
        ),
        traffic=Traffic(
            input_share=demand.input_tokens / tokens,
            cached_share=demand.shared_prefix_tokens / demand.input_tokens if model.prefix_caching else 0.0,
            batch_share=1.0 if model.profile == "batch" else 0.0,
        ),
        tokens_per_month=(demand.mean_rps or demand.peak_rps) * tokens * seconds,
        tokens_source=(
            f"the spec's peak of {demand.peak_rps:g} requests a second, held all month; state mean_rps where it is less"
            if demand.mean_rps is None
            else f"the spec's mean of {demand.mean_rps:g} requests a second"
        ),
    )


def _requests_per_s(model: ModelPlan) -> float:
    """Requests a second that the steady replicas carry; the scarcer role decides where prefill and decode are apart."""
    by_role: dict[str, float] = {}
    for pool in model.pools.values():
        by_role[pool.role] = by_role.get(pool.role, 0.0) + pool.requests_per_s * pool.replicas.steady
    together = by_role.pop("aggregated", 0.0)
    return together + min(by_role.values(), default=0.0)


def _parts(plan: DeploymentPlan, name: str, tokens: float) -> tuple[FleetPart, ...]:
    """What each pool buys at a time: the nodes of one replica, or one node with its replicas. Nothing where a pool carries nothing or has no price."""
    found = []
    for role, pool in plan.models[name].pools.items():
        usd = (_node_usd_per_hour(pool) + _disk_usd_per_hour(plan, pool)) * pool.nodes_per_replica
        carried = pool.requests_per_s * pool.replicas_per_node * tokens
        if usd <= 0 or carried <= 0:
            return ()
        hours = plan.cost.hours_per_month
        found.append(
            FleetPart(
                name=role,
                usd_per_month=usd * hours,
                capacity_tokens_per_month=carried * hours * 3600,
                steady=pool.nodes.steady // pool.nodes_per_replica,
                nodes=pool.nodes_per_replica,
            )
        )
    return tuple(found)


def _node_usd_per_hour(pool: PoolPlan) -> float:
    """Price of one further node: as the nodes between steady and most are bought, or the dearest way where there are none."""
    dearest = max((part.usd_per_hour for part in pool.purchase), default=0.0)
    more = [(part.nodes.max - part.nodes.steady, part.usd_per_hour) for part in pool.purchase if part.nodes.max > part.nodes.steady]
    return sum(nodes * usd for nodes, usd in more) / sum(nodes for nodes, _ in more) if more else dearest


def _disk_usd_per_hour(plan: DeploymentPlan, pool: PoolPlan) -> float:
    """Price of one node's root volume, at what the plan pays for those of the system nodes."""
    per_gib_month = next((part.usd_per_unit for part in plan.cost.platform if part.name == "system-disks"), 0.0)
    return pool.infrastructure.root_volume_bytes / GIB * per_gib_month / plan.cost.hours_per_month


def _bill_share(plan: DeploymentPlan, name: str) -> float:
    if len(plan.models) == 1:
        return 1.0
    by_model = {m: sum(plan.cost.by_pool.get(f"{m}/{role}", 0.0) for role in planned.pools) for m, planned in plan.models.items()}
    total = sum(by_model.values())
    return by_model[name] / total if total else 1 / len(by_model)
