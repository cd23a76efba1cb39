"""Bytes of weights on each GPU: precision by tensor, sharding, padding, and the allocator's rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from inferform.catalog.quantization import default_parts
from inferform.catalog.types import Model, QuantizedPart, Tensor

MIB = 2**20
VOCAB_PADDING = 64
# Kernels for MXFP4 experts want the width of an expert per rank in whole multiples of this.
MXFP4_PADDING = 256
SIXTEEN_BIT = frozenset({"bf16", "fp16"})
_FUSED = {"q_proj": "qkv", "k_proj": "qkv", "v_proj": "qkv", "gate_proj": "gate_up", "up_proj": "gate_up", "in_proj_qkv": "in", "in_proj_z": "in"}
_SCALE_BITS = {"awq": 20, "gptq": 20, "nvfp4": 8, "mxfp4": 8}
# A 4-bit zero point is among the bits of awq and gptq.
_ZERO_BITS = {"awq": 4, "gptq": 4}


@dataclass(frozen=True, slots=True)
class ShardedWeights:
    """Bytes on one tensor-parallel rank: each layer, what comes before the first and what comes after the last."""

    layers: tuple[int, ...]
    first: int
    last: int
    everywhere: int

    def stage(self, start: int, end: int) -> int:
        """Bytes of the pipeline stage that holds layers start..end-1."""
        total = sum(self.layers[start:end]) + self.everywhere
        return total + (self.first if start == 0 else 0) + (self.last if end == len(self.layers) else 0)


def padded_vocab(vocab: int) -> int:
    """Rows of embedding and head after padding to whole multiples of 64 (FC-02)."""
    return math.ceil(vocab / VOCAB_PADDING) * VOCAB_PADDING


def allocated(size: int) -> int:
    """Bytes that PyTorch's allocator books for one tensor.

    Above 10 MiB it asks for whole multiples of 2 MiB and keeps a rest of up to 1 MiB with the tensor; a larger rest is split off.
    Checked against Qwen2.5-7B: 14.25 GiB printed, 14.19 GiB of parameters.
    """
    if size < 10 * MIB:
        return math.ceil(size / 512) * 512
    rest = -size % (2 * MIB)
    return size + rest if rest <= MIB else math.ceil(size / 512) * 512


@lru_cache(maxsize=1024)
def pipeline_stages(layers: int, pp: int) -> tuple[tuple[int, int], ...]:
    """(first layer, end) of each stage as vLLM divides them: the rest goes to the stages before the last, which has the head."""
    sizes = [layers // pp] * pp
    for i in range(2, layers % pp + 2):
        sizes[-i] += 1
    ends = [sum(sizes[: i + 1]) for i in range(pp)]
    return tuple(zip([0, *ends[:-1]], ends, strict=True))


def quantized_parts(model: Model, weights: str) -> dict[str, tuple[QuantizedPart, ...]]:
    """Tensor name -> how it is quantized: the checkpoint's own statement where it has this precision, else the usual coverage."""
    own = model.quantization
    parts = own.parts if own is not None and own.weights == weights else default_parts(weights, model.tensors)
    found: dict[str, tuple[QuantizedPart, ...]] = {}
    for part in parts:
        found[part.tensor] = (*found.get(part.tensor, ()), part)
    return found


@lru_cache(maxsize=2048)
def sharded_weights(model: Model, weights: str, tp: int, ep: int = 1) -> ShardedWeights:
    """Bytes per layer on one rank of a tensor-parallel group; with `ep` above 1 whole experts are spread instead of cut.

    Norms, routers and latent projections are copied to every rank, key/value heads once there are more ranks than heads.
    """
    parts = quantized_parts(model, weights)
    # Projections that the engine fuses into one tensor are allocated together.
    fused: dict[tuple[tuple[int, ...], str], int] = {}
    first = last = 0
    for tensor in model.tensors:
        values = _rank_values(tensor, tp, ep, weights)
        own = parts.get(tensor.name, ())
        if not tensor.layers:
            size = allocated(_stored(tensor, values, own, None))
            first, last = (first + size, last) if tensor.part in {"embedding", "vision"} else (first, last + size)
            continue
        # Where a checkpoint quantizes only some layers, each layer is on its own.
        alike = (tensor.layers,) if all(not part.layers for part in own) else tuple((layer,) for layer in tensor.layers)
        for layers in alike:
            key = (layers, _fused_name(tensor.name))
            fused[key] = fused.get(key, 0) + _stored(tensor, values, own, layers[0])
    by_layer = [0] * model.layers
    for (layers, _), size in fused.items():
        booked = allocated(size)
        for layer in layers:
            by_layer[layer] += booked
    absorbed = _absorbed_projections(model, tp)
    for group in model.attention:
        if group.kind == "mla" and absorbed:
            for layer in group.indexes:
                by_layer[layer] += absorbed
    return ShardedWeights(tuple(by_layer), first, last, model.rope_bytes)


@lru_cache(maxsize=4096)
def stage_bytes(model: Model, weights: str, *, tp: int, ep: int, start: int, end: int) -> int:
    """Bytes on one rank of the pipeline stage that holds layers start..end-1, with the copy of a tied embedding on the last."""
    own = sharded_weights(model, weights, tp, ep).stage(start, end)
    return own + (tied_copy_bytes(model, tp) if start > 0 and end == model.layers else 0)


def tied_copy_bytes(model: Model, tp: int) -> int:
    """Bytes of the tied embedding that the last stage of a pipeline holds as its head."""
    if not model.tie_embeddings or model.encoder:
        return 0
    return allocated(padded_vocab(model.vocab) * model.hidden // tp * 2)


def _fused_name(name: str) -> str:
    prefix, _, leaf = name.rpartition(".")
    return f"{prefix}.{_FUSED.get(leaf, leaf)}"


def _rank_values(tensor: Tensor, tp: int, ep: int, weights: str) -> int:
    """Values of one layer's tensor on one rank."""
    rows, cols, copies = tensor.rows, tensor.cols, tensor.copies
    split = tensor.split
    if split == "vocab":
        rows = math.ceil(padded_vocab(rows) / tp)
    elif split in {"rows", "heads"} or (split == "replicated" and tensor.part == "vision"):
        rows = math.ceil(rows / tp)
    elif split == "cols":
        cols = math.ceil(cols / tp)
    elif split == "kv_heads":
        heads = rows // tensor.head_rows
        rows = max(1, math.ceil(heads / tp)) * tensor.head_rows
    elif split == "experts":
        if ep > 1:
            copies = math.ceil(copies / ep)
        inner_is_rows = not tensor.name.endswith("down_proj")
        inner = rows if inner_is_rows else cols
        inner = inner if ep > 1 else math.ceil(inner / tp)
        if weights == "mxfp4":
            inner = math.ceil(inner / MXFP4_PADDING) * MXFP4_PADDING
        rows, cols = (inner, cols) if inner_is_rows else (rows, inner)
    return rows * cols * copies


def _stored(tensor: Tensor, values: int, parts: tuple[QuantizedPart, ...], layer: int | None) -> int:
    """Bytes of `values` weights of a tensor, scales included."""
    part = next((p for p in parts if layer is None or not p.layers or layer in p.layers), None)
    if part is None:
        return values * 2
    scale = _SCALE_BITS.get(part.method, 0) - (0 if part.zero_points else _ZERO_BITS.get(part.method, 0))
    scale_bits = scale / part.group_size if part.group_size else 0.0
    channels = values // max(1, tensor.cols) * 4 if part.bits == 8 else 0
    return math.ceil(values * (part.bits + scale_bits) / 8) + channels


def _absorbed_projections(model: Model, tp: int) -> int:
    """Bytes a layer of the 16-bit copies that latent attention keeps of its key and value up-projections."""
    if model.mla is None:
        return 0
    heads = math.ceil(model.heads / tp)
    return allocated(heads * (model.mla.qk_nope_head_dim + model.mla.v_head_dim) * model.mla.kv_lora_rank * 2)


def total_weights_bytes(model: Model, weights: str) -> int:
    """Bytes of the whole model in one precision, as stored by one GPU that holds it all, without rotary tables."""
    sharded = sharded_weights(model, weights, 1)
    return sharded.stage(0, model.layers) - sharded.everywhere
