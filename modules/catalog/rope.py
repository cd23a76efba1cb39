"""Size of the rotary position tables that engines keep on every GPU."""

from __future__ import annotations

from inferform.catalog.config import Config

BYTES = 2
_POSITIONS = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length")
_LEARNED = {"gpt2", "gpt_bigcode", "opt", "bloom", "mpt", "bert", "xlm-roberta", "nemotron_h"}


def rope_table_bytes(config: Config) -> int:
    """Bytes of all cos/sin tables in 16 bits: positions x rotary dimension, one table for each base or scaling.

    Scaled tables are longer: linear and dynamic scaling keep max_position x factor rows, YaRN keeps original x factor.
    Checked against Llama-4-Scout (2.5 GiB), Gemma-3-4B (0.57 GiB) and Llama-3.1-8B (0.03 GiB) start-up logs.
    """
    if config.text("model_type") in _LEARNED:
        return 0
    positions = config.whole(*_POSITIONS, default=2048)
    scaling = config.part("rope_scaling", "rope_parameters")
    if scaling is None:
        return _table(config, None, positions) + (_table(config, None, positions) if config.has("rope_local_base_freq") else 0)
    nested = [part for key in ("full_attention", "sliding_attention") if (part := scaling.part(key)) is not None]
    if nested:
        return sum(_table(config, part, positions) for part in nested)
    local = _table(config, None, positions) if config.has("rope_local_base_freq") else 0
    return _table(config, scaling, positions) + local


def longest_context(config: Config) -> int:
    """Positions that the model can be served with, as vLLM derives the largest max_model_len.

    The stated positions times the factor of linear and dynamic scaling; YaRN multiplies the original positions; longrope, su and llama3
    state the scaled positions already, as the Gemma 3 family does. A stated model_max_length comes before the positions.
    Source: `_get_and_verify_max_len` in vllm/config/model.py, read 2026-12-01.
    """
    positions = config.whole("model_max_length", *_POSITIONS, default=2048)
    scaling = config.part("rope_scaling", "rope_parameters")
    if scaling is None or "gemma3" in config.text("model_type"):
        return positions
    nested = [part for key in scaling.values if key.endswith("attention") and (part := scaling.part(key)) is not None]
    factor = 1.0
    for part in nested or [scaling]:
        kind = part.text("rope_type", "type", default="default")
        if kind not in {"su", "longrope", "llama3"}:
            factor = part.fraction("factor", default=factor, low=0.0, high=1e6)
            if kind == "yarn":
                positions = part.whole("original_max_position_embeddings", default=positions)
    return max(1, int(positions * factor))


def _table(config: Config, scaling: Config | None, positions: int) -> int:
    rows = positions
    partial = config.fraction("partial_rotary_factor", default=1.0, low=0.0, high=1.0)
    if scaling is not None:
        kind = scaling.text("rope_type", "type", default="default")
        factor = scaling.fraction("factor", default=1.0, low=0.0, high=1e6)
        original = scaling.whole("original_max_position_embeddings", default=positions)
        partial = scaling.fraction("partial_rotary_factor", default=partial, low=0.0, high=1.0)
        rows = {"linear": int(positions * factor), "dynamic": int(positions * factor), "yarn": int(original * factor), "longrope": original + positions}.get(
            kind, positions
        )
    return rows * _rotary_dim(config, partial) * BYTES


def _rotary_dim(config: Config, partial: float) -> int:
    if config.first("qk_rope_head_dim"):
        return config.whole("qk_rope_head_dim", low=0, high=100_000)
    if config.first("rotary_dim"):
        return config.whole("rotary_dim", low=0, high=100_000)
    heads = config.whole("num_attention_heads", "n_head", "n_heads", high=100_000)
    head_dim = config.whole("head_dim", "attention_head_dim", default=0, low=0, high=100_000) or config.whole("hidden_size", "n_embd", "d_model") // heads
    return int(head_dim * partial)
