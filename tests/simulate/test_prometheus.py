"""What a fleet's Prometheus answers, and what it answers while monitoring fails."""

from __future__ import annotations

from typing import Literal

import pytest
from inferform.simulate.fleet import Fleet
from inferform.simulate.hpa import MetricUnavailableError
from inferform.simulate.prometheus import Outage, Prometheus
from simulate.pools import after, pool

WAITING = 'sum(vllm:num_requests_waiting{namespace="acme",model_name="m"})'
READY = 'sum(kube_deployment_status_replicas_ready{namespace="acme",deployment="m-aggregated"})'
TTFT = "histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[2m])))"


def scraped(fleet: Fleet, seconds: int, rate: float, *outages: Outage) -> Prometheus:
    """Scrapes each 15 s while the rate arrives."""
    prometheus = Prometheus(fleet.pool, outages)
    for now in range(0, seconds + 1, 15):
        prometheus.scrape(now, fleet)
        after(fleet, 15, rate, start=now)
    return prometheus


def test_gauges_of_the_engines() -> None:
    """Two replicas at the planned rate: 64 run, none waits, each cache is 32 % full; another model's name matches nothing."""
    prometheus = scraped(Fleet(pool(), 2), 300, 8.0)
    assert 64.0 == pytest.approx(prometheus.ask('sum(vllm:num_requests_running{model_name="m"})', 300)[0], abs=0.1)
    assert 0.32 == pytest.approx(prometheus.ask("max(vllm:kv_cache_usage_perc)", 300)[0], abs=0.001)
    assert ((0.0,), (), ()) == (prometheus.ask(WAITING, 300), prometheus.ask('sum(vllm:num_requests_waiting{model_name="n"})', 300), prometheus.ask("x", 300))


def test_an_old_name_has_no_series() -> None:
    """FC-30: the former name of the KV gauge gives nothing, so a scaler that asks for it reads nothing."""
    assert () == scraped(Fleet(pool(), 2), 60, 8.0).ask("max(vllm:gpu_cache_usage_perc)", 60)


def test_rates_of_counters() -> None:
    """8 requests a second arrive at the gateway and, once the pool is in balance, finish; two counters of whole requests may be 1 / 120 s off each."""
    prometheus = scraped(Fleet(pool(), 2), 600, 8.0)
    for query in ("sum(rate(vllm:request_success_total[2m]))", 'sum(rate(envoy_http_downstream_rq_total{namespace="envoy"}[2m]))'):
        assert 8.0 == pytest.approx(prometheus.ask(query, 600)[0], abs=0.017)


def test_the_quantile_of_first_tokens() -> None:
    """At the planned load the 95th percentile is the planned 0.5 s; with 50 waiting requests a replica at 5 a second it is beyond 10 s."""
    assert 0.5 == pytest.approx(scraped(Fleet(pool(), 2), 600, 8.0).ask(TTFT, 600)[0], abs=0.02)
    late = scraped(Fleet(pool(), 2), 60, 25.0).ask(TTFT, 60)[0]
    assert 10.0 < late < 80.0


def test_replicas_that_load_show_nothing() -> None:
    """Two serve and two start: two pods report, two are ready."""
    fleet = Fleet(pool(), 2)
    fleet.resize(4, 0)
    prometheus = scraped(fleet, 30, 8.0)
    assert ((2.0,), (2.0,)) == (prometheus.ask("count(vllm:num_requests_running)", 30), prometheus.ask(READY, 30))


@pytest.mark.parametrize(("kind", "waiting", "ready"), [("targets", (), ()), ("engines", (), (2.0,))])
def test_lost_targets_are_empty_answers(kind: Literal["targets", "engines"], waiting: tuple[float, ...], ready: tuple[float, ...]) -> None:
    """Lost engines give an empty answer at once; kube-state-metrics is another target. Afterwards all is back."""
    prometheus = scraped(Fleet(pool(), 2), 60, 8.0, Outage(30, 61, kind))
    assert (waiting, ready) == (prometheus.ask(WAITING, 60), prometheus.ask(READY, 60))
    assert (0.0,) == scraped(Fleet(pool(), 2), 75, 8.0, Outage(30, 61, kind)).ask(WAITING, 75)


def test_a_prometheus_that_does_not_answer_is_an_error() -> None:
    """That is no empty answer."""
    with pytest.raises(MetricUnavailableError, match="does not answer"):
        scraped(Fleet(pool(), 2), 60, 8.0, Outage(30, 90, "prometheus")).ask(WAITING, 60)


def test_a_scalar_is_nothing_that_scalers_read() -> None:
    """A query without a vector gives no element."""
    with pytest.raises(MetricUnavailableError, match="scalar"):
        scraped(Fleet(pool(), 2), 15, 8.0).ask("1 + 1", 15)
