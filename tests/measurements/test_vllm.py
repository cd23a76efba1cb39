"""vLLM's `bench serve` results: one object, appended objects, runs of embedding models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.measurements import LatencyMs, MeasuredRun, read_runs

SAMPLES = Path(__file__).parent / "samples"


def changed(tmp_path: Path, **changes: Any) -> Path:
    """The sample result with keys replaced; a key set to ... is taken out."""
    result = {**json.loads((SAMPLES / "vllm-serve.json").read_text()), **changes}
    path = tmp_path / "result.json"
    path.write_text(json.dumps({k: v for k, v in result.items() if v is not ...}))
    return path


def test_a_saved_result_is_one_run() -> None:
    """512 requests of 1,024 + 256 tokens in 61.44 s: 8.33 requests, 2,133 output tokens and 10,667 tokens a second."""
    (run,) = read_runs(SAMPLES / "vllm-serve.json")
    expected = MeasuredRun(
        tool="vllm bench serve",
        model="meta-llama/Llama-3.1-8B-Instruct",
        input_tokens=1024.0,
        output_tokens=256.0,
        concurrency=64.0,
        duration_s=61.44,
        requests=512,
        requests_per_s=512 / 61.44,
        output_tokens_per_s=512 * 256 / 61.44,
        total_tokens_per_s=512 * 1280 / 61.44,
        ttft_ms=LatencyMs(mean=412.5, p50=361.2, p95=903.1, p99=1288.4),
        tpot_ms=LatencyMs(mean=27.9, p50=28.3, p95=31.7, p99=33.2),
        itl_ms=LatencyMs(mean=27.8, p50=24.1, p95=49.6, p99=88.0),
        path=str(SAMPLES / "vllm-serve.json"),
        line=1,
    )
    assert expected == run


def test_appended_results_are_runs_with_their_lines() -> None:
    """Three lines are three runs: two by concurrency, one by rate with two failed requests; p95 was not asked for."""
    runs = read_runs(SAMPLES / "vllm-append.jsonl")
    assert [(1, 1.0, None, 0), (2, 16.0, None, 0), (3, None, 4.0, 2)] == [(r.line, r.concurrency, r.request_rate, r.failed) for r in runs]
    assert {None} == {r.ttft_ms.p95 for r in runs if r.ttft_ms}


def test_an_embedding_run_has_no_output_tokens() -> None:
    """1,000 inputs of 256 tokens in 12.5 s: 80 requests and 20,480 tokens a second, no latencies of tokens."""
    (run,) = read_runs(SAMPLES / "vllm-pooling.json")
    assert (80.0, 20_480.0, None, None, None, None) == (
        run.requests_per_s,
        run.total_tokens_per_s,
        run.output_tokens,
        run.output_tokens_per_s,
        run.ttft_ms,
        run.tpot_ms,
    )


def test_zeros_for_lack_of_samples_are_no_latency(tmp_path: Path) -> None:
    """Without streaming vLLM writes zeros for TTFT: that was not measured."""
    (run,) = read_runs(changed(tmp_path, mean_ttft_ms=0.0, median_ttft_ms=0.0, p95_ttft_ms=0.0, p99_ttft_ms=0.0))
    assert run.ttft_ms is None
    assert run.tpot_ms is not None


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"duration": ...}, "duration", "the key is missing"),
        ({"request_throughput": ...}, "request_throughput", "the key is missing"),
        ({"duration": 0}, "duration", "greater than 0"),
        ({"duration": 61440.0}, "", "requests 512 is not requests_per_s x duration_s"),
        ({"output_throughput": 2.1333}, "", "another unit"),
        ({"completed": 0}, "completed", "greater than 0"),
        ({"mean_ttft_ms": -1.0}, "mean_ttft_ms", "greater than or equal to 0"),
        ({"mean_ttft_ms": float("nan")}, "mean_ttft_ms", "finite"),
        ({"p99_tpot_ms": "33 ms"}, "p99_tpot_ms", "valid number"),
        ({"p95_itl_ms": 100.0}, "itl_ms", "p95 100 ms is above p99 88 ms"),
        ({"mean_ttft_ms": 0.0}, "ttft_ms.mean", "greater than 0"),
        ({"request_rate": "fast"}, "request_rate", "valid number"),
        ({"model_id": 7}, "model_id", "valid string"),
        ({"total_token_throughput": 1000.0}, "", "output_tokens_per_s 2133.33 is above total_tokens_per_s 1000"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, changes: dict[str, Any], field: str, message: str) -> None:
    """A missing key, a zero or negative or NaN figure, a wrong unit or order: the file, the key and the reason are told."""
    path = changed(tmp_path, **changes)
    with pytest.raises(InputError) as err:
        read_runs(path)
    assert (str(path), 1, field) in [(p.file, p.line, p.field) for p in err.value.problems if message in p.message]


def test_every_bad_line_is_told(tmp_path: Path) -> None:
    """Of three appended results two are wrong: both are named with their lines, and no run is given."""
    lines = [json.loads(line) for line in (SAMPLES / "vllm-append.jsonl").read_text().splitlines()]
    lines[0]["duration"], lines[2]["completed"] = 0, -1
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError) as err:
        read_runs(path)
    assert [(1, "duration"), (3, "completed")] == [(p.line, p.field) for p in err.value.problems]
