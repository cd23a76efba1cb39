"""How replicas follow the load."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError
from inferform.plan_scaling import ScalingPlan

from tests.planning.specs import model, plan


def scaling(model_changes: dict[str, Any] | None = None, **changes: Any) -> ScalingPlan:
    return plan({"chat": model(workload={"burst": 3.0, "peak_rps": 8}, **(model_changes or {}))}, scaling=changes).models["chat"].pools["aggregated"].scaling


def test_fc26_idle_is_only_zero_above_a_minimum() -> None:
    """idle 0 with min 1 is kept; without idle nothing is set."""
    assert 0 == scaling(idle=0, min=1).idle
    assert scaling(min=1).idle is None


def test_fc27_fallback_holds_the_steady_count() -> None:
    """Three failures, then the steady replicas, between min and max."""
    pool = plan({"chat": model(workload={"burst": 3.0, "peak_rps": 8})}).models["chat"].pools["aggregated"]
    found = pool.scaling
    assert (3, pool.replicas.steady) == (found.fallback_failures, found.fallback_replicas)
    assert found.min <= found.fallback_replicas <= found.max


def test_fc27_a_fallback_outside_the_range_is_refused() -> None:
    """One replica held while at least two are always on."""
    with pytest.raises(InputError, match=r"scaling\.keda\.fallback\.replicas"):
        scaling(min=2, keda={"fallback": {"replicas": 40}})


def test_fc28_one_kind_of_scaler() -> None:
    """KEDA by default, the HPA when asked for, nothing for a fixed fleet."""
    assert ("keda", "hpa", "fixed") == (scaling().kind, scaling(hpa={}).kind, scaling(fixed=True).kind)


def test_fc28_nothing_scales_between_equal_counts() -> None:
    """A fleet of one size needs no scaler."""
    assert "fixed" == plan({"chat": model(workload={"peak_rps": 0.2})}).models["chat"].pools["aggregated"].scaling.kind


@pytest.mark.parametrize("least", [0, 1])
def test_fc29_the_window_carries_the_delay_and_the_cooldown_outlasts_a_reload(least: int) -> None:
    """900 s as the scale-down window; the cooldown is at least window and load time."""
    made = plan({"chat": model(workload={"burst": 3.0})}, scaling={"min": least, "scale_in_delay": "900s"})
    found, load = made.models["chat"].pools["aggregated"].scaling, made.models["chat"].load
    assert (900, 30, 120) == (found.scale_down_window_s, found.scale_up_window_s, found.scale_down_period_s)
    assert found.cooldown_s >= max(900, load.total_s)


def test_fc29_a_long_load_lengthens_the_cooldown() -> None:
    """With a window of ten seconds the load time decides."""
    made = plan({"chat": model(workload={"burst": 3.0})}, scaling={"min": 0, "scale_in_delay": "10s"})
    assert made.models["chat"].pools["aggregated"].scaling.cooldown_s >= made.models["chat"].load.total_s


def test_thresholds_follow_from_capacity_and_say_why() -> None:
    """The queue threshold is what clears inside the TTFT objective; KV use stops at 85 %; the rate acts at what a replica carries; all say so."""
    pool = plan({"chat": model(workload={"burst": 3.0, "peak_rps": 8})}).models["chat"].pools["aggregated"]
    queue, rate, kv = pool.scaling.triggers
    assert ("request_rate", pytest.approx(pool.requests_per_s / 1.1, abs=0.001)) == (rate.signal, rate.target)
    assert f"the {pool.requests_per_s:.4g} requests a second that one replica carries" in rate.why
    assert ("queue", "kv_use", 0.85) == (queue.signal, kv.signal, kv.target)
    assert queue.target >= 1
    assert "TTFT objective of 1.5 s" in queue.why


def test_a_looser_objective_lets_more_wait() -> None:
    """Ten seconds to the first token allow a longer queue than one and a half."""
    short, long = (
        plan({"chat": model(slo={"ttft_p95": t}, workload={"burst": 3.0}, hardware={"instance_types": ["g6e.xlarge"]})})
        .models["chat"]
        .pools["aggregated"]
        .scaling.triggers[0]
        .target
        for t in ("1.5s", "10s")
    )
    assert short < long


def test_explicit_targets_are_kept() -> None:
    """A target in the spec is not replaced."""
    found = scaling(keda={"triggers": [{"signal": "queue", "target": 5}, {"signal": "ttft_p95"}, {"signal": "in_flight_tokens"}]})
    assert 5 == found.triggers[0].target
    assert found.triggers[1].target == pytest.approx(1.2)
    assert found.triggers[2].target > 1000


def test_an_embedding_model_has_no_cache_to_watch() -> None:
    """kv_use on an encoder is refused; by default queue and request rate count, also where a keda block names no triggers."""
    bge = {
        **model(
            "BAAI/bge-large-en-v1.5",
            max_model_len=512,
            workload={"burst": 3.0, "input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}},
        )
    }
    for given in (bge, {**bge, "scaling": {"keda": {"polling_interval": "10s"}}}):
        assert ["queue", "request_rate"] == [t.signal for t in plan({"bge": given}).models["bge"].pools["aggregated"].scaling.triggers]
    with pytest.raises(InputError, match="embedding models keep no KV cache"):
        plan({"bge": {**bge, "scaling": {"keda": {"triggers": [{"signal": "queue"}, {"signal": "kv_use"}]}}}})


def test_thresholds_are_of_a_whole_replica() -> None:
    """Two data-parallel ranks carry twice what one does: so do the rate, the waiting requests (rounded down) and the tokens in flight."""
    signals = [{"signal": s} for s in ("queue", "request_rate", "in_flight_tokens")]

    def targets(dp: int) -> dict[str, float]:
        given = model(parallelism={"tp": 1, "dp": dp}, hardware={"instance_types": ["g6e.48xlarge"]}, workload={"burst": 3.0, "peak_rps": 30})
        pool = plan({"chat": given}, scaling={"keda": {"triggers": signals}}).models["chat"].pools["aggregated"]
        assert dp == pool.dp
        return {t.signal: t.target for t in pool.scaling.triggers}

    single, double = targets(1), targets(2)
    assert double["request_rate"] == pytest.approx(2 * single["request_rate"], abs=0.002)
    assert double["in_flight_tokens"] == pytest.approx(2 * single["in_flight_tokens"], abs=2)
    assert 2 * single["queue"] <= double["queue"] <= 2 * single["queue"] + 1


def test_tokens_in_flight_count_a_shared_prefix_once() -> None:
    """Of 800 prompt tokens 640 are shared by all: a request then holds 160 + 100 on average; without the cache it holds 900.

    With c requests in flight the target is 0.8 x (260 c + 640), or 0.8 x 900 c.
    """
    signals = {"keda": {"triggers": [{"signal": "in_flight_tokens"}]}}
    for caching, own, shared in ((True, 260, 640), (False, 900, 0)):
        given = model(prefix_caching=caching, workload={"burst": 3.0, "peak_rps": 30, "shared_prefix_tokens": 640})
        pool = plan({"chat": given}, scaling=signals).models["chat"].pools["aggregated"]
        assert pool.scaling.triggers[0].target == pytest.approx(0.8 * (own * pool.concurrency + shared), abs=0.8 * own * 0.01 + 1)


@pytest.mark.parametrize(("objective", "wait"), [("500ms", 0.2), ("10s", 2.5)])
def test_a_wait_is_felt_from_200_ms(objective: str, wait: float) -> None:
    """200 ms, or a third of what a longer objective leaves: 0.8 x (10 s - a first token of about half a second) / 3 is above 2.5 s."""
    given = model(slo={"ttft_p95": objective}, workload={"burst": 3.0, "peak_rps": 30})
    (trigger,) = plan({"chat": given}, scaling={"keda": {"triggers": [{"signal": "queue_wait"}]}}).models["chat"].pools["aggregated"].scaling.triggers
    assert wait <= trigger.target <= wait + 0.2
    assert "mean wait" in trigger.why
