"""A model's part of the spec, read against the catalogue: what is asked, in what the planner may choose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from inferform.catalog.gpus import find_gpu
from inferform.catalog.instances import cpu_instances, find_instance, gpu_instances
from inferform.catalog.models import find_model
from inferform.catalog.price_book import LISTED, PriceBook
from inferform.catalog.types import Instance, Model
from inferform.errors import InputError, Problem
from inferform.planning.fleet import Limits
from inferform.planning.loading import Sources
from inferform.planning.nodes import Site
from inferform.planning.purchase import Market
from inferform.planning.settings import Settings, settle
from inferform.planning.sharing import shared
from inferform.sizing.corrections import NO_RUNS, OwnRuns
from inferform.sizing.layouts import Engine
from inferform.sizing.lengths import Lengths
from inferform.sizing.memory import own_weights
from inferform.sizing.parallelism import check_parallelism
from inferform.sizing.precision import WEIGHTS, Accuracy, accuracy_class, at_least
from inferform.sizing.search import Degrees
from inferform.sizing.workload import EMBED_TTFT_P95_S, PROFILES, Demand, context_length
from inferform.spec import DeploymentSpec, ModelSpec, Parallelism, Quantization
from inferform.spec_nodes import Capacity
from inferform.spec_scaling import Scaling

# Planned allocation is at most 90 % of a GPU (requirements A1), whatever the engine's own default.
UTILIZATION = 0.90
# Encoders below this run well on CPU.
_SMALL_ENCODER_PARAMS = 1_500_000_000
# Engines that run 8-bit integer checkpoints with 8-bit arithmetic.
_INT8_ENGINES = frozenset({"vllm", "sglang"})


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything the search for one model needs. `tiers` are precisions by preference: first what the checkpoint can give by itself."""

    name: str
    spec: ModelSpec
    model: Model
    task: str
    settings: Settings
    demand: Demand
    engine: Engine
    degrees: Degrees | None
    tiers: tuple[tuple[str, ...], ...]
    instances: tuple[Instance, ...]
    market: Market
    limits: Limits
    site: Site
    streaming: bool
    notes: tuple[str, ...]
    sources: Sources

    @property
    def field(self) -> str:
        """Where the spec says so."""
        return f"models.{self.name}"

    @property
    def source(self) -> str:
        """What the spec names; of a path the end, since where a checkout lies is no part of a plan."""
        path = Path(self.spec.source)
        return f"./{path.parent.name}/{path.name}" if path.is_absolute() else self.spec.source

    def demand_of(self, role: str) -> Demand:
        """What a pool of that role is asked: the whole, or the prompts or answers of a split model."""
        return replace(self.demand, role="prefill") if role == "prefill" else replace(self.demand, role="decode") if role == "decode" else self.demand

    def online(self, weights: str) -> bool:
        """Whether the engine makes this precision itself while it loads the published checkpoint."""
        return (
            weights != self.published
            and self.spec.quantize is None
            and weights not in {"bf16", "fp16"}
            and self.settings.engine.online_quantization(self.settings.version, weights) is not None
        )

    @property
    def published(self) -> str:
        """The precision of the checkpoint that the source names."""
        return own_weights(self.model)


def prepare(name: str, spec: ModelSpec, deployment: DeploymentSpec, book: PriceBook = LISTED, own_runs: OwnRuns = NO_RUNS) -> Prepared:
    """One model, ready for the search. Raises: InputError with every problem that needs no search to be seen."""
    field = f"models.{name}"
    model = _model(spec, field)
    problems: list[Problem] = []
    task = spec.task if spec.task != "auto" else "embed" if model.encoder else "generate"
    on_cpu = task == "embed" and model.encoder and (spec.hardware.device == "cpu" or (spec.hardware.device == "auto" and _cpu_suits(model, spec)))
    if spec.hardware.device == "cpu" and not model.encoder:
        problems.append(
            Problem(
                f"{model.id} is no encoder; CPU pools are for small embedding models",
                f"{field}.hardware.device",
                value="cpu",
                legal=("auto", "gpu"),
                fix="use gpu",
            )
        )
    if model.encoder and task == "generate":
        problems.append(Problem(f"{model.id} is an encoder and generates nothing", f"{field}.task", value="generate", legal=("embed",), fix="use embed"))
    if task == "generate" and "output_tokens" not in spec.workload.model_fields_set:
        # An encoder answers with a vector; how long a generated answer is nobody can guess, and it decides the size.
        problems.append(
            Problem("is missing, and what a generative model costs depends on it", f"{field}.workload.output_tokens", fix="state it: {mean: 300, p95: 700}")
        )
    if model.gated and spec.hf_token_secret is None:
        problems.append(
            Problem(
                f"{model.id} is gated, so its download needs a token",
                f"{field}.hf_token_secret",
                fix="name the Secret that holds it: {name: hf-token, key: token}",
            )
        )
    settings, found = _settings(name, spec, "cpu" if on_cpu else "gpu")
    problems += found
    if settings is None:
        raise InputError(problems)
    merged = settings.spec
    demand = _demand(merged, task)
    engine, notes = _engine(merged, model, settings, demand, task=task, field=field, problems=problems)
    engine = replace(engine, own_runs=own_runs)
    demand, cut = _admitted(demand, engine.max_model_len, task)
    notes = (*notes, *cut)
    degrees = _degrees(merged, model, settings, field, problems)
    capacity: Capacity = merged.capacity or deployment.capacity
    scaling: Scaling = merged.scaling or deployment.scaling
    market = Market(
        deployment.cloud.region, capacity, latency_sensitive=demand.defaults.latency_sensitive, zones=merged.nodes.zones or deployment.cloud.zones, book=book
    )
    problems += market.problems(f"{field}.capacity" if merged.capacity else "capacity")
    instances = _instances(merged, field, on_cpu=on_cpu, problems=problems)
    if merged.hardware.sharing:
        instances = shared(field, merged, settings.engine.name, instances, many_tenants=deployment.gateway.auth is not None, problems=problems)
        degrees = Degrees(1, 1, 1, 1)
    tiers = _tiers(merged, model, settings, field, on_cpu=on_cpu, problems=problems)
    if problems:
        raise InputError(problems)
    limits = Limits(capacity, scaling, spare=demand.defaults.latency_sensitive and merged.nodes.autoscaled)
    site = Site(
        deployment.cloud.region, deployment.cloud.zones, deployment.cloud.kubernetes_version, deployment.tenant if deployment.isolation.dedicated else None
    )
    return Prepared(
        name, merged, model, task, settings, demand, engine, degrees, tiers, instances, market, limits, site,
        deployment.gateway.streaming and task == "generate", (*settings.notes, *notes), Sources.of(deployment),
    )  # fmt: skip


def _model(spec: ModelSpec, field: str) -> Model:
    try:
        return find_model(spec.source)
    except InputError as err:
        raise InputError(Problem(p.message, f"{field}.source", value=p.value, legal=p.legal, fix=p.fix) for p in err.problems) from err


def _cpu_suits(model: Model, spec: ModelSpec) -> bool:
    named_gpu = bool(spec.hardware.gpus) or any(not t.startswith(("c", "m", "r")) for t in spec.hardware.instance_types)
    return model.total_params <= _SMALL_ENCODER_PARAMS and not named_gpu


def _settings(name: str, spec: ModelSpec, device: str) -> tuple[Settings | None, list[Problem]]:
    try:
        return settle(name, spec, device), []
    except InputError as err:
        return None, list(err.problems)


def _demand(spec: ModelSpec, task: str) -> Demand:
    work, slo = spec.workload, spec.slo
    defaults = PROFILES[work.profile.value]
    embed = task == "embed"
    ttft = slo.ttft_p95 if slo.ttft_p95 is not None else (EMBED_TTFT_P95_S if embed and defaults.latency_sensitive else defaults.ttft_p95_s)
    tpot = None if embed else slo.tpot_p95 if slo.tpot_p95 is not None else defaults.tpot_p95_s
    output = Lengths(1, 1) if embed else Lengths(work.output_tokens.mean, work.output_tokens.p95_tokens)
    return Demand(
        work.profile.value, work.peak_rps, Lengths(work.input_tokens.mean, work.input_tokens.p95_tokens), output,
        0 if embed else work.shared_prefix_tokens, work.burst, ttft, tpot,
    )  # fmt: skip


def _admitted(demand: Demand, context: int, task: str) -> tuple[Demand, tuple[str, ...]]:
    """The demand without requests that the context refuses, so that nobody pays for them: each length ends where the other's mean still fits."""
    answer = 0.0 if task == "embed" else demand.output.mean
    room = {"prompt": max(demand.prompt.mean, context - answer), "output": max(demand.output.mean, context - demand.prompt.mean)}
    asked = {"prompt": demand.prompt, "output": demand.output}
    kept = {what: Lengths(lengths.mean, min(lengths.p95, room[what]), room[what]) for what, lengths in asked.items()}
    notes = tuple(
        f"{what}s are planned up to {room[what]:.0f} tokens, not to the 95th percentile of {lengths.p95:.0f}: longer ones do not fit the context of {context} beside the other's mean"
        for what, lengths in asked.items()
        if lengths.p95 > room[what]
    )
    return replace(demand, prompt=kept["prompt"], output=kept["output"]), notes


def _engine(
    spec: ModelSpec, model: Model, settings: Settings, demand: Demand, *, task: str, field: str, problems: list[Problem]
) -> tuple[Engine, tuple[str, ...]]:
    notes: list[str] = []
    longest = model.max_position or 131_072
    if spec.max_model_len is not None and spec.max_model_len > longest:
        problems.append(
            Problem(
                f"is longer than the {longest} tokens that {model.id} was made for",
                f"{field}.max_model_len",
                value=str(spec.max_model_len),
                fix=f"use at most {longest}",
            )
        )
    length = spec.max_model_len or context_length(demand.prompt, demand.output, longest)
    if spec.max_model_len is None:
        notes.append(f"max_model_len {length}: twice the 95th percentiles of prompt and output, at most the model's {longest}")
    needed = demand.prompt.mean + (0 if task == "embed" else demand.output.mean)
    if length < needed:
        where = f"{field}.max_model_len" if spec.max_model_len is not None else f"{field}.workload.input_tokens"
        problems.append(
            Problem(
                f"the mean request of {needed:.0f} tokens does not fit a context of {length}", where, value=str(length), fix="raise it, or shorten the workload"
            )
        )
    budget = spec.max_num_batched_tokens
    chunked = task != "embed" and spec.chunked_prefill is not False
    if not chunked and budget is not None and budget < length:
        problems.append(
            Problem(
                f"is below max_model_len {length} while prompts are not split over steps",
                f"{field}.max_num_batched_tokens",
                value=str(budget),
                fix=f"use at least {length}",
            )
        )
    share = spec.gpu_memory_utilization if spec.gpu_memory_utilization is not None else UTILIZATION
    kv = spec.kv_cache.value
    if kv == "auto" and model.quantization and model.quantization.kv_cache:
        kv = model.quantization.kv_cache
    engine = Engine(
        settings.engine.name, settings.version, kv, length, spec.max_num_seqs, budget, share, spec.enforce_eager, chunked,
        spec.prefix_caching and task != "embed",
    )  # fmt: skip
    return engine, tuple(notes)


def _degrees(spec: ModelSpec, model: Model, settings: Settings, field: str, problems: list[Problem]) -> Degrees | None:
    """Explicit degrees, checked against the model and the widest node that may be used (FC-01, FC-02)."""
    if not isinstance(spec.parallelism, Parallelism):
        return None
    given = spec.parallelism
    nodes = [i for i in gpu_instances() if not spec.hardware.instance_types or i.name in spec.hardware.instance_types]
    widest = max((i.gpu_count for i in nodes), default=8)
    weights = "auto" if spec.quantization is Quantization.AUTO else spec.quantization.value
    problems += check_parallelism(
        model, tp=given.tp, pp=given.pp, ep=given.ep, weights=weights, gpus_per_node=widest, engine_version=settings.version, field=f"{field}.parallelism"
    )
    if given.tp > widest and not problems:
        problems.append(
            Problem(
                f"tensor parallelism never crosses nodes, and nodes have at most {widest} GPUs", f"{field}.parallelism.tp", value=str(given.tp),
                fix=f"use tp {widest} and pp {-(-given.tp // widest)}",
            )
        )  # fmt: skip
    if given.ep > 1 and given.ep != given.tp * given.dp:
        problems.append(
            Problem(
                f"{settings.engine.name} spreads experts over all {given.tp * given.dp} ranks of tp x dp or over none", f"{field}.parallelism.ep", value=str(given.ep),
                legal=("1", str(given.tp * given.dp)),
            )
        )  # fmt: skip
    return Degrees(given.tp, given.pp, given.dp, given.ep)


def _instances(spec: ModelSpec, field: str, *, on_cpu: bool, problems: list[Problem]) -> tuple[Instance, ...]:
    """Types that the spec allows; unknown names are problems."""
    hardware = spec.hardware
    named = []
    for at, name in enumerate(hardware.instance_types):
        try:
            named.append(find_instance(name))
        except InputError as err:
            problems += [Problem(p.message, f"{field}.hardware.instance_types.{at}", value=name, legal=p.legal, fix=p.fix) for p in err.problems]
    cards = set()
    for at, name in enumerate(hardware.gpus):
        try:
            cards.add(find_gpu(name).name)
        except InputError as err:
            problems += [Problem(p.message, f"{field}.hardware.gpus.{at}", value=name, legal=p.legal, fix=p.fix) for p in err.problems]
    pool = cpu_instances() if on_cpu else gpu_instances()
    if on_cpu and hardware.device == "auto":
        pool = (*pool, *gpu_instances())
    if hardware.instance_types:
        names = {i.name for i in pool}
        for at, instance in enumerate(named):
            if instance.name not in names:
                what = "has a GPU and device is cpu" if on_cpu else "carries no NVIDIA GPU that can be used whole"
                problems.append(Problem(f"{instance.name} {what}", f"{field}.hardware.instance_types.{at}", value=instance.name))
        pool = tuple(named)
    if cards:
        pool = tuple(i for i in pool if i.gpu in cards)
        if not pool and not problems:
            problems.append(Problem("no instance type that may be used carries these GPUs", f"{field}.hardware.gpus", value=", ".join(sorted(cards))))
    return pool


def quality_floor(spec: ModelSpec) -> Accuracy:
    """The least accurate class of precision that auto may choose."""
    return spec.quality.value


def _tiers(spec: ModelSpec, model: Model, settings: Settings, field: str, *, on_cpu: bool, problems: list[Problem]) -> tuple[tuple[str, ...], ...]:
    """Precisions to try by preference (requirements A4), none below the spec's quality floor.

    First what the published checkpoint gives, as it is or quantized by the engine while loading; then precisions that need
    another checkpoint. A named precision is the only one tried. The checkpoint as published meets every floor.
    """
    own = own_weights(model)
    quantized = model.quantization is not None
    floor = quality_floor(spec)
    if spec.quantization is not Quantization.AUTO:
        asked = spec.quantization.value
        if quantized and asked != own and not (asked in {"bf16", "fp16"} and own in {"bf16", "fp16"}):
            problems.append(
                Problem(
                    f"the checkpoint of {model.id} is {own} and cannot be run as {asked}",
                    f"{field}.quantization",
                    value=asked,
                    legal=("auto", own),
                    fix="name the source of an unquantized checkpoint",
                )
            )
        elif asked != own and not at_least(asked, floor):
            problems.append(
                Problem(
                    f"is of class {accuracy_class(asked)}, below the quality floor {floor}",
                    f"{field}.quantization",
                    value=asked,
                    legal=("auto", *(w for w in WEIGHTS if at_least(w, floor))),
                    fix=f"choose one of these, or set quality to {accuracy_class(asked)}",
                )
            )
        return ((asked,),)
    if on_cpu:
        return (("bf16",),)
    if quantized:
        return ((own,),)
    if model.encoder:
        return (("bf16", "fp16"),)
    engine, version = settings.engine, settings.version
    first = ["bf16", "fp16", *(["fp8"] if engine.online_quantization(version, "fp8") else [])]
    eight_bit = ["fp8", *(["int8"] if engine.name in _INT8_ENGINES else [])]
    second = [w for w in (*eight_bit, "nvfp4", "awq") if w not in first and engine.online_quantization(version, w) is None]
    return tuple(tuple(w for w in tier if at_least(w, floor)) for tier in (first, second))
