"""The weights of encoder models (BERT family) and of vision towers."""

from __future__ import annotations

from collections.abc import Iterator

from inferform.catalog.config import Config
from inferform.catalog.types import Tensor


def encoder_tensors(config: Config) -> tuple[Tensor, ...]:
    """Embeddings (words, positions, segments), post-norm layers with biases, pooler."""
    h, vocab, count = config.whole("hidden_size"), config.whole("vocab_size"), config.whole("num_hidden_layers", high=2_000)
    width = config.whole("intermediate_size")
    layers = tuple(range(count))
    gated = config.text("model_type") in {"nomic_bert", "modernbert"}
    segments = config.whole("type_vocab_size", default=1 if "roberta" in config.text("model_type") else 2, low=0, high=1_000)

    def in_layers() -> Iterator[Tensor]:
        for name in ("query", "key", "value"):
            yield Tensor(f"attention.{name}", "attention", h, h, "rows", layers)
        yield Tensor("attention.output", "attention", h, h, "cols", layers)
        yield Tensor("mlp.up", "mlp", width * (2 if gated else 1), h, "rows", layers)
        yield Tensor("mlp.down", "mlp", h, width, "cols", layers)
        yield Tensor("biases_and_norms", "norm", 9 * h + width, 1, "replicated", layers)

    return (
        Tensor("embed_tokens", "embedding", vocab, h, "vocab"),
        Tensor("embed_positions", "embedding", config.whole("max_position_embeddings", "n_positions"), h, "replicated"),
        Tensor("embed_segments", "embedding", segments, h, "replicated"),
        Tensor("embed_norm", "norm", 2, h, "replicated"),
        *in_layers(),
        Tensor("pooler", "head", h, h + 1, "replicated"),
    )


def vision_tensors(vision: Config, text_hidden: int) -> tuple[tuple[Tensor, ...], int]:
    """(weights of the vision tower and its projector as one entry each, width of the tower)."""
    depth = vision.whole("depth", "num_hidden_layers", "vt_num_hidden_layers", "layers", default=0, low=0, high=2_000)
    if depth == 0:
        return (), 0
    # Qwen2-VL calls the tower's width embed_dim and the text width hidden_size.
    h = vision.whole("embed_dim", "vt_hidden_size", "hidden_size", "width")
    ratio = vision.whole("mlp_ratio", default=4, high=100)
    width = vision.whole("intermediate_size", "vt_intermediate_size", default=ratio * h)
    family = vision.text("model_type")
    gated = family in {"pixtral", "gemma4_vision", "qwen2_5_vl", "qwen2_5_omni_vision_encoder"} or vision.text("hidden_act") == "silu"
    heads = vision.whole("num_heads", "num_attention_heads", "vt_num_attention_heads", default=16, high=100_000)
    attention = vision.whole("qkv_hidden_size", "vt_qkv_hidden_size", default=vision.whole("head_dim", default=0, low=0, high=100_000) * heads or h)
    global_layers = vision.whole("num_global_layers", default=0, low=0, high=2_000)
    layer = 4 * h * attention + (3 if gated else 2) * h * width + 8 * h
    patch = vision.whole("patch_size", default=14, high=10_000)
    pixels = (
        vision.whole("in_channels", "num_channels", default=3, high=1_000)
        * vision.whole("temporal_patch_size", "patch_temporal", default=1, high=100)
        * patch**2
    )
    positions = vision.whole("num_position_embeddings", default=0, low=0) or (vision.whole("image_size", default=0, low=0, high=100_000) // patch) ** 2
    tower = (depth + global_layers) * layer + pixels * h + (positions * h if family != "pixtral" else 0)
    merge = vision.whole("spatial_merge_size", "merge_size", default=1, high=100)
    if vision.values.get("merge_kernel_size"):
        merge = 2
    merged = h * merge**2
    out = vision.whole("out_hidden_size", "text_hidden_size", "vision_output_dim", "projector_output_dim", default=text_hidden)
    # Two linear maps where patches are merged, one where the tower is only projected.
    projector = merged * merged + merged * out if merge > 1 else h * out
    deep = vision.wholes("deepstack_visual_indexes") or ()
    return (
        Tensor("vision_tower", "vision", tower, 1, "replicated"),
        Tensor("vision_projector", "vision", projector * (1 + len(deep)), 1, "replicated"),
    ), h
