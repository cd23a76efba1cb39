"""The parts of a spec that say how far apart tenants are kept, on the cluster and on a GPU."""

from __future__ import annotations

from typing import Literal

from inferform.names import Strict
from pydantic import Field

Tier = Literal["enterprise", "standard", "free"]


class Isolation(Strict):
    """What a tenant's pods may take from others, and what they share."""

    tier: Tier = Field(
        "standard", description="Who gives way when room is short: enterprise takes it from all others, standard from free and from batch work, free waits."
    )
    dedicated: bool = Field(False, description="Nodes for this tenant alone: a taint keeps other pods out, and its pods run nowhere else.")
