"""Reading scaling objects: defaults of the API servers, and what they refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.simulate.objects import Direction, HpaSpec, Metric, Policy, ScaledSpec, read_object

PROMETHEUS = {"type": "prometheus", "metadata": {"serverAddress": "http://p", "query": "up", "threshold": "8"}}
CPU = {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "80"}}


def scaled(**spec: Any) -> dict[str, Any]:
    return {"kind": "ScaledObject", "metadata": {"name": "m"}, "spec": {"scaleTargetRef": {"name": "m"}, "triggers": [copy.deepcopy(PROMETHEUS)], **spec}}


def hpa(**spec: Any) -> dict[str, Any]:
    return {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "m"}, "spec": {"scaleTargetRef": {"name": "m"}, "maxReplicas": 4, **spec}}


def test_defaults_of_a_scaled_object() -> None:
    """Nothing but a trigger: 0 to 100 replicas, polled each 30 s, cooldown 300 s, and an HPA from 1 without a behavior block."""
    spec = read_object(scaled())
    assert isinstance(spec, ScaledSpec)
    assert (0, 100, None, 30, 300, None) == (spec.min, spec.max, spec.idle, spec.polling_s, spec.cooldown_s, spec.fallback)
    assert (1, 100, True) == (spec.hpa.min, spec.hpa.max, spec.hpa.classic)
    assert (Metric("External", "s0-prometheus", "AverageValue", 8000),) == spec.hpa.metrics
    assert (True, 0.0, False) == (spec.queries[0].ignore_null_values, spec.queries[0].activation, spec.queries[0].cached)


def test_defaults_of_a_behavior_block() -> None:
    """What a behavior block leaves out is filled in: up 4 pods or 100 % each 15 s, down 300 s and 100 %."""
    spec = read_object(scaled(advanced={"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 900}}}}))
    assert isinstance(spec, ScaledSpec)
    assert not spec.hpa.classic
    assert Direction(0, "Max", (Policy("Pods", 4, 15), Policy("Percent", 100, 15)), 0.1) == spec.hpa.up
    assert Direction(900, "Max", (Policy("Percent", 100, 15),), 0.1) == spec.hpa.down


def test_metrics_of_a_plain_hpa() -> None:
    """Every kind of source with its quantity in thousandths; without metrics it is CPU at 80 %."""
    target = {"type": "AverageValue", "averageValue": "800m"}
    metrics = [
        {"type": "Pods", "pods": {"metric": {"name": "a"}, "target": target}},
        {"type": "External", "external": {"metric": {"name": "b", "selector": {"matchLabels": {"x": "y"}}}, "target": {"type": "Value", "value": "1k"}}},
        {"type": "Object", "object": {"metric": {"name": "c"}, "describedObject": {"kind": "Service", "name": "s"}, "target": {"type": "Value", "value": "2"}}},
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
    ]
    spec = read_object(hpa(metrics=metrics))
    assert isinstance(spec, HpaSpec)
    assert (
        Metric("Pods", "a", "AverageValue", 800),
        Metric("External", "b", "Value", 1_000_000, (("x", "y"),)),
        Metric("Object", "c", "Value", 2000),
        Metric("Resource", "cpu", "Utilization", 70),
    ) == spec.metrics
    bare = read_object(hpa())
    assert isinstance(bare, HpaSpec)
    assert (Metric("Resource", "cpu", "Utilization", 80),) == bare.metrics


@pytest.mark.parametrize(("idle", "least"), [(1, 1), (2, 1), (0, 0)])
def test_fc26_idle_must_be_below_the_minimum(idle: int, least: int) -> None:
    """KEDA's admission refuses an idle count that is not below minReplicaCount."""
    with pytest.raises(InputError, match=f"idleReplicaCount {idle} must be less than minReplicaCount {least}"):
        read_object(scaled(idleReplicaCount=idle, minReplicaCount=least))


def test_fc27_a_fallback_needs_more_than_resource_triggers() -> None:
    """Only cpu triggers with a fallback are refused, as is scaling them to zero; both faults come at once."""
    with pytest.raises(InputError) as caught:
        read_object(scaled(triggers=[CPU], fallback={"failureThreshold": 3, "replicas": 1}))
    assert ["spec.fallback", "spec.minReplicaCount"] == [p.field for p in caught.value.problems]


def changed(**metadata: Any) -> dict[str, Any]:
    item = scaled()
    item["spec"]["triggers"][0]["metadata"].update(metadata)
    return item


@pytest.mark.parametrize(("item", "field"), [
    (changed(threshold=8), "spec.triggers.0.metadata.threshold"),
    (changed(ignoreNullValues=False), "spec.triggers.0.metadata.ignoreNullValues"),
    (changed(threshold="many"), "spec.triggers.0.metadata.threshold"),
    (changed(threshold="0"), "spec.triggers.0.metadata.threshold"),
    (changed(treshold="8"), "spec.triggers.0.metadata.treshold"),
    (scaled(minReplicas=1), "spec.minReplicas"),
    (scaled(minReplicaCount=9, maxReplicaCount=8), "spec.minReplicaCount"),
    (scaled(triggers=[]), "spec.triggers"),
    (scaled(triggers=[{**PROMETHEUS, "metricType": "Utilization"}]), "spec.triggers.0.metricType"),
    (scaled(triggers=[{**PROMETHEUS, "type": "promtheus"}]), "spec.triggers.0.type"),
    (scaled(triggers=[PROMETHEUS, {**CPU, "type": "memory"}]), "spec.triggers.1.type"),
    (scaled(triggers=[{**PROMETHEUS, "name": "a"}] * 2), "spec.triggers"),
    (scaled(triggers=[{**CPU, "metadata": {"value": "most"}}], minReplicaCount=1), "spec.triggers.0"),
    (scaled(fallback={"failureThreshold": 3, "replicas": 1, "behavior": "hold"}), "spec.fallback.behavior"),
    (hpa(minReplicas=5), "spec.minReplicas"),
    (hpa(minReplicas=0), "spec.minReplicas"),
    (hpa(behavior={"scaleDown": {"stabilizationWindowSeconds": 3601}}), "spec.behavior.scaleDown.stabilizationWindowSeconds"),
    (hpa(behavior={"scaleDown": {"policies": []}}), "spec.behavior.scaleDown.policies"),
    (hpa(behavior={"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1801}]}}), "spec.behavior.scaleUp.policies.0.periodSeconds"),
    (hpa(metrics=[{"type": "Pods", "pods": {"metric": {"name": "a"}, "target": {"type": "Value", "value": "1"}}}]), "spec.metrics.0.pods.target.type"),
    (hpa(metrics=[{"type": "Pods", "pods": {"metric": {"name": "a"}, "target": {"type": "AverageValue"}}}]), "spec.metrics.0.pods.target"),
    (hpa(metrics=[{"type": "External"}]), "spec.metrics.0.external"),
    ({"kind": "Deployment"}, "kind"),
])  # fmt: skip
def test_what_an_api_server_refuses(item: dict[str, Any], field: str) -> None:
    """A wrong type, name or limit is refused with the path of the field; metadata values are strings."""
    with pytest.raises(InputError) as caught:
        read_object(item)
    assert [field] == [p.field for p in caught.value.problems]
