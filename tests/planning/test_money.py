"""Prices per token: what counts as a token of which kind."""

from __future__ import annotations

import pytest

from tests.planning.specs import model, plan

EMBED = {"source": "BAAI/bge-large-en-v1.5", "max_model_len": 512, "workload": {"peak_rps": 300, "input_tokens": {"mean": 40, "p95": 100}}}


def test_an_embedding_model_has_no_output_tokens() -> None:
    """Beside a chat model the output price is the chat model's alone, and the embedding model's whole bill is on its input."""
    both = plan({"bge": EMBED, "chat": model()}).cost
    bge, chat = both.by_model["bge"], both.by_model["chat"]
    assert 0.0 == bge.usd_per_mtok_output
    # 300 x 40 tokens a second.
    assert pytest.approx(bge.usd_per_hour / (300 * 40 * 3600 / 1e6), abs=1e-4) == bge.usd_per_mtok_input == bge.usd_per_mtok
    assert pytest.approx(chat.usd_per_mtok_output, rel=1e-3) == both.usd_per_mtok_output
    # 2 x 200 output tokens a second of the chat and nothing else; the rest of the bill is on input.
    assert (
        pytest.approx(both.usd_per_mtok_output * 2 * 200 * 3600 / 1e6 + both.usd_per_mtok_input * (2 * 800 + 300 * 40) * 3600 / 1e6, rel=1e-3)
        == both.usd_per_hour
    )
