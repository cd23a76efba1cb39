"""`inferform estimate`: options and JSON lines to latency and throughput of one replica."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., object]
KEYS = {"ttft_ms", "tpot_ms", "output_tokens_per_s", "total_tokens_per_s", "requests_per_s", "source"}
CHAT = ("--model", "Qwen/Qwen3-8B", "--gpu", "L4", "--tp", 1)


def test_json_has_the_keys_of_the_contract(inferform: Run) -> None:
    """The documented keys are there, latencies at p50, p95 and p99 in order."""
    data = inferform("estimate", *CHAT, "--concurrency", 8, "--format", "json").data
    assert set(data) >= KEYS
    for latency in (data["ttft_ms"], data["tpot_ms"]):
        assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"]


def test_text_fits_100_columns(inferform: Run) -> None:
    """The report names model and GPU and shows both latencies and the rates."""
    out = inferform("estimate", *CHAT).out
    assert "Qwen/Qwen3-8B on L4 (tp 1)" == out.splitlines()[0]
    for word in ("TTFT", "TPOT", "requests", "output tokens", "source"):
        assert word in out
    assert 100 >= max(len(line) for line in out.splitlines())


def test_problems_name_options(inferform: Run) -> None:
    """What is wrong is named as the option that was typed."""
    ran = inferform("estimate", "--gpu", "L4", "--input-tokens", 0)
    assert 2 == ran.code
    assert "--model" in ran.err
    assert "--input-tokens" in ran.err


def test_batch_echoes_ids_in_order(tmp_path: Path, inferform: Run) -> None:
    """More requests at once never lower the throughput below the one of a single request."""
    path = tmp_path / "requests.jsonl"
    rows = [{"id": n, "model": "Qwen/Qwen3-8B", "gpu": "L4", "tp": 1, "concurrency": n} for n in (1, 8)]
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\nnot json\n")
    one, eight, bad = (json.loads(line) for line in inferform("estimate", "--batch", path).out.splitlines())
    assert (1, 8) == (one["id"], eight["id"])
    assert one["output_tokens_per_s"] < eight["output_tokens_per_s"]
    assert {"id", "error"} == set(bad)
