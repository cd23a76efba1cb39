"""From step times to what benchmarks print: a closed loop of clients, and the highest throughput.

See `queueing.py` for the picture of the engine that both share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from inferform.sizing.lengths import Z95, Z99
from inferform.sizing.queueing import Latency, Limits, Point, decode_s, prompt_cost
from inferform.sizing.roofline import StepCosts, step_s

# A benchmark client sends this many requests, one after the other; the first of each client start together.
WAVES = 10


@dataclass(frozen=True, slots=True)
class Loop:
    """A run of clients that each wait for their answer before they ask again; seconds.

    `point` describes the whole run as benchmarks print it: `ttft.p50` is the mean, start wave included. `median_ttft_s` is what half
    of the requests stay below, `run_requests_per_s` the requests over the whole time from first question to last answer.
    """

    point: Point
    median_ttft_s: float
    run_requests_per_s: float


def saturated(costs: StepCosts, limits: Limits, *, prompt: int, cached: int, output: int) -> tuple[float, float]:
    """(output tokens a second, sequences running) with more requests waiting than fit.

    A request holds its whole length in the KV cache when the engine never evicts. Every step then carries `decode` tokens and
    the prompt tokens that replace finished sequences: output / prompt of them, inside the step's token budget.
    """
    new = max(1, prompt - cached)
    room = limits.held(new + output, shared=cached)
    if room < 1:
        return 0.0, 0.0
    per_stage = min(room, limits.sequences) / costs.stages
    share = new / output
    decode = min(per_stage, limits.step_tokens / (1 + share))
    seconds = step_s(costs, decode=decode, context=prompt + output / 2, prompt=decode * share, prompt_context=cached + new / 2, prompts=decode / output)
    return decode / seconds, decode * costs.stages


def closed_loop(
    costs: StepCosts, limits: Limits, *, prompt: int, cached: int, output: int, clients: int, host_s: float, held_steps: int = 0, waves: float = WAVES
) -> Loop:
    """`clients` clients that each send `waves` requests in turn, all starting at once: how benchmarks state concurrency.

    p95 and p99 of the first token lie in the start wave while that is a large enough part of the run. `host_s` is the time outside
    the engine (tokenizer, HTTP). With `held_steps` the engine holds a prompt back for so many steps of the running sequences, to
    gather others (TensorRT-LLM's batch_wait_timeout_iters).
    """
    new = max(1, prompt - cached)
    context = prompt + output / 2
    fits = max(1.0, min(limits.sequences, limits.held(new + output / 2, shared=cached)))
    inside = min(float(clients), fits)
    tokens_after_first = max(1, output - 1)
    running = inside
    tpot = first = extra = wait = held = step = rate = cycle = 0.0
    for _ in range(14):
        step = decode_s(costs, running, context)
        held = held_steps * step * (1 - 1 / inside)
        beside = max(0.0, running - 1)
        cost = prompt_cost(costs, prompt, cached, decode=beside, context=context, step_tokens=limits.step_tokens)
        first = cost.first_s
        plain = step_s(costs, decode=beside / costs.stages, context=context) if beside > 0 else 0.0
        extra = max(0.0, cost.stage_s - cost.steps * plain)
        tpot = step + max(0.0, running - 1) / tokens_after_first * extra
        decoding = (output - 1) * tpot
        cycle = decoding + first + wait + held
        rate = inside / cycle
        busy = min(0.9, rate * extra) if clients > 1 else 0.0
        wait = busy * first / 2 / (1 - busy) * (1 - 1 / inside) if inside > 1 else 0.0
        cycle = decoding + first + wait + held
        want = inside * decoding / cycle
        if abs(want - running) < 0.005 * running:
            break
        running = max(1e-3, (running + want) / 2) if clients > 1 else 1.0
    spread = math.sqrt(max(0.0, running - 1)) / tokens_after_first * extra
    tpots = Latency(tpot, tpot + Z95 * spread, tpot + Z99 * spread)
    # Clients beyond what fits wait for a slot: on average the half of them in the start wave, all of them later.
    beyond = max(0.0, clients - inside)
    queued, queued_at_start = beyond / rate, beyond * beyond / (2 * clients * rate)
    steady = first + wait + held + (step / 2 if clients > 1 else 0.0) + host_s + queued
    group, wave = _start_wave(costs, limits, first=first, context=context, prompt=prompt, cached=cached, inside=inside)
    if clients == 1:
        return Loop(Point(Latency(steady, steady, steady), tpots, rate, 1.0, 0.0), steady, rate)
    start = (wave + group) / 2 + host_s + queued_at_start
    mean = start / waves + steady * (1 - 1 / waves)

    def tail(share: float) -> float:
        """The quantile, in the start wave where that is more than the rest of the run."""
        place = 1 - (1 - share) * waves
        return max(mean, steady, group + (wave - group) * place + host_s + 2 * place * queued_at_start if place > 0 else 0.0)

    point = Point(Latency(mean, tail(0.95), tail(0.99)), tpots, rate, inside, min(1.0, rate * extra))
    duration = wave - first + waves * (cycle + queued)
    return Loop(point, steady if waves > 2 else start, clients * waves / duration)


def _start_wave(
    costs: StepCosts, limits: Limits, *, first: float, context: float, prompt: int, cached: int, inside: float
) -> tuple[float, float]:  # fmt: skip
    """(first prompts done, last prompts done) in seconds when all clients ask at once."""
    new = max(1, prompt - cached)
    if new >= limits.step_tokens:
        return first, inside * first
    together = inside * new
    carried = min(together, float(limits.step_tokens))
    group = costs.stages * step_s(
        costs, decode=inside / 2 / costs.stages, context=context, prompt=carried, prompt_context=cached + new / 2, prompts=carried / new
    )
    return group, together / carried * group
