"""Scaling objects as typed values, with the defaults of the API servers filled in and their admission rules applied.

Sources: pkg/apis/autoscaling/v2/defaults.go of Kubernetes 1.35; apis/keda/v1alpha1/scaledobject_types.go and scaledobject_webhook.go and
controllers/keda/hpa.go of KEDA 2.20.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from inferform.errors import InputError, Nearest, Problem
from inferform.simulate.api import (
    BehaviorShape,
    CronMetadata,
    FallbackShape,
    HpaShape,
    MetricShape,
    PrometheusMetadata,
    RulesShape,
    ScaledObjectShape,
    TargetShape,
    TriggerShape,
    read_shape,
)
from inferform.simulate.cron import Window

# The controller's own defaults (kube-controller-manager flags).
TOLERANCE = 0.1
DOWN_WINDOW_S = 300


@dataclass(frozen=True, slots=True)
class Policy:
    """How much may change within the last `period_s` seconds."""

    kind: Literal["Pods", "Percent"]
    value: int
    period_s: int


@dataclass(frozen=True, slots=True)
class Direction:
    """Scaling up or down: the window that recommendations are looked at in, and how fast replicas may change."""

    window_s: int
    select: Literal["Max", "Min", "Disabled"]
    policies: tuple[Policy, ...]
    tolerance: float


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of an HPA. `target` is in thousandths, for Utilization in percent; `labels` select an external metric."""

    kind: Literal["External", "Object", "Pods", "Resource"]
    name: str
    compare: Literal["Value", "AverageValue", "Utilization"]
    target: int
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HpaSpec:
    """A HorizontalPodAutoscaler. Without a behavior block (`classic`) the controller follows its older, fixed rules."""

    name: str
    min: int
    max: int
    metrics: tuple[Metric, ...]
    up: Direction
    down: Direction
    classic: bool


@dataclass(frozen=True, slots=True)
class Fallback:
    """Replicas to ask for once a metric failed more than `failures` times in a row."""

    failures: int
    replicas: int
    behavior: str


@dataclass(frozen=True, slots=True)
class Query:
    """A prometheus or cron trigger: its metric in the HPA, and how KEDA reads the answer. For cron the query is the name of a window."""

    metric: Metric
    query: str
    activation: float
    ignore_null_values: bool
    cached: bool


@dataclass(frozen=True, slots=True)
class ScaledSpec:
    """A ScaledObject: KEDA's own part, and the HPA that KEDA makes from it."""

    name: str
    min: int
    max: int
    idle: int | None
    polling_s: int
    cooldown_s: int
    initial_cooldown_s: int
    fallback: Fallback | None
    queries: tuple[Query, ...]
    hpa: HpaSpec
    windows: Mapping[str, Window] = field(default_factory=dict)


def read_object(data: Mapping[str, Any]) -> ScaledSpec | HpaSpec:
    """The typed value of a rendered ScaledObject or HorizontalPodAutoscaler. Raises InputError for what its API server would refuse."""
    kind = data.get("kind")
    name = str(data.get("metadata", {}).get("name", ""))
    if kind == "ScaledObject":
        return _scaled(name, read_shape(ScaledObjectShape, data.get("spec", {}), "spec"))
    if kind == "HorizontalPodAutoscaler":
        return _plain(name, read_shape(HpaShape, data.get("spec", {}), "spec"))
    raise InputError(Problem("is no scaling object", "kind", value=str(kind), legal=("ScaledObject", "HorizontalPodAutoscaler")))


def _plain(name: str, spec: HpaShape) -> HpaSpec:
    if spec.min_replicas > spec.max_replicas:
        raise InputError(Problem(f"minReplicas {spec.min_replicas} is above maxReplicas {spec.max_replicas}", "spec.minReplicas"))
    metrics = tuple(_metric(m, f"spec.metrics.{at}") for at, m in enumerate(spec.metrics)) or (Metric("Resource", "cpu", "Utilization", 80),)
    return _hpa(name, spec.min_replicas, spec.max_replicas, metrics, spec.behavior)


def _metric(shape: MetricShape, field: str) -> Metric:
    if shape.resource is not None and shape.type == "Resource":
        return Metric("Resource", shape.resource.name, *_target(shape.resource.target, f"{field}.resource"))
    source = {"External": shape.external, "Object": shape.object, "Pods": shape.pods}.get(shape.type)
    if source is None:
        raise InputError(Problem(f"must be given for type {shape.type}", f"{field}.{shape.type.lower()}"))
    compare, target = _target(source.target, f"{field}.{shape.type.lower()}")
    if compare == "Utilization" or (shape.type == "Pods" and compare != "AverageValue"):
        raise InputError(Problem(f"a {shape.type} metric has no target of type {compare}", f"{field}.{shape.type.lower()}.target.type"))
    return Metric(shape.type, source.metric.name, compare, target, tuple(sorted(source.metric.selector.match_labels.items())))


def _target(shape: TargetShape, field: str) -> tuple[Literal["Value", "AverageValue", "Utilization"], int]:
    amount = {"Value": shape.value, "AverageValue": shape.average_value, "Utilization": shape.average_utilization}[shape.type]
    if not amount:
        raise InputError(Problem(f"a target of type {shape.type} needs its value above 0", f"{field}.target"))
    return shape.type, amount


def _hpa(name: str, low: int, high: int, metrics: tuple[Metric, ...], behavior: BehaviorShape | None) -> HpaSpec:
    """Missing parts of a behavior block take the API server's defaults."""
    up = (Policy("Pods", 4, 15), Policy("Percent", 100, 15))
    down = (Policy("Percent", 100, 15),)
    given = behavior or BehaviorShape()
    return HpaSpec(name, low, high, metrics, _direction(given.scale_up, 0, up), _direction(given.scale_down, DOWN_WINDOW_S, down), classic=behavior is None)


def _direction(rules: RulesShape | None, window_s: int, policies: tuple[Policy, ...]) -> Direction:
    if rules is None:
        return Direction(window_s, "Max", policies, TOLERANCE)
    return Direction(
        rules.stabilization_window_seconds if rules.stabilization_window_seconds is not None else window_s,
        rules.select_policy or "Max",
        tuple(Policy(p.type, p.value, p.period_seconds) for p in rules.policies) if rules.policies is not None else policies,
        rules.tolerance / 1000 if rules.tolerance is not None else TOLERANCE,
    )


def _scaled(name: str, spec: ScaledObjectShape) -> ScaledSpec:
    low = max(1, spec.min_replica_count)
    problems = _refused(spec)
    queries: list[Query] = []
    metrics: list[Metric] = []
    windows: dict[str, Window] = {}
    for at, trigger in enumerate(spec.triggers):
        where = f"spec.triggers.{at}"
        try:
            if trigger.type == "prometheus":
                queries.append(_query(trigger, at, where))
                metrics.append(queries[-1].metric)
            elif trigger.type == "cron":
                queries.append(_scheduled(trigger, at, where))
                windows[queries[-1].query] = _window(trigger, where)
                metrics.append(queries[-1].metric)
            else:
                metrics.append(_resource(trigger, where))
        except InputError as err:
            problems += err.problems
    if problems:
        raise InputError(problems)
    # KEDA sorts by type, so that external metrics come first.
    ordered = tuple(sorted(metrics, key=lambda m: m.kind))
    hpa = _hpa(f"keda-hpa-{name}", low, spec.max_replica_count, ordered, spec.advanced.horizontal_pod_autoscaler_config.behavior)
    return ScaledSpec(
        name, spec.min_replica_count, spec.max_replica_count, spec.idle_replica_count, spec.polling_interval, spec.cooldown_period,
        spec.initial_cooldown_period, _fallback(spec.fallback), tuple(queries), hpa, windows,
    )  # fmt: skip


def _refused(spec: ScaledObjectShape) -> list[Problem]:
    """What KEDA's admission webhook refuses in the whole object."""
    problems = []
    low, high, idle = spec.min_replica_count, spec.max_replica_count, spec.idle_replica_count
    if low > high:
        problems.append(Problem(f"minReplicaCount {low} must be at most maxReplicaCount {high}", "spec.minReplicaCount"))
    if idle is not None and idle >= low:
        problems.append(Problem(f"idleReplicaCount {idle} must be less than minReplicaCount {low}", "spec.idleReplicaCount"))
    if all(t.type in ("cpu", "memory") for t in spec.triggers):
        if spec.fallback is not None:
            problems.append(Problem("a fallback needs a trigger that is not cpu or memory", "spec.fallback"))
        if low == 0:
            problems.append(Problem("only cpu and memory triggers cannot scale to zero", "spec.minReplicaCount", value="0"))
    names = [t.name for t in spec.triggers if t.name]
    problems += [Problem("is the name of two triggers", "spec.triggers", value=n) for n in sorted({n for n in names if names.count(n) > 1})]
    return problems


def _query(trigger: TriggerShape, at: int, field: str) -> Query:
    if trigger.metric_type == "Utilization":
        raise InputError(Problem("external metrics have no utilization", f"{field}.metricType", value="Utilization", legal=("AverageValue", "Value")))
    metadata = read_shape(PrometheusMetadata, trigger.metadata, f"{field}.metadata")
    target = round(metadata.threshold * 1000)
    if target <= 0:
        raise InputError(Problem("must be above 0", f"{field}.metadata.threshold", value=trigger.metadata["threshold"]))
    metric = Metric("External", f"s{at}-prometheus", trigger.metric_type or "AverageValue", target)
    return Query(metric, metadata.query, metadata.activation_threshold, metadata.ignore_null_values, trigger.use_cached_metrics)


def _scheduled(trigger: TriggerShape, at: int, field: str) -> Query:
    """KEDA asks for the window's replicas against a target of 1 each, and for 1 outside; that is what is always there."""
    if trigger.metric_type not in ("", "AverageValue"):
        raise InputError(Problem("a cron trigger is an average", f"{field}.metricType", value=trigger.metric_type, legal=("AverageValue",)))
    name = f"s{at}-cron"
    return Query(Metric("External", name, "AverageValue", 1000), name, 0.0, ignore_null_values=False, cached=trigger.use_cached_metrics)


def _window(trigger: TriggerShape, field: str) -> Window:
    found = read_shape(CronMetadata, trigger.metadata, f"{field}.metadata")
    return Window(found.start, found.end, found.timezone, found.desired_replicas, f"{field}.metadata")


def _resource(trigger: TriggerShape, field: str) -> Metric:
    known = ("prometheus", "cron", "cpu")
    if trigger.type not in known:
        close = Nearest(trigger.type, known).suggestions(1)
        raise InputError(Problem("is a trigger that this model does not know", f"{field}.type", value=trigger.type, legal=known, fix="".join(close)))
    value = trigger.metadata.get("value", "")
    if trigger.metric_type != "Utilization" or not value.isdecimal() or int(value) < 1:
        raise InputError(Problem("wants metricType Utilization and a whole percentage in metadata.value", field, value=f"{trigger.metric_type} {value}"))
    return Metric("Resource", trigger.type, "Utilization", int(value))


def _fallback(shape: FallbackShape | None) -> Fallback | None:
    return None if shape is None else Fallback(shape.failure_threshold, shape.replicas, shape.behavior)
