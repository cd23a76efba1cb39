"""One line of `memory --batch`, or the options of `memory`, as a typed request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model
from inferform.catalog.types import Gpu, Model
from inferform.errors import InputError, Problem
from inferform.plan import MemoryPlan
from inferform.sizing.memory import MemoryRequest, plan_memory
from inferform.sizing.memory_constants import EngineName, read_version
from inferform.sizing.parallelism import check_parallelism
from inferform.sizing.precision import KV_CACHES, WEIGHTS

ENGINES: tuple[EngineName, ...] = ("vllm", "tensorrt-llm", "sglang")
# name -> (lowest, highest); all are whole numbers.
_COUNTS = {
    "tp": (1, 1024), "pp": (1, 1024), "dp": (1, 1024), "ep": (1, 1024), "max_model_len": (16, 100_000_000), "max_num_seqs": (1, 65_536),
    "max_num_batched_tokens": (16, 10_000_000), "gpu_memory_bytes": (2**20, 2**50),
}  # fmt: skip
_TEXTS = {"weights": ("auto", *WEIGHTS), "kv_cache": KV_CACHES, "engine": ENGINES, "interconnect": ("none", "pcie", "nvlink", "nvswitch")}
_OTHER = ("id", "model", "gpu", "engine_version", "gpu_memory_utilization", "enforce_eager")
_KNOWN = (*_COUNTS, *_TEXTS, *_OTHER)
# The contract of `memory`; the plan keeps more.
ANSWER_KEYS = (
    "fits", "weights_bytes_per_gpu", "activation_bytes_per_gpu", "runtime_bytes_per_gpu", "kv_cache_bytes_per_gpu", "kv_cache_tokens",
    "max_concurrency", "limits",
)  # fmt: skip


def parse(values: Mapping[str, Any]) -> MemoryRequest:
    """The request that a JSON object or a set of options describes; a value of null counts as left out.

    Raises: InputError with every problem at once: unknown keys, wrong types, values out of range, unknown model or GPU, degrees that the model
    does not allow.
    """
    problems: list[Problem] = []
    given = {key: value for key, value in values.items() if value is not None}
    problems += [Problem("is not an option of memory", field=str(key)[:40], legal=tuple(sorted(_KNOWN))) for key in given if key not in _KNOWN]
    counts = {key: count for key in _COUNTS if (count := _count(given, key, problems)) is not None}
    texts = {key: choice for key in _TEXTS if (choice := _choice(given, key, problems)) is not None}
    utilization = _share(given, problems)
    eager = given.get("enforce_eager", False)
    if not isinstance(eager, bool):
        problems.append(Problem("wants true or false", field="enforce_eager", value=repr(eager)[:40]))
    version = _version(given, problems)
    model = _model(given, problems)
    gpu, name = _gpu(given, "gpu_memory_bytes" in counts, problems)
    if model is not None and not problems:
        problems += check_parallelism(
            model, tp=counts.get("tp", 1), pp=counts.get("pp", 1), ep=counts.get("ep", 1), weights=texts.get("weights", "auto"), field=""
        )
    if problems or model is None:
        raise InputError(problems)
    return MemoryRequest(
        model=model, gpu=gpu, gpu_name=name, gpu_memory_bytes=counts.get("gpu_memory_bytes"), tp=counts.get("tp", 1), pp=counts.get("pp", 1),
        dp=counts.get("dp", 1), ep=counts.get("ep", 1), weights=texts.get("weights", "auto"), kv_cache=texts.get("kv_cache", "auto"),
        gpu_memory_utilization=utilization, max_model_len=counts.get("max_model_len"), max_num_seqs=counts.get("max_num_seqs"),
        max_num_batched_tokens=counts.get("max_num_batched_tokens"), enforce_eager=eager is True, engine=cast(EngineName, texts.get("engine", "vllm")),
        engine_version=version, interconnect=texts.get("interconnect"),
    )  # fmt: skip


def memory_from_options(values: Mapping[str, Any]) -> MemoryPlan:
    """The memory plan for one set of options. Raises: InputError as `parse` does."""
    return plan_memory(parse(values))


def answer(plan: MemoryPlan) -> dict[str, Any]:
    """The keys that `memory` prints."""
    return {key: getattr(plan, key) for key in ANSWER_KEYS}


def _count(given: Mapping[str, Any], key: str, problems: list[Problem]) -> int | None:
    value = given.get(key)
    if value is None:
        return None
    low, high = _COUNTS[key]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        problems.append(Problem(f"wants a whole number from {low} to {high}", field=key, value=repr(value)[:40]))
        return None
    return value


def _choice(given: Mapping[str, Any], key: str, problems: list[Problem]) -> str | None:
    value = given.get(key)
    if value is None or (isinstance(value, str) and value in _TEXTS[key]):
        return value
    problems.append(Problem("is not one of the legal values", field=key, value=repr(value)[:40], legal=_TEXTS[key]))
    return None


def _share(given: Mapping[str, Any], problems: list[Problem]) -> float | None:
    value = given.get("gpu_memory_utilization")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        problems.append(Problem("wants a number above 0 and at most 1", field="gpu_memory_utilization", value=repr(value)[:40]))
        return None
    return float(value)


def _version(given: Mapping[str, Any], problems: list[Problem]) -> str | None:
    value = given.get("engine_version")
    if value is None:
        return None
    if not isinstance(value, str):
        problems.append(Problem("wants a text such as 0.33.0", field="engine_version", value=repr(value)[:40]))
        return None
    try:
        read_version(value)
    except InputError as err:
        problems.extend(err.problems)
    return value


def _model(given: Mapping[str, Any], problems: list[Problem]) -> Model | None:
    value = given.get("model")
    if not isinstance(value, str):
        problems.append(Problem("wants a catalogue name or the path of a config.json", field="model", value=None if value is None else repr(value)[:40]))
        return None
    try:
        return find_model(value)
    except InputError as err:
        # The look-up names the field of a spec; here it is an option.
        problems.extend(replace(problem, field="model") if problem.field == "source" else problem for problem in err.problems)
        return None


def _gpu(given: Mapping[str, Any], has_memory: bool, problems: list[Problem]) -> tuple[Gpu | None, str]:
    """The card and its name as given; a card outside the catalogue is fine once its memory is told."""
    value = given.get("gpu")
    if value is None and has_memory:
        return None, ""
    if not isinstance(value, str):
        problems.append(Problem("wants a GPU name, or give gpu_memory_bytes", field="gpu", value=None if value is None else repr(value)[:40]))
        return None, ""
    gpu = _card(value)
    if isinstance(gpu, InputError):
        if not has_memory:
            problems.extend(gpu.problems)
        return None, value[:80]
    if gpu.device_memory_bytes is None and not has_memory:
        problems.append(Problem(f"the memory of {gpu.name} is not known", field="gpu_memory_bytes", fix="give the bytes that a process on it sees"))
    return gpu, value[:80]


@lru_cache(maxsize=1024)
def _card(name: str) -> Gpu | InputError:
    """The card, or why there is none: finding near names takes longer than a plan, and batches repeat a name."""
    try:
        return find_gpu(name)
    except InputError as err:
        return err
