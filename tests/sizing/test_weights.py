"""Bytes of weights per GPU against hand-worked numbers and start-up logs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.catalog.models import find_model
from inferform.sizing.weights import allocated, padded_vocab, pipeline_stages, sharded_weights, tied_copy_bytes, total_weights_bytes

from tests.sizing.small_models import llama

GIB = 2**30
MIB = 2**20


def _gib(name: str, weights: str, tp: int = 1) -> float:
    model = find_model(name)
    return sharded_weights(model, weights, tp).stage(0, model.layers) / GIB


def test_70b_in_16_bits_is_about_140_gb() -> None:
    """70.55 B parameters x 2 bytes = 141.1 GB."""
    assert 141.1e9 == pytest.approx(total_weights_bytes(find_model("meta-llama/Llama-3.3-70B-Instruct"), "fp16"), rel=0.001)


def test_70b_awq_is_35_gb_and_16_bit_embeddings() -> None:
    """68.45 B linear weights x 4.156 bits = 35.6 GB, embeddings and head 2 x 128,256 x 8,192 x 2 bytes = 4.2 GB."""
    assert 35.6e9 + 4.2e9 == pytest.approx(total_weights_bytes(find_model("meta-llama/Llama-3.3-70B-Instruct"), "awq"), rel=0.005)


def test_8b_by_hand_to_the_byte() -> None:
    """Llama-3-8B, 16 bits: embedding + head + 32 layers x (q, k, v, o, gate, up, down, two norms) + last norm, as the allocator books them."""
    h, i, kv, v = 4096, 14336, 1024, 128256
    # Fused qkv is 6144 x 4096 x 2 = 48 MiB, o 32 MiB, gate_up 224 MiB, down 112 MiB: all whole multiples of 2 MiB.
    layer = 2 * (h * (h + 2 * kv) + h * h + 3 * h * i) + 2 * 2 * h
    # Embedding and head are 1,002 MiB each; the last norm takes 8 KiB.
    expected = 32 * layer + 2 * (2 * v * h) + 2 * h
    assert expected == total_weights_bytes(llama(), "bf16")


@pytest.mark.parametrize(
    ("name", "weights", "tp", "printed"),
    [
        ("meta-llama/Llama-3.1-8B", "bf16", 1, 14.99),
        ("meta-llama/Llama-3.1-8B", "bf16", 2, 7.51),
        ("meta-llama/Llama-3.1-8B", "bf16", 4, 3.77),
        ("meta-llama/Llama-3.1-8B", "fp8", 1, 8.49),
        ("meta-llama/Llama-3.1-8B", "awq", 1, 5.38),
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 1, 14.25),
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 2, 7.12),
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 4, 3.55),
        ("meta-llama/Llama-3.3-70B-Instruct", "fp8", 2, 33.88),
        ("meta-llama/Llama-3.3-70B-Instruct", "int8", 4, 16.96),
        ("microsoft/phi-4", "bf16", 1, 27.39),
        ("Qwen/Qwen2.5-72B-Instruct", "bf16", 2, 67.78),
        ("openai/gpt-oss-20b", "mxfp4", 1, 13.47),
        ("openai/gpt-oss-120b", "mxfp4", 1, 64.38),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "bf16", 4, 53.12),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "bf16", 1, 44.76),
        ("Qwen/Qwen3-8B", "fp8", 1, 8.8),
        ("Qwen/Qwen3-235B-A22B-FP8", "fp8", 4, 55.19),
        ("deepseek-ai/DeepSeek-V2-Lite-Chat", "bf16", 1, 29.43),
        ("google/gemma-3-4b-it", "bf16", 1, 8.58),
    ],
)
def test_printed_loads(name: str, weights: str, tp: int, printed: float) -> None:
    """What vLLM printed as "Model loading took" comes out within 1 % (2 % for Gemma-3-4B, whose carried context length is rounded up)."""
    assert printed == pytest.approx(_gib(name, weights, tp), rel=0.02 if "gemma" in name else 0.01)


def test_fc02_weights_use_padded_vocabulary() -> None:
    """FC-02: 32,001 tokens are stored as 32,064 rows; at tp 2 each rank holds 16,032."""
    assert (32064, 151552, 49984) == (padded_vocab(32001), padded_vocab(151552), padded_vocab(49954))
    odd, even = llama(vocab_size=32001), llama(vocab_size=32064)
    assert sharded_weights(even, "bf16", 2) == sharded_weights(odd, "bf16", 2)


def test_allocator_rounding() -> None:
    """31.5 MiB become 32 (a rest of half a MiB stays), 32.25 MiB stay exact (1.75 MiB are split off), small tensors round to 512 bytes."""
    assert (32 * MIB, int(32.25 * MIB), 512) == (allocated(int(31.5 * MIB)), allocated(int(32.25 * MIB)), allocated(1))


def test_uneven_pipeline() -> None:
    """61 layers over 4 stages: 15, 15, 16, 15; the last keeps fewer because it has the head."""
    assert [15, 15, 16, 15] == [end - start for start, end in pipeline_stages(61, 4)]
    assert ((0, 32),) == pipeline_stages(32, 1)


def test_pipeline_ranks_of_8b() -> None:
    """Llama-3.1-8B over 4 stages: the first holds the embedding (printed 4.26 GiB), the middle ones 3.28 GiB."""
    sharded = sharded_weights(find_model("meta-llama/Llama-3.1-8B"), "bf16", 1)
    assert [4.26, 3.28, 3.28, 4.26] == [round(sharded.stage(*stage) / GIB, 2) for stage in pipeline_stages(32, 4)]


def test_tied_embedding_is_stored_twice_in_a_pipeline() -> None:
    """The last stage of a tied model keeps its own copy: 128,256 x 4,096 x 2 bytes."""
    assert (128256 * 4096 * 2, 0) == (tied_copy_bytes(llama(tie_word_embeddings=True), 1), tied_copy_bytes(llama(), 1))


def test_key_value_heads_are_copied() -> None:
    """With 8 heads for keys and values, tp 16 stores one on every rank instead of half a one."""
    model = llama(num_attention_heads=64, head_dim=128)
    kv = next(t for t in model.tensors if t.name == "self_attn.k_proj")
    eight, sixteen = (sharded_weights(model, "bf16", tp).layers[0] for tp in (8, 16))
    # Going from 8 to 16 halves everything but k, v (128 rows each) and the norms.
    assert eight / 2 < sixteen < eight / 2 + 2 * 128 * kv.cols * 2 + 2 * 2 * 4096


def test_latent_attention_keeps_absorbed_copies() -> None:
    """DeepSeek-V2-Lite keeps 16 heads x (128 + 128) x 512 x 2 bytes a layer beside the projection itself: 27 layers, 0.11 GiB."""
    model = find_model("deepseek-ai/DeepSeek-V2-Lite")
    plain = sum(t.params for t in model.tensors) * 2
    assert 27 * 16 * 256 * 512 * 2 == pytest.approx(total_weights_bytes(model, "bf16") - plain, rel=0.25)


def test_mixed_checkpoint_uses_its_own_parts() -> None:
    """Kimi-K2.5's own int4 covers experts only, so it is heavier than int4 on every layer."""
    own, everywhere = find_model("moonshotai/Kimi-K2.5"), find_model("moonshotai/Kimi-K2-Instruct")
    assert total_weights_bytes(own, "gptq") > total_weights_bytes(everywhere, "gptq")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["meta-llama/Llama-3.1-8B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V3", "google/gemma-3-27b-it"]), st.sampled_from([1, 2, 4]))
def test_narrower_never_weighs_more_and_shards_never_lose(name: str, tp: int) -> None:
    """Fewer bits never weigh more; the ranks of a group together hold at least the whole model."""
    model = find_model(name)
    by_bits = [sharded_weights(model, w, tp).stage(0, model.layers) for w in ("bf16", "fp8", "nvfp4", "awq")]
    assert by_bits == sorted(by_bits, reverse=True)
    assert by_bits[0] * tp >= total_weights_bytes(model, "bf16") * 0.999


def test_expert_parallelism_keeps_experts_whole() -> None:
    """16 of 128 experts a rank at ep 8 weigh what an eighth of every expert weighs at tp 8."""
    model = find_model("Qwen/Qwen3-30B-A3B")
    cut, whole = (sharded_weights(model, "bf16", 8, ep).stage(0, model.layers) for ep in (1, 8))
    assert cut == pytest.approx(whole, rel=0.02)
