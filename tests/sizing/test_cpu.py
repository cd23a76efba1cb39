"""Encoders on CPU."""

from __future__ import annotations

import pytest
from inferform.catalog.instances import find_instance
from inferform.catalog.models import find_model
from inferform.sizing.cpu import cpu_card, cpu_costs, cpu_memory
from inferform.sizing.roofline import step_s

BGE = find_model("BAAI/bge-large-en-v1.5")


def test_one_vcpu_stays_with_the_server() -> None:
    """c7i.4xlarge: 15 of 16 vCPUs at 0.15 TFLOP/s are 2.25 TFLOP/s."""
    assert cpu_card(find_instance("c7i.4xlarge")).fp16_flops == pytest.approx(2.25e12)


def test_types_without_amx_are_slower() -> None:
    """c6i has no AMX."""
    new, old = (cpu_card(find_instance(name)).fp16_flops or 0 for name in ("c7i.4xlarge", "c6i.4xlarge"))
    assert old < new / 3


def test_a_prompt_by_hand() -> None:
    """120 tokens of bge-large on c7i.4xlarge.

    303.9 M parameters beside the embedding x 2, and 4 x 1,024 x 24 x 256 = 25.2 M for attention, are 633 MFLOP a token: 120 tokens at
    2.25 TFLOP/s take 33.8 ms, and a step costs 4 ms more.
    """
    costs = cpu_costs(BGE, cpu_card(find_instance("c7i.4xlarge")))
    core = BGE.total_params - 30_522 * 1024
    by_hand = 120 * (2 * core + 25_165_824) / 2.25e12 + 0.004
    assert step_s(costs, decode=0, context=0, prompt=120, prompts=1) == pytest.approx(by_hand, rel=0.02)


def test_memory_holds_process_and_weights() -> None:
    """bge-large in 16 bit is 0.67 GB and fits 32 GiB; a node of 2 GiB is too small, with the bytes in the reason."""
    card = cpu_card(find_instance("c7i.4xlarge"))
    assert cpu_memory(BGE, card, step_tokens=8192, sequences=8).fits
    small = cpu_memory(BGE, type(card)(**{**{f: getattr(card, f) for f in card.__slots__}, "memory_bytes": 2 * 2**30}), step_tokens=8192, sequences=8)
    assert not small.fits
    assert "bytes" in small.limits[0]
