"""One way to run a model: how it is cut over GPUs, in which precision, and what that carries inside the objectives."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, cast

from inferform.catalog.types import Gpu, Model
from inferform.plan import MemoryPlan
from inferform.sizing.behaviour import Behaviour
from inferform.sizing.corrections import NO_RUNS, OwnRuns
from inferform.sizing.cpu import VENDOR, cpu_costs, cpu_memory
from inferform.sizing.lengths import Z95, Z99
from inferform.sizing.memory import MemoryRequest
from inferform.sizing.memory_constants import EngineName
from inferform.sizing.performance import host_s
from inferform.sizing.queueing import Limits, Point, decode_s, prompt_cost
from inferform.sizing.roofline import Layout, Link, StepCosts, step_costs, step_s
from inferform.sizing.room import Room, room_of
from inferform.sizing.workload import Demand

# Sizes of batch that engines capture CUDA graphs for; max_num_seqs is one of them.
SEQUENCE_STEPS = (8, 16, 32, 64, 128, 256, 512, 1024)
STEP_TOKENS = (8192, 4096, 2048)
# A step full of prompt tokens holds every running stream for its length; longer than this is felt as a stall.
_STALL_S = 0.25
# A batch limit that carries less than this much more is not looked at: rates are found to one percent.
_WORTH = 1.01
# Running sequences above this share of max_num_seqs are held back by it.
_FULL = 0.97

_MOST_EVALUATED = 8192
_evaluated: dict[tuple[Model, Demand, Engine, Cut], Fit | Miss] = {}

MissKind = Literal["parallelism", "precision", "memory", "TTFT", "TPOT", "throughput"]


@dataclass(frozen=True, slots=True)
class Engine:
    """What the planner settled about the engine before the search; None leaves a value to the search."""

    name: str
    version: str
    kv_cache: str
    max_model_len: int
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    utilization: float
    enforce_eager: bool
    chunked_prefill: bool
    prefix_caching: bool
    own_runs: OwnRuns = NO_RUNS


@dataclass(frozen=True, slots=True)
class Cut:
    """A replica's GPUs and precision. `hop_bytes_per_s` is the link between pipeline stages.

    `dp` ranks hold the attention of different requests; with `ep` above 1 they share the experts, whole ones on each rank.
    """

    gpu: Gpu
    link: Link
    tp: int
    pp: int
    weights: str
    hop_bytes_per_s: float
    dp: int = 1
    ep: int = 1

    @property
    def degrees(self) -> str:
        """`TP 8 PP 2`: the degrees above 1, and always TP."""
        return " ".join(f"{name} {value}" for name, value in (("TP", self.tp), ("PP", self.pp), ("DP", self.dp), ("EP", self.ep)) if value > 1 or name == "TP")

    def __str__(self) -> str:
        return f"{self.gpu.name} {self.weights} {self.degrees}"


@dataclass(frozen=True, slots=True)
class Fit:
    """A cut that carries something inside the objectives: `best` is its highest rate, one replica (one data-parallel rank)."""

    cut: Cut
    behaviour: Behaviour
    limits: Limits
    memory: MemoryPlan
    max_num_seqs: int
    max_num_batched_tokens: int
    best: Point


@dataclass(frozen=True, slots=True)
class Miss:
    """A cut that cannot be used: what rules it out, in words, and how far off it is (1 = just missed)."""

    cut: Cut
    kind: MissKind
    reason: str
    distance: float


def evaluate(model: Model, demand: Demand, engine: Engine, cut: Cut) -> Fit | Miss:
    """What one replica (one data-parallel rank) of this cut carries inside the objectives, or why it cannot be used.

    How much load there is does not matter to what one replica carries, so searches for other loads find the answer again.
    """
    key = model, replace(demand, requests_per_s=1.0, burst=1.0), engine, cut
    if key not in _evaluated:
        if len(_evaluated) >= _MOST_EVALUATED:
            _evaluated.clear()
        _evaluated[key] = _evaluate(*key)
    return _evaluated[key]


def is_evaluated(model: Model, demand: Demand, engine: Engine, cut: Cut) -> bool:
    """Whether the answer of `evaluate` is known already."""
    return (model, replace(demand, requests_per_s=1.0, burst=1.0), engine, cut) in _evaluated


def carries(model: Model, demand: Demand, engine: Engine, cut: Cut, requests_per_s: float) -> bool:
    """Whether one data-parallel rank of this cut carries at least this rate, with some batch limits: a few looks instead of an evaluation.

    True also where the cut cannot be used at all, so that `evaluate` says why.
    """
    behaviour = _behaviour(model, engine, cut)
    fits = False
    for step_tokens in _step_budgets(behaviour.costs, demand, engine):
        sequences = min(engine.max_num_seqs or demand.defaults.sequences, step_tokens)
        while sequences <= step_tokens:
            room = _room(model, engine, cut, sequences, step_tokens)
            if not room.memory.fits:
                break
            fits = True
            limits = room.limits(sequences, step_tokens)
            kept = _keeps(behaviour, limits, demand, engine, requests_per_s)
            if kept:
                return True
            # More sequences at once shorten no step, they only let more run.
            if kept is not None or engine.max_num_seqs is not None or not _held_back(limits, demand, engine):
                break
            sequences = _next_step(sequences)
    return not fits


def _evaluate(model: Model, demand: Demand, engine: Engine, cut: Cut) -> Fit | Miss:
    """The best of the batch limits.

    The batch limits are part of the choice: of the step budgets that do not stall running streams, and of the numbers of
    sequences that engines capture graphs for, those with the highest rate.
    """
    behaviour = _behaviour(model, engine, cut)
    best: Fit | None = None
    nearest: Miss | None = None
    for step_tokens in _step_budgets(behaviour.costs, demand, engine):
        found = _with_budget(model, demand, engine, cut, behaviour=behaviour, step_tokens=step_tokens, known=best)
        if isinstance(found, Fit):
            best = found
        elif found is not None and (nearest is None or found.distance < nearest.distance):
            nearest = found
    if best is not None:
        return best
    assert nearest is not None
    return nearest


def _with_budget(model: Model, demand: Demand, engine: Engine, cut: Cut, *, behaviour: Behaviour, step_tokens: int, known: Fit | None) -> Fit | Miss | None:
    """The best with one step budget; None when it is no better than what is known."""
    sequences = min(engine.max_num_seqs or demand.defaults.sequences, step_tokens)
    room = _room(model, engine, cut, sequences, step_tokens)
    if (miss := _memory_miss(engine, cut, room.memory)) is not None:
        return miss
    limits = room.limits(sequences, step_tokens)
    load = demand.load(prefix_caching=engine.prefix_caching)
    if known is not None and not _carries(behaviour, limits, demand, engine, known.best.requests_per_s * _WORTH):
        return None
    best = behaviour.most(limits, load, ttft_p95_s=demand.ttft_p95_s, tpot_p95_s=demand.tpot_p95_s)
    if best is None:
        return _latency_miss(behaviour, limits, demand, engine, cut)
    if engine.max_num_seqs is None:
        while (wider := _next_step(limits.sequences)) <= step_tokens and best.concurrency + Z95 * math.sqrt(best.concurrency) > limits.sequences * _FULL:
            room_then = _room(model, engine, cut, wider, step_tokens)
            limits_then = room_then.limits(wider, step_tokens)
            if not room_then.memory.fits or not _carries(behaviour, limits_then, demand, engine, best.requests_per_s * _WORTH):
                break
            better = behaviour.most(limits_then, load, ttft_p95_s=demand.ttft_p95_s, tpot_p95_s=demand.tpot_p95_s)
            if better is None or better.requests_per_s <= best.requests_per_s:
                break
            best, room, limits = better, room_then, limits_then
        most = best.concurrency + Z99 * math.sqrt(best.concurrency)
        sequences = min(step_tokens, next((step for step in SEQUENCE_STEPS if step >= most), SEQUENCE_STEPS[-1]))
        resized = _room(model, engine, cut, sequences, step_tokens)
        if resized.memory.fits:
            room, limits = resized, resized.limits(sequences, step_tokens)
    if known is not None and best.requests_per_s <= known.best.requests_per_s:
        return None
    return Fit(cut, behaviour, limits, room.memory, limits.sequences, step_tokens, best)


def _next_step(sequences: int) -> int:
    """The next larger batch that engines capture graphs for; beyond the largest, none that would fit a step."""
    return next((step for step in SEQUENCE_STEPS if step > sequences), STEP_TOKENS[0] + 1)


def _carries(behaviour: Behaviour, limits: Limits, demand: Demand, engine: Engine, requests_per_s: float) -> bool:
    """Whether a replica carries this rate inside the objectives: one look instead of the search for the highest rate."""
    return _keeps(behaviour, limits, demand, engine, requests_per_s) is True


def _held_back(limits: Limits, demand: Demand, engine: Engine) -> bool:
    """Whether max_num_seqs, not the cache, ends how many sequences run."""
    return demand.load(prefix_caching=engine.prefix_caching).sequences(limits) >= limits.sequences


def _keeps(behaviour: Behaviour, limits: Limits, demand: Demand, engine: Engine, requests_per_s: float) -> bool | None:
    load = demand.load(prefix_caching=engine.prefix_caching)
    return behaviour.keeps(limits, load, requests_per_s, ttft_p95_s=demand.ttft_p95_s, tpot_p95_s=demand.tpot_p95_s)


def planned(fit: Fit, demand: Demand, engine: Engine, requests_per_s: float) -> Point:
    """Latency of one replica at a rate below its best one."""
    rate = min(requests_per_s, fit.best.requests_per_s)
    point = fit.behaviour.at(fit.limits, demand.load(prefix_caching=engine.prefix_caching), rate)
    return point or fit.best


def prompt_share(fit: Fit, demand: Demand, engine: Engine) -> float:
    """Share of a replica's GPU time that prompts take at its best rate; answers take the rest."""
    load = demand.load(prefix_caching=engine.prefix_caching)
    after_first = max(0.0, load.output.mean - 1)
    if not after_first:
        return 1.0
    running = max(1.0, fit.best.concurrency)
    prompt = prompt_cost(fit.behaviour.costs, load.prompt.mean, load.cached, decode=0, context=load.context, step_tokens=fit.limits.step_tokens).stage_s
    # While every stage is busy this long, all running sequences get one token each.
    answer = after_first * decode_s(fit.behaviour.costs, running, load.context) / running
    return prompt / (prompt + answer)


def _behaviour(model: Model, engine: Engine, cut: Cut) -> Behaviour:
    outside = host_s(engine.name)
    if cut.gpu.vendor == VENDOR:
        return Behaviour(cpu_costs(model, cut.gpu), outside)
    # Ranks that share no experts are replicas of their own, whatever their number.
    dp = cut.dp if cut.ep > 1 else 1
    layout = Layout(cut.gpu, cut.link, cut.tp, cut.pp, cut.weights, engine.kv_cache, engine.name, cut.hop_bytes_per_s, dp=dp, ep=cut.ep)
    scale = engine.own_runs.scale(
        model, gpu=cut.gpu.name, tp=cut.tp, pp=cut.pp, dp=cut.dp, ep=cut.ep, weights=cut.weights, kv_cache=engine.kv_cache, engine=engine.name
    )
    return Behaviour(step_costs(model, layout), outside, scale)


def _room(model: Model, engine: Engine, cut: Cut, sequences: int, step_tokens: int) -> Room:
    if cut.gpu.vendor == VENDOR:
        return Room(cpu_memory(model, cut.gpu, step_tokens=step_tokens, sequences=sequences))
    return room_of(
        MemoryRequest(
            model=model, gpu=cut.gpu, tp=cut.tp, pp=cut.pp, dp=cut.dp, ep=cut.ep, weights=cut.weights, kv_cache=engine.kv_cache, gpu_memory_utilization=engine.utilization,
            max_model_len=engine.max_model_len, max_num_seqs=sequences, max_num_batched_tokens=step_tokens, enforce_eager=engine.enforce_eager,
            engine=cast(EngineName, engine.name), engine_version=engine.version, interconnect=cut.link if cut.tp > 1 else None, whole_card=True,
        )
    )  # fmt: skip


def _step_budgets(costs: StepCosts, demand: Demand, engine: Engine) -> tuple[int, ...]:
    """Token budgets of a step to try, widest first: those whose full step does not stall running streams, the whole context without
    chunking (FC-19)."""
    if engine.max_num_batched_tokens is not None:
        return (engine.max_num_batched_tokens,)
    if not engine.chunked_prefill:
        return (max(STEP_TOKENS[0], engine.max_model_len),)
    if demand.tpot_p95_s is None:
        return STEP_TOKENS
    stall = max(_STALL_S, 5 * demand.tpot_p95_s)

    def full_s(tokens: int) -> float:
        return step_s(costs, decode=8, context=demand.prompt.mean, prompt=tokens, prompt_context=demand.prompt.mean / 2, prompts=1) * costs.stages

    return tuple(tokens for tokens in STEP_TOKENS[:-1] if full_s(tokens) <= stall) + STEP_TOKENS[-1:]


def _memory_miss(engine: Engine, cut: Cut, memory: MemoryPlan) -> Miss | None:
    if memory.fits:
        return None
    taken = memory.weights_bytes_per_gpu + memory.activation_bytes_per_gpu + memory.runtime_bytes_per_gpu
    wanted = taken + memory.kv_cache_bytes_per_token * engine.max_model_len
    return Miss(cut, "memory", "; ".join(memory.limits), wanted / max(1, memory.budget_bytes))


def _latency_miss(behaviour: Behaviour, limits: Limits, demand: Demand, engine: Engine, cut: Cut) -> Miss:
    """Which objective even a lone request misses, and by how much."""
    load = demand.load(prefix_caching=engine.prefix_caching)
    alone = behaviour.at(limits, load, 1e-6)
    if alone is None:
        return Miss(cut, "throughput", "one request of the mean length does not fit the KV cache or max_num_seqs", 10.0)
    ttft, tpot = demand.ttft_p95_s, demand.tpot_p95_s
    late = alone.ttft.p95 / ttft if ttft else 0.0
    slow = alone.tpot.p95 / tpot if tpot else 0.0
    if tpot and slow >= late:
        return Miss(cut, "TPOT", f"TPOT p95 is {alone.tpot.p95 * 1e3:.0f} ms for a lone request; the objective is {tpot * 1e3:.0f} ms", slow)
    return Miss(cut, "TTFT", f"TTFT p95 is {alone.ttft.p95:.2f} s for a lone request; the objective is {ttft or 0:.2f} s", late)
