"""The parts of a spec about where weights are kept and how they reach a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from inferform import names
from inferform.names import Strict
from inferform.quantities import GIB, SizeBytes
from pydantic import Field

_LUSTRE_LEAST, _LUSTRE_STEP = 1200 * GIB, 2400 * GIB


class FileSystem(Strict):
    """The file system that an apply made, as its outputs name it."""

    id: names.FileSystemId = Field(description="Output file_system_id of the stack file_system.", examples=["fs-0123456789abcdef0"])
    mount_name: names.MountName = Field(description="Output file_system_mount_name of the stack file_system.", examples=["fsx"])


class Lustre(Strict):
    """FSx for Lustre linked to the model store: every object of the store is a file on it, read from S3 once and kept on SSD."""

    storage: SizeBytes = Field("1200Gi", le=100_800 * GIB, description="1200Gi, or a multiple of 2400Gi.")  # type: ignore[assignment]
    throughput: Literal[125, 250, 500, 1000] = Field(250, description="MB/s for each TiB of storage, shared by all that read.")
    zone: names.ZoneId | None = Field(None, description="AZ id where it stands; the zone of most pools when left out.", examples=["use1-az4"])
    file_system: FileSystem | None = Field(None, description="What the first apply gave out; pods can only mount it once it is written here.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.storage != _LUSTRE_LEAST and (self.storage < _LUSTRE_STEP or self.storage % _LUSTRE_STEP):
            yield "storage", f"{self.storage / GIB:g}Gi is no size of a persistent SSD file system; use 1200Gi or a multiple of 2400Gi"


class ModelStore(Strict):
    """The bucket of weights, and what stands beside it."""

    keep_old_days: int = Field(30, ge=1, le=3650, description="Days that replaced or deleted weights can still be brought back.")
    replicate_to: names.Region | None = Field(None, description="Second region that gets a copy of all weights.", examples=["us-west-2"])
    lustre: Lustre | None = Field(None, description="FSx for Lustre in front of the bucket.")


class ColdStart(Strict):
    """How a new node gets the engine's image and the weights."""

    weights_from: Literal["auto", "store", "peers", "lustre"] = Field(
        "auto",
        description="store: the bucket, onto the node's disk. peers: other nodes' disks first, the bucket where none has a file. lustre: the file system. "
        "auto: the fastest of store and lustre.",
    )
    node_agents: bool = Field(True, description="Fetch weights and pull the engine's image as soon as a node joins, before any pod of the model runs there.")
    image_peers: bool = Field(False, description="Nodes pull images from each other through Spegel, and from the registry where none has a layer.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.weights_from == "peers" and not self.node_agents:
            yield "weights_from", "peers are the other nodes' agents, which node_agents: false leaves out"
