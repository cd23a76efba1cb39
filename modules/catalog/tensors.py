"""The weights of a model as shapes: what each layer holds, by the maths of its family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inferform.catalog.config import Config
from inferform.catalog.layers import Layer, expert_count
from inferform.catalog.types import Part, Split, Tensor

# Families whose MLP is up -> activation -> down, without a gate.
UNGATED = {
    "phi",
    "phi-msft",
    "gpt2",
    "gpt_neox",
    "gptj",
    "gpt_bigcode",
    "opt",
    "bloom",
    "falcon",
    "mpt",
    "starcoder2",
    "nemotron",
    "nemotron_h",
    "bert",
    "xlm-roberta",
    "roberta",
}
_FOUR_NORMS = {"gemma2", "gemma3", "gemma3_text", "gemma4", "gemma4_text", "glm4", "muse_glimmer_text"}
_ONE_NORM = {"cohere", "phi", "phi-msft", "gptj", "falcon", "nemotron_h"}


@dataclass(frozen=True, slots=True)
class Names:
    """How a family names the modules of a layer; ignore lists of checkpoints use these names."""

    attention: str = "self_attn"
    linear: str = "linear_attn"
    mamba: str = "mamba"
    mlp: str = "mlp"
    experts: str = "mlp.experts"
    shared: str = "mlp.shared_experts"
    router: str = "mlp.gate"


_QWEN = Names(shared="mlp.shared_expert")
_NAMES = {
    "nemotron_h": Names("mixer", "mixer", "mixer", "mixer", "mixer.experts", "mixer.shared_experts", "mixer.gate"),
    "mixtral": Names(mlp="block_sparse_moe", experts="block_sparse_moe.experts", router="block_sparse_moe.gate"),
    "minimax_m2": Names(mlp="block_sparse_moe", experts="block_sparse_moe.experts", router="block_sparse_moe.gate"),
    "llama4_text": Names(mlp="feed_forward", experts="feed_forward.experts", shared="feed_forward.shared_expert", router="feed_forward.router"),
    "gpt_oss": Names(router="mlp.router"),
    "jamba": Names(mlp="feed_forward", experts="feed_forward.experts", router="feed_forward.router"),
    "kimi_linear": Names(linear="self_attn", experts="block_sparse_moe.experts", shared="block_sparse_moe.shared_experts", router="block_sparse_moe.gate"),
    "qwen2_moe": _QWEN,
    "qwen3_next": _QWEN,
    "qwen3_5_moe_text": _QWEN,
    "laguna": _QWEN,
}


@dataclass(frozen=True, slots=True)
class Shapes:
    """What the layer maths needs of a config, read once."""

    family: str
    hidden: int
    vocab: int
    tied: bool
    gated: bool
    qkv_bias: bool
    bias: bool
    names: Names


def read_shapes(config: Config, *, tied: bool) -> Shapes:
    """Reads the sizes shared by all layers."""
    family = config.text("model_type")
    activation = config.text("mlp_hidden_act", "hidden_act", "hidden_activation", "activation_function")
    return Shapes(
        family=family,
        hidden=config.whole("hidden_size", "n_embd", "d_model"),
        vocab=config.whole("vocab_size"),
        tied=tied,
        gated=family not in UNGATED and not activation.startswith("relu2"),
        qkv_bias=config.flag("attention_bias", default=config.flag("use_qkv_bias", default=family.startswith("qwen2"))) or family.startswith("qwen2"),
        bias=family in {"phi", "phi-msft", "gpt2", "gpt_neox", "gptj", "gpt_bigcode", "opt", "bloom", "starcoder2"} or family == "gpt_oss",
        names=_NAMES.get(family, Names()),
    )


def read_tensors(config: Config, shapes: Shapes, layers: tuple[Layer, ...]) -> tuple[Tensor, ...]:
    """Every weight of the text model: embeddings, layers grouped by equal shape, final norm and head."""
    h = shapes.hidden
    found = [Tensor("embed_tokens", "embedding", shapes.vocab, h, "vocab")]
    groups: dict[Layer, list[int]] = {}
    for index, layer in enumerate(layers):
        groups.setdefault(layer, []).append(index)
    for layer, indexes in groups.items():
        found += [_in(tensor, tuple(indexes)) for tensor in _layer(config, shapes, layer)]
    found.append(Tensor("norm", "norm", 1, h, "replicated"))
    if not shapes.tied:
        found.append(Tensor("lm_head", "head", shapes.vocab, h, "vocab"))
        if shapes.family in {"phi", "phi-msft", "gptj"}:
            found.append(Tensor("lm_head.bias", "head", shapes.vocab, 1, "vocab"))
    return tuple(found)


def _in(tensor: Tensor, layers: tuple[int, ...]) -> Tensor:
    return Tensor(tensor.name, tensor.part, tensor.rows, tensor.cols, tensor.split, layers, tensor.copies, tensor.used, tensor.head_rows)


def _layer(config: Config, shapes: Shapes, layer: Layer) -> Iterator[Tensor]:
    h, names = shapes.hidden, shapes.names
    blocks = (layer.attention != "none") + (layer.mlp != "none")
    norms = {True: 4, False: 2}[shapes.family in _FOUR_NORMS] if shapes.family not in _ONE_NORM else 1
    yield Tensor("norms", "norm", min(norms, 2 * blocks) or 1, h, "replicated")
    if layer.attention in {"full", "sliding", "chunked"}:
        yield from _compressed_attention(config, shapes, layer) if config.has("o_lora_rank") else _attention(config, shapes, layer)
    elif layer.attention == "mla":
        yield from _mla(config, shapes, layer)
    elif layer.attention == "linear":
        yield from _gated_delta(config, h, names.linear)
    elif layer.attention == "kda":
        yield from _kda(config, h, names.linear)
    elif layer.attention == "mamba":
        yield from _mamba(config, h, names.mamba)
    elif layer.attention == "mamba1":
        yield from _mamba1(config, h, names.mamba)
    elif layer.attention == "linear_replacement":
        yield Tensor(f"{names.attention}.linear_attn", "attention", h, h, "cols")
    if "dense" in layer.mlp:
        yield from _mlp(names.mlp, "mlp", h, layer.intermediate, gated=shapes.gated, bias=shapes.bias and shapes.family != "gpt_oss")
    if "moe" in layer.mlp:
        yield from _moe(config, shapes)
    if layer.mlp == "linear_replacement":
        yield Tensor(f"{names.mlp}.linear_mlp", "mlp", h, h, "cols")


def _attention(config: Config, shapes: Shapes, layer: Layer) -> Iterator[Tensor]:
    h, at = shapes.hidden, shapes.names.attention
    gate = 2 if config.flag("attn_output_gate", default=shapes.family == "qwen3_next") else 1
    q, k, v = layer.heads * layer.head_dim, layer.kv_heads * layer.head_dim, layer.kv_heads * layer.v_head_dim
    yield Tensor(f"{at}.q_proj", "attention", q * gate, h, "heads", head_rows=layer.head_dim * gate)
    if config.text("gating").replace("-", "_") == "per_head":
        yield Tensor(f"{at}.g_proj", "attention", layer.heads, h, "rows")
    if not layer.reads_other_cache:
        yield Tensor(f"{at}.k_proj", "attention", k, h, "kv_heads", head_rows=layer.head_dim)
        if not layer.key_is_value:
            yield Tensor(f"{at}.v_proj", "attention", v, h, "kv_heads", head_rows=layer.v_head_dim)
    yield Tensor(f"{at}.o_proj", "attention", h, layer.heads * layer.v_head_dim, "cols")
    if shapes.qkv_bias or shapes.bias:
        yield Tensor(f"{at}.bias", "norm", q + k + v + (h if shapes.bias else 0), 1, "rows")
    if config.flag("use_qk_norm", default=shapes.family.startswith(("qwen3", "gemma3", "gemma4", "olmo2", "olmo3"))):
        wide = shapes.family.startswith("olmo") or config.text("qk_norm_type") == "per_layer"
        yield Tensor(f"{at}.qk_norm", "norm", 1, q + k if wide else 2 * layer.head_dim, "replicated")
    if layer.indexer:
        sparse = config.part("sparse_attention_config")
        if sparse is not None:
            dim, heads = (
                sparse.whole("sparse_index_dim", default=128, high=100_000),
                sparse.whole("sparse_num_index_heads", default=layer.kv_heads, high=100_000),
            )
            yield Tensor(f"{at}.index_q_proj", "attention", heads * dim, h, "replicated")
            yield Tensor(f"{at}.index_k_proj", "attention", dim, h, "replicated")


def _compressed_attention(config: Config, shapes: Shapes, layer: Layer) -> Iterator[Tensor]:
    """Queries and outputs through low-rank projections, one shared key-value vector, compressed over several tokens."""
    h, at, dim = shapes.hidden, shapes.names.attention, layer.head_dim
    q_rank, o_rank = config.whole("q_lora_rank"), config.whole("o_lora_rank")
    groups = config.whole("o_groups", default=1, high=100_000)
    yield Tensor(f"{at}.q_a_proj", "attention", q_rank, h, "replicated")
    yield Tensor(f"{at}.q_b_proj", "attention", layer.heads * dim, q_rank, "heads", head_rows=dim)
    yield Tensor(f"{at}.kv_proj", "attention", dim, h, "replicated")
    yield Tensor(f"{at}.o_a_proj", "attention", o_rank, layer.heads * dim, "cols")
    yield Tensor(f"{at}.o_b_proj", "attention", h, groups * o_rank, "cols")
    if layer.compression > 1:
        # The finest ratio keeps two overlapping sets of entries.
        width = 2 if layer.indexer else 1
        yield Tensor(f"{at}.compressor", "attention", 2 * width * dim, h, "replicated")
    if layer.indexer:
        yield from _indexer(config, h, at, q_rank)


def _indexer(config: Config, hidden: int, at: str, q_rank: int) -> Iterator[Tensor]:
    heads, dim = config.whole("index_n_heads", high=100_000), config.whole("index_head_dim", default=128, high=100_000)
    yield Tensor(f"{at}.indexer.wq_b", "attention", heads * dim, q_rank, "replicated")
    yield Tensor(f"{at}.indexer.wk", "attention", dim, hidden, "replicated")
    yield Tensor(f"{at}.indexer.weights_proj", "norm", heads, hidden, "replicated")


def _mla(config: Config, shapes: Shapes, layer: Layer) -> Iterator[Tensor]:
    h, at, heads = shapes.hidden, shapes.names.attention, layer.heads
    rank, rope = config.whole("kv_lora_rank"), config.whole("qk_rope_head_dim", default=64, low=0, high=100_000)
    nope, v = config.whole("qk_nope_head_dim", high=100_000), config.whole("v_head_dim", high=100_000)
    q_rank = config.whole("q_lora_rank", default=0, low=0)
    if q_rank:
        yield Tensor(f"{at}.q_a_proj", "attention", q_rank, h, "replicated")
        yield Tensor(f"{at}.q_b_proj", "attention", heads * (nope + rope), q_rank, "heads", head_rows=nope + rope)
    else:
        yield Tensor(f"{at}.q_proj", "attention", heads * (nope + rope), h, "heads", head_rows=nope + rope)
    yield Tensor(f"{at}.kv_a_proj_with_mqa", "attention", rank + rope, h, "replicated")
    yield Tensor(f"{at}.kv_b_proj", "attention", heads * (nope + v), rank, "heads", head_rows=nope + v)
    yield Tensor(f"{at}.o_proj", "attention", h, heads * v, "cols")
    yield Tensor(f"{at}.norms", "norm", 1, rank + q_rank, "replicated")
    if config.flag("mla_use_output_gate", default=False):
        yield Tensor(f"{at}.g_proj", "attention", heads * v, h, "heads", head_rows=v)
    if layer.indexer:
        yield from _indexer(config, h, at, q_rank or h)


def _gated_delta(config: Config, h: int, at: str) -> Iterator[Tensor]:
    keys, values = config.whole("linear_num_key_heads", high=100_000), config.whole("linear_num_value_heads", high=100_000)
    key_dim = keys * config.whole("linear_key_head_dim", high=100_000)
    value_head = config.whole("linear_value_head_dim", high=100_000)
    value_dim = values * value_head
    kernel = config.whole("linear_conv_kernel_dim", default=4, high=1_000)
    yield Tensor(f"{at}.in_proj_qkv", "linear", 2 * key_dim + value_dim, h, "rows")
    yield Tensor(f"{at}.in_proj_z", "linear", value_dim, h, "heads", head_rows=value_head)
    yield Tensor(f"{at}.in_proj_ba", "router", 2 * values, h, "rows")
    yield Tensor(f"{at}.conv1d", "norm", 2 * key_dim + value_dim, kernel, "rows")
    yield Tensor(f"{at}.norm", "norm", 1, 2 * values + value_head, "replicated")
    yield Tensor(f"{at}.out_proj", "linear", h, value_dim, "cols")


def _kda(config: Config, h: int, at: str) -> Iterator[Tensor]:
    linear = config.part("linear_attn_config")
    if linear is None:
        return
    heads, dim = linear.whole("num_heads", high=100_000), linear.whole("head_dim", high=100_000)
    width = heads * dim
    yield Tensor(f"{at}.qkv_proj", "linear", 3 * width, h, "rows")
    yield Tensor(f"{at}.conv1d", "norm", 3 * width, linear.whole("short_conv_kernel_size", default=4, high=1_000), "rows")
    yield Tensor(f"{at}.b_proj", "router", heads, h, "heads")
    yield Tensor(f"{at}.f_a_proj", "linear", dim, h, "replicated")
    yield Tensor(f"{at}.f_b_proj", "linear", width, dim, "rows")
    if linear.flag("use_full_rank_gate", default=False):
        yield Tensor(f"{at}.g_proj", "linear", width, h, "rows")
    else:
        yield Tensor(f"{at}.g_a_proj", "linear", dim, h, "replicated")
        yield Tensor(f"{at}.g_b_proj", "linear", width, dim, "rows")
    yield Tensor(f"{at}.o_proj", "linear", h, width, "cols")


def mamba_sizes(config: Config) -> tuple[int, int, int, int, int]:
    """(inner width, heads, head dimension, groups, state size) of a Mamba-2 block."""
    heads = config.whole("mamba_num_heads", "mamba_n_heads", high=100_000)
    dim = config.whole("mamba_head_dim", "mamba_d_head", high=100_000)
    groups = config.whole("n_groups", "mamba_n_groups", "mamba_num_groups", default=1, high=100_000)
    return heads * dim, heads, dim, groups, config.whole("ssm_state_size", "mamba_d_state", "mamba_state_dim", high=100_000)


def _mamba(config: Config, h: int, at: str) -> Iterator[Tensor]:
    inner, heads, _, groups, state = mamba_sizes(config)
    mixed = inner + 2 * groups * state
    yield Tensor(f"{at}.in_proj", "mamba", inner + mixed + heads, h, "rows")
    yield Tensor(f"{at}.conv1d", "norm", mixed, config.whole("conv_kernel", "mamba_d_conv", default=4, high=1_000) + 1, "rows")
    yield Tensor(f"{at}.norm", "norm", inner + 3 * heads, 1, "rows")
    yield Tensor(f"{at}.out_proj", "mamba", h, inner, "cols")


def mamba1_sizes(config: Config) -> tuple[int, int, int]:
    """(inner width, rank of the step sizes, state size) of a Mamba block of the first generation."""
    hidden = config.whole("hidden_size", "n_embd", "d_model")
    auto = config.values.get("mamba_dt_rank") == "auto"
    rank = -(-hidden // 16) if auto else config.whole("mamba_dt_rank")
    return config.whole("mamba_expand", default=2, high=1_000) * hidden, rank, config.whole("mamba_d_state", high=100_000)


def _mamba1(config: Config, h: int, at: str) -> Iterator[Tensor]:
    inner, rank, state = mamba1_sizes(config)
    yield Tensor(f"{at}.in_proj", "mamba", 2 * inner, h, "rows")
    yield Tensor(f"{at}.conv1d", "norm", inner, config.whole("mamba_d_conv", default=4, high=1_000) + 1, "rows")
    yield Tensor(f"{at}.x_proj", "mamba", rank + 2 * state, inner, "cols")
    yield Tensor(f"{at}.dt_proj", "mamba", inner, rank + 1, "rows")
    # The decay of each state and the skip connection, then the norms of step size, input and output.
    yield Tensor(f"{at}.A", "norm", inner, state + 1, "rows")
    yield Tensor(f"{at}.norms", "norm", 1, rank + 2 * state, "replicated")
    yield Tensor(f"{at}.out_proj", "mamba", h, inner, "cols")


def _mlp(at: str, part: Part, h: int, width: int, *, gated: bool, bias: bool = False, split: tuple[Split, Split] = ("rows", "cols")) -> Iterator[Tensor]:
    if gated:
        yield Tensor(f"{at}.gate_proj", part, width, h, split[0])
    yield Tensor(f"{at}.up_proj", part, width, h, split[0])
    yield Tensor(f"{at}.down_proj", part, h, width, split[1])
    if bias:
        yield Tensor(f"{at}.bias", "norm", width + h, 1, "rows")


def expert_intermediate(config: Config) -> int:
    """Width of one routed expert."""
    return config.whole("moe_intermediate_size", "intermediate_size", "ffn_hidden_size")


def shared_intermediate(config: Config) -> int:
    """Width of all shared experts of a layer together; 0 when there are none."""
    own = config.first("moe_shared_expert_intermediate_size", "shared_expert_intermediate_size", "share_expert_dim")
    count = config.whole("n_shared_experts", "num_shared_experts", default=1 if own else 0, low=0, high=10_000)
    if own:
        return config.whole(own, low=0) * count
    if config.text("model_type").startswith("llama4"):
        return config.whole("intermediate_size")
    single = config.whole("shared_intermediate_size", default=expert_intermediate(config), low=0)
    return single * count if count else (config.whole("shared_intermediate_size", default=0, low=0))


def _moe(config: Config, shapes: Shapes) -> Iterator[Tensor]:
    h, names = shapes.hidden, shapes.names
    experts = expert_count(config)
    if experts < 1:
        config.problem("n_routed_experts", "is missing; a layer of experts wants their number", legal=("num_local_experts", "num_experts"))
        experts = 1
    chosen = top_k(config, experts)
    width = expert_intermediate(config)
    inner = config.whole("moe_latent_size", "routed_expert_hidden_size", default=h)
    if inner != h:
        # Experts work in a narrower space, with one projection down and one up for all of them.
        yield Tensor(f"{names.mlp}.fc1_latent_proj", "mlp", inner, h, "replicated")
        yield Tensor(f"{names.mlp}.fc2_latent_proj", "mlp", h, inner, "replicated")
    for name, rows, cols in (("gate_proj", width, inner), ("up_proj", width, inner), ("down_proj", inner, width)):
        if name != "gate_proj" or shapes.gated:
            yield Tensor(f"{names.experts}.{name}", "expert", rows, cols, "experts", copies=experts, used=chosen / experts)
    if shapes.bias:
        yield Tensor(f"{names.experts}.bias", "norm", 2 * width + h, 1, "rows", copies=experts, used=chosen / experts)
    shared = shared_intermediate(config)
    if shared:
        yield from _mlp(names.shared, "shared_expert", h, shared, gated=shapes.gated)
        if names.shared == "mlp.shared_expert" and shapes.family != "laguna":
            yield Tensor("mlp.shared_expert_gate", "router", 1, h, "replicated")
    yield Tensor(names.router, "router", experts, h, "replicated")
    if config.flag("use_routing_bias", default=config.text("scoring_func") == "sigmoid" or shapes.bias):
        yield Tensor(f"{names.router}.bias", "norm", experts, 1, "replicated")


def top_k(config: Config, experts: int) -> int:
    """Routed experts that one token uses."""
    return min(experts, config.whole("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts", "moe_top_k", high=100_000))
