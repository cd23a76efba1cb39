"""Spec to plan: every decision, taken once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inferform import __version__
from inferform.catalog.price_book import LISTED, PriceBook
from inferform.catalog.prices import catalog_as_of
from inferform.errors import InputError, Problem
from inferform.plan import DeploymentPlan
from inferform.plan_cost import HOURS_PER_MONTH
from inferform.plan_isolation import IsolationPlan
from inferform.plan_platform import StatePlan
from inferform.planning.budget import Platforms, exceeded, within
from inferform.planning.candidates import Option
from inferform.planning.frame import bucket_name, cloud_plan, frame_problems, gateway_plan, network_zones, observability_plan, quotas, system_pool
from inferform.planning.karpenter import karpenter_plan, karpenter_warnings
from inferform.planning.models import Variant, first_variant, later_variants, plan_model, prompt_shares
from inferform.planning.money import cost_plan, platform, support_warnings
from inferform.planning.nodes import pool_zones
from inferform.planning.prepare import Prepared, prepare
from inferform.planning.shares import overdrawn
from inferform.planning.store import store_plan, store_problems, store_warnings
from inferform.planning.termination import termination_plan
from inferform.sizing.corrections import NO_RUNS, OwnRuns, read_corrections
from inferform.spec import DeploymentSpec

if TYPE_CHECKING:
    from inferform.planning.explain import ModelExplanation


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a plan is as it is, by model; the same facts as text and JSON show."""

    models: dict[str, ModelExplanation]


def size(spec: DeploymentSpec, environment: str = "default", prices: PriceBook = LISTED) -> DeploymentPlan:
    """The cheapest plan, by these prices, that carries every model's load inside its objectives and the budget.

    Own runs that the spec names (`calibration`) correct latency and throughput of what they measured.

    Raises: InputError with every problem; when nothing meets objectives and budget it names what binds (memory, TTFT, TPOT,
    budget, offering, counts) and the nearest relaxations with their price.
    """
    return _plan(spec, environment, prices)[0]


def explain(spec: DeploymentSpec, environment: str = "default", prices: PriceBook = LISTED) -> tuple[DeploymentPlan, Explanation]:
    """The plan, and the decision as a person would tell it. Raises: as `size`."""
    from inferform.planning.explain import explain as explain_model

    plan, decided = _plan(spec, environment, prices)
    budget = spec.budget
    left = None if budget is None else budget.usd_per_month / HOURS_PER_MONTH - plan.cost.usd_per_hour
    return plan, Explanation(
        {one.name: explain_model(one, variant, plan.models[one.name], None if left is None else left + variant.usd_per_hour) for one, variant in decided}
    )


def _plan(spec: DeploymentSpec, environment: str, prices: PriceBook) -> tuple[DeploymentPlan, list[tuple[Prepared, Variant]]]:
    own_runs = _own_runs(spec)
    prepared = _each(sorted(spec.models), lambda name: prepare(name, spec.models[name], spec, prices, own_runs))
    system = system_pool(spec.cloud.region, prices)

    def around(variants: Iterable[Variant]) -> float:
        zones = network_zones(spec, [_zones(one, o) for one, variant in zip(prepared, variants, strict=True) for o in variant.options.values()])
        return platform(spec, system, zones, prices).usd_per_hour

    chosen = _choose(spec, prepared, around)
    problems: list[Problem] = []
    warnings = support_warnings(spec, prices)
    models = {p.name: plan_model(p, variant, problems, warnings) for p, variant in zip(prepared, chosen, strict=True)}
    zones = network_zones(spec, [pool.infrastructure.zones for model in models.values() for pool in model.pools.values()])
    problems += [*frame_problems(spec, zones), *overdrawn(spec, models)] if not problems else []
    shares = {(p.name, role): share for p, variant in zip(prepared, chosen, strict=True) for role, share in prompt_shares(p, variant).items()}
    problems += store_problems(spec, models, zones, prices) if not problems else []
    gateway = gateway_plan(spec.gateway, models, problems)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    store = store_plan(spec, environment, models, zones)
    warnings += store_warnings(store, models)
    warnings += karpenter_warnings({f"{m}/{p}": pool.infrastructure.kind for m, model in models.items() for p, pool in model.pools.items()})
    identity = {"tenant": spec.tenant, "name": spec.name, "environment": environment, "region": spec.cloud.region}
    plan = DeploymentPlan(
        name=spec.name, tenant=spec.tenant, environment=environment, namespace=f"{spec.tenant}-{spec.name}", spec_digest=spec_digest(spec),
        inferform_version=__version__, catalog_as_of=catalog_as_of(), cloud=cloud_plan(spec, zones, system), models=models, gateway=gateway,
        observability=observability_plan(spec), isolation=IsolationPlan(tier=spec.isolation.tier, dedicated=spec.isolation.dedicated),
        state=StatePlan(
            backend=spec.state.backend, bucket=spec.state.bucket or bucket_name("state", **identity), key_prefix=f"{spec.tenant}/{spec.name}/{environment}"
        ),
        model_store=store, quotas=quotas(models, system), protected=spec.protected,
        cost=cost_plan(spec, models, system, zones, prompt_shares=shares, book=prices), warnings=tuple(dict.fromkeys(warnings)),
        karpenter=karpenter_plan(f"{spec.name}-{environment}", (pool.infrastructure.kind for model in models.values() for pool in model.pools.values())),
        termination=termination_plan(f"{spec.name}-{environment}", {f"{m}-{p}": pool for m, model in models.items() for p, pool in model.pools.items()}),
    )  # fmt: skip
    return plan, list(zip(prepared, chosen, strict=True))


def spec_digest(spec: DeploymentSpec) -> str:
    """SHA-256 of the merged spec as canonical JSON; files that it names count by their content, so that a checkout's place does not."""
    data = spec.model_dump(mode="json")
    for model in data["models"].values():
        model["source"] = _by_content(model["source"])
    if data["calibration"] is not None:
        data["calibration"] = _by_content(data["calibration"])
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _by_content(name: str) -> str:
    """The digest of the file of this name; the name itself where it is of none."""
    path = Path(name)
    if not path.is_absolute():
        return name
    file = path / "config.json" if path.is_dir() else path
    return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" if file.is_file() else name


def _own_runs(spec: DeploymentSpec) -> OwnRuns:
    if spec.calibration is None:
        return NO_RUNS
    try:
        return read_corrections(Path(spec.calibration)).own_runs()
    except InputError as err:
        told = (f"{p.field}: {p.message}" if p.field else p.message for p in err.problems)
        raise InputError(
            Problem(text, field="calibration", value=spec.calibration, fix="write it with inferform calibrate --out FILE") for text in told
        ) from err


def _each(names: Sequence[str], work: Callable[[str], Prepared]) -> list[Prepared]:
    """`work` on every name; the problems of all of them at once."""
    done: list[Prepared] = []
    problems: list[Problem] = []
    for name in names:
        try:
            done.append(work(name))
        except InputError as err:
            problems += err.problems
    if problems:
        raise InputError(problems)
    return done


def _zones(prepared: Prepared, option: Option) -> tuple[str, ...]:
    choice = option.choice
    return pool_zones(prepared.spec.nodes, prepared.site, choice.instance, option.parts, nodes_per_replica=choice.fleet.nodes_per_replica)


def _choose(spec: DeploymentSpec, prepared: Sequence[Prepared], platform: Platforms) -> list[Variant]:
    """One variant a model: published checkpoints where the budget allows, else the cheapest set inside it."""
    found: list[tuple[Prepared, tuple[Variant, ...]]] = []
    problems: list[Problem] = []
    for one in prepared:
        try:
            found.append((one, (first_variant(one),)))
        except InputError as err:
            problems += err.problems
    if problems:
        raise InputError(problems)
    limit = spec.budget.usd_per_month / HOURS_PER_MONTH if spec.budget else None
    first = [ways[0] for _, ways in found]
    if limit is None or platform(first) + sum(way.usd_per_hour for way in first) <= limit:
        return first
    found = [(one, (*ways, *later_variants(one, ways[0]))) for one, ways in found]
    picked = within(limit, platform, found)
    if picked is None:
        assert spec.budget is not None
        raise InputError(exceeded(spec.budget.usd_per_month, platform, found))
    return picked
