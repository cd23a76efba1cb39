"""The parts of a plan about how a model is served: tiers of the KV cache and what pods keep on the node's disk."""

from __future__ import annotations

from typing import Literal

from inferform.plan_cost import Part
from pydantic import Field

# Caches of compiled kernels and temporary files of a pod; both are bounded so that a pod cannot fill the node's disk.
HOME_BYTES, TMP_BYTES = 20 * 2**30, 10 * 2**30

# What trims the files of a disk tier, beside the engine in its pod.
TRIM_CPU_MILLIS, TRIM_MEMORY_BYTES = 50, 128 * 2**20

KvBackend = Literal["vllm", "dynamo", "sglang", "tensorrt-llm"]


class KvTiersPlan(Part):
    """Where KV blocks of prompts go when they leave the GPU: bytes of one pod, and the tokens that they hold."""

    backend: KvBackend = Field(description="Whose offloading it is: the engine's own, or Dynamo's block manager.")
    cpu_bytes: int = Field(description="Host memory over all ranks, inside the pod's memory.")
    cpu_tokens: int
    disk_bytes: int = Field(0, description="Local disk over all ranks; 0 for none.")
    disk_tokens: int = 0
    trimmed: bool = Field(False, description="The engine removes no files itself, so a container of the pod does.")
