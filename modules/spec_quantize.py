"""The parts of a spec that ask for a quantized checkpoint to be made: method, calibration data, and what it must keep."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Literal

from inferform import names
from inferform.names import Strict
from pydantic import Field


class QuantizeMethod(StrEnum):
    AWQ = "awq"
    GPTQ = "gptq"
    FP8 = "fp8"
    NVFP4 = "nvfp4"


class CalibrationData(Strict):
    """Prompts of the real workload, by reference: exactly one of uri and hub."""

    uri: names.S3Object | None = Field(None, description="JSON-lines file in S3.", examples=["s3://acme-data/prompts/contracts.jsonl"])
    hub: names.HubName | None = Field(None, description="Data set of the model hub.", examples=["HuggingFaceH4/ultrachat_200k"])
    split: names.DataField = Field("train", description="Split of the hub's data set.")
    field: names.DataField = Field("text", description="Field of a row that holds the prompt.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if (self.uri is None) == (self.hub is None):
            yield "uri", "give exactly one of uri and hub"


class Evaluation(Strict):
    """How the new checkpoint is compared with the original before pods may load it."""

    held_out: int = Field(64, ge=16, le=1024, description="Prompts to compare on, beside those of the calibration.")
    min_score_share: float | None = Field(
        None, ge=0.5, le=1, description="Least share of the original's score (tokens predicted right); 0.99 for fp8, 0.96 for 4 bits when left out."
    )


class Quantize(Strict):
    """A job that quantizes the model's checkpoint once, compares it with the original, and stores it where pods load from."""

    method: QuantizeMethod = Field(description="Weights of 4 bits (awq, gptq, nvfp4) or 8 (fp8).")
    data: CalibrationData = Field(description="Where the prompts come from.")
    samples: int = Field(256, ge=128, le=512, description="Prompts to calibrate on.")
    sample_tokens: int = Field(2048, ge=128, le=32768, description="Longest prompt that is calibrated on, in tokens.")
    group_size: Literal[32, 64, 128] = Field(128, description="Weights that share a scale, for awq and gptq.")
    evaluation: Evaluation = Field(Evaluation(), description="What must be kept.")
    image: names.Image | None = Field(None, description="Image with llm-compressor; vLLM's own, into which the job installs it, when left out.")
    instance_types: names.InstanceTypes = Field((), description="Instance types to choose from; empty means all.", examples=[["g6e.4xlarge"]])
