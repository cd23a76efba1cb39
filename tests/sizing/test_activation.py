"""The activation peak by engine version, against start-up logs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.catalog.models import find_model
from inferform.sizing.activation import activation_bytes, expert_workspace_bytes
from inferform.sizing.memory_constants import read_version

GIB = 2**30


def _gib(name: str, version: str, **changes: Any) -> float:
    values = {"tp": 1, "ep": 1, "pp": 1, "samples": True, "max_num_seqs": 1024, "max_num_batched_tokens": 8192, "weights": "bf16", **changes}
    return activation_bytes(find_model(name), version=read_version(version), **values) / GIB


@pytest.mark.parametrize(
    ("name", "changes", "printed"),
    [
        ("meta-llama/Llama-3.1-8B", {}, 1.89),
        ("Qwen/Qwen2.5-7B", {}, 2.21),
        ("Qwen/Qwen2.5-72B", {"tp": 2}, 2.29),
        ("meta-llama/Llama-3.3-70B-Instruct", {"tp": 4}, 1.97),
        ("microsoft/phi-4", {}, 1.52),
        ("microsoft/phi-2", {}, 0.79),
        ("google/gemma-2-9b-it", {}, 3.65),
        ("openai/gpt-oss-20b", {"weights": "mxfp4"}, 2.87),
        ("mistralai/Mixtral-8x7B-v0.1", {"tp": 2}, 1.21),
        ("Qwen/Qwen3-30B-A3B", {}, 2.68),
        ("deepseek-ai/DeepSeek-V2-Lite", {}, 1.93),
        ("google/gemma-3-4b-it", {}, 3.89),
    ],
)
def test_lean_sampler(name: str, changes: dict[str, Any], printed: float) -> None:
    """vLLM 0.19 on an H100 with its default limits, dense, MoE and vision: within 0.06 GiB of what it printed."""
    assert printed == pytest.approx(_gib(name, "0.19.0", **changes), abs=0.06)


@pytest.mark.parametrize(
    ("name", "printed"),
    [("meta-llama/Llama-3.1-8B", 4.76), ("Qwen/Qwen3-0.6B", 5.56), ("Qwen/Qwen3-14B", 5.64), ("openai/gpt-oss-120b", 7.38), ("google/gemma-3-4b-it", 9.96)],
)
def test_large_sampler_peak(name: str, printed: float) -> None:
    """Up to 0.16 the sampler held about 9.5 copies of the logits: within 0.1 GiB of what was printed."""
    weights = "mxfp4" if "gpt-oss" in name else "bf16"
    assert printed == pytest.approx(_gib(name, "0.11.0", weights=weights), abs=0.1)


def test_law_by_hand() -> None:
    """Llama-3.1-8B at 0.19: 3.62 x 1,024 x 128,256 x 4 bytes + 8,192 x 4,096 x 2 + 0.05 GiB."""
    expected = int(3.62 * 1024 * 128256 * 4) + 8192 * 4096 * 2 + int(0.05 * GIB)
    assert expected == int(_gib("meta-llama/Llama-3.1-8B", "0.19.0") * GIB)


def test_the_change_came_with_0_17() -> None:
    """Qwen3-14B: 5.64 GiB at 0.16 and 2.23 from 0.17 on."""
    assert (5.6, 2.2) == (round(_gib("Qwen/Qwen3-14B", "0.16.0"), 1), round(_gib("Qwen/Qwen3-14B", "0.17.0"), 1))


def test_first_pipeline_stage_does_not_sample() -> None:
    """Llama-8B over 2 stages: 1.10 GiB on the first against 1.89 where the logits are."""
    assert 1.10 == pytest.approx(_gib("meta-llama/Llama-3.1-8B", "0.19.0", pp=2, samples=False), abs=0.06)


def test_forward_pass_shows_when_few_sequences_run() -> None:
    """With 2 sequences the MLP over 8,192 tokens is the peak: (3 x 14,336 + 4 x 4,096) x 8,192 x 2 bytes + 0.05 GiB."""
    expected = (3 * 14336 + 4 * 4096) * 8192 * 2 + int(0.05 * GIB)
    assert expected == int(_gib("meta-llama/Llama-3.1-8B", "0.19.0", max_num_seqs=2) * GIB)


def test_expert_workspace_by_hand() -> None:
    """Qwen3-30B-A3B: 8,192 tokens x 8 experts x (2,048 + 2,048) x 2 bytes = 0.5 GiB."""
    assert GIB // 2 == expert_workspace_bytes(find_model("Qwen/Qwen3-30B-A3B"), 1, 1, 8192)


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(["meta-llama/Llama-3.1-8B", "Qwen/Qwen3-30B-A3B", "google/gemma-3-4b-it", "BAAI/bge-m3"]),
    st.sampled_from(["0.7.0", "0.11.0", "0.19.0", "0.33.0"]),
    st.integers(1, 2048),
    st.integers(1, 2048),
    st.integers(16, 32768),
)
def test_more_work_never_needs_less(name: str, version: str, sequences: int, more: int, tokens: int) -> None:
    """The peak grows with sequences and with batched tokens, and shards never raise it."""
    small = _gib(name, version, max_num_seqs=sequences, max_num_batched_tokens=tokens)
    assert 0 < small <= _gib(name, version, max_num_seqs=sequences + more, max_num_batched_tokens=tokens)
    assert small <= _gib(name, version, max_num_seqs=sequences, max_num_batched_tokens=tokens + more)
    assert small >= _gib(name, version, max_num_seqs=sequences, max_num_batched_tokens=tokens, tp=4)
