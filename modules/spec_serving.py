"""The parts of a spec that say how a model is served: where cold KV cache blocks go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from inferform.names import Strict
from inferform.quantities import GIB, SizeBytes
from pydantic import Field


class KvTiers(Strict):
    """Where prompts' KV cache blocks go when they leave the GPU; nowhere by default."""

    cpu: Literal["auto"] | SizeBytes | None = Field(
        None,
        description="Memory of each pod for KV blocks; auto takes what prompts of ten minutes need and the node has left.",
        examples=["auto", "64Gi"],
    )
    disk: Literal["auto"] | SizeBytes | None = Field(
        None,
        description="Local disk of each pod for blocks that leave memory; auto takes what prompts of an hour need and the disks have left.",
        examples=["auto", "500Gi"],
    )

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.disk is not None and self.cpu is None:
            yield "disk", "blocks reach the disk through memory: set cpu as well"
        for name in ("cpu", "disk"):
            size = getattr(self, name)
            if isinstance(size, int) and not GIB <= size <= 65536 * GIB:
                yield name, f"{name} must be between 1Gi and 65536Gi"
