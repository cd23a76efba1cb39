"""In words: what keeps a model from fitting a GPU, and which single changes would help."""

from __future__ import annotations

from dataclasses import replace

from inferform.catalog.types import Gpu
from inferform.quantities import format_bytes
from inferform.sizing.memory_rank import RankNeed, holds_one_request, tightest_rank
from inferform.sizing.memory_settings import MemoryRequest, Settings, settle
from inferform.sizing.parallelism import legal_degrees
from inferform.sizing.precision import METHODS, check_precision

_NODE_GPUS = 8
_FEWER_SEQUENCES = 64


def explain(settings: Settings, need: RankNeed) -> tuple[str, ...]:
    """The obstacle with needed and available bytes, then every change that makes one full-length request fit."""
    found = [_obstacle(settings, need)]
    longest = need.pool.longest(need.blocks, settings.max_num_batched_tokens, settings.max_model_len) if need.pool.block_bytes else 0
    if longest:
        found.append(f"max_model_len {longest} is the longest that fits (whole blocks of 16 tokens)")
    found += [
        f"{text}: room for {room:.1f} requests of {settings.max_model_len} tokens" for text, changed in _changes(settings) if (room := _room(changed)) >= 1
    ]
    if len(found) == 1:
        found.append(
            "no single change of precision, tensor parallelism or batch limits makes it fit; take larger GPUs, or more of them with pipeline parallelism"
        )
    return tuple(found)


def _obstacle(settings: Settings, need: RankNeed) -> str:
    have = f"{settings.gpu_name} gives {settings.budget_bytes} bytes ({format_bytes(settings.budget_bytes)}, {settings.share:g} of {format_bytes(settings.device_bytes)})"
    parts = f"weights {format_bytes(need.weights)}, activations {format_bytes(need.activation)} and runtime {format_bytes(need.runtime)}"
    if need.available <= 0 or not need.pool.block_bytes:
        total = settings.budget_bytes - need.available
        return f"{parts} need {total} bytes ({format_bytes(total)}) a GPU; {have}"
    wanted = need.pool.needed_blocks(settings.max_model_len, settings.max_num_batched_tokens) * need.pool.block_bytes
    return (
        f"one request of {settings.max_model_len} tokens needs {wanted} bytes ({format_bytes(wanted)}) of KV cache, "
        f"{need.available} bytes ({format_bytes(need.available)}) are available: {have}, {parts} are taken"
    )


def _room(request: MemoryRequest) -> float:
    """Full-length requests that fit after a change; below 1 it does not help."""
    settings = settle(request)
    need = tightest_rank(settings)
    if not need.pool.block_bytes:
        return float(settings.max_num_seqs) if holds_one_request(settings, need) else 0.0
    return need.blocks / need.pool.needed_blocks(settings.max_model_len, settings.max_num_batched_tokens)


def _changes(settings: Settings) -> list[tuple[str, MemoryRequest]]:
    """Single changes worth trying, cheapest first; never a higher utilization."""
    request = settings.request
    changes: list[tuple[str, MemoryRequest]] = []
    if settings.max_num_seqs > _FEWER_SEQUENCES:
        changes.append((f"max_num_seqs {_FEWER_SEQUENCES} makes it fit", replace(request, max_num_seqs=_FEWER_SEQUENCES)))
    if request.kv_cache in {"auto", "bf16", "fp16"} and request.model.mla is None:
        changes.append(("kv_cache fp8 makes it fit", replace(request, kv_cache="fp8")))
    narrower = [name for name in ("fp8", "int8", "awq", "nvfp4") if METHODS[name].bits < METHODS[settings.weights].bits]
    usable = [name for name in narrower if request.gpu is None or _runs(request, request.gpu, name)]
    changes += [(f"{name} weights make it fit", replace(request, weights=name)) for name in usable]
    # A slice of a card is all that a process sees (FC-31), so no other degree helps there.
    sliced = request.gpu is not None and "/" in request.gpu.name
    degrees = [] if sliced else [tp for tp in legal_degrees(request.model, _NODE_GPUS, weights=settings.weights, ep=request.ep) if tp > request.tp]
    wider = next((tp for tp in degrees if _room(replace(request, tp=tp)) >= 1), None)
    if wider is not None:
        changes.append((f"tensor parallelism {wider} makes it fit", replace(request, tp=wider)))
    return changes


def _runs(request: MemoryRequest, gpu: Gpu, weights: str) -> bool:
    """Whether the card can serve the model in this precision (FC-05)."""
    checked = check_precision(request.model, gpu, weights=weights, kv_cache=request.kv_cache, engine=request.engine, engine_version=request.engine_version)
    return not checked.problems
