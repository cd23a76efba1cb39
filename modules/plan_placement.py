"""The part of a plan about how close to each other the nodes of one replica stand."""

from __future__ import annotations

from typing import Literal

from inferform.plan_cost import Part
from pydantic import Field


class ClosenessPlan(Part):
    """Where the pods of a replica that spans nodes go."""

    levels: tuple[str, ...] = Field(description="Node labels of the network's layers, the widest first.")
    within: str = Field(description="The layer that a replica's nodes should share, one of the levels.")
    required: bool
    scheduler: Literal["kubernetes", "kueue"]
