"""Requests of `estimate` and what is wrong with them."""

from __future__ import annotations

import pytest
from inferform.errors import InputError
from inferform.sizing.estimate_request import parse
from inferform.sizing.performance import estimate

GOOD = {"model": "meta-llama/Meta-Llama-3.1-8B", "gpu": "H100"}


def test_defaults_are_the_documented_ones() -> None:
    """Left-out values: one GPU, the checkpoint's precision, 1,024 tokens in, 256 out, highest throughput."""
    asked = parse(GOOD)
    assert (1, 1, "bf16", "auto", "vllm", 1024, 256, None) == (
        asked.tp, asked.pp, asked.weights, asked.kv_cache, asked.engine, asked.input_tokens, asked.output_tokens, asked.concurrency
    )  # fmt: skip


def test_null_counts_as_left_out() -> None:
    """A JSON null is the same as no key."""
    assert parse(GOOD) == parse({**GOOD, "tp": None, "concurrency": None, "id": "a"})


def test_every_problem_at_once() -> None:
    """Unknown key, unknown GPU, wrong type and value out of range come in one error, each with its field."""
    with pytest.raises(InputError) as caught:
        parse({"model": 5, "gpu": "H1000", "tp": 0, "weights": "fp7", "speed": 1, "gpu_memory_utilization": 2, "concurrency": True})
    assert {"model", "gpu", "tp", "weights", "speed", "gpu_memory_utilization", "concurrency"} == {p.field for p in caught.value.problems}


def test_the_published_precision_is_the_default() -> None:
    """gpt-oss is published in MXFP4."""
    assert "mxfp4" == parse({**GOOD, "model": "openai/gpt-oss-120b"}).weights


def test_boards_are_linked_by_nvswitch_unless_told_otherwise() -> None:
    """Four H100 share NVSwitch; `interconnect` overrides."""
    assert "nvswitch" == parse({**GOOD, "tp": 4}).link
    assert "pcie" == parse({**GOOD, "tp": 4, "interconnect": "pcie"}).link


def test_an_unknown_gpu_needs_its_memory_and_says_what_stands_in() -> None:
    """A card outside the catalogue takes the peaks of the one with the nearest memory, and the answer says so."""
    with pytest.raises(InputError):
        parse({**GOOD, "gpu": "Z900"})
    found = estimate(parse({**GOOD, "gpu": "Z900", "gpu_memory_bytes": 24 * 2**30}))
    assert "stands in for Z900" in found.source
    assert {1.0} == set(found.error_band.values())


def test_a_prefix_as_long_as_the_prompt_is_refused() -> None:
    """The shared prefix is a part of the prompt."""
    with pytest.raises(InputError, match="below input_tokens 1000"):
        parse({**GOOD, "input_tokens": 1000, "shared_prefix_tokens": 1000})
