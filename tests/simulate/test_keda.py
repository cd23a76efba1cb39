"""KEDA's operator and metrics server: activation, the step to zero, fallback, caches and empty answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from inferform.simulate.hpa import MetricUnavailableError, Scale, propose
from inferform.simulate.keda import Keda
from inferform.simulate.objects import ScaledSpec, read_object

Answer = tuple[float, ...] | None


def trigger(query: str = "queue", *, kind: str = "AverageValue", cached: bool = False, **metadata: str) -> dict[str, Any]:
    base = {"serverAddress": "http://prometheus", "query": query, "threshold": "8", "ignoreNullValues": "false"}
    return {"type": "prometheus", "name": query, "metricType": kind, "useCachedMetrics": cached, "metadata": base | metadata}


def keda(*triggers: dict[str, Any], **spec: Any) -> Keda:
    whole = {"scaleTargetRef": {"name": "m"}, "minReplicaCount": 1, "maxReplicaCount": 8, "triggers": list(triggers) or [trigger()], **spec}
    read = read_object({"kind": "ScaledObject", "metadata": {"name": "m"}, "spec": whole})
    assert isinstance(read, ScaledSpec)
    return Keda(read)


def answering(**answers: Answer) -> Callable[[str], tuple[float, ...]]:
    def ask(query: str) -> tuple[float, ...]:
        answer = answers[query]
        if answer is None:
            raise MetricUnavailableError("Prometheus does not answer")
        return answer

    return ask


def at(replicas: int, ready: int | None = None) -> Scale:
    return Scale(replicas, replicas, replicas if ready is None else ready)


def polled(operator: Keda, now: float, replicas: int, answer: Answer) -> int | None:
    verdict = operator.poll(now, at(replicas), answering(queue=answer))
    return None if verdict is None else verdict.replicas


def read(operator: Keda, replicas: Scale, answer: Answer, index: int = 0) -> int | str:
    """What the HPA gets for one metric, or the error's text."""
    query = operator.spec.queries[index]
    try:
        return operator.metric(query.metric, replicas, answering(**{query.query: answer}))
    except MetricUnavailableError as err:
        return str(err)


def test_only_more_than_the_activation_wakes() -> None:
    """At zero a value of 0 leaves the workload asleep and 0.5 wakes one replica; with an activation threshold of 5 it takes more than 5."""
    assert (None, 1) == (polled(keda(minReplicaCount=0), 0, 0, (0.0,)), polled(keda(minReplicaCount=0), 0, 0, (0.5,)))
    careful = keda(trigger(activationThreshold="5"), minReplicaCount=0)
    assert (None, 1) == (polled(careful, 0, 0, (5.0,)), polled(careful, 15, 0, (5.1,)))


def test_fc29_the_cooldown_belongs_to_the_step_to_zero() -> None:
    """Last active at 100 s, cooldown 300 s: nothing at 400 s, and at 401 s from five replicas straight to none."""
    operator = keda(minReplicaCount=0, cooldownPeriod=300)
    assert [None, None, 0] == [polled(operator, now, 5, (value,)) for now, value in ((100, 9.0), (400, 0.0), (401, 0.0))]


def test_fc29_with_a_minimum_the_cooldown_does_nothing() -> None:
    """min 1, cooldown 60 s: hours without load change nothing here; going from N to 1 is the HPA's."""
    operator = keda(minReplicaCount=1, cooldownPeriod=60)
    assert [None, None] == [polled(operator, now, 5, (0.0,)) for now in (0, 7200)]


def test_never_active_waits_for_the_initial_cooldown_only() -> None:
    """A workload that was never active goes after initialCooldownPeriod, 0 s by default, whatever the cooldown."""
    assert 0 == polled(keda(minReplicaCount=0, cooldownPeriod=900), 1, 2, (0.0,))
    assert None is polled(keda(minReplicaCount=0, initialCooldownPeriod=600), 600, 2, (0.0,))


def test_fc26_idle_zero_wakes_to_the_minimum() -> None:
    """idle 0 with min 2: asleep at 0, woken to 2 and not to 1, asleep again after the cooldown."""
    operator = keda(idleReplicaCount=0, minReplicaCount=2, cooldownPeriod=300)
    assert [None, 2, None, 0] == [polled(operator, now, n, (v,)) for now, n, v in ((0, 0, 0.0), (15, 0, 1.0), (30, 2, 1.0), (331, 2, 0.0))]


def test_fewer_than_the_minimum_are_corrected() -> None:
    """Somebody scaled below min by hand: the operator restores min even without load."""
    assert 2 == polled(keda(minReplicaCount=2), 0, 1, (0.0,))


def test_an_error_never_puts_to_sleep() -> None:
    """While a trigger fails nothing is scaled to zero, with a fallback or without."""
    for spec in ({}, {"fallback": {"failureThreshold": 3, "replicas": 2}}):
        operator = keda(minReplicaCount=0, cooldownPeriod=1, **spec)
        polled(operator, 0, 3, (9.0,))
        assert [None, None] == [polled(operator, now, 3, None) for now in (60, 120)]


@pytest.mark.parametrize(("ignore", "answer", "expected"), [
    ("true", (), 0), ("true", (math.nan,), 0), ("true", (math.inf,), 0), ("false", (), "s0-prometheus: the answer is empty"),
    ("false", (math.nan,), "s0-prometheus: the answer is nan"), ("true", (1.0, 2.0), "s0-prometheus: the query returned 2 elements"),
    ("true", None, "Prometheus does not answer"), ("false", (2.5,), 2500), ("false", (-3.0,), 0),
])  # fmt: skip
def test_fc27_what_an_answer_means(ignore: str, answer: Answer, expected: int | str) -> None:
    """An empty answer is zero load with ignoreNullValues true and an error with false; several elements are always an error."""
    assert expected == read(keda(trigger(ignoreNullValues=ignore)), at(3), answer)


def test_fc27_an_empty_answer_without_the_flag_is_zero_load() -> None:
    """Left out, ignoreNullValues is true, so that a lost target looks like no load at all."""
    silent = trigger()
    del silent["metadata"]["ignoreNullValues"]
    assert 0 == read(keda(silent), at(3), ())


def test_fc27_the_fallback_becomes_a_metric_value() -> None:
    """Threshold 3: three failures are errors, the fourth gives 8 x 6 replicas = 48, of which the HPA makes 6; a success starts anew."""
    operator = keda(fallback={"failureThreshold": 3, "replicas": 6})
    error = "Prometheus does not answer"
    assert [error] * 3 + [48000] == [read(operator, at(2), None) for _ in range(4)]
    assert 6 == propose(operator.spec.queries[0].metric, 48000, at(2))[0]
    assert [9000, error] == [read(operator, at(2), (9.0,)), read(operator, at(2), None)]


def test_fc27_polls_and_reads_count_failures_together() -> None:
    """Two polls and one read are three failures already, so the HPA's second read falls back."""
    operator = keda(fallback={"failureThreshold": 3, "replicas": 6})
    for now in (0, 15):
        polled(operator, now, 2, None)
    assert ["Prometheus does not answer", 48000] == [read(operator, at(2), None) for _ in range(2)]


def test_fc27_a_fallback_of_a_level_is_divided_by_ready_replicas() -> None:
    """Value 0.85, fallback 2, ready 3: 0.85 x 2 / 3 = 0.566, and 0.666 x 3 ready = 2. Without a ready replica there is none."""
    operator = keda(trigger(kind="Value", threshold="0.85"), fallback={"failureThreshold": 0, "replicas": 2})
    assert 566 == read(operator, at(3), None)
    assert 2 == propose(operator.spec.queries[0].metric, 566, at(3))[0]
    assert "s0-prometheus: no fallback while no replica is ready" == read(operator, at(3, ready=0), None)


@pytest.mark.parametrize(
    ("behavior", "of_five", "of_two"), [("static", 3, 3), ("currentReplicas", 5, 2), ("currentReplicasIfHigher", 5, 3), ("currentReplicasIfLower", 3, 2)]
)
def test_fallback_behaviors(behavior: str, of_five: int, of_two: int) -> None:
    """Fallback 3 with 5 and with 2 replicas asked for: the value stands for that many replicas at 8 each."""
    operator = keda(fallback={"failureThreshold": 0, "replicas": 3, "behavior": behavior})
    assert (8000 * of_five, 8000 * of_two) == (read(operator, at(5), None), read(operator, at(2), None))


def test_an_active_fallback_counts_as_active() -> None:
    """At zero replicas with a failing trigger the fallback wakes the workload."""
    operator = keda(minReplicaCount=0, fallback={"failureThreshold": 1, "replicas": 2})
    assert [None, 1] == [polled(operator, now, 0, None) for now in (0, 15)]


def test_cached_metrics_are_those_of_the_last_poll() -> None:
    """With useCachedMetrics the HPA gets the polled 5 although Prometheus says 9 by now; without it gets 9."""
    cached, live = keda(trigger(cached=True)), keda(trigger())
    for operator in (cached, live):
        polled(operator, 0, 2, (5.0,))
    assert (5000, 9000) == (read(cached, at(2), (9.0,)), read(live, at(2), (9.0,)))


def test_a_cached_failure_stays_a_failure() -> None:
    """The HPA gets the polled error until the next poll, even when Prometheus is back."""
    operator = keda(trigger(cached=True))
    polled(operator, 0, 2, None)
    assert "Prometheus does not answer" == read(operator, at(2), (1.0,))


def test_only_resource_triggers_are_always_active() -> None:
    """cpu alone keeps the workload awake without any query."""
    operator = keda({"type": "cpu", "metricType": "Utilization", "metadata": {"value": "80"}}, minReplicaCount=2)
    assert 2 == operator.poll(0, at(0), answering()).replicas  # type: ignore[union-attr]
