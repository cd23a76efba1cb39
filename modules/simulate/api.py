"""The shapes of a ScaledObject and an autoscaling/v2 HorizontalPodAutoscaler as the API server takes them: unknown or wrongly typed fields are errors.

Sources: the CRD `scaledobjects.keda.sh` of KEDA 2.20.2; `autoscaling/v2` of Kubernetes 1.35.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from inferform.errors import InputError, Problem
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

_SUFFIX = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}


def milli(value: Any) -> int:
    """Thousandths in a Kubernetes quantity such as `800m`, `8` or `1k`, rounded up as the controller does."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([numkMGT]?|[KMGT]i)", value if isinstance(value, str) else str(value) if type(value) is int else "")
    if not match:
        raise ValueError("wants a quantity such as 8, 800m or 1k")
    return math.ceil(round(float(match[1]) * _SUFFIX[match[2]] * 1000, 6))


Milli = Annotated[int, BeforeValidator(milli)]


class Shape(BaseModel):
    """A part of an object; keys are spelled as in the API."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=to_camel)


class PolicyShape(Shape):
    """Pods or percent that may come or go in a period."""

    type: Literal["Pods", "Percent"]
    value: int = Field(ge=1)
    period_seconds: int = Field(ge=1, le=1800)


class RulesShape(Shape):
    """One direction of a behavior block."""

    stabilization_window_seconds: int | None = Field(None, ge=0, le=3600)
    select_policy: Literal["Max", "Min", "Disabled"] | None = None
    policies: list[PolicyShape] | None = Field(None, min_length=1)
    tolerance: Milli | None = None


class BehaviorShape(Shape):
    scale_up: RulesShape | None = None
    scale_down: RulesShape | None = None


class TargetShape(Shape):
    type: Literal["Value", "AverageValue", "Utilization"]
    value: Milli | None = None
    average_value: Milli | None = None
    average_utilization: int | None = Field(None, ge=1)


class SelectorShape(Shape):
    match_labels: dict[str, str] = Field(default_factory=dict)


class MetricNameShape(Shape):
    name: str
    selector: SelectorShape = SelectorShape()


class NamedTargetShape(Shape):
    """An External or Pods source."""

    metric: MetricNameShape
    target: TargetShape


class ReferenceShape(Shape):
    """What is scaled, or what an Object metric describes."""

    api_version: str = ""
    kind: str = ""
    name: str = Field(min_length=1)
    env_source_container_name: str = ""


class ObjectSourceShape(NamedTargetShape):
    described_object: ReferenceShape


class ResourceShape(Shape):
    """Memory is not modelled, so it is refused."""

    name: Literal["cpu"]
    target: TargetShape


class MetricShape(Shape):
    type: Literal["External", "Object", "Pods", "Resource"]
    external: NamedTargetShape | None = None
    object: ObjectSourceShape | None = None
    pods: NamedTargetShape | None = None
    resource: ResourceShape | None = None


class HpaShape(Shape):
    """`spec` of a HorizontalPodAutoscaler."""

    scale_target_ref: ReferenceShape
    min_replicas: int = Field(1, ge=1)
    max_replicas: int = Field(ge=1)
    metrics: list[MetricShape] = Field(default_factory=list)
    behavior: BehaviorShape | None = None


class FallbackShape(Shape):
    failure_threshold: int = Field(ge=0)
    replicas: int = Field(ge=0)
    behavior: Literal["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"] = "static"


class HpaConfigShape(Shape):
    name: str = ""
    behavior: BehaviorShape | None = None


class AdvancedShape(Shape):
    """Scaling modifiers are not modelled, so they are refused."""

    horizontal_pod_autoscaler_config: HpaConfigShape = HpaConfigShape()
    restore_to_original_replica_count: bool = False


class TriggerShape(Shape):
    type: str
    name: str = ""
    metric_type: Literal["", "Value", "AverageValue", "Utilization"] = ""
    use_cached_metrics: bool = False
    # Every value is a string in the CRD: a number or a bool here is refused by the API server.
    metadata: dict[str, str]


class ScaledObjectShape(Shape):
    """`spec` of a ScaledObject."""

    scale_target_ref: ReferenceShape
    polling_interval: int = Field(30, ge=1)
    initial_cooldown_period: int = Field(0, ge=0)
    cooldown_period: int = Field(300, ge=0)
    idle_replica_count: int | None = Field(None, ge=0)
    min_replica_count: int = Field(0, ge=0)
    max_replica_count: int = Field(100, ge=1)
    fallback: FallbackShape | None = None
    advanced: AdvancedShape = AdvancedShape()
    triggers: list[TriggerShape] = Field(min_length=1)


class PrometheusMetadata(BaseModel):
    """Metadata of a prometheus trigger; the strings are read as KEDA's scaler reads them."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    server_address: str
    query: str
    threshold: float
    activation_threshold: float = 0.0
    ignore_null_values: bool = True
    namespace: str = ""
    timeout: str = ""


class CronMetadata(BaseModel):
    """Metadata of a cron trigger."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    timezone: str
    start: str
    end: str
    desired_replicas: int


T = TypeVar("T", bound=BaseModel)


def read_shape(shape: type[T], data: Mapping[str, Any], field: str) -> T:
    """The typed value of one part of an object. Raises InputError with every fault, each at its path below `field`."""
    try:
        return shape.model_validate(data)
    except ValidationError as err:
        raise InputError(
            Problem(fault["msg"], ".".join([field, *(str(step) for step in fault["loc"])]), value=str(fault["input"])[:80]) for fault in err.errors()
        ) from err
