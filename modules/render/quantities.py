"""Numbers and durations as the rendered objects spell them."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """A plain decimal number as text, six places at most."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def quantity(value: float) -> str:
    """A positive number as a Kubernetes quantity, in thousandths at most."""
    milli = max(1, round(value * 1000))
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def seconds(value: float) -> str:
    """A duration in whole seconds, or milliseconds below one; rounded up."""
    return f"{math.ceil(value)}s" if value >= 1 else f"{max(1, math.ceil(value * 1000))}ms"


def duration(value: float) -> str:
    """A duration in the largest units that hold it: 1800 is 30m, 5400 is 1h30m; whole seconds, rounded up."""
    rest = math.ceil(value)
    parts = []
    for unit, size in (("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
