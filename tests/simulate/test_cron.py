"""Windows of KEDA's cron trigger."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from inferform.errors import InputError
from inferform.simulate.cron import Window, read_cron


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "moment", "following"),
    [
        ("20 7 * * 1,2,3,4,5", "2026-01-02T07:20", "2026-01-05T07:20"),
        ("20 7 * * 1-5", "2026-01-05T07:19", "2026-01-05T07:20"),
        ("*/15 9-17 * * *", "2026-01-05T17:45", "2026-01-06T09:00"),
        ("0 0 1 1 *", "2026-01-05T00:00", "2027-01-01T00:00"),
        ("0 12 29 2 *", "2026-01-05T00:00", "2028-02-29T12:00"),
        ("0 0 13 * 5", "2026-01-05T00:00", "2026-01-09T00:00"),
        ("0 6 * * 7", "2026-01-05T00:00", "2026-01-11T06:00"),
    ],
)
def test_the_next_moment(cron: str, moment: str, following: str) -> None:
    """5 January 2026 is a Monday; Sunday is 0 and 7; with both day fields either is enough."""
    assert at(following) == read_cron(cron).after(at(moment))


def test_a_window_over_midnight_follows_its_own_clock() -> None:
    """22:00 to 02:00 in New York is 03:00 to 07:00 UTC in winter and an hour earlier in summer."""
    window = Window("0 22 * * *", "0 2 * * *", "America/New_York", 3)
    hours = [hour for hour in range(24) if window.is_open(at(f"2026-01-06T{hour:02d}:00"))]
    assert [3, 4, 5, 6] == hours
    summer = Window("0 22 * * *", "0 2 * * *", "America/New_York", 3)
    assert [2, 3, 4, 5] == [hour for hour in range(24) if summer.is_open(at(f"2026-07-06T{hour:02d}:00"))]


@pytest.mark.parametrize(
    ("start", "end", "zone", "replicas", "message"),
    [
        ("0 8 * *", "0 18 * * *", "UTC", 1, "wants five fields and has 4"),
        ("0 24 * * *", "0 18 * * *", "UTC", 1, "has a hour that is none"),
        ("0 8 * * *", "0 8 * * *", "UTC", 1, "start and end must differ"),
        ("0 8 * * *", "0 18 * * *", "Europe/Bonn", 1, "is no IANA time zone"),
        ("0 8 * * *", "0 18 * * *", "UTC", 0, "must be above 0"),
    ],
)
def test_what_keda_refuses(start: str, end: str, zone: str, replicas: int, message: str) -> None:
    """Four fields, hour 24, equal moments, an unknown zone, no replicas."""
    with pytest.raises(InputError, match=message):
        Window(start, end, zone, replicas)
