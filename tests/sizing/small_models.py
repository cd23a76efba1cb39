"""Small and field-case models as configs, shared by the memory tests."""

from __future__ import annotations

from typing import Any

from inferform.catalog.huggingface import model_from_config
from inferform.catalog.types import Model


def llama(**changes: Any) -> Model:
    """A Llama-shaped model; by default 32 layers, hidden 4096, 32 heads with 8 for keys and values."""
    config = {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192, "tie_word_embeddings": False,
    }  # fmt: skip
    return model_from_config({**config, **changes}, id="test/llama", file="config.json", source="test")


def fp8_moe(**changes: Any) -> Model:
    """The field case's block-quantized mixture: expert width 3072, shared expert, dense width 18432."""
    return llama(
        model_type="deepseek_v3", num_attention_heads=128, num_key_value_heads=128, intermediate_size=18432, moe_intermediate_size=3072, n_routed_experts=64,
        num_experts_per_tok=8, n_shared_experts=1, first_k_dense_replace=1, kv_lora_rank=512, q_lora_rank=1536, qk_rope_head_dim=64, qk_nope_head_dim=128,
        v_head_dim=128, quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]}, **changes,
    )  # fmt: skip
