"""The shapes of catalogue facts. Data lives in `catalog/data/`, look-ups in the sibling modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Mean difference between nvidia-smi and the total that processes saw on ten kinds of cards (0.26 to 0.80 GiB).
DRIVER_RESERVE_BYTES = 550 * 2**20


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator. Peaks are dense (no sparsity); None means not known.

    `memory_bytes` is the total that the driver reports (nvidia-smi); `cuda_memory_bytes` the smaller total that a process on
    the card sees, which engines budget against. `memory_bandwidth_bytes_per_s` and the NVLink figure (both directions
    together) are vendor peaks.
    """

    name: str
    vendor: str
    arch: str
    compute_capability: float | None
    memory_bytes: int | None
    memory_bandwidth_bytes_per_s: float
    fp16_flops: float | None
    fp8_flops: float | None
    int8_ops: float | None
    fp4_flops: float | None
    native_fp8: bool
    native_fp4: bool
    nvlink_bytes_per_s_per_gpu: float
    pcie_gen: int | None
    source: str
    read: str
    cuda_memory_bytes: int | None = None
    marketing_memory_bytes: int | None = None
    native_bf16: bool = True
    notes: str = ""

    @property
    def device_memory_bytes(self) -> int | None:
        """The total an engine budgets against: the one processes were seen to get, else the driver's less its usual reserve."""
        if self.cuda_memory_bytes is not None or self.memory_bytes is None:
            return self.cuda_memory_bytes
        return self.memory_bytes - DRIVER_RESERVE_BYTES


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance type. `interconnect`: none (one GPU), pcie, nvlink (not all-to-all), nvswitch (all-to-all).

    `gpu_share` below 1 is a slice of one card (vGPU): `gpu_count` is then 1 and the card's own figures do not apply.
    """

    name: str
    provider: str
    gpu: str | None
    gpu_count: int
    interconnect: Literal["none", "pcie", "nvlink", "nvswitch", "neuronlink"]
    vcpus: int
    memory_bytes: int
    local_nvme_count: int
    local_nvme_bytes: int
    network_bytes_per_s: float
    efa_interfaces: int
    network_cards: int
    cluster_placement: bool
    capacity_blocks: bool
    spot: bool
    max_enis: int | None
    max_pods: int | None
    arch: str
    source: str
    read: str
    gpu_share: float = 1.0
    notes: str = ""


@dataclass(frozen=True, slots=True)
class EfaLayout:
    """Elastic Fabric Adapter wiring of one instance type.

    `efa_cards` are the indexes of the network cards that take one EFA interface each; empty when the source does not say.
    Card 0 carries the primary (ENA) interface at device 0, so its EFA sits at device 1; every other card's at device 0.
    """

    instance_type: str
    network_cards: int | None
    interfaces: int
    efa_cards: tuple[int, ...]
    max_enis: int | None
    enis_per_card: int | None
    default_card: int
    ena_extra: str
    source: str
    read: str
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """USD an hour of one instance in one region and purchase."""

    instance_type: str
    region: str
    purchase: str
    usd_per_hour: float
    as_of: str
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class AttentionGroup:
    """Layers that keep the same kind of cache or state.

    full / sliding / chunked keep keys and values (sliding and chunked at most `window_tokens`); mla keeps one latent of
    `latent_dim` values a token (kv_lora_rank + qk_rope_head_dim); linear and mamba keep `state_bytes` a sequence and
    layer (at tp 1) whatever its length; none keeps nothing (an MLP-only layer of a hybrid, an encoder, a layer that reads
    another layer's cache). `index_bytes` a token and layer belong to a sparse-attention indexer; `compression` tokens share
    one stored entry. `indexes` are the layers of the group, 0-based.
    """

    kind: Literal["full", "sliding", "chunked", "mla", "linear", "mamba", "none"]
    layers: int
    kv_heads: int = 0
    head_dim: int = 0
    v_head_dim: int = 0
    window_tokens: int | None = None
    latent_dim: int = 0
    state_bytes: int = 0
    index_bytes: int = 0
    compression: int = 1
    indexes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Moe:
    """Mixture of experts: `moe_layers` layers of `experts` experts each, the remaining layers dense."""

    experts: int
    experts_per_token: int
    intermediate: int
    shared_intermediate: int
    moe_layers: int
    dense_layers: int


@dataclass(frozen=True, slots=True)
class Mla:
    kv_lora_rank: int
    q_lora_rank: int | None
    qk_rope_head_dim: int
    qk_nope_head_dim: int
    v_head_dim: int


Part = Literal["embedding", "head", "attention", "linear", "mamba", "mlp", "expert", "shared_expert", "router", "norm", "vision"]
Split = Literal["vocab", "rows", "cols", "heads", "kv_heads", "experts", "replicated"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Weights of one shape: `rows` x `cols` (out x in), `copies` times (experts) in each of `layers`.

    `layers` are 0-based; empty means once per model, before the first layer (`embedding`, `vision`) or after the last.
    `split` says how tensor parallelism divides it: vocab (padded rows), rows, cols, heads and kv_heads (rows in whole heads of
    `head_rows`; kv heads are copied once there are more ranks than heads), experts (rows or cols inside an expert, or whole
    experts under expert parallelism), replicated. `used` is the share that one token reads (top-k / experts).
    """

    name: str
    part: Part
    rows: int
    cols: int
    split: Split
    layers: tuple[int, ...] = ()
    copies: int = 1
    used: float = 1.0
    head_rows: int = 1

    @property
    def params(self) -> int:
        """Weights in the whole model."""
        return self.rows * self.cols * self.copies * max(1, len(self.layers))


@dataclass(frozen=True, slots=True)
class QuantizedPart:
    """Weights that the checkpoint stores in fewer bits: tensor name, method, bits, group size, and layers (empty: all).

    `zero_points` is False where each group of integers has a scale alone.
    """

    tensor: str
    method: str
    bits: int
    group_size: int | None
    layers: tuple[int, ...] = ()
    zero_points: bool = True


@dataclass(frozen=True, slots=True)
class CheckpointQuantization:
    """What the checkpoint itself says: method as vLLM names it, bits of a weight, group or block sizes, modules left in 16 bit.

    `weights` is the class used all over Inferform: fp8, int8, awq, gptq (any other int4), nvfp4 or mxfp4. `parts` lists the tensors that are
    quantized, after the ignore rules; a mixed checkpoint has parts of several methods and `weights` names the widest share.
    """

    method: str
    bits: int
    group_size: int | None
    block: tuple[int, int] | None
    ignored: tuple[str, ...]
    kv_cache: str | None
    weights: str = ""
    parts: tuple[QuantizedPart, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Architecture facts of one model, from its config.json or the catalogue.

    `tensors` hold every weight as a shape; `rope_bytes` are the rotary tables that every rank keeps. Models compare by identity:
    look-ups give the same object for the same source, which makes a model a cheap key.
    """

    id: str
    model_type: str
    architecture: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tie_embeddings: bool
    max_position: int
    dtype: str
    attention: tuple[AttentionGroup, ...]
    moe: Moe | None
    mla: Mla | None
    quantization: CheckpointQuantization | None
    vision_params: int
    encoder: bool
    gated_mlp: bool
    total_params: int
    active_params: int
    gated: bool
    source: str
    tensors: tuple[Tensor, ...] = ()
    vision_hidden: int = 0
    rope_bytes: int = 0
