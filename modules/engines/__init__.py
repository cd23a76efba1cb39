"""Serving engines: versioned flag tables, command lines from the plan, metric names. `find_engine` is the way in."""

from __future__ import annotations

from inferform.engines.engine import Device, Engine, Place, PodVariable, Signal
from inferform.engines.sglang import Sglang
from inferform.engines.tensorrt_llm import TensorRtLlm
from inferform.engines.vllm import Vllm
from inferform.errors import InputError, Problem

__all__ = ["Device", "Engine", "Place", "PodVariable", "Signal", "engine_names", "find_engine"]

_ENGINES: dict[str, Engine] = {engine.name: engine for engine in (Sglang(), TensorRtLlm(), Vllm())}


def engine_names() -> tuple[str, ...]:
    """Engines that can be planned and rendered."""
    return tuple(sorted(_ENGINES))


def find_engine(name: str, *, field: str = "engine") -> Engine:
    """The engine of that name. Raises InputError for one that cannot be rendered."""
    engine = _ENGINES.get(name)
    if engine is None:
        raise InputError(Problem("there is no such engine", field=field, value=name[:40], legal=engine_names(), fix="use vllm"))
    return engine
