"""prometheus-adapter's rules: from a metric's name to a value for each pod, or to one."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError
from inferform.simulate.adapter import Adapter, read_adapter
from inferform.simulate.fleet import Fleet
from inferform.simulate.hpa import MetricUnavailableError
from inferform.simulate.objects import Metric
from inferform.simulate.prometheus import Outage, Prometheus
from simulate.pools import after, pool

OVERRIDES = {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}}


def rule(name: str, series: str, query: str) -> dict[str, Any]:
    return {"seriesQuery": series, "resources": OVERRIDES, "name": {"as": name}, "metricsQuery": query}


VALUES = {
    "rules": {
        "default": False,
        "custom": [
            rule("in_flight", 'vllm:gone{namespace="acme"}', "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"),
            rule("in_flight", 'vllm:num_requests_running{namespace="acme",pod!=""}', "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"),
        ],
        "external": [
            rule("total", 'vllm:num_requests_running{namespace="acme"}', "sum(<<.Series>>{<<.LabelMatchers>>})"),
            rule("nobody", 'vllm:num_requests_running{namespace="acme"}', 'sum(<<.Series>>{<<.LabelMatchers>>,model_name="n"})'),
            rule("nan", 'vllm:num_requests_running{namespace="acme"}', "0 * sum(<<.Series>>{<<.LabelMatchers>>}) / 0"),
        ],
    }
}


def pool_at_work(*outages: Outage) -> tuple[Adapter, Prometheus, Fleet]:
    """Two replicas with 32 requests each, and a third that starts."""
    fleet = after(Fleet(pool(), 2), 300, 8.0)
    fleet.resize(3, 300)
    prometheus = Prometheus(fleet.pool, outages)
    prometheus.scrape(300, fleet)
    return read_adapter(VALUES), prometheus, fleet


def test_each_serving_pod_has_its_value() -> None:
    """The rule whose series exist answers: 32 requests on each of two pods; the starting pod has none, another name matches none."""
    adapter, prometheus, fleet = pool_at_work()
    metric = Metric("Pods", "in_flight", "AverageValue", 1000)
    assert [32, 32] == [round(v / 1000) for v in adapter.by_pod(metric, fleet.serving_pods, prometheus, 300)]
    assert () == adapter.by_pod(metric, ("other-0",), prometheus, 300)


def test_an_external_metric_is_one_value() -> None:
    """All elements together, with the HPA's own labels as matchers; no number counts as 0."""
    adapter, prometheus, _ = pool_at_work()
    total = Metric("External", "total", "Value", 1000, (("model_name", "m"),))
    assert 64 == round(adapter.external(total, prometheus, 300) / 1000)
    assert 0 == adapter.external(Metric("External", "nan", "Value", 1000), prometheus, 300)


@pytest.mark.parametrize(("name", "labels", "message"), [
    ("unknown", (), "no series is served as unknown"), ("nobody", (), "nobody has no value"), ("total", (("model_name", "n"),), "total has no value"),
])  # fmt: skip
def test_a_metric_without_series_is_an_error(name: str, labels: tuple[tuple[str, str], ...], message: str) -> None:
    """A name that no rule serves, and a query that finds nothing."""
    adapter, prometheus, _ = pool_at_work()
    with pytest.raises(MetricUnavailableError, match=message):
        adapter.external(Metric("External", name, "Value", 1000, labels), prometheus, 300)


def test_lost_engines_are_an_error() -> None:
    """Without series nothing is discovered, so an HPA on them holds its count."""
    adapter, prometheus, fleet = pool_at_work(Outage(0, 900, "engines"))
    with pytest.raises(MetricUnavailableError, match="no series is served as in_flight"):
        adapter.by_pod(Metric("Pods", "in_flight", "AverageValue", 1000), fleet.serving_pods, prometheus, 300)


def test_rules_of_another_shape_are_refused() -> None:
    """A misspelled key of a rule is named with its path."""
    with pytest.raises(InputError) as caught:
        read_adapter({"rules": {"custom": [{**VALUES["rules"]["custom"][0], "metricQuery": "x"}]}})  # type: ignore[index]
    assert ["values.rules.custom.0.metricQuery"] == [p.field for p in caught.value.problems]
