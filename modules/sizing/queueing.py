"""From step times to what requests see when people arrive at random.

The picture of a continuously batching engine, shared with `benchmark.py`: every step carries the running sequences; waiting prompts are
worked off in arrival order inside the step's token budget, so a prompt slows the running sequences by what its steps take
longer than plain decode steps (`extra`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from inferform.sizing.kv_cache import CacheRoom
from inferform.sizing.lengths import Z95, Z99, Lengths
from inferform.sizing.roofline import StepCosts, step_s

# The lognormal distribution in 13 slices, finer towards the tail: (probability, normal quantile of the slice's middle).
_SLICES = (
    (0.10, -1.645), (0.10, -1.036), (0.10, -0.674), (0.10, -0.385), (0.10, -0.126), (0.10, 0.126), (0.10, 0.385), (0.10, 0.674),
    (0.05, 0.935), (0.05, 1.150), (0.05, 1.440), (0.03, 1.812), (0.02, 2.326),
)  # fmt: skip
# Finer around the 95th percentile, where a tail that ends there bends.
_TAIL_SLICES = (*_SLICES[:10], (0.02, 1.341), (0.02, 1.476), (0.01, 1.598), (0.01, 1.695), (0.02, 1.881), (0.02, 2.326))


@dataclass(frozen=True, slots=True)
class Limits:
    """What the engine holds at once: sequences, tokens of a step, and KV cache tokens, or blocks where tokens do not say it (`cache`)."""

    sequences: int
    step_tokens: int
    kv_tokens: float
    cache: CacheRoom | None = None

    def held(self, own: float, *, shared: float) -> float:
        """Requests of `own` tokens each that the cache holds at once, beside `shared` tokens that all of them begin with."""
        if self.cache is not None:
            return self.cache.requests(own, shared=shared, step_tokens=self.step_tokens)
        return (self.kv_tokens - shared) / own


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds at three percentiles."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class Point:
    """One operating point of one replica. `full` when a limit, not the load, decides."""

    ttft: Latency
    tpot: Latency
    requests_per_s: float
    concurrency: float
    busy: float


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt's way through the engine, seconds: to its first token, and the time its steps occupy each pipeline stage."""

    first_s: float
    stage_s: float
    steps: int


def prompt_cost(costs: StepCosts, tokens: float, cached: float, *, decode: float, context: float, step_tokens: int, company: float = 1.0) -> Prompt:
    """What a prompt costs with `decode` sequences running beside it, in as many steps as the token budget makes it.

    `cached` tokens of the prefix come from the cache: they cost attention, not matrix products. Short prompts share their step
    with `company - 1` others like them. Chunks follow each other through the pipeline stages, so the last one leaves
    `stages - 1` steps after it entered.
    """
    new = max(1.0, tokens - cached)
    beside = decode / costs.stages
    room = max(1.0, step_tokens - beside)
    steps = max(1, math.ceil(new / room))
    chunk = new / steps
    carried = chunk if steps > 1 else min(room, chunk * max(1.0, company))
    # The middle of the run stands for all chunks: attention grows linearly, so the mean is exact.
    one = step_s(costs, decode=beside, context=context, prompt=carried, prompt_context=cached + new / 2, prompts=carried / chunk / steps)
    return Prompt((steps + costs.stages - 1) * one, steps * one * chunk / carried, steps)


def decode_s(costs: StepCosts, sequences: float, context: float) -> float:
    """Seconds of one token for each of `sequences` running sequences: all pipeline stages, each with its share of them."""
    return step_s(costs, decode=max(1.0, sequences / costs.stages), context=context) * costs.stages


@dataclass(frozen=True, slots=True)
class Load:
    """What one replica is asked: lengths, the leading tokens whose matrix products the prefix cache saves, and how many of those
    tokens all sequences share in memory (a decode replica of a split pool saves the products but holds every token itself)."""

    prompt: Lengths
    output: Lengths
    cached: float
    shared: float | None = None

    @property
    def new_tokens(self) -> float:
        """Prompt tokens that are computed, on average."""
        return max(1.0, self.prompt.mean - self.cached)

    @property
    def context(self) -> float:
        """Tokens behind a running sequence, on average over its life."""
        return self.prompt.mean + self.output.mean / 2

    def sequences(self, limits: Limits) -> float:
        """Sequences that fit at once: each holds its own tokens, the shared prefix is held once."""
        shared = self.cached if self.shared is None else self.shared
        own = max(1.0, self.prompt.mean - shared)
        return min(float(limits.sequences), limits.held(own + self.output.mean, shared=shared))


@dataclass(frozen=True, slots=True)
class _State:
    """The steady state at one arrival rate; seconds. `extra` is what one prompt adds to the running streams' time, `company` how many
    prompts share a step, `step` a decode step of all running sequences, `full` a step whose token budget is used up. `wait` and
    `spread` are mean and standard deviation of what a prompt waits before its own steps, `behind` the time in which the prompts
    arrive that are worked off after it."""

    rate: float
    running: float
    step: float
    extra: float
    busy: float
    tpot: float
    company: float
    full: float
    wait: float
    spread: float
    behind: float
    own: float

    @property
    def stretch(self) -> float:
        """Share of the time that is left for decode steps."""
        return 1 - self.rate * self.extra


def _steady(costs: StepCosts, limits: Limits, load: Load, rate: float) -> _State | None:
    """Running sequences by Little's law and the step times that go with them; None when the replica cannot keep up."""
    room = load.sequences(limits)
    if room < 1:
        return None
    after_first = max(0.0, load.output.mean - 1)
    new, context = load.new_tokens, load.context
    # More sequences at once carry more, so what a full replica's plain steps do not carry nothing does.
    if rate * after_first * decode_s(costs, room, context) > room * 1.01:
        return None
    step = extra = tpot = busy = wait = spread = behind = own = 0.0
    company = 1.0
    running = min(room, rate * after_first * decode_s(costs, 1.0, context))
    for _ in range(30):
        step = decode_s(costs, running, context)
        # A running stream shares the prompt's steps, so only what those take longer than plain ones is the prompt's doing.
        plain = step / costs.stages
        cost = prompt_cost(costs, load.prompt.mean, load.cached, decode=running, context=context, step_tokens=limits.step_tokens, company=company)
        extra = max(0.0, cost.stage_s - cost.steps * plain / company)
        own = cost.first_s
        # What a prompt keeps the queue busy for: its own work; of the streams' time only its part of a step that is full of prompts, and
        # all of it while nothing runs.
        alone = 1 - min(1.0, running)
        service = extra + (alone / company + (1 - alone) * min(1.0, new / limits.step_tokens)) * plain
        busy = rate * service
        stretch = 1 - rate * extra
        # A prompt that arrives during a prompt's step goes into the next one together with all others that do.
        meet = max(1.0, min(limits.step_tokens / new, 1 + min(1.0, busy) * rate * cost.first_s))
        if busy >= 0.98 or stretch <= 0.02:
            if meet < company * 1.01:
                return None
            company = meet
            continue
        wait, spread = _waiting(load, rate=rate, plain=plain * min(1.0, running), extra=extra, service=service, fill=new / limits.step_tokens, idle=alone)
        # Prompts that came while this one was worked on, and where prompts fill steps also those that came while it waited, are worked
        # off after it, at the expense of its first tokens.
        behind = own + min(1.0, new / limits.step_tokens) * wait
        tpot = min((step + extra * rate * behind / after_first) / stretch, max(step, own)) if after_first else 0.0
        want = rate * after_first * tpot
        if want > room:
            return None
        settled = abs(want - running) <= 0.01 * running + 1e-6 and abs(meet - company) <= 0.01 * company
        if settled:
            break
        company = (company + meet) / 2
        running = (running + want) / 2
    if busy >= 0.98 or stretch <= 0.02 or running + Z95 * math.sqrt(running) > room:
        return None
    beside = running / costs.stages
    full = costs.stages * step_s(
        costs,
        decode=beside,
        context=context,
        prompt=max(1.0, limits.step_tokens - beside),
        prompt_context=load.cached + new / 2,
        prompts=limits.step_tokens / new,
    )
    return _State(rate, running, step, extra, busy, tpot, company, full, wait, spread, behind, own)


def _waiting(load: Load, *, rate: float, plain: float, extra: float, service: float, fill: float, idle: float) -> tuple[float, float]:
    """(mean, standard deviation) of the time from a prompt's arrival to the step that takes it up; seconds.

    Prompts that fill a step (`fill` 1 or more) wait for each other in line: M/G/1 by two moments, its wait an exponential tail, and
    the rest of a plain step. Short ones that came during a step all go into the next one: steps are cycles that grow with the prompts
    that came in the one before; the cycle that an arrival meets is a longer one than most. In between it is in proportion. `idle` is
    the share of the time in which nothing runs.
    """
    varied = 1 + load.prompt.variation * (load.prompt.mean / load.new_tokens) ** 2
    busy = min(0.98, rate * service)
    line = rate * service * service * varied / (2 * (1 - busy))
    in_line = (line + plain / 2, plain * plain / 12 + max(0.0, 2 * line * line / busy - line * line if busy > 0 else 0.0))
    share = min(0.98, rate * extra)
    cycle = plain / (1 - share) + idle * rate * extra * extra
    square = extra * extra * varied
    variance = rate * cycle * square / (1 - share * share)
    met = cycle + variance / cycle if cycle > 0 else 0.0
    # Of the cycle that is met a half is left on average, and the prompts that came in it share the next one.
    met_square = met * met * (1 + 1 / (cycle * cycle / variance + 1)) if variance > 0 else met * met
    together = (met * (0.5 + share), met_square / 12 + rate * met * square + (0.5 + share) ** 2 * max(0.0, met_square - met * met))
    weight = min(1.0, fill)
    mean, second = ((1 - weight) * a + weight * b for a, b in zip(together, in_line, strict=True))
    # Lengths that vary have longer tails than two moments tell; checked against the event simulation in the tests.
    return mean, math.sqrt(second * varied)


def _tpot_at(costs: StepCosts, load: Load, state: _State, z: float) -> float:
    """TPOT at normal quantile `z`.

    The number of running sequences varies like a Poisson count, and more so as steps slow down with it (slower steps keep
    sequences longer) and prompts hold streams up; sequences of different length weigh differently. Interruptions by prompts
    vary like a Poisson count too; short answers average over fewer of them, and what waited behind the stream's own prompt comes
    all at once. No stream is slower than steps that are full of prompts. Checked against the event simulation in the tests.
    """
    if load.output.mean <= 1:
        return 0.0
    stretch = state.stretch
    poisson = math.sqrt(state.running)
    wider = decode_s(costs, state.running + poisson, load.context) / stretch
    plain = state.step / stretch
    # Elasticity of the step time in the number of sequences: below 1 in a stable replica.
    elasticity = min(0.9, max(0.0, wider / plain - 1) * poisson)
    weights = 1 + load.prompt.variation * (load.prompt.mean / load.context) ** 2
    more = state.running + z * poisson * math.sqrt(weights / (1 - elasticity) / stretch)
    slower = decode_s(costs, more, load.context) / stretch - plain
    # Second moment of the computed prompt length over its square, and the mean of one over the answer's length.
    prompts = 1 + load.prompt.variation * (load.prompt.mean / load.new_tokens) ** 2
    answers = (1 + load.output.variation) / load.output.mean
    # An interruption stretches the stream, and the longer stream meets further ones.
    during = state.extra * math.sqrt(state.rate * state.tpot * prompts * answers)
    # What came behind the prompt: a Poisson count over a time that itself varies.
    count = state.rate * state.behind * prompts + (state.rate * state.spread) ** 2
    behind = state.extra * answers * math.sqrt(count)
    interrupted = _skewed(max(1e-9, state.tpot - state.step), math.hypot(during, behind) / stretch, z)
    return min(max(state.step, state.tpot + math.copysign(math.hypot(slower, interrupted), interrupted)), max(state.full, state.tpot))


def _skewed(mean: float, deviation: float, z: float) -> float:
    """How far the quantile at `z` of a gamma distribution lies above its mean (Wilson and Hilferty's cube)."""
    if deviation <= 0:
        return 0.0
    shape = max(0.25, (mean / deviation) ** 2)
    cube: float = (1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape))) ** 3
    return (cube - 1) * deviation * math.sqrt(shape)


class _Queue:
    """Time to the first token: what is waited for, then the own prompt. Prompts vary as their distribution says, waits like a gamma
    distribution of the mean and deviation that `_waiting` gives."""

    __slots__ = ("_center", "_scale", "_width", "times")

    def __init__(self, costs: StepCosts, limits: Limits, load: Load, state: _State):
        floor = load.cached + 1

        def own(tokens: float) -> float:
            return prompt_cost(
                costs, tokens, load.cached, decode=state.running, context=load.context, step_tokens=limits.step_tokens, company=state.company
            ).first_s

        slices = _SLICES if load.prompt.shape.cap == math.inf else _TAIL_SLICES
        low = max(floor, load.prompt.at(slices[0][1]))
        mid = max(low, load.prompt.mean)
        top = max(mid + 1, load.prompt.at(slices[-1][1]))
        # A prompt's time is a parabola of its length, so three lengths give all.
        curve = _parabola((low, own(low)), (mid, own(mid)), (top, own(top)))
        self.times = [(weight, curve(max(floor, load.prompt.at(z)))) for weight, z in slices]
        shape = max(0.1, (state.wait / state.spread) ** 2) if state.spread > 0 else 1e6
        self._scale = state.wait
        self._center = 1 - 1 / (9 * shape)
        self._width = 3 * math.sqrt(shape)

    def share_above(self, seconds: float) -> float:
        """Share of requests whose wait and prompt take longer than this."""
        total = 0.0
        for weight, own_s in self.times:
            left = seconds - own_s
            if left <= 0 or self._scale <= 0:
                total += weight if left < 0 else 0.0
                continue
            # The cube root of a gamma variable is nearly normal.
            total += weight * 0.5 * math.erfc(((left / self._scale) ** (1 / 3) - self._center) * self._width / math.sqrt(2))
        return total

    def quantile(self, share: float) -> float:
        """Seconds that this share of requests stays below."""
        low, high = 0.0, self.times[-1][1] + self._scale * (1 + 6 / self._width) ** 3 + 1e-9
        for _ in range(20):
            middle = (low + high) / 2
            if self.share_above(middle) > 1 - share:
                low = middle
            else:
                high = middle
        return high


def open_loop(costs: StepCosts, limits: Limits, load: Load, *, requests_per_s: float, host_s: float) -> Point | None:
    """Latency when requests arrive at random (Poisson) at this rate; None when the replica cannot keep up."""
    state = _steady(costs, limits, load, requests_per_s)
    return None if state is None else _point(costs, limits, load, state, host_s)


def keeps(
    costs: StepCosts, limits: Limits, load: Load, *, requests_per_s: float, ttft_p95_s: float | None, tpot_p95_s: float | None, host_s: float
) -> bool | None:
    """Whether both objectives are kept at this rate; None when the replica cannot keep up with it at all."""
    state = _steady(costs, limits, load, requests_per_s)
    return None if state is None else _keeps(costs, limits, load, state, ttft_p95_s=ttft_p95_s, tpot_p95_s=tpot_p95_s, host_s=host_s)


def _keeps(
    costs: StepCosts, limits: Limits, load: Load, state: _State, *, ttft_p95_s: float | None, tpot_p95_s: float | None, host_s: float
) -> bool:  # fmt: skip
    if tpot_p95_s is not None and _tpot_at(costs, load, state, Z95) > tpot_p95_s:
        return False
    return ttft_p95_s is None or _Queue(costs, limits, load, state).share_above(ttft_p95_s - host_s) <= 0.05


def _point(costs: StepCosts, limits: Limits, load: Load, state: _State, host_s: float) -> Point:
    queue = _Queue(costs, limits, load, state)
    ttft = Latency(*(queue.quantile(share) + host_s for share in (0.5, 0.95, 0.99)))
    tpot = Latency(*(_tpot_at(costs, load, state, z) for z in (0.0, Z95, Z99)))
    return Point(ttft, tpot, state.rate, state.running + state.rate * ttft.p50, state.busy)


def highest_rate(costs: StepCosts, limits: Limits, load: Load, *, ttft_p95_s: float | None, tpot_p95_s: float | None, host_s: float) -> Point | None:
    """The operating point with the highest rate inside both objectives, to 1 %; None when even a lone request misses one."""

    def good(rate: float) -> _State | None:
        state = _steady(costs, limits, load, rate)
        return state if state is not None and _keeps(costs, limits, load, state, ttft_p95_s=ttft_p95_s, tpot_p95_s=tpot_p95_s, host_s=host_s) else None

    first = prompt_cost(costs, load.prompt.mean, load.cached, decode=0, context=load.prompt.mean, step_tokens=limits.step_tokens).stage_s
    best = good(1e-4 / first)
    if best is None:
        return None
    # Steps of four up from a rate that surely holds, the last good one by halving, then halving on a logarithmic scale.
    lone, high = best.rate, 4.0 / first
    kept, failed = 0, math.ceil(math.log(high / lone, 4) - 1e-9)
    while failed - kept > 1:
        step = (kept + failed) // 2
        state = good(lone * 4**step)
        if state is None:
            failed, high = step, lone * 4**step
        else:
            kept, best = step, state
    low = best.rate
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        state = good(middle)
        if state is None:
            high = middle
        else:
            low, best = middle, state
    return _point(costs, limits, load, best, host_s)


def _parabola(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> Callable[[float], float]:
    """The parabola through three points, or the line where the first two coincide; never below zero."""
    (x0, y0), (x1, y1), (x2, y2) = a, b, c
    if x1 - x0 < 1e-9:
        slope = (y2 - y1) / (x2 - x1)
        return lambda x: max(0.0, y1 + slope * (x - x1))
    first = (y1 - y0) / (x1 - x0)
    second = ((y2 - y1) / (x2 - x1) - first) / (x2 - x0)
    return lambda x: max(0.0, y0 + first * (x - x0) + second * (x - x0) * (x - x1))
