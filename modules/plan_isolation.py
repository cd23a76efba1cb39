"""The parts of a plan about how far apart tenants are kept."""

from __future__ import annotations

from typing import Literal

from inferform.plan_cost import Part
from pydantic import Field


class IsolationPlan(Part):
    """Whose pods give way, and whether nodes belong to one tenant."""

    tier: Literal["enterprise", "standard", "free"] = "standard"
    dedicated: bool = Field(False, description="Nodes carry the tenant's taint, and its pods run nowhere else.")


class SharingPlan(Part):
    """How the GPUs of a pool's nodes are divided. Pods ask for one `resource` each."""

    mode: Literal["mig", "time-slicing"]
    profile: str | None = Field(description="MIG profile; None for time-slicing.")
    resource: str = Field(description="What the device plugin offers for each part, such as nvidia.com/mig-3g.40gb.")
    parts: int = Field(description="Parts of one card.")

    @property
    def label(self) -> str:
        """Value of the node label that tells how GPUs are divided."""
        return f"mig-{self.profile}" if self.mode == "mig" else f"time-slicing-{self.parts}"
