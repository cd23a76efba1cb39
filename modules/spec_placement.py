"""The part of a spec that says how close to each other the nodes of one replica stand."""

from __future__ import annotations

from typing import Literal

from inferform.names import Strict
from pydantic import Field


class Closeness(Strict):
    """Where the pods of a replica that spans nodes go, by the network that AWS tells of each node."""

    level: Literal["leaf", "aggregation", "spine"] = Field(
        "leaf", description="What the nodes share: leaf is the last switch before a node, aggregation the layer above it, spine the top of the network."
    )
    required: bool = Field(
        False, description="Wait for nodes that share it, instead of taking farther ones; without a queue a replica may then wait half placed."
    )
    scheduler: Literal["kubernetes", "kueue"] = Field(
        "kubernetes", description="kubernetes places by pod affinity; kueue admits a replica as a whole, and only where all its pods fit."
    )
