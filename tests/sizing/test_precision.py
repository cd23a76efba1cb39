"""What a GPU can run in which precision (FC-05), and the quality classes."""

from __future__ import annotations

import pytest
from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model
from inferform.sizing.precision import METHODS, WEIGHTS, accuracy_class, at_least, check_precision, compute_kind, usable_weights

DENSE, MOE = "meta-llama/Llama-3.1-8B", "Qwen/Qwen3-30B-A3B"


@pytest.mark.parametrize(
    ("gpu", "weights", "kind"),
    [
        ("H100", "fp8", "native"), ("L4", "fp8", "native"), ("A100", "fp8", "weight_only"), ("A10G", "fp8", "weight_only"), ("T4", "fp8", "none"),
        ("B200", "nvfp4", "native"), ("RTX PRO 6000", "nvfp4", "native"), ("H100", "nvfp4", "weight_only"), ("T4", "nvfp4", "none"),
        ("H100", "int8", "native"), ("B200", "int8", "none"), ("A100", "awq", "weight_only"), ("T4", "awq", "weight_only"), ("T4", "bf16", "none"),
        ("T4", "fp16", "native"), ("MI300X", "fp8", "native"), ("MI300X", "awq", "none"),
    ],
)  # fmt: skip
def test_kind_of_arithmetic(gpu: str, weights: str, kind: str) -> None:
    """Native, weight-only or impossible, by compute capability."""
    assert kind == compute_kind(find_gpu(gpu), weights)


@pytest.mark.parametrize("gpu", ["A100", "A10G"])
def test_fc05_fp8_experts_on_ampere_are_refused(gpu: str) -> None:
    """FC-05: MoE in FP8 below capability 8.9 is refused, naming the capability found, 8.9, and the fitting families."""
    check = check_precision(find_model(MOE), find_gpu(gpu), weights="fp8", engine_version="0.33.0")
    text = str(check.problems[0])
    assert str(find_gpu(gpu).compute_capability) in text and "8.9" in text and "g6 and g6e" in text and "p5" in text


def test_fc05_dense_fp8_on_ampere_is_weight_only() -> None:
    """FC-05: dense FP8 on an A100 is accepted with a warning: one byte a weight, arithmetic at the 16-bit rate."""
    check = check_precision(find_model(DENSE), find_gpu("A100"), weights="fp8")
    assert not check.problems and "weight-only" in check.warnings[0] and "16-bit rate" in check.warnings[0]


def test_fc05_tensorrt_llm_has_no_weight_only_fp8() -> None:
    """FC-05: TensorRT-LLM with FP8 below 8.9 is refused."""
    assert check_precision(find_model(DENSE), find_gpu("A100"), weights="fp8", engine="tensorrt-llm").problems


@pytest.mark.parametrize("gpu", ["A100", "H100", "B200"])
def test_fc05_e5m2_cache_never_goes_with_fp8_weights(gpu: str) -> None:
    """FC-05: kv_cache fp8_e5m2 with an FP8 checkpoint is refused on any GPU."""
    problems = check_precision(find_model(DENSE), find_gpu(gpu), weights="fp8", kv_cache="fp8_e5m2").problems
    assert any(p.field == "kv_cache" for p in problems)


def test_fc05_fp8_cache_on_ampere_saves_memory_only() -> None:
    """FC-05: an FP8 cache on an A100 is accepted with that remark."""
    check = check_precision(find_model(DENSE), find_gpu("A100"), weights="bf16", kv_cache="fp8")
    assert not check.problems and "saves memory only" in check.warnings[0]


def test_native_use_has_no_remark() -> None:
    """FP8 weights and cache on an H100 need no remark, experts or not."""
    for model in (DENSE, MOE):
        check = check_precision(find_model(model), find_gpu("H100"), weights="fp8", kv_cache="fp8")
        assert ((), ()) == (check.problems, check.warnings)


def test_impossible_precision_names_what_works() -> None:
    """nvfp4 on a T4 is refused with the precisions a T4 runs."""
    (problem,) = check_precision(find_model(DENSE), find_gpu("T4"), weights="nvfp4").problems
    assert usable_weights(find_gpu("T4")) == problem.legal == ("fp16", "int8", "awq", "gptq")


def test_quality_classes() -> None:
    """16 bits are the reference, 8 bits near it, 4 bits below; a floor accepts what is no worse."""
    assert ("reference", "near_lossless", "small_loss") == (accuracy_class("bf16"), accuracy_class("fp8"), accuracy_class("awq"))
    assert at_least("fp8", "near_lossless") and not at_least("awq", "near_lossless") and at_least("awq", "small_loss")
    assert set(WEIGHTS) == set(METHODS)
