"""How far an estimate may be off: what the step model missed on measured rows that had no part in its fit."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from importlib import resources
from typing import Any, NamedTuple

FIGURES = ("output_tokens_per_s", "tpot_ms", "ttft_ms")
# Fewer rows than this say nothing about a group of their own.
_FEW = 5


class Bands(NamedTuple):
    """For each figure the share of its value within which four of five measured rows lie, and which rows those are."""

    shares: tuple[tuple[str, float], ...]
    source: str


@cache
def measured_errors() -> dict[str, Any]:
    """The errors that `make calibrate` wrote: in sample, and with each model and GPU, or each family of GPUs, left out of the fit."""
    text = resources.files("inferform.sizing.data").joinpath("performance_errors.json").read_text(encoding="utf-8")
    values: dict[str, Any] = json.loads(text)
    return values


@lru_cache(maxsize=256)
def bands(kind: str, engine: str, family: str) -> Bands:
    """Bands for a kind of model (`dense` or `moe`), an engine and a family of GPUs.

    A family without measured rows takes at least the errors on families that were left out of the fit whole; so does a figure for
    which the engine has no rows.
    """
    known = measured_errors()
    shares, beyond = [], False
    rows = 0
    for figure in FIGURES:
        own = known["cross_validated"].get(f"{figure} {kind} {engine}", {"rows": 0, "p80": 0.0})
        rows += own["rows"]
        share = float(own["p80"])
        if own["rows"] < _FEW or family not in known["families"]:
            beyond = True
            other = known["other_family"].get(f"{figure} {kind}") or known["other_family"][figure]
            rows += other["rows"]
            share = max(share, float(other["p80"]))
        shares.append((figure, share))
    how = "hardware or an engine outside the fit" if beyond else "models and GPUs left out of the fit"
    return Bands(tuple(shares), f"error bands: four of five of {rows} measurements on {how}")


def table_bands(kind: str, engine: str) -> Bands:
    """Bands of the measured kernel tables, which were fitted to none of these rows; 1 for a figure that no row speaks about."""
    known = measured_errors().get("silicon", {})
    found = {figure: known.get(f"{figure} {kind} {engine}") or known.get(f"{figure} {kind}") for figure in FIGURES}
    shares = tuple((figure, float(own["p80"]) if own else 1.0) for figure, own in found.items())
    return Bands(shares, f"error bands: four of five of {sum(own['rows'] for own in found.values() if own)} measurements that the tables answer")
