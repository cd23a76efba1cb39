"""Which kind of attention and which kind of MLP each layer of a config.json has."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from inferform.catalog.config import Config

AttentionKind = Literal["full", "sliding", "chunked", "mla", "linear", "kda", "mamba", "mamba1", "linear_replacement", "none"]
MlpKind = Literal["dense", "moe", "dense+moe", "linear_replacement", "none"]
MOST_LAYERS = 2_000
# Keys of hybrids, and those of them that change no size where the state layers themselves are read.
_OTHER_LAYERS = re.compile(r"mamba_\w+|ssm_\w+|\w+_layer_period|attn_layer_indices|lru_width")
_NO_SIZE = {
    "mamba_act",
    "mamba_chunk_size",
    "mamba_conv_bias",
    "mamba_dt_limit",
    "mamba_dt_max",
    "mamba_dt_min",
    "mamba_expand",
    "mamba_hidden_act",
    "mamba_inner_layernorms",
    "mamba_norm_before_gate",
    "mamba_proj_bias",
    "mamba_rms_norm",
    "mamba_ssm_cache_dtype",
    "mamba_ssm_dtype",
}
ENCODERS = {"bert", "xlm-roberta", "roberta", "nomic_bert", "modernbert", "distilbert", "electra", "camembert", "gte", "new"}
_LAYER_TYPES: dict[str, AttentionKind] = {
    "full_attention": "full",
    "attention": "full",
    "sliding_attention": "sliding",
    "local_attention": "sliding",
    "global_attention": "full",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
    "mamba": "mamba",
    "mamba2": "mamba",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """The shape of one layer; layers that compare equal have the same tensors and the same cache."""

    attention: AttentionKind
    mlp: MlpKind
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    v_head_dim: int = 0
    window: int | None = None
    intermediate: int = 0
    key_is_value: bool = False
    reads_other_cache: bool = False
    compression: int = 1
    indexer: bool = False


def read_layers(config: Config) -> tuple[Layer, ...]:
    """One Layer per hidden layer, first layer first."""
    count = _layer_count(config)
    if config.first("block_configs"):
        return _searched_blocks(config, count)
    if config.first("hybrid_override_pattern", "layers_block_type"):
        return _one_block_layers(config)
    mlps = _mlp_kinds(config, count)
    plain = _plain(config)
    attentions = [_with_kind(config, plain, kind, i) for i, kind in enumerate(_attention_kinds(config, count))]
    dense = _dense_intermediate(config) if any("dense" in mlp for mlp in mlps) else 0
    shared = config.whole("num_kv_shared_layers", default=0, low=0, high=count)
    return tuple(
        replace(layer, mlp=mlp, intermediate=dense if "dense" in mlp else 0, reads_other_cache=i >= count - shared)
        for i, (layer, mlp) in enumerate(zip(attentions, mlps, strict=True))
    )


def refuse_unread(config: Config, layers: tuple[Layer, ...]) -> None:
    """A problem naming the keys that speak of layers of another kind and that no reader has looked at: such a model is no plain transformer."""
    has_state = any(layer.attention in {"mamba", "mamba1"} for layer in layers)
    keys = [key for key in config.unread() if _OTHER_LAYERS.fullmatch(key) and not (has_state and key in _NO_SIZE)]
    if keys:
        others = f", nor are {', '.join(keys[1:])[:300]}" if len(keys) > 1 else ""
        config.problem(
            keys[0], f"is not understood{others}: the model has layers that are no plain attention, and reading past them would give wrong sizes", config.values[keys[0]],
            fix="choose a model whose layers are known; take the keys out only if every layer is plain attention",
        )  # fmt: skip


def _layer_count(config: Config) -> int:
    pattern = config.values.get("hybrid_override_pattern") or config.values.get("layers_block_type")
    if isinstance(pattern, str | list) and 0 < len(pattern) <= MOST_LAYERS:
        return len(pattern)
    return config.whole("num_hidden_layers", "n_layer", "num_layers", "n_layers", high=MOST_LAYERS)


def _heads(config: Config) -> tuple[int, int, int]:
    """(query heads, key/value heads, head dimension)."""
    heads = config.whole("num_attention_heads", "n_head", "n_heads", high=100_000)
    hidden = config.whole("hidden_size", "n_embd", "d_model")
    kv_default = 1 if config.flag("multi_query", default=False) else heads
    kv_heads = config.whole("num_key_value_heads", "n_head_kv", "num_kv_heads", "multi_query_group_num", default=kv_default, high=100_000)
    head_dim = config.whole("head_dim", "attention_head_dim", default=0, low=0, high=100_000) or hidden // heads
    if head_dim < 1:
        config.problem("head_dim", f"is missing and hidden_size {hidden} is below the {heads} attention heads")
        head_dim = 1
    if kv_heads > heads or heads % kv_heads:
        config.problem("num_key_value_heads", f"must divide the {heads} attention heads", kv_heads)
        kv_heads = heads
    return heads, kv_heads, head_dim


def _plain(config: Config) -> Layer:
    if config.has("kv_lora_rank"):
        heads = config.whole("num_attention_heads", high=100_000)
        return Layer("mla", "none", heads=heads, kv_heads=1, head_dim=0, v_head_dim=0, indexer=config.has("index_n_heads"))
    heads, kv_heads, head_dim = _heads(config)
    v_head_dim = config.whole("v_head_dim", default=head_dim, high=100_000)
    return Layer("full", "none", heads=heads, kv_heads=kv_heads, head_dim=head_dim, v_head_dim=v_head_dim)


def _window(config: Config) -> int | None:
    """Sliding window in tokens; None when the model has none or keeps the whole context anyway."""
    if config.values.get("use_sliding_window") is False:
        return None
    key = config.first("sliding_window", "sliding_window_size")
    return config.whole(key) if key else None


def _attention_kinds(config: Config, count: int) -> list[AttentionKind]:
    family = config.text("model_type")
    if family in ENCODERS:
        return ["full"] * count
    main: AttentionKind = "mla" if config.has("kv_lora_rank") else "full"
    linear = config.part("linear_attn_config")
    if linear is not None:
        layers = set(linear.wholes("full_attn_layers", low=1) or ())
        return [main if i + 1 in layers else "kda" for i in range(count)]
    if config.has("layer_types"):
        return _listed(config, count)
    attending = _periodic(config, "attn_layer", count)
    if attending is not None:
        # The first generation of Mamba projects its step sizes through a low rank, the second has none.
        state: AttentionKind = "mamba1" if config.has("mamba_dt_rank") else "mamba"
        return [main if attends else state for attends in attending]
    if config.has("full_attention_interval"):
        every = config.whole("full_attention_interval")
        return [main if (i + 1) % every == 0 else "linear" for i in range(count)]
    pattern = config.wholes("hybrid_layer_pattern", high=1)
    if pattern is not None:
        return ["sliding" if i < len(pattern) and pattern[i] else "full" for i in range(count)]
    if config.has("attention_chunk_size") and family.startswith("llama4"):
        no_rope = config.wholes("no_rope_layers", high=1) or [int((i + 1) % 4 != 0) for i in range(count)]
        return ["chunked" if i < len(no_rope) and no_rope[i] else "full" for i in range(count)]
    window = _window(config)
    if window is None or main == "mla" or family == "deepseek_v4":
        return [main] * count
    every = {"gemma2": 2, "olmo3": 4, "cohere2": 4, "gemma3_text": 6}.get(family, 0)
    every = config.whole("sliding_window_pattern", "_sliding_window_pattern", default=every, low=0)
    if every:
        return ["full" if (i + 1) % every == 0 else "sliding" for i in range(count)]
    return ["sliding"] * count


def _periodic(config: Config, what: str, count: int) -> tuple[bool, ...] | None:
    """Jamba's spelling: the layers that are `<what>_offset` after a whole number of `<what>_period`; None where it is not used."""
    if not config.has(f"{what}_period"):
        return None
    period = config.whole(f"{what}_period", high=MOST_LAYERS)
    offset = config.whole(f"{what}_offset", default=0, low=0, high=MOST_LAYERS)
    return tuple(i % period == offset for i in range(count))


def _listed(config: Config, count: int) -> list[AttentionKind]:
    names = config.texts("layer_types")
    if len(names) < count:
        config.problem("layer_types", f"lists {len(names)} layers of {count}")
        return ["full"] * count
    unknown = sorted({name for name in names if name not in _LAYER_TYPES})
    if unknown:
        config.problem("layer_types", "holds unknown kinds", ", ".join(unknown)[:60], legal=tuple(sorted(_LAYER_TYPES)))
    mla = config.has("kv_lora_rank")
    kinds = [_LAYER_TYPES.get(name, "full") for name in names[:count]]
    return ["mla" if mla and kind == "full" else kind for kind in kinds]


def _with_kind(config: Config, plain: Layer, kind: AttentionKind, index: int) -> Layer:
    """The attention half of one layer."""
    if kind == "sliding":
        window = config.whole("sliding_window", "sliding_window_size")
        heads = _per_layer_heads(config, index, config.whole("swa_num_attention_heads", default=plain.heads, high=100_000))
        kv_heads = config.whole("swa_num_key_value_heads", default=plain.kv_heads, high=100_000)
        head_dim = config.whole("swa_head_dim", default=plain.head_dim, high=100_000)
        v_head_dim = config.whole("swa_v_head_dim", default=plain.v_head_dim, high=100_000)
        return replace(plain, attention=kind, heads=heads, kv_heads=kv_heads, head_dim=head_dim, v_head_dim=v_head_dim, window=window)
    if kind == "chunked":
        return replace(plain, attention=kind, window=config.whole("attention_chunk_size"))
    if kind == "full":
        heads = _per_layer_heads(config, index, plain.heads)
        kv_heads = config.whole("num_global_key_value_heads", default=plain.kv_heads, high=100_000)
        head_dim = config.whole("global_head_dim", default=plain.head_dim, high=100_000)
        v_head_dim = head_dim if config.has("global_head_dim") else plain.v_head_dim
        key_is_value = config.flag("attention_k_eq_v", default=False)
        layer = replace(plain, attention=kind, heads=heads, kv_heads=kv_heads, head_dim=head_dim, v_head_dim=v_head_dim, key_is_value=key_is_value)
        return _compressed(config, _sparse(config, layer, index), index)
    if kind == "mla":
        types = config.texts("indexer_types")
        return replace(plain, indexer=plain.indexer and (index >= len(types) or types[index] == "full"))
    return Layer(kind, "none", heads=plain.heads, kv_heads=plain.kv_heads, head_dim=plain.head_dim, v_head_dim=plain.v_head_dim)


def _per_layer_heads(config: Config, index: int, default: int) -> int:
    listed = config.wholes("num_attention_heads_per_layer", low=1, high=100_000)
    return listed[index] if listed and index < len(listed) else default


def _sparse(config: Config, layer: Layer, index: int) -> Layer:
    sparse = config.part("sparse_attention_config")
    if sparse is None:
        return layer
    listed = sparse.wholes("sparse_attention_freq", high=1)
    return replace(layer, indexer=bool(listed and index < len(listed) and listed[index]))


def _compressed(config: Config, layer: Layer, index: int) -> Layer:
    """Layers that keep one entry for several tokens, beside a window of recent ones."""
    ratios = config.wholes("compress_ratios")
    if ratios is None:
        return layer
    ratio = ratios[index] if index < len(ratios) else 0
    window = config.whole("sliding_window", default=128)
    # Ratio 0 keeps the window alone; the finest ratio is chosen through the sparse indexer.
    return replace(layer, window=window, compression=ratio, indexer=ratio > 1 and ratio == min((r for r in ratios if r), default=0))


def _dense_intermediate(config: Config) -> int:
    own = config.first("intermediate_size_mlp", "dense_intermediate_size")
    if own:
        return config.whole(own)
    hidden = config.whole("hidden_size", "n_embd", "d_model")
    fallback = 4 * hidden if config.first("n_embd", "n_inner") or config.has("ffn_hidden_size") else None
    if config.text("model_type") == "deepseek_v4":
        fallback = config.whole("moe_intermediate_size")
    return config.whole("intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim", default=fallback)


def expert_count(config: Config) -> int:
    """Routed experts of a MoE layer; 0 for dense models."""
    return config.whole("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts", default=0, low=0, high=100_000)


def _mlp_kinds(config: Config, count: int) -> list[MlpKind]:
    routed = _periodic(config, "expert_layer", count)
    if expert_count(config) < 2:
        return ["dense"] * count
    if routed is not None:
        return ["moe" if is_routed else "dense" for is_routed in routed]
    if config.flag("enable_moe_block", default=False):
        return ["dense+moe"] * count
    named = config.texts("mlp_layer_types")
    if named:
        return ["dense" if i < len(named) and named[i] == "dense" else "moe" for i in range(count)]
    listed = config.wholes("moe_layer_freq", high=1)
    if listed is not None:
        return ["moe" if i >= len(listed) or listed[i] else "dense" for i in range(count)]
    sparse = config.wholes("moe_layers")
    if sparse is not None:
        return ["moe" if i in sparse else "dense" for i in range(count)]
    first = config.whole("first_k_dense_replace", default=0, low=0)
    step = config.whole("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq", default=1, low=1)
    # DeepSeek counts its step from layer 0, the Qwen and Llama 4 families from the end of each group.
    offset = 0 if config.has("moe_layer_freq") else 1
    only_dense = set(config.wholes("mlp_only_layers") or ())
    return ["moe" if i >= first and (i + offset) % step == 0 and i not in only_dense else "dense" for i in range(count)]


def _one_block_layers(config: Config) -> tuple[Layer, ...]:
    """Hybrids whose every layer is one block: Mamba, attention, MLP or experts."""
    heads, kv_heads, head_dim = _heads(config)
    dense = config.whole("intermediate_size", default=1)
    blocks = {
        "mamba": Layer("mamba", "none"),
        "attention": Layer("full", "none", heads=heads, kv_heads=kv_heads, head_dim=head_dim, v_head_dim=head_dim),
        "mlp": Layer("none", "dense", intermediate=dense),
        "moe": Layer("none", "moe"),
    }
    letters = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
    if config.has("hybrid_override_pattern"):
        names = [letters.get(char, char) for char in config.text("hybrid_override_pattern")]
    else:
        names = list(config.texts("layers_block_type"))
    unknown = sorted({name for name in names if name not in blocks})
    if unknown or not 0 < len(names) <= MOST_LAYERS:
        key = config.first("hybrid_override_pattern", "layers_block_type") or ""
        config.problem(key, "holds unknown blocks or has a wrong length", ", ".join(unknown)[:60], legal=("M", "*", "-", "E", *blocks))
        return (blocks["attention"],)
    return tuple(blocks[name] for name in names)


def _searched_blocks(config: Config, count: int) -> tuple[Layer, ...]:
    """Models found by architecture search: each block states its own head groups and MLP width, or leaves a part out."""
    heads = config.whole("num_attention_heads", high=100_000)
    hidden = config.whole("hidden_size")
    head_dim = config.whole("head_dim", default=max(1, hidden // heads), high=100_000)
    layers = []
    for block in config.objects("block_configs")[:MOST_LAYERS]:
        attention, mlp = block.part("attention"), block.part("ffn")
        layer = Layer("none", "none")
        if attention is not None and not attention.flag("no_op", default=False):
            if attention.flag("replace_with_linear", default=False):
                layer = replace(layer, attention="linear_replacement")
            else:
                group = attention.whole("n_heads_in_group", high=heads)
                layer = Layer("full", "none", heads=heads, kv_heads=max(1, heads // group), head_dim=head_dim, v_head_dim=head_dim)
        if mlp is not None and not mlp.flag("no_op", default=False):
            if mlp.flag("replace_with_linear", default=False):
                layer = replace(layer, mlp="linear_replacement")
            else:
                width = mlp.fraction("ffn_mult", default=0.0, low=0.0, high=1000.0) * hidden * 2 / 3
                # Widths are rounded up to whole blocks of 256.
                layer = replace(layer, mlp="dense", intermediate=-(-int(width) // 256) * 256 or 256)
        layers.append(layer)
    if len(layers) != count:
        config.problem("block_configs", f"lists {len(layers)} blocks for {count} layers")
    return tuple(layers) or (Layer("none", "none"),)
