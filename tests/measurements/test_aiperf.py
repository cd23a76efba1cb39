"""aiperf and genai-perf: JSON with its configuration, CSV by titles, units, unfinished runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.measurements import MeasuredRun, read_runs

SAMPLES = Path(__file__).parent / "samples"
MODEL = "meta-llama/Llama-3.1-8B-Instruct"


def changed(tmp_path: Path, name: str, change: dict[str, Any]) -> Path:
    """A JSON sample with top-level keys replaced, dicts merged; a key set to ... is taken out."""
    value = json.loads((SAMPLES / name).read_text())
    for key, new in change.items():
        value[key] = {**value[key], **new} if isinstance(new, dict) and isinstance(value.get(key), dict) else new
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({k: v for k, v in value.items() if v is not ...}))
    return path


def rounded(run: MeasuredRun) -> dict[str, Any]:
    """A run's figures with two decimals, as the CSV has them."""
    data = run.model_dump(exclude={"path", "line", "tool_version", "model", "concurrency", "duration_s"})
    return {k: {s: round(v, 2) for s, v in d.items()} if isinstance(d, dict) else round(d, 2) if isinstance(d, float) else d for k, d in data.items()}


def test_an_aiperf_run_by_concurrency() -> None:
    """Model, version and concurrency come from the configuration; what aiperf calls inter-token latency is TPOT, its chunk gaps are ITL."""
    (run,) = read_runs(SAMPLES / "aiperf-0.13.0-concurrency.json")
    assert ("aiperf", "0.13.0", MODEL, 4.0, None, 40, 0) == (run.tool, run.tool_version, run.model, run.concurrency, run.request_rate, run.requests, run.failed)
    assert (100.0, 42.0) == (run.input_tokens, run.output_tokens)
    # (146.179 ms latency - 34.853 ms TTFT) / 41 = 2.715 ms a token, while the 20 chunks of 2 tokens come 5.859 ms apart.
    assert run.tpot_ms is not None
    assert run.itl_ms is not None
    assert pytest.approx((146.1793482 - 34.8529993) / 41) == run.tpot_ms.mean
    assert pytest.approx(5.8592815) == run.itl_ms.mean


def test_an_aiperf_run_by_rate() -> None:
    """The offered rate is 8 a second; the rates are over 20 / 6.726 = 2.973 s, longer than the span of 2.820 s that aiperf calls duration."""
    (run,) = read_runs(SAMPLES / "aiperf-0.13.0-rate.json")
    assert (None, 8.0) == (run.concurrency, run.request_rate)
    assert pytest.approx(20 / 6.726395) == run.duration_s


def test_the_csv_says_what_the_json_says() -> None:
    """Both files of the same run give the same figures, but for the rounding and the configuration that the CSV lacks."""
    (table,), (full,) = read_runs(SAMPLES / "aiperf-0.13.0.csv"), read_runs(SAMPLES / "aiperf-0.13.0-concurrency.json")
    assert rounded(full) == rounded(table)
    assert (None, None, None) == (table.model, table.concurrency, table.tool_version)


def test_genai_perf_json_and_csv() -> None:
    """genai-perf has other titles, percentiles downwards, thousands with commas, no duration and no total rate; both files agree."""
    (full,), (table,) = read_runs(SAMPLES / "genai-perf-0.0.16.json"), read_runs(SAMPLES / "genai-perf-0.0.16.csv")
    assert ("genai-perf", "genai-perf", MODEL, 10.0) == (full.tool, table.tool, full.model, full.concurrency)
    # Total: 498.7 input tokens x 4.7327 requests a second + 960.83 output tokens a second.
    assert pytest.approx(498.7 * 4.732679 + 960.828514, rel=1e-6) == full.total_tokens_per_s
    assert pytest.approx(50 / 4.732679, rel=1e-6) == full.duration_s
    assert pytest.approx(full.total_tokens_per_s, rel=1e-3) == table.total_tokens_per_s
    assert {k: v for k, v in rounded(full).items() if k != "total_tokens_per_s"} == {k: v for k, v in rounded(table).items() if k != "total_tokens_per_s"}


def test_older_aiperf_keeps_its_load_elsewhere(tmp_path: Path) -> None:
    """aiperf 0.5 had `endpoint.model_names` and `loadgen` in its configuration, and the first versions did not write their version."""
    config = {"endpoint": {"model_names": ["m"]}, "loadgen": {"concurrency": 7, "request_rate": 3.5}}
    value = json.loads((SAMPLES / "aiperf-0.13.0-concurrency.json").read_text()) | {"input_config": config}
    del value["aiperf_version"], value["schema_version"]
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(value))
    (run,) = read_runs(path)
    assert ("aiperf", None, "m", 7.0, 3.5) == (run.tool, run.tool_version, run.model, run.concurrency, run.request_rate)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time_to_first_token": {"unit": "sec"}}, 'time_to_first_token is in "sec", wanted is "ms"'),
        ({"output_token_throughput": {"unit": "tokens/sec/user"}}, "wanted is"),
        ({"was_cancelled": True}, "was not finished (cancelled)"),
        ({"is_complete": False, "incomplete_reason": "records stalled"}, "was not finished (records stalled)"),
        ({"request_throughput": ...}, "the key is missing"),
        ({"request_count": {"avg": 0.0}}, "no request was completed"),
        ({"benchmark_duration": {"avg": 1531.7}}, "does not fit 40 requests"),
        ({"benchmark_duration": {"avg": 0.0}}, "does not fit 40 requests"),
        ({"time_to_first_token": {"avg": -3.0}}, "greater than or equal to 0"),
        ({"inter_token_latency": {"p50": 9.0}}, "p50 9 ms is above p95"),
        ({"output_sequence_length": {"avg": 21.0}}, "output_tokens x requests_per_s"),
        ({"request_count": 40}, "valid dictionary"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """A wrong unit, a cancelled run, a missing metric and figures that contradict each other are told with the file."""
    path = changed(tmp_path, "aiperf-0.13.0-concurrency.json", change)
    with pytest.raises(InputError) as err:
        read_runs(path)
    assert any(message in p.message and p.file == str(path) for p in err.value.problems)


@pytest.mark.parametrize(
    ("old", "new", "own_line", "message"),
    [
        ("Time to First Token (ms),34.85", "Time to First Token (ms),soon", True, "valid number"),
        ("Time to First Token (ms),34.85", "Time to First Token (ms),nan", True, "finite"),
        ("Time to First Token (ms)", "Time to First Token (s)", False, 'in "s", wanted is "ms"'),
        ("47.16,3.95\r\nTime to Second", "\r\nTime to Second", True, "the row has 13 figures, its header 14"),
        ("Request Count,40.00", "Request Count,40.00\r\nRequest Count,80.00", True, "there twice"),
        ("Request Count,40.00\r\n", "", False, "the key is missing"),
        ("Request Throughput (requests/sec),26.00", "Request Throughput (requests/sec),0.00", False, "give the JSON file"),
    ],
)
def test_a_wrong_table_is_told_with_its_line(tmp_path: Path, old: str, new: str, own_line: bool, message: str) -> None:
    """Words, other units, short rows, double and missing metrics of a CSV."""
    text = (SAMPLES / "aiperf-0.13.0.csv").read_bytes().decode()
    assert old in text
    path = tmp_path / "profile.csv"
    path.write_bytes(text.replace(old, new).encode())
    with pytest.raises(InputError) as err:
        read_runs(path)
    # A second row of a metric stands on the line after the first.
    line = text[: text.index(old)].count("\n") + 1 + ("twice" in message) if own_line else 1
    assert [(str(path), line)] == [(p.file, p.line) for p in err.value.problems if message in p.message]


def test_a_run_without_streaming_has_no_token_latencies(tmp_path: Path) -> None:
    """Metrics that the tool leaves out are None, the rest is read."""
    path = changed(tmp_path, "genai-perf-0.0.16.json", {"time_to_first_token": ..., "inter_token_latency": ...})
    (run,) = read_runs(path)
    assert (None, None, None) == (run.ttft_ms, run.tpot_ms, run.itl_ms)
