"""Latency and throughput of one replica, stated as a benchmark would state them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from inferform.catalog.types import Gpu, Model
from inferform.errors import InputError, Problem
from inferform.plan import Percentiles
from inferform.sizing.benchmark import closed_loop, saturated
from inferform.sizing.error_bands import FIGURES, bands
from inferform.sizing.memory import MemoryRequest
from inferform.sizing.memory_constants import EngineName
from inferform.sizing.queueing import Latency, Limits
from inferform.sizing.roofline import Constants, Layout, Link, StepCosts, constants, family, step_costs
from inferform.sizing.room import batch_of, room_of

# Model and layout to the costs of a step, by fitted constants or those given.
Costs = Callable[[Model, Layout, Constants | None], StepCosts]


@dataclass(frozen=True, slots=True)
class EstimateRequest:
    """One replica and the requests it gets. None means the engine's default; no `concurrency` means the highest throughput.

    `stand_in_for` names a GPU outside the catalogue whose place `gpu` takes. `batch_wait_iterations` is TensorRT-LLM's
    batch_wait_timeout_iters: steps that a prompt is held back for company.
    """

    model: Model
    gpu: Gpu
    tp: int = 1
    pp: int = 1
    weights: str = "bf16"
    kv_cache: str = "auto"
    engine: str = "vllm"
    engine_version: str | None = None
    input_tokens: int = 1024
    output_tokens: int = 256
    concurrency: int | None = None
    shared_prefix_tokens: int = 0
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    gpu_memory_utilization: float | None = None
    link: Link = "none"
    enforce_eager: bool = False
    gpu_memory_bytes: int | None = None
    stand_in_for: str = ""
    dp: int = 1
    ep: int = 1
    batch_wait_iterations: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one replica does at one operating point.

    With a stated concurrency the latencies describe a benchmark run (ten requests a client, all clients starting together):
    `p50` is the run's mean, which is what published tables print. `error_band` is, for each figure, the share of its value
    within which four of five measured cases of the same kind lie that had no part in the fit.
    """

    ttft_ms: Percentiles
    tpot_ms: Percentiles
    output_tokens_per_s: float
    total_tokens_per_s: float
    requests_per_s: float
    concurrency: float
    source: str
    error_band: dict[str, float]


def host_s(engine: str, fitted: Constants | None = None) -> float:
    """Seconds between client and first step that are not the model's: tokenizer, HTTP, scheduling."""
    values = (fitted or constants()).values
    return values.get(f"request_ms_{engine}", values["request_ms_vllm"]) * 1e-3


def estimate(request: EstimateRequest, fitted: Constants | None = None) -> Estimate:
    """Latency and throughput of one replica at the asked concurrency, or at its highest throughput.

    TensorRT-LLM runs a mixture of experts at full load with attention data-parallel and whole experts where that is faster.
    Raises: InputError when the weights and one request do not fit the GPU memory, or the GPU's peaks are not known.
    """
    return estimate_with(request, fitted, step_costs)


def estimate_with(request: EstimateRequest, fitted: Constants | None, costs: Costs) -> Estimate:
    """As `estimate`, with step costs from another source. Raises: InputError as there, and what `costs` raises."""
    found = _estimate(request, fitted, costs)
    if request.engine == "tensorrt-llm" and request.model.moe and request.tp > 1 and request.concurrency is None and request.dp == request.ep == 1:
        spread = replace(request, tp=1, dp=request.tp, ep=request.tp)
        if room_of(_memory_request(spread)).memory.fits:
            other = _estimate(spread, fitted, costs)
            return other if other.output_tokens_per_s > found.output_tokens_per_s else found
    return found


def _estimate(request: EstimateRequest, fitted: Constants | None, costs: Costs) -> Estimate:
    here = replica(request, fitted, costs)
    prompt, output = request.input_tokens, request.output_tokens
    if request.concurrency is not None:
        clients = max(1, -(-request.concurrency // request.dp))
        point = closed_loop(
            here.costs, here.limits, prompt=prompt, cached=here.cached, output=output, clients=clients, host_s=here.host_s, held_steps=request.batch_wait_iterations
        ).point  # fmt: skip
        how = f"closed loop of {request.concurrency} clients" + ("; TTFT p50 is the mean of the run, start wave included" if clients > 1 else "")
        return _stated(request, point.ttft, point.tpot, rate=point.requests_per_s * request.dp, running=point.concurrency * request.dp, how=how, fitted=fitted)
    tokens_per_s, running = saturated(here.costs, here.limits, prompt=prompt, cached=here.cached, output=output)
    point = closed_loop(
        here.costs, here.limits, prompt=prompt, cached=here.cached, output=output, clients=max(1, round(running)), host_s=here.host_s
    ).point  # fmt: skip
    rate = tokens_per_s / output
    # Little's law: what runs leaves at this rate, so the time after the first token follows.
    tpot = max(point.tpot.p50 / 2, (running / rate - point.ttft.p50) / (output - 1)) if output > 1 and rate > 0 else point.tpot.p50
    scale = tpot / point.tpot.p50 if point.tpot.p50 > 0 else 1.0
    tpots = Latency(*(value * scale for value in (point.tpot.p50, point.tpot.p95, point.tpot.p99)))
    return _stated(request, point.ttft, tpots, rate=rate * request.dp, running=running * request.dp, how="highest throughput", fitted=fitted)


@dataclass(frozen=True, slots=True)
class Replica:
    """One data-parallel rank as the queueing model sees it: step costs, what it holds at once, cached prompt tokens, seconds outside."""

    costs: StepCosts
    limits: Limits
    cached: int
    host_s: float


def replica(request: EstimateRequest, fitted: Constants | None = None, costs: Costs = step_costs) -> Replica:
    """The replica of a request. Raises: InputError when the weights and one request do not fit the GPU memory."""
    asked = _memory_request(request)
    room = room_of(asked)
    if not room.memory.fits:
        raise InputError(
            Problem("does not fit", field="gpu", value=f"{request.tp * request.pp * request.dp} x {request.gpu.name}", fix="; ".join(room.memory.limits))
        )
    layout = Layout(
        request.gpu, request.link, request.tp, request.pp, request.weights, request.kv_cache, request.engine, dp=request.dp, ep=request.ep
    )  # fmt: skip
    cached = request.shared_prefix_tokens // 16 * 16
    return Replica(costs(request.model, layout, fitted), room.limits(*batch_of(asked)), cached, host_s(request.engine, fitted))


def _memory_request(request: EstimateRequest) -> MemoryRequest:
    longest = request.max_model_len or request.input_tokens + request.output_tokens
    return MemoryRequest(
        model=request.model, gpu=request.gpu, gpu_memory_bytes=request.gpu_memory_bytes, tp=request.tp, pp=request.pp, dp=request.dp, ep=request.ep, weights=request.weights,
        kv_cache=request.kv_cache, gpu_memory_utilization=request.gpu_memory_utilization, max_model_len=longest, max_num_seqs=request.max_num_seqs,
        max_num_batched_tokens=request.max_num_batched_tokens, enforce_eager=request.enforce_eager, engine=cast(EngineName, request.engine),
        engine_version=request.engine_version, interconnect=request.link if request.link != "none" else None,
    )  # fmt: skip


def _stated(request: EstimateRequest, ttft: Latency, tpot: Latency, *, rate: float, running: float, how: str, fitted: Constants | None) -> Estimate:
    known = fitted or constants()
    kind = "moe" if request.model.moe else "dense"
    stand_in = f"; {request.gpu.name} stands in for {request.stand_in_for}, whose peaks are not known" if request.stand_in_for else ""
    found = bands(kind, request.engine, family(request.gpu))
    spread = f"; attention on {request.dp} ranks, experts over {request.ep}" if request.dp > 1 else ""
    return Estimate(
        ttft_ms=_milliseconds(ttft),
        tpot_ms=_milliseconds(tpot),
        output_tokens_per_s=rate * request.output_tokens,
        total_tokens_per_s=rate * (request.input_tokens + request.output_tokens),
        requests_per_s=rate,
        concurrency=running,
        source=f"step model, {how}; {family(request.gpu)} and {request.engine} constants, {known.source}{spread}{stand_in}; {found.source}",
        error_band=dict.fromkeys(FIGURES, 1.0) if request.stand_in_for else dict(found.shares),
    )


def _milliseconds(latency: Latency) -> Percentiles:
    return Percentiles(p50=latency.p50 * 1e3, p95=latency.p95 * 1e3, p99=latency.p99 * 1e3)
