"""What a DeploymentPlan says for a break-even of one of its models: the fleet's bill, its capacity, its traffic."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.errors import InputError, Nearest, Problem
from inferform.plan import DeploymentPlan, ModelPlan
from inferform.sizing.breakeven import Fleet, Traffic
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

    The bill is the deployment's, split over the models by the price of their pools. The capacity is what the replicas
    carry inside their objectives, around the clock. The shared prefix is taken to be served from the API's prompt cache
    just as from the engine's, and a batch model to use the batch API.
    """
    model = plan.models[name]
    tokens = demand.input_tokens + demand.output_tokens
    seconds = plan.cost.hours_per_month * 3600
    share = _bill_share(plan, name)
    of = "the plan" if len(plan.models) == 1 else f"the plan, {share:.0%} of it for {name} by the price of its pools"
    return Planned(
        fleet=Fleet(
            usd_per_month=plan.cost.usd_per_month * share,
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


def _bill_share(plan: DeploymentPlan, name: str) -> float:
    if len(plan.models) == 1:
        return 1.0
    by_model = {m: sum(usd for key, usd in plan.cost.by_pool.items() if key.split("/", 1)[0] == m and "/" in key) for m in plan.models}
    total = sum(by_model.values())
    return by_model[name] / total if total else 1 / len(by_model)
