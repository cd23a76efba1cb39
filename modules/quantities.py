"""Durations and byte sizes as people write them: `1.2s`, `50ms`, `15m`, `500Gi`, `64MB`."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema

GIB = 2**30
_DURATION_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,9})?)"


_WANTS_DURATION = "wants a duration with a unit, such as 50ms, 1.2s, 15m or 2h"
_WANTS_SIZE = "wants a size with a unit, such as 500Gi, 64GB or 512Mi"


def parse_duration_s(text: Any) -> float:
    """Seconds in a duration such as `1.2s` or `50ms`; the unit is required, so that 50 is never read as 50 s."""
    match = re.fullmatch(_NUMBER + r"\s*(ms|s|m|h|d)", text.strip()) if isinstance(text, str) else None
    if not match:
        raise ValueError(_WANTS_DURATION)
    return float(match.group(1)) * _DURATION_S[match.group(2)]


def parse_bytes(text: Any) -> int:
    """Bytes in a size such as `500Gi` (2**30) or `64GB` (10**9); the unit is required."""
    match = re.fullmatch(_NUMBER + r"\s*(Ki|Mi|Gi|Ti|K|M|G|T)B?", text.strip()) if isinstance(text, str) else None
    if not match:
        raise ValueError(_WANTS_SIZE)
    return math.floor(float(match.group(1)) * _BYTES[match.group(2)])


# Validation context of what a person wrote; without it plain seconds and bytes (a spec read back from its own dump) count too.
AS_WRITTEN = {"as_written": True}


def _duration(value: Any, info: ValidationInfo) -> float:
    return value if isinstance(value, float) and not info.context else parse_duration_s(value)


def _bytes(value: Any, info: ValidationInfo) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and not info.context else parse_bytes(value)


DurationS = Annotated[
    float,
    BeforeValidator(_duration),
    WithJsonSchema(
        {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d)$", "patternErrorMessage": _WANTS_DURATION, "examples": ["50ms", "1.2s", "15m"]}
    ),
]
SizeBytes = Annotated[
    int,
    BeforeValidator(_bytes),
    WithJsonSchema(
        {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?\s*(Ki|Mi|Gi|Ti|K|M|G|T)B?$", "patternErrorMessage": _WANTS_SIZE, "examples": ["500Gi", "64GB"]}
    ),
]


def format_bytes(value: float) -> str:
    """Bytes for people, in GiB or MiB."""
    return f"{value / GIB:,.1f} GiB" if abs(value) >= GIB else f"{value / 2**20:,.0f} MiB"


def kubernetes_bytes(value: int) -> str:
    """Bytes as a Kubernetes quantity, rounded up to whole Mi (or Gi when exact)."""
    return f"{value // GIB}Gi" if value % GIB == 0 else f"{math.ceil(value / 2**20)}Mi"
