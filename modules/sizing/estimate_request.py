"""One line of `estimate --batch`, or the options of `estimate`, as a typed request."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast, get_args

from inferform.catalog.gpus import all_gpus, find_gpu
from inferform.catalog.models import find_model
from inferform.catalog.types import Gpu, Model
from inferform.errors import InputError, Problem
from inferform.sizing.performance import Estimate, EstimateRequest
from inferform.sizing.roofline import WEIGHT_BYTES, Link, default_link

KV_CACHE = ("auto", "bf16", "fp16", "fp8", "fp8_e4m3", "fp8_e5m2")
ENGINES = ("vllm", "tensorrt-llm", "sglang")
# name -> (lowest, highest); all are whole numbers.
_COUNTS = {
    "tp": (1, 1024), "dp": (1, 1024), "ep": (1, 1024), "pp": (1, 1024), "input_tokens": (1, 10_000_000), "output_tokens": (1, 10_000_000), "concurrency": (1, 1_000_000),
    "shared_prefix_tokens": (0, 10_000_000), "max_model_len": (16, 100_000_000), "max_num_seqs": (1, 65_536),
    "max_num_batched_tokens": (16, 10_000_000), "batch_wait_iterations": (0, 100_000), "gpu_memory_bytes": (1, 2**50),
}  # fmt: skip
_TEXTS: dict[str, tuple[str, ...]] = {
    "weights": ("auto", *WEIGHT_BYTES), "kv_cache": KV_CACHE, "engine": ENGINES, "interconnect": get_args(Link),
}  # fmt: skip
_OTHER = ("id", "model", "gpu", "engine_version", "gpu_memory_utilization", "enforce_eager")


def parse(values: Mapping[str, Any]) -> EstimateRequest:
    """The request that a JSON object or a set of options describes.

    Raises: InputError with every problem at once: unknown keys, wrong types, values out of range, unknown model or GPU.
    """
    problems: list[Problem] = []
    given = {key: value for key, value in values.items() if value is not None}
    known = (*_COUNTS, *_TEXTS, *_OTHER)
    problems += [Problem("is not an option of estimate", field=key, legal=tuple(sorted(known))) for key in given if key not in known]
    counts = {key: value for key in _COUNTS if (value := _count(given, key, problems)) is not None}
    texts = {key: text for key in _TEXTS if (text := _choice(given, key, problems)) is not None}
    utilization = _share(given, problems)
    model = cast(Model | None, _looked_up(given, "model", _model, problems))
    gpu, stand_in_for = _card(given, counts.get("gpu_memory_bytes"), problems)
    version = given.get("engine_version")
    if version is not None and not isinstance(version, str):
        problems.append(Problem("is not text", field="engine_version", value=str(version)[:40]))
    if counts.get("batch_wait_iterations") and texts.get("engine") != "tensorrt-llm":
        problems.append(Problem("only TensorRT-LLM holds prompts back", field="batch_wait_iterations", value=str(counts["batch_wait_iterations"])))
    shared, prompt = counts.get("shared_prefix_tokens", 0), counts.get("input_tokens", 1024)
    if shared >= prompt:
        problems.append(Problem(f"must be below input_tokens {prompt}", field="shared_prefix_tokens", value=str(shared)))
    if problems or model is None or gpu is None:
        raise InputError(problems or [Problem("is needed", field="gpu")])
    tp, dp = counts.get("tp", 1), counts.get("dp", 1)
    return EstimateRequest(
        model=model, gpu=gpu, tp=tp, pp=counts.get("pp", 1), weights=_weights(model, texts.get("weights", "auto")),
        kv_cache=texts.get("kv_cache", "auto"), engine=texts.get("engine", "vllm"), engine_version=version,
        input_tokens=prompt, output_tokens=counts.get("output_tokens", 256), concurrency=counts.get("concurrency"), shared_prefix_tokens=shared,
        max_model_len=counts.get("max_model_len"), max_num_seqs=counts.get("max_num_seqs"), max_num_batched_tokens=counts.get("max_num_batched_tokens"),
        gpu_memory_utilization=utilization, link=cast(Link, texts.get("interconnect") or default_link(gpu, tp * dp)),
        enforce_eager=given.get("enforce_eager") is True, gpu_memory_bytes=counts.get("gpu_memory_bytes"), stand_in_for=stand_in_for, dp=dp, ep=counts.get("ep", 1),
        batch_wait_iterations=counts.get("batch_wait_iterations", 0),
    )  # fmt: skip


def answer(found: Estimate) -> dict[str, Any]:
    """The keys that `estimate` prints."""
    ttft, tpot = found.ttft_ms, found.tpot_ms
    return {
        "ttft_ms": {"p50": ttft.p50, "p95": ttft.p95, "p99": ttft.p99},
        "tpot_ms": {"p50": tpot.p50, "p95": tpot.p95, "p99": tpot.p99},
        "output_tokens_per_s": found.output_tokens_per_s,
        "total_tokens_per_s": found.total_tokens_per_s,
        "requests_per_s": found.requests_per_s,
        "concurrency": found.concurrency,
        "source": found.source,
        "error_band": dict(found.error_band),
    }


@lru_cache(maxsize=256)
def _model(name: str) -> Model:
    return find_model(name)


@lru_cache(maxsize=256)
def _gpu(name: str) -> Gpu:
    return find_gpu(name)


def _card(given: Mapping[str, Any], memory_bytes: int | None, problems: list[Problem]) -> tuple[Gpu | None, str]:
    """(card, name it stands in for): a card outside the catalogue takes the peaks of the one with the nearest memory."""
    name = given.get("gpu")
    if memory_bytes is not None and (name is None or isinstance(name, str)):
        try:
            return _gpu(name) if name else _nearest(memory_bytes), "" if name else "an unnamed GPU"
        except InputError:
            return _nearest(memory_bytes), str(name)[:80]
    return cast(Gpu | None, _looked_up(given, "gpu", _gpu, problems)), ""


@lru_cache(maxsize=256)
def _nearest(memory_bytes: int) -> Gpu:
    usable = [g for g in all_gpus() if g.vendor == "nvidia" and g.device_memory_bytes and g.fp16_flops]
    return min(usable, key=lambda g: (abs((g.device_memory_bytes or 0) - memory_bytes), g.name))


def _weights(model: Model, asked: str) -> str:
    if asked != "auto":
        return asked
    return model.quantization.weights if model.quantization else "bf16"


def _looked_up(given: Mapping[str, Any], key: str, find: Any, problems: list[Problem]) -> Model | Gpu | None:
    value = given.get(key)
    if not isinstance(value, str) or not value:
        problems.append(Problem("is needed as text", field=key, value=None if value is None else str(value)[:80]))
        return None
    try:
        return cast(Model | Gpu, find(value))
    except InputError as err:
        problems += [Problem(p.message, key, p.file, p.line, p.value, p.legal, p.fix) for p in err.problems]
        return None


def _count(given: Mapping[str, Any], key: str, problems: list[Problem]) -> int | None:
    value = given.get(key)
    if value is None:
        return None
    low, high = _COUNTS[key]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        problems.append(Problem(f"wants a whole number from {low} to {high}", field=key, value=str(value)[:40]))
        return None
    return value


def _share(given: Mapping[str, Any], problems: list[Problem]) -> float | None:
    value = given.get("gpu_memory_utilization")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        problems.append(Problem("wants a number above 0 and at most 1", field="gpu_memory_utilization", value=str(value)[:40]))
        return None
    return float(value)


def _choice(given: Mapping[str, Any], key: str, problems: list[Problem]) -> str | None:
    value = given.get(key)
    if value is None:
        return None
    legal = _TEXTS[key]
    if not isinstance(value, str) or value.lower() not in legal:
        problems.append(Problem("is not known", field=key, value=str(value)[:40], legal=legal))
        return None
    return value.lower()
