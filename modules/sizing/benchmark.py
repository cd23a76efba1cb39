"""From step times to what benchmarks print: a closed loop of clients, and the highest throughput.

See `queueing.py` for the picture of the engine that both share.
"""

from __future__ import annotations

import math

from inferform.sizing.queueing import Z95, Z99, Latency, Limits, Point, decode_s, prompt_cost
from inferform.sizing.roofline import StepCosts, step_s

# A benchmark client sends this many requests, one after the other; the first of each client start together.
WAVES = 10


def saturated(costs: StepCosts, limits: Limits, *, prompt: int, cached: int, output: int) -> tuple[float, float]:
    """(output tokens a second, sequences running) with more requests waiting than fit.

    A request holds its whole length in the KV cache when the engine never evicts. Every step then carries `decode` tokens and
    the prompt tokens that replace finished sequences: output / prompt of them, inside the step's token budget.
    """
    new = max(1, prompt - cached)
    room = (limits.kv_tokens - cached) / (new + output)
    if room < 1:
        return 0.0, 0.0
    per_stage = min(room, limits.sequences) / costs.stages
    share = new / output
    decode = min(per_stage, limits.step_tokens / (1 + share))
    seconds = step_s(costs, decode=decode, context=prompt + output / 2, prompt=decode * share, prompt_context=cached + new / 2, prompts=decode / output)
    return decode / seconds, decode * costs.stages


def closed_loop(costs: StepCosts, limits: Limits, *, prompt: int, cached: int, output: int, clients: int, host_s: float) -> Point:
    """`clients` clients that each send ten requests in turn, all starting at once: how benchmarks state concurrency.

    Published tables print means over such a run, the start wave included, so `ttft.p50` is that mean and p95 / p99 lie
    in the start wave. `host_s` is the time outside the engine (tokenizer, HTTP).
    """
    new = max(1, prompt - cached)
    context = prompt + output / 2
    fits = max(1.0, min(limits.sequences, (limits.kv_tokens - cached) / (new + output / 2)))
    inside = min(float(clients), fits)
    tokens_after_first = max(1, output - 1)
    running = inside
    tpot = first = extra = wait = step = rate = 0.0
    for _ in range(14):
        step = decode_s(costs, running, context)
        beside = max(0.0, running - 1)
        cost = prompt_cost(costs, prompt, cached, decode=beside, context=context, step_tokens=limits.step_tokens)
        first = cost.first_s
        plain = step_s(costs, decode=beside / costs.stages, context=context) if beside > 0 else 0.0
        extra = max(0.0, cost.stage_s - cost.steps * plain)
        tpot = step + max(0.0, running - 1) / tokens_after_first * extra
        decoding = (output - 1) * tpot
        rate = inside / (decoding + first + wait)
        busy = min(0.9, rate * extra) if clients > 1 else 0.0
        wait = busy * first / 2 / (1 - busy) * (1 - 1 / inside) if inside > 1 else 0.0
        want = inside * decoding / (decoding + first + wait)
        if abs(want - running) < 0.005 * running:
            break
        running = max(1e-3, (running + want) / 2) if clients > 1 else 1.0
    together = float(clients * new)
    if new < limits.step_tokens:
        carried = min(together, float(limits.step_tokens))
        group = costs.stages * step_s(
            costs, decode=inside / 2 / costs.stages, context=context, prompt=carried, prompt_context=cached + new / 2, prompts=carried / new
        )
        wave = together / carried * group
    else:
        group, wave = first, clients * first
    queued = (clients - inside) / rate if clients > inside else 0.0
    steady = first + wait + (step / 2 if clients > 1 else 0.0) + host_s + queued
    start = (wave + group) / 2 + host_s + queued
    mean = start / WAVES + steady * (1 - 1 / WAVES)
    spread = math.sqrt(max(0.0, running - 1)) / tokens_after_first * extra
    if clients == 1:
        return Point(Latency(steady, steady, steady), Latency(tpot, tpot, tpot), rate, 1.0, 0.0)
    ttft = Latency(mean, max(mean, start), max(mean, group + (wave - group) * 0.9 + host_s + queued))
    return Point(ttft, Latency(tpot, tpot + Z95 * spread, tpot + Z99 * spread), rate, inside, min(1.0, rate * extra))
