"""What engines do with KV blocks that leave the GPU: which tiers a release has, and where their memory is counted.

Sources, read 2026-12-01: published wheels vLLM 0.33.0 (offloading connector and its tiers), SGLang 0.5.23 (hierarchical cache and
its file store) and ai-dynamo 1.6.1 (connector of its block manager); LLM arguments of TensorRT-LLM; the guides of each.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TierSupport:
    """Faults are empty where the tier can be had.

    `in_shm`: host blocks are files of /dev/shm, which must be that much larger. `per_rank`: each rank keeps its own share, else
    one budget serves all ranks. `bounded_disk` is False where the engine never removes a file. `one_latent`: ranks of a model with
    one latent cache store it once.
    """

    cpu_fault: str = ""
    disk_fault: str = ""
    hybrid_fault: str = ""
    in_shm: bool = False
    bounded_disk: bool = True
    one_latent: bool = False


# Where the disk tier of a pod is mounted.
DISK_MOUNT = "/kv"
# Share of the disk tier that files may fill before the oldest go: what is written meanwhile needs room.
DISK_FILL = 0.85
