"""Known traffic: replicas and nodes of each window, early enough to be loaded when it starts."""

from __future__ import annotations

import math
from collections import defaultdict

from inferform.errors import Problem
from inferform.plan_nodes import Count, LoadPlan
from inferform.plan_schedule import SchedulePlan, StepPlan, WindowPlan
from inferform.planning.lifecycle import NODE_READY_S
from inferform.spec_schedule import WEEKDAYS, Schedule, Window

_DAY, _WEEK = 24 * 60, 7 * 24 * 60


def plan_schedule(
    field: str, schedule: Schedule | None, *, scaler: str, replicas: Count, nodes: Count, standby: int, load: LoadPlan, nodes_per_replica: int,
    replicas_per_node: int, problems: list[Problem],
) -> SchedulePlan | None:  # fmt: skip
    """The schedule of one pool. `scaler` is the kind of its scaling; only KEDA knows hours."""
    if schedule is None:
        return None
    if scaler == "hpa":
        problems.append(
            Problem(
                "a plain HorizontalPodAutoscaler knows no hours", field, value="schedule beside scaling.hpa", fix="use scaling.keda, or leave the schedule out"
            )
        )
    lead_s = math.ceil(schedule.lead if schedule.lead is not None else NODE_READY_S + load.total_s)
    lead = math.ceil(lead_s / 60)

    def wanted(window: Window) -> tuple[int, int]:
        """(replicas, nodes) that carry the window's share of the busiest hour."""
        carried = math.ceil(max(1, replicas.steady - standby) * window.share - 1e-9) + standby
        held = min(max(carried, replicas.min), replicas.max)
        machines = -(-held // replicas_per_node) * nodes_per_replica
        return held, min(max(machines, nodes.min), nodes.max)

    windows: list[WindowPlan] = []
    needs: dict[int, int] = {}
    for name, window in sorted(schedule.windows.items()):
        held, machines = wanted(window)
        minutes = _open(window, lead)
        needs |= {at: max(machines, needs.get(at, 0)) for at in minutes}
        if len(minutes) == _WEEK:
            problems.append(
                Problem(f"{name} is open all week, the {lead} minutes before it included", f"{field}.windows.{name}", fix="set scaling.min instead, or lead")
            )
            continue
        pairs = _spans(minutes)
        windows += [
            WindowPlan(
                name=name if len(pairs) == 1 else f"{name}-{at}", share=window.share, start=_cron(starts), end=_cron(ends), replicas=held, nodes=machines
            )
            for at, (starts, ends) in enumerate(pairs, start=1)
        ]
    return SchedulePlan(timezone=schedule.timezone, lead_s=lead_s, windows=tuple(windows), steps=_steps(needs, nodes.min))


def _open(window: Window, lead: int) -> frozenset[int]:
    """Minutes of the week in which the window's fleet is wanted."""
    start, end = _minute(window.start), _minute(window.end)
    length = end - start if end > start else end + _DAY - start
    return frozenset(at % _WEEK for day in window.days for at in range(WEEKDAYS.index(day) * _DAY + start - lead, WEEKDAYS.index(day) * _DAY + start + length))


def _spans(minutes: frozenset[int]) -> list[tuple[list[int], list[int]]]:
    """(starts, ends) of what is open without a break, those with the same times of day together: one pair of expressions never starts twice in a row."""
    starts = sorted(at for at in minutes if (at - 1) % _WEEK not in minutes)
    ends = sorted((at + 1) % _WEEK for at in minutes if (at + 1) % _WEEK not in minutes)
    grouped: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    for start in starts:
        end = next((at for at in ends if at > start), ends[0])
        pair = grouped.setdefault((start % _DAY, end % _DAY), ([], []))
        pair[0].append(start)
        pair[1].append(end)
    return [grouped[key] for key in sorted(grouped)]


def _minute(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def _cron(minutes: list[int]) -> str:
    """The expression that is true at these minutes of the week, which have their time of day in common."""
    of_day = minutes[0] % _DAY
    days = sorted({at // _DAY for at in minutes})
    return f"{of_day % 60} {of_day // 60} * * {'*' if len(days) == len(WEEKDAYS) else ','.join(map(str, days))}"


def _steps(needs: dict[int, int], base: int) -> tuple[StepPlan, ...]:
    """Moments at which the largest need of the open windows changes. A scaling group takes one action a moment, so windows are joined first."""
    grouped: dict[tuple[int, int], list[int]] = defaultdict(list)
    for at in range(_WEEK):
        level = max(base, needs.get(at, base))
        if level != max(base, needs.get((at - 1) % _WEEK, base)):
            grouped[at % _DAY, level].append(at)
    return tuple(
        StepPlan(name=f"at-{of_day // 60:02d}{of_day % 60:02d}-{nodes}", cron=_cron(minutes), nodes=nodes)
        for (of_day, nodes), minutes in sorted(grouped.items())
    )
