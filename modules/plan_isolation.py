"""The parts of a plan about how far apart tenants are kept."""

from __future__ import annotations

from typing import Literal

from inferform.plan_cost import Part
from pydantic import Field


class IsolationPlan(Part):
    """Whose pods give way, and whether nodes belong to one tenant."""

    tier: Literal["enterprise", "standard", "free"] = "standard"
    dedicated: bool = Field(False, description="Nodes carry the tenant's taint, and its pods run nowhere else.")
