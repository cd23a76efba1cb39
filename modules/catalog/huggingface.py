"""A Hugging Face config.json mapping becomes a Model: architecture, weights as shapes, quantization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from inferform.catalog.config import Config
from inferform.catalog.encoder import encoder_tensors, vision_tensors
from inferform.catalog.layers import ENCODERS, Layer, expert_count, read_layers, refuse_unread
from inferform.catalog.quantization import read_quantization
from inferform.catalog.rope import longest_context, rope_table_bytes
from inferform.catalog.tensors import expert_intermediate, mamba1_sizes, mamba_sizes, read_shapes, read_tensors, shared_intermediate, top_k
from inferform.catalog.types import AttentionGroup, Mla, Model, Moe, Tensor

# Keys of the text model in configs that wrap it, outermost first.
_TEXT_KEYS = ("text_config", "llm_config", "language_config", "thinker_config")
_TIED_BY_DEFAULT = ("gemma", "cohere", "gpt2", "bloom", "opt", "mpt", "starcoder2")
_MOST_PARAMS = 10**15


def model_from_config(
    values: Mapping[str, Any], *, id: str, file: str, source: str, quantization: Mapping[str, Any] | None = None, gated: bool = False
) -> Model:
    """Architecture facts of one config.

    `quantization` is the content of a `hf_quant_config.json` beside it. Raises: InputError with every missing or wrong key.
    """
    outer = Config(values, file)
    text = _text_config(outer)
    separate = Config(quantization, file.replace("config.json", "hf_quant_config.json"), problems=outer.problems) if quantization is not None else None
    family = text.text("model_type") or outer.text("model_type")
    if not outer.first("model_type") and not text.first("model_type"):
        outer.problem("model_type", "is missing; a Hugging Face config.json names its architecture there")
    if family in ENCODERS:
        return _encoder(outer, text, id=id, source=source, family=family)
    layers = read_layers(text)
    tied = _tied(outer, text, family)
    shapes = read_shapes(text, tied=tied)
    # A problem in one key makes the shapes that follow from it meaningless.
    outer.raise_problems()
    tensors = read_tensors(text, shapes, layers)
    vision_config = outer.part("vision_config")
    vision, vision_hidden = vision_tensors(vision_config, shapes.hidden) if vision_config is not None else ((), 0)
    tensors += vision
    quantized = read_quantization(outer, text, separate, tensors)
    moe, mla = _moe(text, layers), _mla(text)
    groups = attention_groups(text, layers)
    rope = rope_table_bytes(text)
    refuse_unread(text, layers)
    total = sum(t.params for t in tensors)
    if total > _MOST_PARAMS:
        outer.problem(
            "hidden_size", f"gives {total:.3g} parameters with the other sizes, more than {_MOST_PARAMS:.0e}; check hidden_size, vocab_size, layers and experts"
        )
    outer.raise_problems()
    typical = max(groups, key=lambda g: (g.kind in {"full", "mla"}, g.layers))
    widest = max(layers, key=lambda layer: layer.heads)
    return Model(
        id=id,
        model_type=family,
        architecture=_architecture(outer, family),
        layers=len(layers),
        hidden=shapes.hidden,
        heads=widest.heads,
        kv_heads=max(1, typical.kv_heads),
        head_dim=typical.head_dim or widest.head_dim,
        intermediate=max((layer.intermediate for layer in layers), default=0),
        vocab=shapes.vocab,
        tie_embeddings=tied,
        max_position=longest_context(text),
        dtype=_dtype(outer, text),
        attention=groups,
        moe=moe,
        mla=mla,
        quantization=quantized,
        vision_params=sum(t.params for t in vision),
        encoder=False,
        gated_mlp=shapes.gated,
        total_params=total,
        active_params=_active(tensors),
        gated=gated,
        source=source,
        tensors=tensors,
        vision_hidden=vision_hidden,
        rope_bytes=rope,
    )


def _text_config(outer: Config) -> Config:
    text = outer
    for _ in range(3):
        inner = text.part(*_TEXT_KEYS)
        if inner is None or not isinstance(inner.values, Mapping):
            return text
        text = inner
    return text


def _architecture(outer: Config, family: str) -> str:
    names = outer.texts("architectures")
    return names[0] if names else family


def _tied(outer: Config, text: Config, family: str) -> bool:
    default = family.startswith(_TIED_BY_DEFAULT) and not family.startswith("gemma4_assistant")
    inner = text.flag("tie_word_embeddings", default=default)
    return inner if text.has("tie_word_embeddings") or not outer.has("tie_word_embeddings") else outer.flag("tie_word_embeddings", default=default)


def _dtype(outer: Config, text: Config) -> str:
    name = text.text("dtype", "torch_dtype") or outer.text("dtype", "torch_dtype", default="bfloat16")
    name = name.removeprefix("torch.")
    if name not in {"bfloat16", "float16", "float32"}:
        outer.problem("torch_dtype", "is not a type that weights are served in", name, legal=("bfloat16", "float16", "float32"))
    return name


def _moe(config: Config, layers: tuple[Layer, ...]) -> Moe | None:
    experts = expert_count(config)
    moe_layers = sum("moe" in layer.mlp for layer in layers)
    if experts < 2 or not moe_layers:
        return None
    return Moe(
        experts, top_k(config, experts), expert_intermediate(config), shared_intermediate(config), moe_layers, sum(layer.mlp == "dense" for layer in layers)
    )


def _mla(config: Config) -> Mla | None:
    if not config.has("kv_lora_rank"):
        return None
    return Mla(
        config.whole("kv_lora_rank"),
        config.whole("q_lora_rank") if config.has("q_lora_rank") else None,
        config.whole("qk_rope_head_dim", default=64, low=0),
        config.whole("qk_nope_head_dim"),
        config.whole("v_head_dim"),
    )


def attention_groups(config: Config, layers: tuple[Layer, ...]) -> tuple[AttentionGroup, ...]:
    """Layers by the kind of cache they keep, in the order of their first layer."""
    found: dict[AttentionGroup, list[int]] = {}
    for index, layer in enumerate(layers):
        found.setdefault(_group(config, layer), []).append(index)
    groups = []
    for group, indexes in found.items():
        groups.append(
            AttentionGroup(
                group.kind, len(indexes), group.kv_heads, group.head_dim, group.v_head_dim, group.window_tokens,
                group.latent_dim, group.state_bytes, group.index_bytes, group.compression, tuple(indexes),
            )
        )  # fmt: skip
    return tuple(groups)


def _group(config: Config, layer: Layer) -> AttentionGroup:
    if layer.reads_other_cache:
        return AttentionGroup("none", 1)
    if layer.attention == "mla":
        rope = config.whole("qk_rope_head_dim", default=64, low=0)
        # The sparse indexer keeps one 8-bit key with a 4-byte scale.
        index_bytes = config.whole("index_head_dim", default=128) + 4 if layer.indexer else 0
        return AttentionGroup("mla", 1, kv_heads=1, latent_dim=config.whole("kv_lora_rank") + rope, index_bytes=index_bytes)
    if layer.attention in {"linear", "kda", "mamba", "mamba1"}:
        return AttentionGroup("mamba" if layer.attention in {"mamba", "mamba1"} else "linear", 1, state_bytes=_state_bytes(config, layer))
    if layer.attention in {"none", "linear_replacement"}:
        return AttentionGroup("none", 1)
    if config.has("compress_ratios"):
        index_bytes = config.whole("index_head_dim", default=128) + 4 if layer.indexer else 0
        kind: Literal["mla", "sliding"] = "mla" if layer.compression > 1 else "sliding"
        return AttentionGroup(kind, 1, 1, layer.head_dim, 0, layer.window, layer.head_dim, 0, index_bytes, max(1, layer.compression))
    kind_of: Literal["full", "sliding", "chunked"] = "sliding" if layer.attention == "sliding" else "chunked" if layer.attention == "chunked" else "full"
    sparse = config.part("sparse_attention_config")
    index_bytes = 2 * sparse.whole("sparse_index_dim", default=128) if layer.indexer and sparse is not None else 0
    return AttentionGroup(kind_of, 1, layer.kv_heads, layer.head_dim, layer.v_head_dim, layer.window, index_bytes=index_bytes)


def _state_bytes(config: Config, layer: Layer) -> int:
    """Bytes of recurrent and convolution state of one sequence in one layer."""
    precise = 4 if config.text("mamba_ssm_dtype", "mamba_ssm_cache_dtype") == "float32" else 2
    if layer.attention == "mamba1":
        inner, _, state = mamba1_sizes(config)
        return inner * (config.whole("mamba_d_conv", default=4, high=1_000) - 1) * 2 + inner * state * precise
    if layer.attention == "mamba":
        inner, heads, dim, groups, state = mamba_sizes(config)
        kernel = config.whole("conv_kernel", "mamba_d_conv", default=4, high=1_000)
        return (inner + 2 * groups * state) * (kernel - 1) * 2 + heads * dim * state * precise
    if layer.attention == "kda":
        linear = config.part("linear_attn_config")
        if linear is None:
            return 0
        heads, dim = linear.whole("num_heads"), linear.whole("head_dim")
        return 3 * heads * dim * (linear.whole("short_conv_kernel_size", default=4, high=1_000) - 1) * 2 + heads * dim * dim * 4
    keys, values = config.whole("linear_num_key_heads"), config.whole("linear_num_value_heads")
    key_dim, value_dim = config.whole("linear_key_head_dim"), config.whole("linear_value_head_dim")
    kernel = config.whole("linear_conv_kernel_dim", default=4, high=1_000)
    return (2 * keys * key_dim + values * value_dim) * (kernel - 1) * 2 + values * key_dim * value_dim * precise


def _active(tensors: tuple[Tensor, ...]) -> int:
    """Weights that one token goes through; a look-up table counts as the published figures count it: whole."""
    return round(sum(t.params * t.used for t in tensors if t.part != "vision"))


def _encoder(outer: Config, text: Config, *, id: str, source: str, family: str) -> Model:
    layers = text.whole("num_hidden_layers", high=2_000)
    hidden, heads = text.whole("hidden_size"), text.whole("num_attention_heads", high=100_000)
    tensors = encoder_tensors(text)
    dtype, positions, width, vocab = _dtype(outer, text), longest_context(text), text.whole("intermediate_size"), text.whole("vocab_size")
    outer.raise_problems()
    total = sum(t.params for t in tensors)
    # RoBERTa numbers its positions from 2.
    usable = positions - 2 if "roberta" in family and positions > 2 else positions
    return Model(
        id=id,
        model_type=family,
        architecture=_architecture(outer, family),
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=max(1, hidden // heads),
        intermediate=width,
        vocab=vocab,
        tie_embeddings=True,
        max_position=usable,
        dtype=dtype,
        attention=(AttentionGroup("none", layers, indexes=tuple(range(layers))),),
        moe=None,
        mla=None,
        quantization=None,
        vision_params=0,
        encoder=True,
        gated_mlp=False,
        total_params=total,
        active_params=total,
        gated=False,
        source=source,
        tensors=tensors,
    )
