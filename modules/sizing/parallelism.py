"""Which parallel degrees a model allows: whole heads, whole vocabulary shards, whole quantization blocks."""

from __future__ import annotations

import math
from functools import lru_cache

from inferform.catalog.types import Model
from inferform.errors import Problem
from inferform.sizing.memory_constants import constants
from inferform.sizing.weights import padded_vocab


@lru_cache(maxsize=4096)
def legal_degrees(model: Model, gpus_per_node: int, *, weights: str = "auto", ep: int = 1) -> tuple[int, ...]:
    """Tensor-parallel degrees that the model allows and that divide a node, smallest first.

    Degrees that do not divide the node would leave GPUs over or split a replica unevenly.
    """
    return tuple(
        tp
        for tp in range(1, gpus_per_node + 1)
        if gpus_per_node % tp == 0 and heads_fit(model, tp) and padded_vocab(model.vocab) % tp == 0 and not _broken_blocks(model, tp, ep, weights)
    )


@lru_cache(maxsize=4096)
def heads_fit(model: Model, tp: int) -> bool:
    """Attention is cut by whole query heads; key/value heads are cut or copied evenly."""
    return not _uneven_heads(model, tp) and not _uneven_kv_heads(model, tp)


def _uneven_heads(model: Model, tp: int) -> int | None:
    """The first head count that tp does not divide; None when all are divided."""
    counts = [tensor.rows // tensor.head_rows for tensor in model.tensors if tensor.split == "heads"] or [model.heads]
    return next((count for count in counts if count % tp), None)


def _uneven_kv_heads(model: Model, tp: int) -> int | None:
    counts = [tensor.rows // tensor.head_rows for tensor in model.tensors if tensor.split == "kv_heads"]
    return next((count for count in counts if count % tp and tp % count), None)


def check_parallelism(
    model: Model,
    *,
    tp: int,
    pp: int = 1,
    ep: int = 1,
    weights: str = "auto",
    gpus_per_node: int = 8,
    engine_version: str | None = None,
    field: str = "parallelism",
) -> list[Problem]:
    """What forbids these degrees, each with the legal ones; empty when nothing does. `field` is the path above the fields named.

    FC-01 heads, FC-02 padded vocabulary, FC-04 blocks of an FP8 checkpoint.
    """
    problems = []
    above = f"{field}." if field else ""
    legal = tuple(str(degree) for degree in legal_degrees(model, gpus_per_node, weights=weights, ep=ep))
    fix = f"choose tp from {', '.join(legal)}"
    heads, kv_heads = _uneven_heads(model, tp), _uneven_kv_heads(model, tp)
    if heads is not None:
        problems.append(
            Problem(f"{heads} attention heads cannot be split over {tp} GPUs: {heads} % {tp} = {heads % tp}", f"{above}tp", value=str(tp), legal=legal, fix=fix)
        )
    elif kv_heads is not None:
        problems.append(
            Problem(f"{kv_heads} key/value heads can neither be split nor copied evenly over {tp} GPUs", f"{above}tp", value=str(tp), legal=legal, fix=fix)
        )
    padded = padded_vocab(model.vocab)
    if padded % tp:
        message = f"the vocabulary of {model.vocab}, padded to {padded}, cannot be split over {tp} GPUs: {padded} % {tp} = {padded % tp}"
        problems.append(Problem(message, f"{above}tp", value=str(tp), legal=legal, fix=fix))
    if not pads_partial_blocks(engine_version):
        problems += [
            Problem(message, f"{above}tp", value=str(tp), legal=legal, fix=_instead(model, tp * pp, gpus_per_node, weights, ep))
            for message in _broken_blocks(model, tp, ep, weights)
        ]
    if pp > model.layers:
        problems.append(
            Problem(f"{pp} pipeline stages are more than the {model.layers} layers", f"{above}pp", value=str(pp), fix=f"choose pp up to {model.layers}")
        )
    experts = model.moe.experts if model.moe is not None else 0
    if ep > 1 and ep > experts:
        what = f"{ep} expert-parallel ranks are more than the {experts} experts" if experts else "the model has no experts to spread"
        problems.append(Problem(what, f"{above}ep", value=str(ep), fix=f"choose ep up to {experts}" if experts else "leave ep at 1"))
    return problems


def pads_partial_blocks(engine_version: str | None) -> bool:
    """Whether the catalogue lists an engine version as one that pads shards smaller than a quantization block."""
    return engine_version in constants()["vllm"]["pads_partial_fp8_blocks"]


def _broken_blocks(model: Model, tp: int, ep: int, weights: str) -> list[str]:
    """Every MLP width that does not leave whole blocks on each rank of a block-quantized FP8 checkpoint."""
    own = model.quantization
    if own is None or own.block is None or weights not in {"auto", own.weights} or own.weights != "fp8":
        return []
    block = own.block[0]
    widths = {"dense MLP": max((t.rows for t in model.tensors if t.part == "mlp" and t.split == "rows"), default=0)}
    if model.moe is not None:
        widths["shared expert"] = model.moe.shared_intermediate
        # Expert parallelism keeps experts whole, but shared experts and dense layers are still cut.
        widths["experts"] = model.moe.intermediate if ep == 1 else 0
    return [
        f"the {layer} of width {width} gives {_plain(width / tp)} a rank at tp {tp}, not a multiple of the {block} x {block} quantization block"
        for layer, width in widths.items()
        if width and (width % tp or (width // tp) % block)
    ]


def _plain(value: float) -> str:
    return f"{value:g}" if value == math.floor(value) else f"{value:.1f}"


def _instead(model: Model, gpus: int, gpus_per_node: int, weights: str, ep: int) -> str:
    """The largest legal tp and the pipeline that keeps the same GPUs."""
    degrees = [tp for tp in legal_degrees(model, gpus_per_node, weights=weights, ep=ep) if gpus % tp == 0]
    if not degrees:
        return "choose another precision"
    best = max(degrees)
    return f"use tp {best} with pp {gpus // best} for the same {gpus} GPUs" if gpus > best else f"use tp {best}"
