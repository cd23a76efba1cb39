"""The part of a plan about making a quantized checkpoint: what runs where, on which data, and what the result must keep."""

from __future__ import annotations

from typing import Literal

from inferform.plan_cost import Part
from pydantic import Field


class QuantizePlan(Part):
    """One job on one GPU. Pods load the checkpoint it makes, and nothing else, once it has kept `min_score_share` of the score."""

    method: Literal["awq", "gptq", "fp8", "nvfp4"]
    group_size: int
    data_uri: str | None
    data_hub: str | None
    data_split: str
    data_field: str
    samples: int
    sample_tokens: int
    held_out: int
    min_score_share: float
    image: str
    installs: str | None = Field(description="What the job installs into the image; None where the image is the user's own.")
    instance_type: str
    gpu: str
    vcpus: int
    cpu_millis: int
    memory_bytes: int
    disk_bytes: int = Field(description="Original, new checkpoint and what is installed, on the job's own volume.")
    local_disks: bool
    root_volume_bytes: int
    os: Literal["al2023", "bottlerocket"]
    zones: tuple[str, ...]
    taint_key: str
    tenant: str | None = Field(None, description="Whose nodes alone may run it; None where pools are shared.")
    hours: float = Field(description="Estimated, not measured.")
    usd_per_hour: float
    price_as_of: str
    price_source: str
