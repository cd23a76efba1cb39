"""Parts of a GPU: MIG instances, whose memory and compute units are their own, and turns on a whole card.

A part is a card of its own to the planner, under the name `CARD/PROFILE` or `CARD/N`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

from inferform.catalog.tables import rows
from inferform.catalog.types import Gpu
from inferform.errors import InputError, Problem

MIB = 2**20
# The driver keeps this much of an instance: 79.65 GiB of an H100 are 39.82 by halves, and `nvidia-smi mig -lgip` lists 39.50 (read 2026-12-01).
_INSTANCE_RESERVE_BYTES = 350 * MIB


@dataclass(frozen=True, slots=True)
class MigProfile:
    """A MIG instance of one card: how many of them the card holds, and its share of memory and compute units."""

    gpu: str
    profile: str
    instances: int
    memory_share: float
    compute_share: float


@cache
def _profiles() -> dict[str, dict[str, MigProfile]]:
    found: dict[str, dict[str, MigProfile]] = {}
    for row in rows("mig_profiles.csv"):
        one = MigProfile(row["gpu"], row["profile"], int(row["instances"]), int(row["memory_eighths"]) / 8, int(row["compute_sevenths"]) / 7)
        found.setdefault(one.gpu, {})[one.profile] = one
    return found


def mig_profiles(gpu: str) -> dict[str, MigProfile]:
    """Profiles of one card by name; empty for a card that has none, or whose were not read."""
    return _profiles().get(gpu, {})


def parts(name: str) -> int:
    """How many parts of this kind one card makes. Raises: InputError for a part that is none."""
    card, _, part = name.partition("/")
    if not part:
        return 1
    if part.isdecimal() and int(part) > 1:
        return int(part)
    profiles = mig_profiles(card)
    if part not in profiles:
        raise InputError(Problem(f"{card} has no such MIG profile", field="gpu", value=part[:40], legal=tuple(profiles), fix="use another profile or card"))
    return profiles[part].instances


def part_of(card: Gpu, part: str) -> Gpu:
    """The part of a card: a MIG profile, or one of N turns. Links to other cards do not reach it.

    An instance sees its own memory and nothing else; what takes turns sees the whole card and may use its share of it.
    Raises: InputError for a part that is none.
    """
    name = f"{card.name}/{part}"
    count = parts(name)
    profile = mig_profiles(card.name).get(part)
    memory, compute = (profile.memory_share, profile.compute_share) if profile else (1 / count, 1 / count)
    reserve = _INSTANCE_RESERVE_BYTES if profile else 0

    def less(value: float | None) -> float | None:
        return None if value is None else value * compute

    def held(value: int | None) -> int | None:
        return None if value is None else math.floor(value * memory) - reserve

    return replace(
        card, name=name, memory_bytes=held(card.memory_bytes), cuda_memory_bytes=held(card.cuda_memory_bytes), memory_bandwidth_bytes_per_s=card.memory_bandwidth_bytes_per_s * memory,
        fp16_flops=less(card.fp16_flops), fp8_flops=less(card.fp8_flops), int8_ops=less(card.int8_ops), fp4_flops=less(card.fp4_flops), nvlink_bytes_per_s_per_gpu=0.0,
    )  # fmt: skip
