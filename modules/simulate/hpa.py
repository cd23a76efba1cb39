"""The control loop of the HorizontalPodAutoscaler: one proposal a metric, the largest wins, then windows, policies and limits.

Source: the documented algorithm (Kubernetes documentation, "Horizontal Pod Autoscaling", algorithm details and configurable scaling
behavior) and pkg/controller/podautoscaler/replica_calculator.go and horizontal.go of Kubernetes 1.35. Amounts are whole thousandths,
as in the controller. Not modelled: samples of CPU taken before a pod was ready, and clock jitter between two syncs.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from inferform.simulate.objects import Direction, HpaSpec, Metric

SYNC_S = 15
# The older rules, in force without a behavior block: at most doubled, or four.
_CLASSIC_FACTOR, _CLASSIC_LEAST = 2, 4


class MetricUnavailableError(Exception):
    """A metric could not be had; the message says why."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Replicas of the target: asked for, existing (not terminating), and ready.

    Terminating pods that are still ready count as ready; the controller counts them too for external and object metrics.
    """

    asked: int
    existing: int
    ready: int


@dataclass(frozen=True, slots=True)
class PodReadings:
    """Thousandths of the pods that report, and how many other pods there are: running without a metric, and not ready yet.

    For a Resource metric a value is the share of the pod's request.
    """

    values: tuple[int, ...]
    missing: int
    unready: int


# External and Object metrics are one number in thousandths.
Reading = int | PodReadings
Read = Callable[[Metric], Reading]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Replicas to ask for, and why."""

    replicas: int
    reason: str


class _Window:
    """The highest (or lowest) recommendation of the last seconds. Only those are kept that a later one does not outdo."""

    def __init__(self, seconds: float, *, highest: bool) -> None:
        self._seconds, self._sign = seconds, 1 if highest else -1
        self._kept: deque[tuple[float, int]] = deque()

    def add(self, now: float, replicas: int) -> None:
        while self._kept and self._kept[-1][1] * self._sign <= replicas * self._sign:
            self._kept.pop()
        self._kept.append((now, replicas))

    def with_new(self, now: float, replicas: int) -> int:
        """The extreme of the window and a new recommendation. What is exactly as old as the window no longer counts."""
        while self._kept and self._kept[0][0] <= now - self._seconds:
            self._kept.popleft()
        return max(self._kept[0][1] * self._sign, replicas * self._sign) * self._sign if self._kept else replicas


class Hpa:
    """One HorizontalPodAutoscaler and what its controller remembers of it."""

    def __init__(self, spec: HpaSpec) -> None:
        self.spec = spec
        # Both windows see what was recommended before stabilization.
        self._lowest = _Window(spec.up.window_s, highest=False)
        self._highest = _Window(spec.down.window_s, highest=True)
        self._started = False
        self._changes: deque[tuple[float, int]] = deque()

    def sync(self, now: float, scale: Scale, read: Read) -> Verdict:
        """One pass of the controller at time `now` (seconds)."""
        spec = self.spec
        if not self._started:
            self._started = True
            self._remember(now, scale.asked)
        if scale.asked == 0:
            return Verdict(0, "scaling is disabled while the target has no replicas")
        if scale.asked > spec.max:
            return self._rescale(now, scale, spec.max, "more replicas than maxReplicas")
        if scale.asked < spec.min:
            return self._rescale(now, scale, spec.min, "fewer replicas than minReplicas")
        try:
            wanted, why = self._wanted(scale, read)
        except MetricUnavailableError as err:
            return Verdict(scale.asked, str(err))
        replicas, limit = self._classic(now, scale.asked, wanted) if spec.classic else self._behaving(now, scale.asked, wanted)
        return self._rescale(now, scale, replicas, f"{why}{limit}")

    def _rescale(self, now: float, scale: Scale, replicas: int, reason: str) -> Verdict:
        if replicas != scale.asked and not self.spec.classic:
            self._changes.append((now, replicas - scale.asked))
        return Verdict(replicas, reason)

    def _wanted(self, scale: Scale, read: Read) -> tuple[int, str]:
        """The largest proposal. A metric without a value forbids going down; when none has one nothing is decided."""
        best, why, lost = 0, "", ""
        for metric in self.spec.metrics:
            try:
                replicas, used = propose(metric, read(metric), scale, up=self.spec.up.tolerance, down=self.spec.down.tolerance)
            except MetricUnavailableError as err:
                lost = lost or str(err)
                continue
            if not why or replicas > best:
                best, why = replicas, f"{metric.name} {used} wants {replicas}"
        if not why:
            raise MetricUnavailableError(f"no metric has a value: {lost}")
        if lost and best < scale.asked:
            raise MetricUnavailableError(f"held, because a metric has no value: {lost}")
        return best, why

    def _behaving(self, now: float, current: int, wanted: int) -> tuple[int, str]:
        """Stabilization first, then the rate that policies allow, then min and max."""
        up, down = self.spec.up, self.spec.down
        low, high = self._lowest.with_new(now, wanted), self._highest.with_new(now, wanted)
        self._remember(now, wanted)
        stable = min(max(current, low), high)
        held = "" if stable == wanted else f"; {stable} by what the last {up.window_s if wanted >= current else down.window_s} s recommended"
        if stable > current:
            most = min(self.spec.max, max(current, self._limit(now, current, up, rising=True)))
            return (stable, held) if stable <= most else (most, f"{held}; at most {most} now")
        if stable < current:
            least = max(self.spec.min, min(current, self._limit(now, current, down, rising=False)))
            return (stable, held) if stable >= least else (least, f"{held}; at least {least} now")
        return current, held

    def _classic(self, now: float, current: int, wanted: int) -> tuple[int, str]:
        """Without a behavior block: the highest recommendation of the down window, at most doubled."""
        stable = self._highest.with_new(now, wanted)
        self._remember(now, wanted)
        most = min(self.spec.max, max(_CLASSIC_FACTOR * current, _CLASSIC_LEAST))
        replicas = min(max(stable, self.spec.min), most)
        return replicas, "" if replicas == wanted else f"; {replicas} by window and limits"

    def _remember(self, now: float, wanted: int) -> None:
        self._lowest.add(now, wanted)
        self._highest.add(now, wanted)

    def _limit(self, now: float, current: int, rules: Direction, *, rising: bool) -> int:
        """The replica count that the policies of one direction allow now."""
        if rules.select == "Disabled":
            return current
        longest = max(p.period_s for d in (self.spec.up, self.spec.down) for p in d.policies)
        while self._changes and self._changes[0][0] <= now - longest:
            self._changes.popleft()
        limits = []
        for policy in rules.policies:
            start = current - sum(change for t, change in self._changes if t > now - policy.period_s)
            if policy.kind == "Pods":
                limits.append(start + policy.value if rising else start - policy.value)
            elif rising:
                limits.append(math.ceil(start * (1 + policy.value / 100)))
            else:
                limits.append(int(start * (1 - policy.value / 100)))
        # Max selects the policy that allows the largest change.
        return max(limits) if rising == (rules.select == "Max") else min(limits)


def propose(metric: Metric, reading: Reading, scale: Scale, *, up: float = 0.1, down: float = 0.1) -> tuple[int, str]:
    """(replicas, reading against target) that one metric alone asks for; within the tolerances that is what is asked for already.

    Raises MetricUnavailableError when pods report nothing.
    """
    if isinstance(reading, PodReadings):
        return _by_pods(metric, reading, scale, up, down)
    used = f"{reading / 1000:g}/{metric.target / 1000:g}"
    if metric.compare == "AverageValue":
        # Divided by the pods that exist, whether they report or not.
        ratio = reading / (metric.target * scale.existing) if scale.existing else math.inf
        return (scale.existing if _within(ratio, up, down) else math.ceil(reading / metric.target)), used
    ratio = reading / metric.target
    return (scale.asked if _within(ratio, up, down) else math.ceil(ratio * scale.ready)), used


def _within(ratio: float, up: float, down: float) -> bool:
    return 1.0 - down <= ratio <= 1.0 + up


def _by_pods(metric: Metric, reading: PodReadings, scale: Scale, up: float, down: float) -> tuple[int, str]:
    """Pods that say nothing count as at target (of a resource: all of it) when going down and as idle when going up; unready pods as idle."""
    if not reading.values:
        raise MetricUnavailableError(f"no pod reports {metric.name}")
    values = list(reading.values)
    ratio, used = _ratio(metric, values)
    if not reading.missing and not (reading.unready and ratio > 1):
        return (scale.asked if _within(ratio, up, down) else math.ceil(ratio * len(values))), used
    if ratio < 1:
        full = metric.target if metric.kind == "Pods" else 10 * max(100, metric.target)
        values += [full] * reading.missing
    elif ratio > 1:
        values += [0] * (reading.missing + reading.unready)
    again, _ = _ratio(metric, values)
    replicas = math.ceil(again * len(values))
    turned = (ratio < 1 < again) or (again < 1 < ratio) or (again < 1 and replicas > scale.asked) or (again > 1 and replicas < scale.asked)
    return (scale.asked if turned or _within(again, up, down) else replicas), used


def _ratio(metric: Metric, values: list[int]) -> tuple[float, str]:
    if metric.compare == "Utilization":
        percent = sum(values) * 100 // (1000 * len(values))
        return percent / metric.target, f"{percent}%/{metric.target}%"
    mean = sum(values) // len(values)
    return mean / metric.target, f"{mean / 1000:g}/{metric.target / 1000:g}"
