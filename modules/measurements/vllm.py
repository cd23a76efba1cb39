"""Results of `vllm bench serve`: one JSON object (`--save-result`), or one a line (`--append-result`).

Source: vllm/benchmarks/serve.py of vllm-project/vllm at 009e6d4, 2026. Which statistics are in the file is the user's choice
(`--percentile-metrics`, `--metric-percentiles`; by default mean, median and p99 of ttft, tpot and itl).
"""

from __future__ import annotations

from typing import Any

from inferform.measurements.document import Document
from inferform.measurements.run import Count, Figure, MeasuredRun, Positive, Shape, Some, distribution
from pydantic import field_validator

NAME = "vllm bench serve --save-result or --append-result (JSON)"
_KEYS = {"backend", "model_id", "num_prompts", "duration", "completed", "total_input_tokens", "request_throughput", "total_token_throughput"}


class ServeResult(Shape):
    """The keys of a result that are used; a run of an embedding model has no output tokens and no token latencies."""

    model_id: str
    duration: Positive
    completed: Some
    failed: Count = 0
    total_input_tokens: Count
    total_output_tokens: Count | None = None
    request_throughput: Positive
    output_throughput: Figure | None = None
    total_token_throughput: Figure
    request_rate: Positive | None = None
    max_concurrency: Some | None = None
    mean_ttft_ms: Figure | None = None
    median_ttft_ms: Figure | None = None
    p95_ttft_ms: Figure | None = None
    p99_ttft_ms: Figure | None = None
    mean_tpot_ms: Figure | None = None
    median_tpot_ms: Figure | None = None
    p95_tpot_ms: Figure | None = None
    p99_tpot_ms: Figure | None = None
    mean_itl_ms: Figure | None = None
    median_itl_ms: Figure | None = None
    p95_itl_ms: Figure | None = None
    p99_itl_ms: Figure | None = None

    @field_validator("request_rate", mode="before")
    @classmethod
    def _unlimited(cls, value: Any) -> Any:
        return None if value == "inf" else value

    def latency(self, name: str) -> dict[str, float | None] | None:
        mean, median, p95, p99 = (getattr(self, f"{statistic}_{name}_ms") for statistic in ("mean", "median", "p95", "p99"))
        return distribution(mean=mean, p50=median, p95=p95, p99=p99)


def recognises(value: Any) -> bool:
    """True for an object with at least three of the keys that every result has."""
    return isinstance(value, dict) and len(_KEYS & value.keys()) >= 3


def runs(document: Document) -> list[MeasuredRun]:
    """The run of one result. Raises: InputError."""
    result = document.read(ServeResult)
    return [
        document.read(
            MeasuredRun,
            {
                "tool": "vllm bench serve",
                "model": result.model_id,
                "input_tokens": result.total_input_tokens / result.completed,
                "output_tokens": None if result.total_output_tokens is None else result.total_output_tokens / result.completed,
                "concurrency": result.max_concurrency,
                "request_rate": result.request_rate,
                "duration_s": result.duration,
                "requests": result.completed,
                "failed": result.failed,
                "requests_per_s": result.request_throughput,
                "output_tokens_per_s": result.output_throughput,
                "total_tokens_per_s": result.total_token_throughput,
                "ttft_ms": result.latency("ttft"),
                "tpot_ms": result.latency("tpot"),
                "itl_ms": result.latency("itl"),
                "path": document.path,
                "line": document.line,
            },
        )
    ]
