"""A small event simulation of one continuously batching replica, to check the queueing formulas against."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from inferform.sizing.lengths import Lengths
from inferform.sizing.queueing import Limits, Load
from inferform.sizing.roofline import StepCosts, step_s


@dataclass
class Request:
    """One request on its way: seconds and tokens."""

    arrived: float
    new: int
    context: int
    output: int
    left: int = 0
    first: float = 0.0
    done: float = 0.0


@dataclass
class Seen:
    """What requests saw, seconds."""

    ttft: list[float] = field(default_factory=list)
    tpot: list[float] = field(default_factory=list)

    @staticmethod
    def quantile(values: list[float], share: float) -> float:
        return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def simulate(costs: StepCosts, limits: Limits, load: Load, *, requests_per_s: float, requests: int, seed: int) -> Seen:
    """Poisson arrivals through admission in order, chunked prefill inside the token budget, and decode of all running sequences."""
    draw = random.Random(seed)  # noqa: S311
    arrivals: deque[Request] = deque()
    clock = 0.0
    for _ in range(requests):
        clock += draw.expovariate(requests_per_s)
        prompt = max(int(load.cached) + 1, int(_length(draw, load.prompt)))
        arrivals.append(Request(clock, prompt - int(load.cached), prompt, max(1, int(_length(draw, load.output)))))
    waiting: deque[Request] = deque()
    running: list[Request] = []
    seen = Seen()
    warm = requests // 10
    finished = 0
    now = 0.0
    while arrivals or waiting or running:
        if not waiting and not running:
            now = max(now, arrivals[0].arrived)
        while arrivals and arrivals[0].arrived <= now:
            request = arrivals.popleft()
            request.left = request.new
            waiting.append(request)
        room = limits.step_tokens - len(running)
        prompt = pairs = 0.0
        ended: list[Request] = []
        for request in list(waiting):
            if room <= 0 or len(running) + len(ended) >= limits.sequences:
                break
            chunk = min(room, request.left)
            pairs += chunk * (request.context - request.left + chunk / 2)
            request.left -= chunk
            room -= chunk
            prompt += chunk
            if request.left == 0:
                ended.append(request)
        context = sum(r.context for r in running) / len(running) if running else 0.0
        now += step_s(costs, decode=len(running), context=context, prompt=prompt, prompt_context=pairs / prompt if prompt else 0.0, prompts=len(ended))
        still = []
        for request in running:
            request.context += 1
            request.output -= 1
            if request.output > 0:
                still.append(request)
            else:
                finished += 1
                if finished > warm and request.done > 1:
                    seen.tpot.append((now - request.first) / (request.done - 1))
        running = still
        for request in ended:
            waiting.remove(request)
            request.first = now
            request.done = float(request.output)
            seen.ttft.append(now - request.arrived)
            request.output -= 1
            if request.output > 0:
                running.append(request)
            else:
                finished += 1
    return seen


def _length(draw: random.Random, lengths: Lengths) -> float:
    return lengths.at(draw.gauss(0, 1))
