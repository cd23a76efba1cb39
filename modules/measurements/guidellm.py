"""Results of guidellm: `benchmarks.json`, one run for each load of the benchmark.

Source: report schemas of guidellm 0.8.1 (2), 0.5.4 (1) and 0.3.1 (none). A request's own mean gap, which guidellm calls inter-token latency, is time per
output token here; its `time_per_output_token_ms` counts the first token's wait too and is not the same thing, so it is not read.
Percentiles of that latency are over tokens, not over requests.
"""

from __future__ import annotations

from typing import Any

from inferform.measurements.document import Document
from inferform.measurements.run import Count, Figure, MeasuredRun, Positive, Shape, Some, distribution
from pydantic import Field, model_validator

NAME = "guidellm benchmarks.json"


class Percentiles(Shape):
    p95: Figure
    p99: Figure


class Distribution(Shape):
    mean: Figure
    median: Figure
    percentiles: Percentiles

    def latency(self) -> dict[str, float | None] | None:
        return distribution(mean=self.mean, p50=self.median, p95=self.percentiles.p95, p99=self.percentiles.p99)


class ByStatus(Shape):
    """A statistic of the requests that succeeded, and of all of them."""

    successful: Distribution
    total: Distribution


class Totals(Shape):
    successful: Some
    errored: Count


class Metrics(Shape):
    request_totals: Totals
    requests_per_second: ByStatus
    prompt_token_count: ByStatus
    output_token_count: ByStatus
    output_tokens_per_second: ByStatus
    tokens_per_second: ByStatus
    time_to_first_token_ms: ByStatus
    inter_token_latency_ms: ByStatus


class Strategy(Shape):
    """`streams` and `max_concurrency` limit what is in flight, `rate` is offered. In a run by rate the limit is the tool's own default."""

    type_: str
    streams: Some | None = None
    max_concurrency: Some | None = None
    rate: Positive | None = None


class Backend(Shape):
    model: str | None = None


class Config(Shape):
    strategy: Strategy
    backend: Backend = Backend()


class Benchmark(Shape):
    config: Config
    duration: Positive
    metrics: Metrics

    @model_validator(mode="before")
    @classmethod
    def _of_old_reports(cls, value: Any) -> Any:
        """Up to guidellm 0.3 the strategy stood in `args`, the model in `worker` and the totals beside the metrics."""
        if not (isinstance(value, dict) and "config" not in value and isinstance(value.get("args"), dict) and isinstance(value.get("metrics"), dict)):
            return value
        worker = value.get("worker")
        config = {"strategy": value["args"].get("strategy"), "backend": {"model": worker.get("backend_model") if isinstance(worker, dict) else None}}
        return {**value, "config": config, "metrics": {"request_totals": value.get("request_totals"), **value["metrics"]}}


class Metadata(Shape):
    guidellm_version: str | None = None


class Report(Shape):
    metadata: Metadata = Metadata()
    benchmarks: list[Benchmark] = Field(min_length=1)


def recognises(value: Any) -> bool:
    """True for an object that lists benchmarks."""
    return isinstance(value, dict) and isinstance(value.get("benchmarks"), list)


def runs(document: Document) -> list[MeasuredRun]:
    """One run for each benchmark of the report. Raises: InputError."""
    report = document.read(Report)
    return [_run(document, report, i, b) for i, b in enumerate(report.benchmarks)]


def _run(document: Document, report: Report, index: int, benchmark: Benchmark) -> MeasuredRun:
    metrics, strategy = benchmark.metrics, benchmark.config.strategy
    limit = 1 if strategy.type_ == "synchronous" else None if strategy.rate is not None else strategy.streams or strategy.max_concurrency
    return document.read(
        MeasuredRun,
        {
            "tool": "guidellm",
            "tool_version": report.metadata.guidellm_version,
            "model": benchmark.config.backend.model,
            "input_tokens": metrics.prompt_token_count.successful.mean,
            "output_tokens": metrics.output_token_count.successful.mean,
            "concurrency": limit,
            "request_rate": strategy.rate,
            "duration_s": benchmark.duration,
            "requests": metrics.request_totals.successful,
            "failed": metrics.request_totals.errored,
            "requests_per_s": metrics.requests_per_second.successful.mean,
            # The server also worked for the requests that the end of the run cut off.
            "output_tokens_per_s": metrics.output_tokens_per_second.total.mean,
            "total_tokens_per_s": metrics.tokens_per_second.total.mean,
            "ttft_ms": metrics.time_to_first_token_ms.successful.latency(),
            "tpot_ms": metrics.inter_token_latency_ms.successful.latency(),
            "path": document.path,
            "line": document.line,
        },
        prefix=("benchmarks", str(index)),
    )
