"""The fluid model of a pool against balances worked by hand. One replica: stay = 4.8 s + 0.1 s x running, so 32 run at 4 requests a second."""

from __future__ import annotations

import math

import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.simulate.fleet import Fleet, pool_of
from inferform.simulate.hpa import Scale
from simulate.pools import after, pool


@pytest.mark.parametrize(("rate", "running"), [(4.0, 32.0), (2.0, 12.0), (0.0, 0.0)])
def test_running_requests_by_littles_law(rate: float, running: float) -> None:
    """At the planned rate the planned 32 run; at half of it n = 2 x (4.8 + 0.1 n) gives 12."""
    assert running == pytest.approx(after(Fleet(pool(), 1), 300, rate).running, abs=0.01)


def test_what_comes_faster_than_the_pace_waits() -> None:
    """10 a second against a pace of 5: 50 wait after 10 s, and those of the next second wait 11 s."""
    fleet = after(Fleet(pool(), 1), 10, 10.0)
    assert 50.0 == pytest.approx(fleet.waiting)
    fleet.firsts()
    assert 11.0 == pytest.approx(after(fleet, 1, 10.0, start=10).firsts().wait_s)


def test_a_full_replica_takes_in_what_it_finishes() -> None:
    """With a quick way in 100 run at most, of which 100 / 14.8 = 6.757 finish a second; the other 3.243 of 10 wait."""
    fleet = after(Fleet(pool(pace=50.0), 1), 200, 10.0)
    before = fleet.waiting
    assert 100.0 == pytest.approx(fleet.running)
    assert 3.243 == pytest.approx(after(fleet, 1, 10.0, start=200).waiting - before, abs=0.001)


def test_short_stays_need_no_short_steps() -> None:
    """An encoder with 2 in flight at 20 a second (a stay of 0.1 s) settles in steps of a second."""
    fleet = after(Fleet(pool(rate=20.0, in_flight=2.0, pace=25.0, most_running=8.0, kv_tokens=0), 1), 30, 20.0)
    assert (2.0, 0.0) == (pytest.approx(fleet.running, abs=0.01), fleet.kv_use)


def test_kv_use() -> None:
    """32 requests of 2,000 tokens are 64,000 of 200,000: 32 %; a cache cannot be fuller than full."""
    assert 0.32 == pytest.approx(after(Fleet(pool(), 1), 300, 4.0).kv_use, abs=0.001)
    assert 1.0 == after(Fleet(pool(kv_tokens=10_000), 1), 300, 4.0).kv_use


def test_the_first_token_needs_its_planned_time_at_the_planned_load() -> None:
    """0.25 s at 32 running; at 12 running the stay is 6 of 8 s, so 0.1875 s."""
    fleet = after(Fleet(pool(), 1), 300, 4.0)
    fleet.firsts()
    assert 0.25 == pytest.approx(after(fleet, 15, 4.0, start=300).firsts().median_s, abs=0.001)
    fleet = after(Fleet(pool(), 1), 300, 2.0)
    fleet.firsts()
    assert 0.1875 == pytest.approx(after(fleet, 15, 2.0, start=300).firsts().median_s, abs=0.001)


def test_a_new_replica_serves_after_its_start() -> None:
    """A replica needs 100 s: asked for at 0, it exists at once, and is ready in the step that begins at 100 s."""
    fleet = Fleet(pool(), 2)
    fleet.resize(3, 0)
    assert (Scale(3, 3, 2), 2) == (fleet.scale, after(fleet, 100, 1.0).serving)
    assert (Scale(3, 3, 3), 3) == (after(fleet, 1, 1.0, start=100).scale, fleet.serving)


def test_what_has_not_started_goes_first() -> None:
    """Of 2 serving and 2 starting replicas, three go: both that start, then the newest that serves, which leaves slowly."""
    fleet = Fleet(pool(), 2)
    fleet.resize(4, 0)
    fleet.resize(1, 10)
    assert (Scale(1, 1, 2), ("m-aggregated-0",)) == (fleet.scale, fleet.serving_pods)


def test_a_leaving_replica_finishes_its_requests() -> None:
    """It leaves after its pre-stop pause and its last request; with too short a grace what still runs is lost."""
    patient, hasty = (after(Fleet(pool(grace_s=grace), 2), 200, 8.0) for grace in (120.0, 16.0))
    for fleet in (patient, hasty):
        fleet.resize(1, 200)
        after(fleet, 100, 1.0, start=200)
    assert (Scale(1, 1, 1), 0.0) == (patient.scale, patient.lost)
    assert hasty.lost > 1


def test_the_counters_of_a_leaving_replica_go_on() -> None:
    """What both replicas finished since the last scrape is counted once, also when one of them begins to leave in between; of each a part of a request is not."""
    fleet = after(Fleet(pool(), 2), 200, 8.0)
    fleet.expose()
    before = fleet.finished
    after(fleet, 8, 8.0, start=200).resize(1, 208)
    shown = after(fleet, 4, 8.0, start=208).expose()
    assert fleet.finished - before == pytest.approx(sum(e.finished * len(e.pods) for e in shown), abs=2)
    assert [1, 1] == [len(e.pods) for e in shown]


def test_requests_go_where_the_fewest_are_in_flight() -> None:
    """One replica with a backlog and one fresh: everything goes to the fresh one, so the old one's queue only shrinks."""
    fleet = after(Fleet(pool(start_s=60.0), 1), 60, 10.0)
    fleet.resize(2, 0)
    backlog = after(fleet, 1, 4.0, start=60).expose()[0].waiting
    old, fresh = after(fleet, 20, 4.0, start=61).expose()
    assert old.waiting == pytest.approx(backlog - 20 * 5)
    assert (0.0, True) == (fresh.waiting, fresh.running > 15)


def test_replicas_in_the_same_state_are_counted_together() -> None:
    """Once the newcomer carries its share, one entry stands for both."""
    fleet = Fleet(pool(start_s=10.0), 1)
    fleet.resize(2, 0)
    assert ("m-aggregated-0", "m-aggregated-1") == after(fleet, 600, 4.0).expose()[0].pods


def test_without_a_replica_requests_are_lost() -> None:
    """10 s at 3 a second with nobody there: 30 lost."""
    assert 30.0 == after(Fleet(pool(), 0), 10, 3.0).lost


def test_cpu_follows_the_work() -> None:
    """At the planned 4 of at most 5 requests a second a pod uses 80 % of its request; a starting one is not ready."""
    fleet = after(Fleet(pool(), 1), 300, 4.0)
    fleet.resize(2, 300)
    assert ((800,), 0, 1) == (fleet.cpu().values, fleet.cpu().missing, fleet.cpu().unready)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.floats(0, 60), st.integers(1, 200)), min_size=1, max_size=8))
def test_no_request_appears_or_disappears(course: list[tuple[int, float, int]]) -> None:
    """Whatever is asked for and arrives: arrived = finished + lost + waiting + running."""
    fleet, now = Fleet(pool(), 2), 0
    for replicas, rate, seconds in course:
        fleet.resize(replicas, now)
        after(fleet, seconds, rate, start=now)
        now += seconds
    assert fleet.arrived == pytest.approx(fleet.finished + fleet.lost + fleet.waiting + fleet.running, abs=1e-6)
    assert math.isfinite(fleet.running)
    assert all(e.running >= 0 and e.waiting >= 0 for e in fleet.expose())


def test_a_pool_of_a_plan() -> None:
    """The sample's 70B pool: 4.2 requests a second, 32 in flight, 600,000 tokens of KV cache.

    8192 / 4 = 2048 tokens a request hold 292 requests, so the 256 sequences limit; the way in is 4.2 / 0.85 = 4.94 a second,
    a little more than one each TTFT of 0.21 s.
    """
    found = pool_of(samples.sample_plan(), "llama-70b", "aggregated")
    assert (4.2, 32.0, 256, 2048.0) == (found.rate, found.in_flight, found.most_running, found.tokens_per_request)
    assert (4.941, 100.8, 2, False) == (round(found.pace, 3), found.start_s, found.replicas, found.grouped)
    assert pool_of(samples.sample_plan(), "llama-405b", "aggregated").grouped
    assert 150.0 == pool_of(samples.sample_plan(), "llama-70b", "aggregated", tokens_per_request=4000).most_running


def test_a_pool_without_a_planned_rate_is_refused() -> None:
    """A rate of 0 says nothing about capacity."""
    data = samples.plan_data()
    data["models"]["bge"]["pools"]["aggregated"]["requests_per_s"] = 0.0
    with pytest.raises(InputError, match="has no planned rate"):
        pool_of(DeploymentPlan.model_validate(data), "bge", "aggregated")
