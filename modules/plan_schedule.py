"""The part of a plan about known traffic: how many replicas and nodes stand ready, and when."""

from __future__ import annotations

from inferform.plan_cost import Part
from pydantic import Field


class WindowPlan(Part):
    """A weekly window in which at least `replicas` run. Cron expressions are of five fields, in the schedule's time zone."""

    name: str
    share: float = Field(description="Traffic of the window as a share of the busiest hour.")
    start: str = Field(description="Cron expression of the moment when the fleet grows: the window's start less the lead.")
    end: str = Field(description="Cron expression of the moment when the window ends.")
    replicas: int
    nodes: int


class StepPlan(Part):
    """A change of the floor of a pool's node count; steps have no moment in common."""

    name: str
    cron: str
    nodes: int = Field(description="Fewest nodes from here to the next step.")


class SchedulePlan(Part):
    """What stands ready for known traffic. Windows are for what scales replicas, steps for what scales nodes."""

    timezone: str
    lead_s: int
    windows: tuple[WindowPlan, ...]
    steps: tuple[StepPlan, ...]
