"""A pool as a fluid: replicas that start slowly, take requests in at a limited pace, run them at once and slow each other down.

A replica is four numbers of the plan: its rate and requests in flight inside the objectives, the pace at which it takes prompts
from its queue, and how many requests it can hold (sequences or KV cache). Between and beyond them one request's stay grows
linearly with the requests running: `residence = base + slope x running`. Requests are amounts, not individuals, so randomness
comes only from the arrivals that the caller gives. Requests go where the fewest are in flight, as with least-request
balancing; what waits in one replica stays there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from inferform.engines import find_engine
from inferform.errors import InputError, Problem
from inferform.plan import DeploymentPlan
from inferform.simulate.hpa import PodReadings, Scale

# The plan does not keep these two, so they are assumed; tests vary them and find the same behaviour of scalers.
# Share of a request's stay at the planned load that it would take alone on the replica: decode steps of a memory-bound model
# mostly read weights, whatever the batch. A replica that is never full then carries at most 1 / (1 - 0.6) = 2.5 times its rate.
ALONE = 0.6
# How busy the way in is at the planned rate, unless one prompt each time to first token is already faster.
BUSY = 0.85
# Where a spec names no context length the planner serves twice the 95th percentiles, and those are twice the means.
CONTEXT_OVER_MEAN = 4


@dataclass(frozen=True, slots=True)
class Pool:
    """What the model needs to know of one pool. Rates in requests a second, times in seconds, everything per replica.

    `tokens_per_request` is what a running request holds in the KV cache on average, `kv_tokens` 0 where there is no such cache.
    `alone` below 1 is the share of a stay at the planned load that is left when nobody else runs.
    """

    namespace: str
    model_name: str
    workload: str
    gateway_namespace: str
    gateway_name: str
    rate: float
    in_flight: float
    pace: float
    most_running: float
    kv_tokens: int
    tokens_per_request: float
    ttft_s: float
    ttft_p95_s: float
    start_s: float
    pre_stop_s: float
    grace_s: float
    replicas: int
    grouped: bool = False
    alone: float = ALONE
    # Data-parallel ranks with series of their own.
    ranks: int = 1
    # Other workloads that queries of this one's scaler read: their ready replicas.
    neighbours: tuple[tuple[str, int], ...] = ()

    @property
    def residence_s(self) -> float:
        """How long a request stays at the planned rate (Little's law)."""
        return self.in_flight / self.rate


def pool_of(plan: DeploymentPlan, model_name: str, pool_name: str, *, tokens_per_request: float | None = None) -> Pool:
    """One pool of a plan. The plan does not keep prompt lengths; without `tokens_per_request` they follow from the served context.

    Raises InputError for a pool whose rate is not planned.
    """
    model = plan.models[model_name]
    pool = model.pools[pool_name]
    if pool.requests_per_s <= 0 or pool.concurrency <= 0:
        raise InputError(Problem("has no planned rate", f"models.{model_name}.pools.{pool_name}.requests_per_s", value=str(pool.requests_per_s)))
    tokens = tokens_per_request if tokens_per_request is not None else pool.max_model_len / CONTEXT_OVER_MEAN
    kv_tokens = pool.kv_cache_tokens * pool.dp
    held = kv_tokens / tokens if kv_tokens else math.inf
    return Pool(
        plan.namespace, model.served_name, f"{model_name}-{pool_name}", plan.gateway.namespace, plan.name, pool.requests_per_s, pool.concurrency,
        pace=max(pool.requests_per_s / BUSY, 1000 / pool.ttft_ms.p50), most_running=max(pool.concurrency, min(pool.max_num_seqs * pool.dp, held)),
        kv_tokens=kv_tokens, tokens_per_request=tokens, ttft_s=pool.ttft_ms.p50 / 1000, ttft_p95_s=pool.ttft_ms.p95 / 1000,
        start_s=model.load.total_s, pre_stop_s=pool.lifecycle.pre_stop_s, grace_s=pool.lifecycle.grace_s, replicas=pool.replicas.steady,
        grouped=pool.nodes_per_replica > 1, ranks=pool.dp if find_engine(model.engine).rank_series else 1,
        neighbours=tuple((f"{model_name}-{name}", model.pools[name].replicas.steady) for name in sorted(model.pools) if name != pool_name),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exposed:
    """What each of some alike pods shows at a scrape; `finished` counts whole requests since the scrape before."""

    pods: tuple[str, ...]
    waiting: float
    running: float
    kv_use: float
    finished: int


@dataclass(frozen=True, slots=True)
class Firsts:
    """First tokens since the last scrape: how many, how long those requests waited, and the median they then took."""

    count: float
    wait_s: float
    median_s: float


class _Alike:
    """Replicas in the same state; `until_s` is when the first of them may and the last must be gone, once they terminate."""

    __slots__ = ("finished", "pods", "ready_s", "replicas", "running", "until_s", "waiting")

    def __init__(self, pods: tuple[str, ...], ready_s: float, running: float = 0.0, waiting: float = 0.0) -> None:
        self.pods, self.replicas, self.ready_s, self.running, self.waiting = pods, len(pods), ready_s, running, waiting
        self.finished = 0.0
        self.until_s = (math.inf, math.inf)

    def become(self, pods: tuple[str, ...]) -> None:
        """Stand for other pods."""
        self.pods, self.replicas = pods, len(pods)


class Fleet:
    """The replicas of one pool over time."""

    def __init__(self, pool: Pool, replicas: int) -> None:
        self.pool = pool
        # Requests so far; lost are those that found no serving replica, or whose replica ran out of grace.
        self.arrived = self.finished = self.lost = 0.0
        self._made = 0
        self._serving: list[_Alike] = []
        self._starting: list[_Alike] = []
        self._leaving: list[_Alike] = []
        if replicas:
            self._serving.append(_Alike(self._names(replicas), 0.0))
        self._slope = (1 - pool.alone) * pool.residence_s / pool.in_flight
        self._base_s = pool.alone * pool.residence_s
        self._pace, self._most = pool.pace, pool.most_running
        # First tokens since last asked: requests, their waits, and their company of running requests.
        self._taken = self._waits = self._company = 0.0
        self._scale: Scale | None = None

    def _names(self, replicas: int) -> tuple[str, ...]:
        self._made += replicas
        return tuple(f"{self.pool.workload}-{number}" for number in range(self._made - replicas, self._made))

    @property
    def scale(self) -> Scale:
        """Replicas as the scale subresource and the pods' conditions show them."""
        if self._scale is None:
            existing = self.serving + sum(g.replicas for g in self._starting)
            self._scale = Scale(existing, existing, self.serving + sum(g.replicas for g in self._leaving))
        return self._scale

    @property
    def serving(self) -> int:
        """Replicas that take new requests."""
        return sum(g.replicas for g in self._serving)

    @property
    def serving_pods(self) -> tuple[str, ...]:
        """Names of the replicas that take new requests."""
        return tuple(pod for g in self._serving for pod in g.pods)

    def resize(self, replicas: int, now: float) -> None:
        """Ask for a number of replicas. What goes is what has not started, newest first, then the newest of those that serve."""
        missing = replicas - self.scale.existing
        self._scale = None
        if missing > 0:
            self._starting.append(_Alike(self._names(missing), now + self.pool.start_s))
        for groups in (self._starting, self._serving):
            while missing < 0 and groups:
                newest = groups[-1]
                gone = min(newest.replicas, -missing)
                if groups is self._serving:
                    leaving = _Alike(newest.pods[-gone:], newest.ready_s, newest.running, newest.waiting)
                    leaving.finished = newest.finished
                    leaving.until_s = (now + self.pool.pre_stop_s, now + self.pool.grace_s)
                    self._leaving.append(leaving)
                newest.become(newest.pods[:-gone])
                missing += gone
                if not newest.replicas:
                    groups.pop()

    def step(self, now: float, seconds: float, rate: float) -> None:
        """Let `rate` requests a second arrive for some seconds. Without a serving replica they are lost."""
        if self._starting and self._starting[0].ready_s <= now:
            self._serving.append(self._starting.pop(0))
            self._scale = None
        amount = rate * seconds
        self.arrived += amount
        if not self._serving:
            self.lost += amount
        elif len(self._serving) == 1:
            self._serving[0].waiting += amount / self._serving[0].replicas
        else:
            _pour(self._serving, amount)
            self._merge()
        for group in self._serving:
            self._work(group, seconds)
        if self._leaving:
            self._let_go(now, seconds)

    def _let_go(self, now: float, seconds: float) -> None:
        """Terminating replicas finish what they have, and are cut off when their grace ends."""
        kept = []
        for group in self._leaving:
            self._work(group, seconds)
            left = group.running + group.waiting
            first_s, last_s = group.until_s
            # Half a request is none.
            if now < last_s and (now < first_s or left >= 0.5):
                kept.append(group)
            elif left >= 0.5:
                self.lost += left * group.replicas
            else:
                self.finished += left * group.replicas
        if len(kept) != len(self._leaving):
            self._scale = None
        self._leaving = kept

    def _work(self, group: _Alike, seconds: float) -> None:
        """Take prompts in, run, finish. Implicit in the running requests, so that short stays need no short steps."""
        base, slope, before, waiting = self._base_s, self._slope, group.running, group.waiting
        taken = min(waiting, self._pace * seconds)
        # running + seconds x running / (base + slope x running) = before + taken
        total = before + taken
        b = base + seconds - total * slope
        running = (math.sqrt(b * b + 4 * slope * total * base) - b) / (2 * slope)
        if running > self._most:
            running = self._most
            taken = max(0.0, min(taken, running + seconds * running / (base + slope * running) - before))
        done = before + taken - running
        group.running, group.waiting = running, waiting - taken
        group.finished += done
        replicas = group.replicas
        self.finished += done * replicas
        if taken > 0:
            self._taken += taken * replicas
            # Those behind wait for those before them: requests / (taken / seconds).
            self._waits += group.waiting * replicas * seconds
            self._company += taken * replicas * running

    def _merge(self) -> None:
        """Replicas whose states have become equal are counted together."""
        first, *rest = self._serving
        kept = [first]
        for group in rest:
            last = kept[-1]
            if abs(last.running - group.running) + abs(last.waiting - group.waiting) > 0.01 * (1 + last.running):
                kept.append(group)
                continue
            both = last.replicas + group.replicas
            last.running = (last.running * last.replicas + group.running * group.replicas) / both
            last.waiting = (last.waiting * last.replicas + group.waiting * group.replicas) / both
            last.finished = (last.finished * last.replicas + group.finished * group.replicas) / both
            last.become(last.pods + group.pods)
        self._serving = kept

    def _kv_use(self, group: _Alike) -> float:
        return min(1.0, group.running * self.pool.tokens_per_request / self.pool.kv_tokens) if self.pool.kv_tokens else 0.0

    @property
    def kv_use(self) -> float:
        """Share of the fullest replica's KV cache in use."""
        return max((self._kv_use(g) for g in self._serving), default=0.0)

    def expose(self) -> tuple[Exposed, ...]:
        """What the engines' metrics endpoints show; replicas that still load answer nothing, terminating ones still do."""
        groups = (*self._serving, *self._leaving)
        whole = [math.floor(g.finished) for g in groups]
        for group, count in zip(groups, whole, strict=True):
            # A rest that has not added up to a request counts later, or never.
            group.finished -= count
        if self.running + self.waiting < 0.5:
            # Half a request is none, and a gauge at exactly zero is what puts a workload to sleep.
            return tuple(Exposed(g.pods, 0.0, 0.0, 0.0, count) for g, count in zip(groups, whole, strict=True))
        return tuple(Exposed(g.pods, g.waiting, g.running, self._kv_use(g), count) for g, count in zip(groups, whole, strict=True))

    def firsts(self) -> Firsts:
        """First tokens since this was last asked. Once taken in, a prompt needs its planned time, changed as the whole stay is changed."""
        count, waits, company = self._taken, self._waits, self._company
        self._taken = self._waits = self._company = 0.0
        stay_s = self._base_s + self._slope * (company / count if count else 0.0)
        return Firsts(count, waits / count if count else 0.0, self.pool.ttft_s * stay_s / self.pool.residence_s)

    @property
    def waiting(self) -> float:
        """Requests in the queues of all replicas."""
        return sum(g.waiting * g.replicas for g in self._serving) + sum(g.waiting * g.replicas for g in self._leaving)

    @property
    def running(self) -> float:
        """Requests that run on all replicas."""
        return sum(g.running * g.replicas for g in self._serving) + sum(g.running * g.replicas for g in self._leaving)

    def cpu(self) -> PodReadings:
        """CPU in thousandths of the request: in proportion to the work, all of it where prompts come in at full pace. Starting pods are unready."""
        full = self.pool.in_flight * self.pool.pace / self.pool.rate
        values = tuple(round(1000 * min(1.0, g.running / full)) for g in self._serving for _ in range(g.replicas))
        return PodReadings(values, 0, sum(g.replicas for g in self._starting))


def _pour(groups: list[_Alike], amount: float) -> None:
    """Fill up from the emptiest: requests go to the replicas with the fewest in flight."""
    order = sorted(groups, key=lambda g: g.running + g.waiting)
    level = order[0].running + order[0].waiting
    wide = order[0].replicas
    filled = 1
    for group in order[1:]:
        step = group.running + group.waiting - level
        if amount <= step * wide:
            break
        amount -= step * wide
        level += step
        wide += group.replicas
        filled += 1
    level += amount / wide
    for group in order[:filled]:
        group.waiting = level - group.running
