"""Serving engines: versioned flag tables, command lines from the plan, metric names. `find_engine` is the way in."""

from __future__ import annotations

from inferform.engines.engine import Device, Engine, Place, PodVariable, Signal
from inferform.engines.vllm import Vllm
from inferform.errors import InputError, Problem

__all__ = ["Device", "Engine", "Place", "PodVariable", "Signal", "engine_names", "find_engine"]

_ENGINES: dict[str, Engine] = {"vllm": Vllm()}
# Named in the spec, but without an argument table of a published release: the one that is public describes an unreleased main branch.
_UNSUPPORTED = {"tensorrt-llm": "its arguments are only known for an unreleased version, so no launch config can be checked"}


def engine_names() -> tuple[str, ...]:
    """Engines that can be planned and rendered."""
    return tuple(sorted(_ENGINES))


def find_engine(name: str, *, field: str = "engine") -> Engine:
    """The engine of that name. Raises InputError for one that cannot be rendered."""
    engine = _ENGINES.get(name)
    if engine is None:
        why = _UNSUPPORTED.get(name, "there is no such engine")
        raise InputError(Problem(f"cannot be rendered: {why}", field=field, value=name[:40], legal=engine_names(), fix="use vllm"))
    return engine
