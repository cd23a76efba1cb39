"""The part of a plan about ending nodes of scaling groups: who drains them, and how long that may take."""

from __future__ import annotations

from inferform.plan_cost import Part
from pydantic import Field


class TerminationPlan(Part):
    """The controller that drains nodes before their scaling group ends them, and the names by which it finds its queue and its nodes."""

    chart_version: str
    namespace: str
    service_account: str
    queue: str = Field(description="Name of the SQS queue of lifecycle actions and spot notices.")
    tag: str = Field(description="Tag of the nodes that it looks after; another cluster's nodes have another.")
    drain_s: dict[str, int] = Field(description="By pool, as model-pool: the seconds that draining a node may take; its scaling group waits as long.")
