"""prometheus-adapter: from a metric's name in the custom or external metrics API to a query, by the rules of its chart.

Source: prometheus-adapter documentation, "Metrics Discovery and Presentation Configuration".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferform.simulate.api import Shape, read_shape
from inferform.simulate.hpa import MetricUnavailableError
from inferform.simulate.objects import Metric
from inferform.simulate.prometheus import Prometheus
from inferform.simulate.promql import Element
from pydantic import Field


class _NameShape(Shape):
    served_as: str = Field(alias="as")


class _RuleShape(Shape):
    series_query: str
    # How labels name Kubernetes resources; pods and namespaces are the only ones here.
    resources: dict[str, dict[str, dict[str, str]]]
    name: _NameShape
    metrics_query: str


class _RulesShape(Shape):
    default: bool = False
    custom: list[_RuleShape] = Field(default_factory=list)
    external: list[_RuleShape] = Field(default_factory=list)


class _ValuesShape(Shape):
    rules: _RulesShape = _RulesShape()


@dataclass(frozen=True, slots=True)
class Rule:
    """A discovery query, the name that its series are served by, and the query template."""

    served_as: str
    discovery: str
    template: str


@dataclass(frozen=True, slots=True)
class Adapter:
    """The rules for metrics of pods and for external ones."""

    custom: tuple[Rule, ...] = ()
    externals: tuple[Rule, ...] = ()

    def by_pod(self, metric: Metric, pods: tuple[str, ...], prometheus: Prometheus, now: float) -> tuple[int, ...]:
        """Thousandths of each pod among `pods` that has the metric."""
        matchers = [f'namespace="{prometheus.pool.namespace}"', f'pod=~"{"|".join(pods)}"']
        found = _ask(self.custom, metric, prometheus, now, matchers=matchers, group="pod")
        return tuple(_milli(e.value) for e in found for _ in range(e.pods))

    def external(self, metric: Metric, prometheus: Prometheus, now: float) -> int:
        """Thousandths of an external metric, all its elements together."""
        found = _ask(self.externals, metric, prometheus, now, matchers=[f'namespace="{prometheus.pool.namespace}"'], group="")
        if not found:
            raise MetricUnavailableError(f"{metric.name} has no value")
        return sum(_milli(e.value) for e in found)


def read_adapter(values: Mapping[str, Any]) -> Adapter:
    """The rules in the chart's values. Raises InputError for rules of another shape."""
    rules = read_shape(_ValuesShape, values, "values").rules
    custom, external = (tuple(Rule(r.name.served_as, r.series_query, r.metrics_query) for r in part) for part in (rules.custom, rules.external))
    return Adapter(custom, external)


def _ask(rules: tuple[Rule, ...], metric: Metric, prometheus: Prometheus, now: float, *, matchers: list[str], group: str) -> list[Element]:
    """The answer of the first rule of that name whose series exist."""
    for rule in rules:
        if rule.served_as != metric.name or not prometheus.elements(rule.discovery, now):
            continue
        wanted = ",".join([*matchers, *(f'{label}="{value}"' for label, value in metric.labels)])
        query = rule.template.replace("<<.Series>>", rule.discovery.partition("{")[0]).replace("<<.LabelMatchers>>", wanted)
        return prometheus.elements(query.replace("<<.GroupBy>>", group), now)
    raise MetricUnavailableError(f"no series is served as {metric.name}")


def _milli(value: float) -> int:
    return int(value * 1000) if math.isfinite(value) else 0
