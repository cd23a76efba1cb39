"""Start, stop and rollout."""

from __future__ import annotations

import pytest
from inferform.errors import InputError
from inferform.planning.lifecycle import drain_s, rollout, startup_failure_threshold

from tests.planning.specs import model, plan


@pytest.mark.parametrize(("load_s", "threshold"), [(140 + 60, 60), (2.0, 60), (300.0, 60), (301.0, 61), (1000.0, 200)])
def test_fc20_probes_outlast_twice_the_load(load_s: float, threshold: int) -> None:
    """ceil(load x 2 / 10) with a floor of 60: 140 GB at 1 GB/s and a minute of warm-up stay at the floor, 1,000 s need 200."""
    assert threshold == startup_failure_threshold(load_s)


def test_fc20_the_deadline_exceeds_the_probes() -> None:
    """The deployment waits longer than the start-up probe does, and the load estimate adds up."""
    made = plan()
    pool, load = made.models["chat"].pools["aggregated"], made.models["chat"].load
    assert pool.lifecycle.progress_deadline_s > pool.lifecycle.startup_failure_threshold * pool.lifecycle.startup_period_s
    assert load.total_s == pytest.approx(load.download_s + load.load_s + load.warmup_s, abs=0.2)
    assert load.download_s == pytest.approx(load.weights_bytes / load.bandwidth_bytes_per_s, abs=0.1)


def test_fc21_the_longest_generation_is_waited_for() -> None:
    """4,096 tokens at 40 tokens a second are 103 s; after 15 s of pause the grace period is above 118 s."""
    assert 103 == drain_s(4096, 40.0)


def test_fc21_the_drain_flag_exists_from_0_18() -> None:
    """vLLM 0.19 gets the drain time, 0.16 does not; both get the same kind of grace, above pause and drain."""
    new, old = (plan({"chat": model(engine_version=version)}).models["chat"].pools["aggregated"].lifecycle for version in ("0.19.0", "0.16.0"))
    assert new.shutdown_timeout_s is not None
    assert old.shutdown_timeout_s is None
    assert new.grace_s > new.pre_stop_s + new.shutdown_timeout_s
    assert old.grace_s > old.pre_stop_s


def test_fc21_the_drain_follows_from_length_and_pace() -> None:
    """ceil(p95 output x p95 time a token)."""
    pool = plan({"chat": model(workload={"output_tokens": {"mean": 300, "p95": 4096}})}).models["chat"].pools["aggregated"]
    by_hand = -(-4096 * pool.tpot_ms.p95 // 1000)
    assert pool.lifecycle.shutdown_timeout_s == pytest.approx(by_hand, abs=1)


def test_fc21_a_grace_of_30_seconds_is_refused() -> None:
    """The message names the field, what cuts the streams and the least that would do."""
    with pytest.raises(InputError, match=r"models\.chat\.lifecycle\.grace: cuts running streams.*set at least"):
        plan({"chat": model(lifecycle={"grace": "30s"}, workload={"output_tokens": {"mean": 400, "p95": 1000}})})


def test_fc21_a_long_grace_is_kept() -> None:
    """An explicit grace period that suffices is not changed."""
    assert 600 == plan({"chat": model(lifecycle={"grace": "600s"})}).models["chat"].pools["aggregated"].lifecycle.grace_s


@pytest.mark.parametrize(
    ("replicas", "spare", "expected"),
    [(1, 0, ("Recreate", 0, 1, True)), (4, 0, ("RollingUpdate", 0, 1, False)), (4, 1, ("RollingUpdate", 1, 0, False)), (1, 1, ("RollingUpdate", 1, 0, False))],
)
def test_fc40_rollouts_end(replicas: int, spare: int, expected: tuple[str, int, int, bool]) -> None:
    """No spare and one replica recreates and interrupts; no spare and several goes one down at a time; a spare surges."""
    assert expected == rollout(replicas=replicas, spare_replicas=spare)


def test_fc40_one_node_at_most_recreates_and_says_so() -> None:
    """One replica on a pool of at most one node: Recreate, and a warning."""
    made = plan({"chat": model(hardware={"instance_types": ["g6e.xlarge"]})}, capacity={"max_nodes": 1})
    lifecycle = made.models["chat"].pools["aggregated"].lifecycle
    assert ("Recreate", True) == (lifecycle.strategy, lifecycle.rollout_interrupts)
    assert any("every rollout interrupts service" in text for text in made.warnings)


def test_fc40_a_latency_sensitive_pool_keeps_room_for_a_rollout() -> None:
    """Without an explicit maximum the pool may grow by one replica, so a rollout surges."""
    pool = plan().models["chat"].pools["aggregated"]
    assert pool.nodes.max > pool.nodes.steady
    assert (1, 0) == (pool.lifecycle.max_surge, pool.lifecycle.max_unavailable)
