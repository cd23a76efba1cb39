"""guidellm reports: a run for each load, the meaning of its latencies, and reports of older versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.measurements import read_runs

SAMPLE = Path(__file__).parent / "samples" / "guidellm-0.8.1.json"


def report() -> Any:
    return json.loads(SAMPLE.read_text())


def written(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "benchmarks.json"
    path.write_text(json.dumps(value))
    return path


def test_each_load_is_a_run() -> None:
    """Two streams and four streams, 24 requests each, with the version and the model."""
    runs = read_runs(SAMPLE)
    assert [("guidellm", "0.8.1", "meta-llama/Llama-3.1-8B-Instruct", c, None, 24, 0) for c in (2.0, 4.0)] == [
        (r.tool, r.tool_version, r.model, r.concurrency, r.request_rate, r.requests, r.failed) for r in runs
    ]
    assert [20.0, 20.0] == [r.output_tokens for r in runs]


def test_time_per_output_token_does_not_count_the_first() -> None:
    """TPOT is what guidellm calls inter-token latency (6.07 ms), not its time per output token (7.48 ms), which holds TTFT too."""
    run = read_runs(SAMPLE)[1]
    # Of 20 tokens in 150.5 ms: (150.5 - 34.2) / 19 = 6.1 ms after the first; 150.5 / 20 = 7.5 ms with it.
    assert run.tpot_ms is not None
    assert pytest.approx(6.0699127) == run.tpot_ms.mean
    assert run.itl_ms is None


@pytest.mark.parametrize(
    ("strategy", "concurrency", "rate"),
    [
        ({"type_": "synchronous", "max_concurrency": 1}, 1.0, None),
        ({"type_": "throughput", "max_concurrency": 512}, 512.0, None),
        ({"type_": "poisson", "rate": 8.0, "max_concurrency": 10240}, None, 8.0),
        ({"type_": "constant", "rate": 2}, None, 2.0),
    ],
)
def test_the_load_is_told_by_the_strategy(tmp_path: Path, strategy: dict[str, Any], concurrency: float | None, rate: float | None) -> None:
    """A run by rate has no concurrency of its own: the limit in the file is guidellm's default."""
    value = report()
    value["benchmarks"] = value["benchmarks"][:1]
    value["benchmarks"][0]["config"]["strategy"] = strategy
    (run,) = read_runs(written(tmp_path, value))
    assert (concurrency, rate) == (run.concurrency, run.request_rate)


def test_tokens_of_requests_that_the_end_cut_off_count_for_the_server(tmp_path: Path) -> None:
    """Token rates are of all requests, the request rate of those that were completed."""
    value = report()
    metrics = value["benchmarks"][0]["metrics"]
    metrics["output_tokens_per_second"]["total"]["mean"] = 400.0
    run = read_runs(written(tmp_path, value))[0]
    assert (400.0, metrics["requests_per_second"]["successful"]["mean"]) == (run.output_tokens_per_s, run.requests_per_s)


def test_a_report_of_version_0_3_is_read(tmp_path: Path) -> None:
    """Strategy in `args`, model in `worker`, totals beside the metrics, no metadata: the same runs, but for the version."""
    value = report()
    for benchmark in value["benchmarks"]:
        config = benchmark.pop("config")
        benchmark |= {"args": {"strategy": config["strategy"]}, "worker": {"backend_model": config["backend"]["model"]}}
        benchmark["request_totals"] = benchmark["metrics"].pop("request_totals")
    old = read_runs(written(tmp_path, {"benchmarks": value["benchmarks"]}))
    assert [r.model_dump(exclude={"path", "tool_version"}) for r in read_runs(SAMPLE)] == [r.model_dump(exclude={"path", "tool_version"}) for r in old]
    assert [None, None] == [r.tool_version for r in old]


def test_problems_name_the_benchmark_and_the_key(tmp_path: Path) -> None:
    """A missing metric in the first and a negative one in the second benchmark are two problems with their paths."""
    value = report()
    del value["benchmarks"][0]["metrics"]["time_to_first_token_ms"]
    value["benchmarks"][1]["metrics"]["inter_token_latency_ms"]["successful"]["percentiles"]["p95"] = -1
    with pytest.raises(InputError) as err:
        read_runs(written(tmp_path, value))
    assert ["benchmarks.0.metrics.time_to_first_token_ms", "benchmarks.1.metrics.inter_token_latency_ms.successful.percentiles.p95"] == [
        p.field for p in err.value.problems
    ]


@pytest.mark.parametrize(
    ("key", "value", "field"), [("duration", 0, "benchmarks.0.duration"), ("duration", 1663.0, "benchmarks.0"), ("metrics", 3, "benchmarks.0.metrics")]
)
def test_figures_that_cannot_be_are_refused(tmp_path: Path, key: str, value: Any, field: str) -> None:
    """No time, a time in milliseconds, and no metrics at all."""
    data = report()
    data["benchmarks"][0][key] = value
    with pytest.raises(InputError) as err:
        read_runs(written(tmp_path, data))
    assert field == err.value.problems[0].field


def test_a_report_without_benchmarks_is_no_result(tmp_path: Path) -> None:
    """An empty list says that nothing was measured."""
    with pytest.raises(InputError, match="at least 1 item"):
        read_runs(written(tmp_path, {"metadata": {}, "benchmarks": []}))
