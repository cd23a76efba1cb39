"""The HPA controller against the examples of its documentation and against sums worked by hand."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.simulate.hpa import Hpa, MetricUnavailableError, PodReadings, Reading, Scale, propose
from inferform.simulate.objects import Direction, HpaSpec, Metric, Policy

TOTAL = Metric("External", "total", "AverageValue", 1000)
LEVEL = Metric("External", "level", "Value", 1000)
PODS = Metric("Pods", "each", "AverageValue", 100)
CPU = Metric("Resource", "cpu", "Utilization", 80)
FREE = Direction(0, "Max", (Policy("Percent", 900, 1), Policy("Pods", 1000, 1)), 0.1)


def hpa(*, low: int = 1, high: int = 100, up: Direction = FREE, down: Direction = FREE, metrics: Sequence[Metric] = (TOTAL,), classic: bool = False) -> Hpa:
    return Hpa(HpaSpec("h", low, high, tuple(metrics), up, down, classic))


def follow(controller: Hpa, wants: Sequence[int], start: int, every_s: int = 15) -> list[int]:
    """Replica counts after each sync while one metric asks for these counts in turn."""
    counts, current = [], start
    for at, want in enumerate(wants):
        current = controller.sync(at * every_s, Scale(current, current, current), lambda metric, want=want: want * 1000).replicas
        counts.append(current)
    return counts


def alone(metric: Metric, reading: Reading, scale: Scale) -> int:
    return propose(metric, reading, scale)[0]


def test_a_ratio_of_two_doubles_and_a_half_halves() -> None:
    """200m against a target of 100m doubles the replicas, 50m halves them (the documentation's example)."""
    assert 4 == alone(PODS, PodReadings((200, 200), 0, 0), Scale(2, 2, 2))
    assert 2 == alone(PODS, PodReadings((50,) * 4, 0, 0), Scale(4, 4, 4))


@pytest.mark.parametrize(("reading", "replicas"), [(11000, 10), (11001, 12), (9000, 10), (8999, 9)])
def test_a_ratio_within_a_tenth_changes_nothing(reading: int, replicas: int) -> None:
    """0.9 and 1.1 are held; a hair beyond is acted on and rounded up: 11.001 -> 12, 8.999 -> 9."""
    assert replicas == alone(TOTAL, reading, Scale(10, 10, 10))


def test_a_tolerance_of_its_own() -> None:
    """With 5 % upwards 1.06 is acted on, which a tenth would hold."""
    assert (11, 10) == (propose(TOTAL, 10600, Scale(10, 10, 10), up=0.05)[0], propose(TOTAL, 10600, Scale(10, 10, 10))[0])


def test_a_total_counts_pods_that_exist_and_a_level_pods_that_are_ready() -> None:
    """Of 4 asked and existing only 2 are ready. Total 6 / 1 -> 6. Level 1.5: 1.5 x 2 ready -> 3."""
    assert 6 == alone(TOTAL, 6000, Scale(4, 4, 2))
    assert 3 == alone(LEVEL, 1500, Scale(4, 4, 2))


def test_pods_without_a_metric_count_as_at_target_when_going_down() -> None:
    """50m, 50m and one silent pod, target 100m: (50 + 50 + 100) / 3 = 66m -> 0.66 x 3 = 1.98 -> 2; the two alone would give 1."""
    assert 2 == alone(PODS, PodReadings((50, 50), 1, 0), Scale(3, 3, 3))
    assert 1 == alone(PODS, PodReadings((50, 50), 0, 0), Scale(3, 3, 2))


def test_pods_without_a_metric_count_as_idle_when_going_up() -> None:
    """500m and one silent pod: 250m on 2 -> 5. 150m and one silent pod: 75m would turn the direction, so nothing happens."""
    assert 5 == alone(PODS, PodReadings((500,), 1, 0), Scale(2, 2, 1))
    assert 2 == alone(PODS, PodReadings((150,), 1, 0), Scale(2, 2, 1))


def test_unready_pods_dampen_only_the_way_up() -> None:
    """CPU 160 % of 80 % on one pod and one unready: 80 % on two -> held at 2. At 20 % the unready one is left out: 0.25 x 1 -> 1."""
    assert 2 == alone(CPU, PodReadings((1600,), 0, 1), Scale(2, 2, 1))
    assert 1 == alone(CPU, PodReadings((200,), 0, 1), Scale(2, 2, 1))


def test_unready_pods_can_bring_a_ratio_inside_the_tolerance() -> None:
    """20 pods at 100 % of a target of 80 % and 3 unready ones: 2000 / 23 = 86 %, a ratio of 1.075, so 23 are held; without them it were 25."""
    assert 23 == alone(CPU, PodReadings((1000,) * 20, 0, 3), Scale(23, 23, 20))
    assert 25 == alone(CPU, PodReadings((1000,) * 20, 0, 0), Scale(20, 20, 20))


def test_utilization_is_cut_to_whole_percent() -> None:
    """999 + 999 + 1000 thousandths are 99.9 %, which counts as 99 %: 99 / 80 x 3 = 3.7 -> 4."""
    assert (4, "99%/80%") == propose(CPU, PodReadings((999, 999, 1000), 0, 0), Scale(3, 3, 3))


def test_no_pod_reports() -> None:
    """Without any value there is no proposal."""
    with pytest.raises(MetricUnavailableError, match="no pod reports each"):
        propose(PODS, PodReadings((), 2, 0), Scale(2, 2, 2))


def read_of(values: dict[str, int | None]) -> object:
    def read(metric: Metric) -> Reading:
        value = values[metric.name]
        if value is None:
            raise MetricUnavailableError(f"{metric.name} is gone")
        return value

    return read


@pytest.mark.parametrize(
    ("total", "level", "replicas", "reason"),
    [
        (6000, 500, 6, "total 6/1 wants 6"),
        (2000, 2000, 8, "level 2/1 wants 8"),
        (6000, None, 6, "total 6/1 wants 6"),
        (2000, None, 4, "held, because a metric has no value: level is gone"),
        (None, None, 4, "no metric has a value: total is gone"),
    ],
)
def test_the_largest_proposal_wins_and_a_lost_metric_forbids_going_down(total: int | None, level: int | None, replicas: int, reason: str) -> None:
    """Of several metrics the largest count is taken; with one missing the count may rise but not fall."""
    controller = hpa(metrics=(TOTAL, LEVEL))
    verdict = controller.sync(0, Scale(4, 4, 4), read_of({"total": total, "level": level}))  # type: ignore[arg-type]
    assert (replicas, reason) == (verdict.replicas, verdict.reason)


def test_the_window_keeps_the_highest_recommendation() -> None:
    """Down window 60 s, a sync each 15 s: 10 was last recommended at 15 s, so 10 is held until 75 s, then 8 until 90 s, then 3."""
    down = Direction(60, "Max", FREE.policies, 0.1)
    assert [10, 10, 10, 10, 10, 8, 3] == follow(hpa(down=down), [10, 10, 8, 3, 3, 3, 3], 10)


def test_the_window_upwards_keeps_the_lowest_recommendation() -> None:
    """Up window 30 s: a peak of one sync is ignored, one of two syncs raises to its lower value."""
    up = Direction(30, "Max", FREE.policies, 0.1)
    assert [2, 2, 2, 2, 6, 9] == follow(hpa(up=up), [2, 8, 2, 6, 9, 9], 2)


def test_policies_down_as_documented() -> None:
    """From 80 to 10 with 4 pods or 10 % a minute: 8 go, then 7.2 rounded up to 8, and below 40 replicas 4 at a time."""
    down = Direction(0, "Max", (Policy("Pods", 4, 60), Policy("Percent", 10, 60)), 0.1)
    assert [72, 64, 57, 51, 45, 40, 36, 32, 28, 24, 20, 16, 12, 10, 10] == follow(hpa(down=down), [10] * 15, 80, every_s=60)


def test_policies_count_what_changed_within_their_period() -> None:
    """One pod each 120 s: after the first step the next comes 120 s later, not at the next sync."""
    down = Direction(0, "Min", (Policy("Pods", 1, 120),), 0.1)
    assert [5, 5, 5, 5, 5, 5, 5, 5, 4] == follow(hpa(down=down), [1] * 9, 6)


def test_each_policy_looks_back_over_its_own_period() -> None:
    """One pod each 30 s beside a policy upwards of 300 s: every second sync takes one, although older changes are remembered."""
    up, down = Direction(0, "Max", (Policy("Pods", 50, 300),), 0.1), Direction(0, "Max", (Policy("Pods", 1, 30),), 0.1)
    assert [8, 8, 7, 7, 6, 6, 5] == follow(hpa(up=up, down=down), [1] * 7, 9)


def test_a_small_percentage_still_adds_one() -> None:
    """5 % of 3 is 0.15 and counts as 1: 3 -> 4 -> 5."""
    assert [4, 5] == follow(hpa(up=Direction(0, "Max", (Policy("Percent", 5, 15),), 0.1)), [9] * 2, 3)


def test_the_smallest_change_and_no_change() -> None:
    """selectPolicy Min takes 5 pods where 10 % of 100 would be 10; Disabled holds (both examples of the documentation)."""
    policies = (Policy("Percent", 10, 60), Policy("Pods", 5, 60))
    assert [95] == follow(hpa(down=Direction(0, "Min", policies, 0.1)), [1], 100)
    assert [100] == follow(hpa(down=Direction(0, "Disabled", policies, 0.1)), [1], 100)


def test_default_policies_up() -> None:
    """4 pods or 100 % each 15 s: 1 -> 5 -> 10 -> 20 -> 40."""
    up = Direction(0, "Max", (Policy("Pods", 4, 15), Policy("Percent", 100, 15)), 0.1)
    assert [5, 10, 20, 40] == follow(hpa(up=up), [90] * 4, 1)


def test_limits_and_zero() -> None:
    """Counts outside min and max are corrected at once; at zero replicas the HPA does nothing."""
    assert [3] == follow(hpa(low=3), [1], 3)
    assert [8] == follow(hpa(high=8), [90], 4)
    controller = hpa(low=2, high=8)
    assert (8, 2, 0) == tuple(controller.sync(at, Scale(n, n, n), lambda metric: 4000).replicas for at, n in enumerate((9, 1, 0)))


def test_without_a_behavior_block_at_most_doubled_or_four() -> None:
    """The older rules: 1 -> 4 -> 8 -> 16, and 300 s of looking back before going down."""
    assert [4, 8, 16] == follow(hpa(classic=True), [90] * 3, 1)
    counts = follow(hpa(classic=True, down=Direction(300, "Max", FREE.policies, 0.1)), [10] + [2] * 21, 10)
    assert ([10] * 20, 2) == (counts[:20], counts[-1])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.integers(2, 20))
def test_never_outside_limits_nor_faster_than_allowed(wants: list[int], start: int) -> None:
    """Whatever a metric says, counts stay between min and max and fall by at most one a sync."""
    down = Direction(45, "Min", (Policy("Pods", 1, 15),), 0.1)
    counts = [start, *follow(hpa(low=2, high=20, down=down), wants, start)]
    assert all(2 <= n <= 20 for n in counts)
    assert all(after >= before - 1 for before, after in itertools.pairwise(counts))
