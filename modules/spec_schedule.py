"""The part of a spec that says when traffic is known to come: weekly windows, each with its share of the busiest hour."""

from __future__ import annotations

import difflib
import zoneinfo
from collections.abc import Iterator
from typing import Annotated, Literal

from inferform import names
from inferform.names import Strict
from inferform.quantities import DurationS
from pydantic import Field

Weekday = Literal["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
# In the order in which cron counts them, Sunday first.
WEEKDAYS: tuple[Weekday, ...] = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
Weekdays = Annotated[tuple[Weekday, ...], Field(min_length=1, max_length=7)]


class Window(Strict):
    """Hours of the week in which traffic is known to come. An end at or before the start is on the next day."""

    days: Weekdays = Field(WEEKDAYS, description="Days on which the window starts; every day when left out.", examples=[["mon", "tue", "wed", "thu", "fri"]])
    start: names.ClockTime = Field(description="Local time when the traffic comes.", examples=["07:30"])
    end: names.ClockEnd = Field(description="Local time when it has gone.", examples=["19:00"])
    share: float = Field(1.0, gt=0, le=100, description="Traffic of the window as a share of peak_rps; above 1 it is part of the burst.", examples=[0.6])

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.start == self.end:
            yield "end", f"end {self.end} is start; a whole day is 00:00 to 24:00"
        if len(set(self.days)) < len(self.days):
            yield "days", "a day is listed twice"


class Schedule(Strict):
    """When traffic is known to come. The fleet stands ready at the start of each window; signals still add to it."""

    timezone: names.TimeZone = Field("UTC", description="IANA time zone of the windows; daylight saving time is followed.", examples=["Europe/Berlin"])
    lead: DurationS | None = Field(
        None, ge=0, le=6 * 3600, description="How long before a window the fleet grows; a node's start and the cold start of a replica when left out."
    )
    windows: dict[names.Name, Window] = Field(min_length=1, max_length=16, description="Windows by name.")

    def faults(self) -> Iterator[tuple[str, str]]:
        # Empty on a machine without time zone data; whoever runs the schedule checks it again.
        known = zoneinfo.available_timezones()
        if known and self.timezone not in known:
            close = difflib.get_close_matches(self.timezone, sorted(known), n=1)
            yield "timezone", f"{self.timezone} is no IANA time zone{f', nearest is {close[0]}' if close else ''}"
