"""KEDA's cron trigger: a window of the week between two moments, each a cron expression of five fields in a time zone.

Source: KEDA 2.20.2, pkg/scalers/cron_scaler.go: a window is open while its next end comes before its next start.
"""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass
from datetime import datetime, timedelta

from inferform.errors import InputError, Problem

# (name, least, most) of each field; Sunday is 0 and also 7.
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
# Any expression that is ever true is true within this time (29 February).
_LONGEST = timedelta(days=8 * 366)


@dataclass(frozen=True, slots=True)
class Moments:
    """A cron expression: the values that each field allows."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    # Where both day fields are restricted, either is enough.
    either_day: bool

    def after(self, moment: datetime) -> datetime:
        """The first moment later than this one, in whole minutes. Raises InputError when there is none."""
        at = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        end = at + _LONGEST
        while at < end:
            if at.month not in self.months or not self._on(at):
                at = at.replace(hour=0, minute=0) + timedelta(days=1)
            elif at.hour not in self.hours:
                at = at.replace(minute=0) + timedelta(hours=1)
            elif at.minute not in self.minutes:
                at += timedelta(minutes=1)
            else:
                return at
        raise InputError(Problem("is never true", "cron"))

    def _on(self, at: datetime) -> bool:
        by_date, by_weekday = at.day in self.days, at.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.either_day else by_date and by_weekday


class Window:
    """One cron trigger: `replicas` while the window is open."""

    def __init__(self, start: str, end: str, timezone: str, replicas: int, field: str = "metadata") -> None:
        self.replicas = replicas
        self._start, self._end = read_cron(start, f"{field}.start"), read_cron(end, f"{field}.end")
        if start == end:
            raise InputError(Problem("start and end must differ", field, value=start))
        if replicas < 1:
            raise InputError(Problem("must be above 0", f"{field}.desiredReplicas", value=str(replicas)))
        try:
            self._zone = zoneinfo.ZoneInfo(timezone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError) as err:
            raise InputError(Problem("is no IANA time zone", f"{field}.timezone", value=timezone)) from err
        self._known: tuple[datetime, datetime] | None = None

    def is_open(self, moment: datetime) -> bool:
        """Whether the moment lies in the window."""
        local = moment.astimezone(self._zone)
        if self._known is None or local >= min(self._known):
            self._known = self._start.after(local), self._end.after(local)
        start, end = self._known
        return end < start


def read_cron(text: str, field: str = "cron") -> Moments:
    """The five fields: numbers, lists, ranges, steps and `*`. Raises InputError for anything else."""
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise InputError(Problem(f"wants five fields and has {len(parts)}", field, value=text[:80]))
    minutes, hours, days, months, weekdays = (_values(part, *bounds, field=field) for part, bounds in zip(parts, _FIELDS, strict=True))
    either_day = not parts[2].startswith("*") and not parts[4].startswith("*")
    return Moments(minutes, hours, days, months, frozenset(day % 7 for day in weekdays), either_day)


def _values(part: str, name: str, least: int, most: int, *, field: str) -> frozenset[int]:
    found: set[int] = set()
    for item in part.split(","):
        span, _, step = item.partition("/")
        low, _, high = span.partition("-")
        try:
            first, last = (least, most) if span == "*" else (int(low), int(high or (most if step else low)))
            every = int(step or 1)
        except ValueError:
            first, last, every = 1, 0, 0
        if not least <= first <= last <= most or every < 1:
            raise InputError(Problem(f"has a {name} that is none", field, value=item[:40], legal=(f"{least} to {most}",)))
        found.update(range(first, last + 1, every))
    return frozenset(found)
