"""Known traffic: what stands ready, and when."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError, Problem
from inferform.plan_nodes import Count, LoadPlan
from inferform.plan_schedule import SchedulePlan
from inferform.planning.schedule import plan_schedule
from inferform.spec_schedule import Schedule
from pydantic import ValidationError

from tests.planning.specs import model, plan

WORKDAYS = ["mon", "tue", "wed", "thu", "fri"]
LOAD = LoadPlan(weights_bytes=10**10, bandwidth_bytes_per_s=1e9, download_s=10, load_s=10, warmup_s=40, total_s=60)


def made(windows: dict[str, Any], *, lead: str | None = "10m", problems: list[Problem] | None = None, scaler: str = "keda", **more: Any) -> SchedulePlan:
    """The schedule of a pool of 2 to 16 replicas, 10 in the busiest hour, two a node."""
    schedule = Schedule.model_validate({"timezone": "Europe/Berlin", "lead": lead, "windows": windows, **more})
    found = plan_schedule(
        "models.m.workload.schedule", schedule, scaler=scaler, replicas=Count(min=2, steady=10, max=16), nodes=Count(min=1, steady=5, max=8), standby=0,
        load=LOAD, nodes_per_replica=1, replicas_per_node=2, problems=problems if problems is not None else [],
    )  # fmt: skip
    assert found is not None
    return found


def test_a_window_is_ready_before_it_starts() -> None:
    """Ten minutes before 07:30 the fleet grows to half the busiest hour: 5 of 10 replicas, on 3 nodes; at 19:00 the floor falls back to 1."""
    found = made({"office": {"days": WORKDAYS, "start": "07:30", "end": "19:00", "share": 0.5}})
    (window,) = found.windows
    assert ("20 7 * * 1,2,3,4,5", "0 19 * * 1,2,3,4,5", 5, 3) == (window.start, window.end, window.replicas, window.nodes)
    assert [("at-0720-3", "20 7 * * 1,2,3,4,5", 3), ("at-1900-1", "0 19 * * 1,2,3,4,5", 1)] == [(s.name, s.cron, s.nodes) for s in found.steps]


def test_the_lead_covers_a_nodes_start_and_a_cold_start() -> None:
    """Without an own lead: 600 s for a node and 60 s for the replica are eleven minutes."""
    found = made({"day": {"start": "08:00", "end": "18:00"}}, lead=None)
    assert 660 == found.lead_s
    assert "49 7 * * *" == found.windows[0].start


def test_the_lead_may_reach_into_the_day_before() -> None:
    """A window at midnight on Sunday grows on Saturday evening, and one over midnight ends on the next day."""
    (window,) = made({"night": {"days": ["sun"], "start": "00:00", "end": "06:00"}}).windows
    assert ("50 23 * * 6", "0 6 * * 0") == (window.start, window.end)
    (window,) = made({"late": {"days": ["sat"], "start": "22:00", "end": "02:00"}}).windows
    assert ("50 21 * * 6", "0 2 * * 0") == (window.start, window.end)


def test_whole_days_are_one_span() -> None:
    """Five whole days with ten minutes of lead overlap; they start once on Sunday evening and end once on Saturday."""
    (window,) = made({"week": {"days": WORKDAYS, "start": "00:00", "end": "24:00"}}).windows
    assert ("50 23 * * 0", "0 0 * * 6") == (window.start, window.end)


def test_overlapping_windows_give_one_floor_a_moment() -> None:
    """The higher need holds while it lasts, the lower one after it; no two steps share a moment."""
    found = made(
        {
            "day": {"start": "08:00", "end": "20:00", "share": 0.4},
            "rush": {"start": "09:00", "end": "10:00"},
            "evening": {"start": "20:10", "end": "22:00", "share": 0.4},
        }
    )
    assert [("50 7 * * *", 2), ("50 8 * * *", 5), ("0 10 * * *", 2), ("0 22 * * *", 1)] == [(s.cron, s.nodes) for s in found.steps]


def test_counts_stay_inside_the_pools_limits() -> None:
    """A share below the smallest fleet holds the smallest, one above the largest the largest."""
    found = made({"quiet": {"start": "01:00", "end": "02:00", "share": 0.01}, "sale": {"start": "12:00", "end": "13:00", "share": 90}})
    assert {"quiet": (2, 1), "sale": (16, 8)} == {w.name: (w.replicas, w.nodes) for w in found.windows}


def test_a_schedule_needs_what_can_follow_it() -> None:
    """A plain HPA knows no hours, and a window that is always open is a minimum: both are told, with the way out."""
    problems: list[Problem] = []
    made({"always": {"start": "00:00", "end": "24:00"}}, problems=problems, scaler="hpa")
    assert ["models.m.workload.schedule", "models.m.workload.schedule.windows.always"] == [p.field for p in problems]
    assert "scaling.min" in (problems[1].fix or "")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"windows": {"a": {"start": "08:00", "end": "08:00"}}}, "a whole day is 00:00 to 24:00"),
        ({"windows": {"a": {"start": "8:00", "end": "09:00"}}}, "String should match pattern"),
        ({"windows": {"a": {"days": ["mon", "mon"], "start": "08:00", "end": "09:00"}}}, "a day is listed twice"),
        ({"timezone": "Europe/Berln", "windows": {"a": {"start": "08:00", "end": "09:00"}}}, "no IANA time zone, nearest is Europe/Berlin"),
        ({"windows": {}}, "at least 1 item"),
    ],
)
def test_what_is_no_schedule_is_refused(change: dict[str, Any], says: str) -> None:
    """Empty windows, times that are none, days listed twice and unknown time zones."""
    with pytest.raises(ValidationError, match=says):
        Schedule.model_validate(change)


def test_a_share_above_the_burst_is_refused() -> None:
    """The burst fleet is sized from `burst`, so a window cannot bring more."""
    with pytest.raises(ValidationError, match="share of sale is above burst 2"):
        plan({"chat": model(workload={"burst": 2.0, "schedule": {"windows": {"sale": {"start": "12:00", "end": "13:00", "share": 3}}}})})


def test_the_plan_of_a_model_holds_its_schedule() -> None:
    """Sized end to end, the pool's windows hold the replicas of their share; without a schedule there is none."""
    schedule = {"timezone": "UTC", "windows": {"day": {"start": "08:00", "end": "18:00"}}}
    pool = plan({"chat": model(workload={"peak_rps": 40, "schedule": schedule})}).models["chat"].pools["aggregated"]
    assert pool.schedule is not None
    assert pool.replicas.steady == pool.schedule.windows[0].replicas
    assert plan().models["chat"].pools["aggregated"].schedule is None
    with pytest.raises(InputError, match="knows no hours"):
        plan({"chat": model(workload={"schedule": schedule}, scaling={"hpa": {}}, **{})})
