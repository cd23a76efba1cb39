"""Time of one engine step on the busiest GPU of a replica, from what the step computes, reads and sends.

A step runs some sequences by one token each and may carry prompt tokens as well (chunked prefill mixes both). Its time is

  matrix products   the slower of arithmetic and weight reads, smoothly joined; experts by how many of them the batch touches
  + attention       prompt arithmetic and KV cache reads
  + pointwise work  norms, activations, quantization: memory traffic of the hidden state, which TP does not divide
  + all-reduce      two a layer over the TP group: latency, volume, and ring set-up for large messages
  + launch gaps     a little for every layer, and the engine's own work for each step and sequence

Efficiencies are fitted, everything else is counted. `data/performance_constants.json` holds the fitted values with the ids of
the measured rows that fitted them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Literal, NamedTuple

from inferform.catalog.types import Gpu, Model

Link = Literal["none", "pcie", "nvlink", "nvswitch"]
# Bytes of one weight in GPU memory, scales included: groups of 128 for int4, 16 for nvfp4, 32 for mxfp4.
WEIGHT_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "awq": 0.516, "gptq": 0.516, "nvfp4": 0.5625, "mxfp4": 0.53125}
ONE_BYTE_KV = frozenset({"fp8", "fp8_e4m3", "fp8_e5m2", "int8"})
# One direction of an x16 slot.
PCIE_BYTES_PER_S = {3: 16e9, 4: 32e9, 5: 64e9, 6: 128e9}
# Two overlapping limits a and b take (a^4 + b^4)^(1/4).
_SHARP = 4.0
# Above this message size an all-reduce leaves the one-shot kernels for a ring, whose set-up grows with the group.
_RING_BYTES = 16e6
# Prompt chunks above the captured CUDA graph sizes run kernel by kernel.
_GRAPH_TOKENS = 256
# A stage hands the hidden state of its micro-batch to the next over the network: latency of one send, seconds.
_HOP_LATENCY_S = 30e-6


class Constants(NamedTuple):
    """Fitted values by name, and where they come from."""

    values: dict[str, float]
    source: str


@cache
def constants() -> Constants:
    """The fitted constants that ship with the package."""
    text = resources.files("inferform.sizing.data").joinpath("performance_constants.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return Constants({name: entry["value"] for name, entry in data["constants"].items()}, data["source"])


@dataclass(frozen=True, slots=True)
class Layout:
    """One replica: the GPU, how the model is cut over GPUs, and how they are wired.

    `dp` ranks inside the replica run attention on sequences of their own and share the experts, which lie whole on `ep` ranks (1:
    experts are cut like everything else). `hop_bytes_per_s` is the link between pipeline stages (the network when stages sit on
    different nodes).
    """

    gpu: Gpu
    link: Link
    tp: int
    pp: int
    weights: str
    kv_cache: str
    engine: str
    hop_bytes_per_s: float = 25e9
    dp: int = 1
    ep: int = 1


@dataclass(frozen=True, slots=True)
class AttentionCost:
    """Attention layers of one kind on one GPU and stage; they look at most `window` tokens back (None: all)."""

    kv_s_per_token: float
    prompt_s_per_pair: float
    window: int | None


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Seconds that one step of one pipeline stage costs on one data-parallel rank, by cause.

    Multiply by `stages` for a token's way through all stages. `expert_ranks` ranks decide together which experts a step touches, and
    this rank holds `expert_share` of them. `measured_step_s` takes the place of the whole count: seconds by (decode, context, prompt,
    prompt_context) of `step_s`.
    """

    stages: int
    dense_s_per_token: float
    dense_read_s: float
    experts: int
    experts_per_token: int
    expert_s_per_token: float
    expert_read_s: float
    expert_ranks: int
    expert_share: float
    head_s_per_sequence: float
    head_read_s: float
    attention: tuple[AttentionCost, ...]
    state_s_per_sequence: float
    pointwise_s_per_token: float
    message_bytes_per_token: float
    sends: float
    send_latency_s: float
    ring_s: float
    send_s_per_token: float
    hop_s_per_token: float
    launch_s: float
    eager_s: float
    sequence_s: float
    host_s_per_sequence: float
    measured_step_s: Callable[[float, float, float, float], float] | None = None


def family(gpu: Gpu) -> str:
    """Which fitted set a GPU uses: its architecture, with the GDDR parts of Blackwell apart from the HBM parts."""
    arch = gpu.arch.split("-")[0]
    if arch == "blackwell" and (gpu.compute_capability or 0) >= 12:
        return "blackwell_gddr"
    return arch if arch in {"ampere", "ada", "hopper", "blackwell"} else "ampere"


def compute_type(gpu: Gpu, weights: str) -> str:
    """The type that matrix products run in: weight-only formats, and formats the GPU lacks, run in 16 bit (FC-05)."""
    if weights == "fp8" and gpu.native_fp8 and gpu.fp8_flops:
        return "fp8"
    if weights == "int8" and gpu.int8_ops and gpu.arch != "blackwell-ultra":
        return "int8"
    if weights in {"nvfp4", "mxfp4"} and gpu.native_fp4 and gpu.fp4_flops:
        return "fp4"
    return "fp16"


def peak_flops(gpu: Gpu, kind: str) -> float:
    """Dense peak of a compute type, operations per second."""
    peak = {"fp8": gpu.fp8_flops, "int8": gpu.int8_ops, "fp4": gpu.fp4_flops}.get(kind) or gpu.fp16_flops
    if not peak:
        raise ValueError(f"{gpu.name}: the catalogue has no {kind} peak")
    return peak


def default_link(gpu: Gpu, gpus: int) -> Link:
    """How cards of one node are usually wired: NVSwitch for SXM boards, PCIe otherwise."""
    if gpus == 1:
        return "none"
    board = gpu.nvlink_bytes_per_s_per_gpu > 0 and "PCIe" not in gpu.name and "NVL" not in gpu.name
    return "nvswitch" if board else "pcie"


def step_costs(model: Model, layout: Layout, fitted: Constants | None = None) -> StepCosts:
    """What a step costs for this model on this layout.

    Shape: per GPU and pipeline stage; parameters are counted from the model's totals, so that every architecture adds up.
    """
    return _costs(model, layout) if fitted is None else _build(model, layout, fitted.values)


@lru_cache(maxsize=4096)
def _costs(model: Model, layout: Layout) -> StepCosts:
    return _build(model, layout, constants().values)


def _build(model: Model, layout: Layout, fit: dict[str, float]) -> StepCosts:
    gpu, tp, pp = layout.gpu, layout.tp, layout.pp
    group = family(gpu)
    kind = compute_type(gpu, layout.weights)
    ranks = tp * pp
    layers = model.layers / pp
    bandwidth = gpu.memory_bandwidth_bytes_per_s
    read = bandwidth * fit[f"read_{group}"]
    weight_bytes = WEIGHT_BYTES[layout.weights]

    embedding = model.vocab * model.hidden
    moe = model.moe
    expert = (3 if model.gated_mlp else 2) * model.hidden * moe.intermediate if moe else 0
    experts = moe.experts * moe.moe_layers if moe else 0
    core = max(0, model.total_params - embedding * (1 if model.tie_embeddings else 2) - expert * experts - model.vision_params)
    width = (moe.intermediate if moe else model.intermediate) or model.hidden

    # A matrix cut into narrow slices keeps its tiles and epilogues: efficiency falls with the slice.
    flops = peak_flops(gpu, kind) * fit[f"compute_{group}_{kind}"] / (1 + fit["narrow_columns"] * tp / width)
    flops16 = peak_flops(gpu, "fp16") * fit[f"compute_{group}_fp16"]

    expert_read = expert_token = 0.0
    if moe:
        int4 = fit["expert_int4_read"] if layout.weights in {"awq", "gptq"} else 1.0
        # Whole experts on each rank, or a slice of every expert.
        slices = pp if layout.ep > 1 else ranks
        expert_read = expert * weight_bytes * moe.moe_layers / slices / read / int4
        expert_token = 2 * expert * moe.experts_per_token * moe.moe_layers / ranks / flops / fit[f"expert_compute_{kind}"]

    kv_bytes = 1 if layout.kv_cache in ONE_BYTE_KV else 2
    kv_read = bandwidth * fit[f"kv_{group}_{kv_bytes}"]
    prompt_flops = peak_flops(gpu, "fp16") * fit[f"attention_{group}"]
    if kv_bytes == 1 and gpu.native_fp8 and layout.engine == "tensorrt-llm":
        prompt_flops *= fit["attention_fp8_context"]
    attention, state_s = _attention(model, tp, pp, kv_bytes=kv_bytes, kv_read=kv_read, prompt_flops=prompt_flops, bandwidth=bandwidth)

    active = moe.intermediate * moe.experts_per_token + moe.shared_intermediate if moe else model.intermediate
    projected = (model.heads + 2 * model.kv_heads) * model.head_dim
    pointwise = layers * 2 * (fit["hidden_passes"] * model.hidden + 3 * active / tp + 4 * projected / tp) / read

    latency, ring, per_token = _all_reduce(model.hidden * 2.0, gpu, layout.link, tp, fit)
    sends, message = (2 * layers if tp > 1 else 0.0), model.hidden * 2.0
    if moe and layout.dp > 1:
        # Tokens travel to the ranks of their experts (8-bit) and back (16-bit), in every layer with experts.
        width_out = model.hidden * 3.0 * min(moe.experts_per_token, layout.ep) * (layout.ep - 1) / max(1, layout.ep)
        latency, ring, _ = _all_reduce(message, gpu, layout.link, layout.dp, fit)
        sends, per_token = 2 * moe.moe_layers / pp, width_out / 2 / _link_rate(gpu, layout.link, fit)
    engine = layout.engine if f"layer_us_{layout.engine}" in fit else "vllm"
    gaps = layers * fit[f"layer_us_{engine}"] + (moe.moe_layers / pp * fit["expert_layer_us"] if moe else 0)
    # The Arm host of the GB parts runs the single-threaded scheduler slower.
    host = fit[f"host_sequence_us_{engine}"] * (fit["host_grace"] if gpu.name.startswith(("GB", "GH")) else 1)
    return StepCosts(
        stages=pp,
        dense_s_per_token=2 * core / ranks / flops,
        dense_read_s=core * weight_bytes / ranks / read,
        experts=moe.experts if moe else 0,
        experts_per_token=moe.experts_per_token if moe else 0,
        expert_s_per_token=expert_token,
        expert_read_s=expert_read,
        expert_ranks=layout.dp if layout.ep > 1 else 1,
        expert_share=1 / layout.ep if layout.ep > 1 else 1.0,
        head_s_per_sequence=2 * embedding / tp / flops16,
        head_read_s=embedding * 2 / tp / read,
        attention=attention,
        state_s_per_sequence=state_s,
        pointwise_s_per_token=pointwise,
        message_bytes_per_token=message,
        sends=sends,
        send_latency_s=latency,
        ring_s=ring,
        send_s_per_token=per_token,
        hop_s_per_token=model.hidden * 2.0 / layout.hop_bytes_per_s if pp > 1 else 0.0,
        launch_s=(gaps + fit[f"step_us_{engine}"]) * 1e-6 + (_HOP_LATENCY_S if pp > 1 else 0.0),
        eager_s=layers * fit["eager_layer_us"] * 1e-6,
        sequence_s=fit[f"sequence_us_{engine}"] * 1e-6,
        host_s_per_sequence=host * 1e-6,
    )


def _attention(
    model: Model, tp: int, pp: int, *, kv_bytes: int, kv_read: float, prompt_flops: float, bandwidth: float
) -> tuple[tuple[AttentionCost, ...], float]:
    """Costs of each kind of attention layer, and of recurrent states, on one GPU and stage."""
    found: list[AttentionCost] = []
    state_s = 0.0
    for group in model.attention:
        layers = group.layers / pp
        if group.kind in {"full", "sliding", "chunked"}:
            # Heads are replicated, not split further, once there are more ranks than KV heads.
            heads = max(1.0, group.kv_heads / tp)
            value_dim = group.v_head_dim or group.head_dim
            read = heads * (group.head_dim + value_dim) * kv_bytes * layers / kv_read
            pair = 2 * model.heads / tp * (group.head_dim + value_dim) * layers / prompt_flops
            found.append(AttentionCost(read, pair, None if group.kind == "full" else group.window_tokens))
        elif group.kind == "mla" and model.mla:
            mla = model.mla
            dims = mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim
            found.append(AttentionCost(group.latent_dim * kv_bytes * layers / kv_read, 2 * model.heads / tp * dims * layers / prompt_flops, None))
        elif group.kind in {"linear", "mamba"}:
            # The state is read and written for every generated token.
            state_s += 2 * group.state_bytes * layers / tp / (bandwidth * 0.6)
    return tuple(found), state_s


def _all_reduce(message_bytes: float, gpu: Gpu, link: Link, tp: int, fit: dict[str, float]) -> tuple[float, float, float]:
    """(latency s, extra seconds of a ring at full message size, seconds per token) of one all-reduce."""
    if tp == 1:
        return 0.0, 0.0, 0.0
    rate = _link_rate(gpu, link, fit)
    if _over_pcie(gpu, link):
        latency, ring = fit["pcie_latency_us"] * (tp.bit_length() - 1), fit["pcie_ring_us"] * tp
    else:
        latency, ring = fit["nvlink_latency_us"], fit["nvlink_ring_us"] * tp
    return latency * 1e-6, ring * 1e-6, 2 * (tp - 1) / tp * message_bytes / rate


def _over_pcie(gpu: Gpu, link: Link) -> bool:
    return link in {"pcie", "none"} or not gpu.nvlink_bytes_per_s_per_gpu


def _link_rate(gpu: Gpu, link: Link, fit: dict[str, float]) -> float:
    """Bytes a second that one GPU sends; the catalogue's NVLink figure counts both directions."""
    if _over_pcie(gpu, link):
        return PCIE_BYTES_PER_S.get(gpu.pcie_gen or 4, 32e9) * fit["pcie_rate"]
    return gpu.nvlink_bytes_per_s_per_gpu / 2 * fit["nvlink_rate"]


def _join(a: float, b: float) -> float:
    """The slower of two overlapping limits, rounded where they cross."""
    if a == 0 or b == 0:
        return a + b
    return float((a**_SHARP + b**_SHARP) ** (1 / _SHARP))


def step_s(costs: StepCosts, *, decode: float, context: float, prompt: float = 0.0, prompt_context: float = 0.0, prompts: float = 0.0) -> float:
    """Seconds of one step of one stage.

    `decode` sequences advance by a token with `context` tokens behind them; `prompt` prompt tokens see `prompt_context`
    tokens on average; `prompts` of them end a prompt and are sampled.
    """
    c = costs
    if c.measured_step_s is not None:
        return c.measured_step_s(decode, context, prompt, prompt_context)
    tokens = decode + prompt
    sampled = decode + prompts
    busy = _join(c.dense_s_per_token * tokens, c.dense_read_s)
    if c.experts:
        # A batch touches this many experts of each layer when tokens choose independently.
        touched = c.experts * c.expert_share * (1 - (1 - c.experts_per_token / c.experts) ** (tokens * c.expert_ranks))
        busy += _join(c.expert_s_per_token * tokens, c.expert_read_s * touched)
    busy += _join(c.head_s_per_sequence * sampled, c.head_read_s)
    for a in c.attention:
        window = a.window
        behind, before = (context, prompt_context) if window is None else (min(context, window), min(prompt_context, window))
        busy += decode * behind * a.kv_s_per_token + prompt * before * a.prompt_s_per_pair
    busy += decode * c.state_s_per_sequence + tokens * (c.pointwise_s_per_token + c.hop_s_per_token)
    if c.sends:
        size = tokens * c.message_bytes_per_token
        busy += c.sends * (c.send_latency_s + c.ring_s * min(1.0, size / _RING_BYTES) + c.send_s_per_token * tokens)
    busy += c.launch_s + decode * c.sequence_s + (c.eager_s if prompt > _GRAPH_TOKENS else 0.0)
    # The scheduler prepares the next step while the GPU works, so only what is longer shows.
    return _join(busy, sampled * c.host_s_per_sequence)
