"""The parts of a spec that say how far apart tenants are kept, on the cluster and on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from inferform import names
from inferform.names import Strict
from pydantic import Field

Tier = Literal["enterprise", "standard", "free"]


class Isolation(Strict):
    """What a tenant's pods may take from others, and what they share."""

    tier: Tier = Field(
        "standard", description="Who gives way when room is short: enterprise takes it from all others, standard from free and from batch work, free waits."
    )
    dedicated: bool = Field(False, description="Nodes for this tenant alone: a taint keeps other pods out, and its pods run nowhere else.")


class GpuSharing(Strict):
    """Several replicas on one GPU, each on a part of it."""

    mode: Literal["mig", "time-slicing"] = Field(
        description="mig cuts a card into instances with memory and compute units of their own; time-slicing lets replicas of one tenant take turns on the "
        "whole card, which isolates nothing."
    )
    profile: names.MigProfile | None = Field(None, description="MIG profile of every instance.", examples=["3g.40gb"])
    replicas: int | None = Field(None, ge=2, le=8, description="Replicas that take turns on one card.", examples=[4])

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.mode == "mig" and self.profile is None:
            yield "profile", "mode mig needs a profile, such as 3g.40gb"
        if self.mode == "mig" and self.replicas is not None:
            yield "replicas", "replicas is for time-slicing; a MIG profile says how many instances a card holds"
        if self.mode == "time-slicing" and self.replicas is None:
            yield "replicas", "mode time-slicing needs replicas: how many take turns on one card"
        if self.mode == "time-slicing" and self.profile is not None:
            yield "profile", "profile is for mode mig"
