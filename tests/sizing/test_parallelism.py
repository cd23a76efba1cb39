"""Legal parallel degrees: the field cases and their neighbours."""

from __future__ import annotations

import pytest
from inferform.catalog.models import find_model
from inferform.sizing.parallelism import check_parallelism, legal_degrees

from tests.sizing.small_models import fp8_moe, llama


def test_fc01_tensor_parallel_must_divide_heads() -> None:
    """FC-01: 40 heads at tp 16 are refused, naming 40, 16 and the degrees 1, 2, 4, 8 that the node offers."""
    model = llama(num_attention_heads=40, num_key_value_heads=8, head_dim=128)
    (problem,) = check_parallelism(model, tp=16, gpus_per_node=8)
    assert ("parallelism.tp", "16", ("1", "2", "4", "8")) == (problem.field, problem.value, problem.legal)
    assert "40" in problem.message and "16" in problem.message


@pytest.mark.parametrize(("heads", "kv_heads", "tp"), [(52, 4, 8), (28, 4, 8), (32, 8, 3), (40, 8, 16)])
def test_fc01_other_head_counts(heads: int, kv_heads: int, tp: int) -> None:
    """FC-01: 52 and 28 heads on 8 GPUs and 32 heads on 3 are refused as well."""
    assert check_parallelism(llama(num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=128), tp=tp)


@pytest.mark.parametrize(("heads", "kv_heads", "degrees"), [(40, 8, (1, 2, 4, 8)), (28, 4, (1, 2, 4)), (32, 8, (1, 2, 4, 8)), (52, 4, (1, 2, 4))])
def test_fc01_choice_left_to_the_planner(heads: int, kv_heads: int, degrees: tuple[int, ...]) -> None:
    """FC-01: on 8-GPU nodes 40 heads give 1, 2, 4, 8 and 28 heads give 1, 2, 4."""
    assert degrees == legal_degrees(llama(num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=128), 8)


def test_key_value_heads_are_cut_or_copied_evenly() -> None:
    """8 key/value heads go over 16 ranks (two copies) but not over 6 of 48 query heads."""
    assert not check_parallelism(llama(num_attention_heads=64, head_dim=64), tp=16)
    assert check_parallelism(llama(num_attention_heads=48, head_dim=64, vocab_size=192 * 64), tp=6)


@pytest.mark.parametrize(("vocab", "heads", "tp", "padded"), [(151552, 48, 6, 151552), (32064, 40, 5, 32064)])
def test_fc02_padded_vocabulary_must_divide(vocab: int, heads: int, tp: int, padded: int) -> None:
    """FC-02: 151,552 at tp 6 and 32,064 at tp 5 leave 4 over and are refused, naming the padded figure."""
    problems = check_parallelism(llama(vocab_size=vocab, num_attention_heads=heads, num_key_value_heads=heads, head_dim=64), tp=tp)
    assert any(f"padded to {padded}" in p.message and "= 4" in p.message for p in problems)


@pytest.mark.parametrize(("vocab", "tp"), [(32001, 2), (49954, 16)])
def test_fc02_odd_vocabulary_is_padded(vocab: int, tp: int) -> None:
    """FC-02: 32,001 at tp 2 (32,064 rows) and 49,954 at tp 16 (49,984 rows) pass."""
    assert not check_parallelism(llama(vocab_size=vocab), tp=tp)


def test_fc04_blocks_of_an_fp8_checkpoint() -> None:
    """FC-04: width 3,072 at tp 16 leaves 192 a rank, not a multiple of 128; tp 8 with pp 2 is offered for the same 16 GPUs."""
    problems = check_parallelism(fp8_moe(), tp=16, gpus_per_node=8)
    experts = next(p for p in problems if "experts" in p.message)
    assert "3072" in experts.message and "192" in experts.message and "128" in experts.message
    assert "use tp 8 with pp 2 for the same 16 GPUs" == experts.fix
    assert not check_parallelism(fp8_moe(), tp=8, pp=2)


def test_fc04_expert_parallelism_does_not_save_shared_experts() -> None:
    """FC-04: with whole experts on each rank the shared expert of width 3,072 is still cut into 192."""
    problems = check_parallelism(fp8_moe(), tp=16, ep=16, gpus_per_node=8)
    assert any("shared expert" in p.message for p in problems) and not any("the experts" in p.message for p in problems)


def test_fc04_dense_width() -> None:
    """FC-04: a dense width of 18,432 at tp 32 leaves 576 a rank and is refused."""
    problems = check_parallelism(fp8_moe(), tp=32, gpus_per_node=32)
    assert any("dense MLP" in p.message and "576" in p.message for p in problems)


def test_fc04_only_for_block_quantized_checkpoints() -> None:
    """FC-04 does not touch 16-bit weights of the same shapes."""
    assert not check_parallelism(fp8_moe(), tp=16, weights="bf16")
    assert 8 == max(legal_degrees(find_model("deepseek-ai/DeepSeek-R1"), 8))


def test_linear_heads_count_too() -> None:
    """Qwen3-Next has 16 query heads and 32 heads in its linear layers; both must be cut evenly."""
    assert (1, 2, 4, 8) == legal_degrees(find_model("Qwen/Qwen3-Next-80B-A3B-Instruct"), 8)
    assert check_parallelism(find_model("Qwen/Qwen3-Next-80B-A3B-Instruct"), tp=32)


def test_pipeline_and_experts_have_bounds() -> None:
    """More stages than layers, more expert ranks than experts, and experts in a dense model are refused."""
    assert ["parallelism.pp"] == [p.field for p in check_parallelism(llama(), tp=1, pp=33)]
    assert ["parallelism.ep"] == [p.field for p in check_parallelism(find_model("mistralai/Mixtral-8x7B-v0.1"), tp=1, ep=16)]
    assert ["parallelism.ep"] == [p.field for p in check_parallelism(llama(), tp=1, ep=2)]
