"""Fitted numbers of the memory model by engine version, and the order of versions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Literal

from inferform.errors import InputError, Problem

GIB = 2**30
EngineName = Literal["vllm", "tensorrt-llm", "sglang"]
Version = tuple[int, int, int]
NEWEST: Version = (9999, 0, 0)


@dataclass(frozen=True, slots=True)
class ActivationLaw:
    """Peak = logits copies x (sequences x vocabulary x 4 bytes) + hidden states + fixed part; see activation.py."""

    since: Version
    logits_copies: float
    fixed_bytes: int
    vision_bytes: int
    workspace_kept: bool


@dataclass(frozen=True, slots=True)
class NonTorchLaw:
    """Memory outside the tensor allocator (CUDA context growth, communication buffers) by situation, bytes per GPU."""

    since: Version
    one_gpu: int
    nvlink_tp: int
    pcie_tp: int
    pipeline_only: int


@lru_cache(maxsize=256)
def read_version(text: str) -> Version:
    """`0.15.2rc1.dev93` -> (0, 15, 2). Raises: InputError when it is not a version."""
    match = re.match(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", text)
    if not match:
        raise InputError(Problem("is not an engine version", field="engine_version", value=text[:40], fix="write it like 0.33.0"))
    major, minor, patch = match.groups()
    return int(major), int(minor), int(patch or 0)


@cache
def constants() -> dict[str, Any]:
    """The whole file of fitted numbers, with the rows that fitted each."""
    text = resources.files("inferform.sizing.data").joinpath("memory_constants.json").read_text(encoding="utf-8")
    values: dict[str, Any] = json.loads(text)
    return values


@cache
def activation_laws() -> tuple[ActivationLaw, ...]:
    """Oldest first."""
    return tuple(
        ActivationLaw(read_version(e["from"]), e["logits_copies"], int(e["fixed_gib"] * GIB), int(e["vision_gib"] * GIB), e["workspace_kept"])
        for e in constants()["vllm"]["activation"]
    )


@cache
def non_torch_laws() -> tuple[NonTorchLaw, ...]:
    """Oldest first."""
    return tuple(
        NonTorchLaw(read_version(e["from"]), *(int(e[key] * GIB) for key in ("one_gpu", "nvlink_tp", "pcie_tp", "pipeline_only")))
        for e in constants()["vllm"]["non_torch_gib"]
    )


@lru_cache(maxsize=256)
def has(feature: str, version: Version | None) -> bool:
    """Whether a vLLM version behaves in a newer way; a version that is not known counts as the newest."""
    return version is None or version >= read_version(constants()["vllm"]["first_versions"][feature])
