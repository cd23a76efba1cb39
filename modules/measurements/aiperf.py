"""Results of aiperf and of genai-perf, which it follows: `profile_export_aiperf.json`, `profile_export_genai_perf.json`, and the CSV of each.

Both tools write one metric with its unit and statistics; the CSV holds the same metrics by their titles, without the
configuration. Source: exporters of aiperf 0.13.0 (schema 1.4) and genai-perf 0.0.16.
"""

from __future__ import annotations

import csv
import re
from typing import Any, Self

from inferform.errors import InputError, Problem
from inferform.measurements.document import Document
from inferform.measurements.run import ROUNDING, TOLERANCE, Figure, MeasuredRun, Shape, distribution
from pydantic import Field, model_validator

NAME = "aiperf or genai-perf profile_export_*.json or .csv"
# What stands in a CSV title in brackets, or in a JSON metric as its unit; counts have none in a title.
_UNITS = {
    "request_throughput": ("requests/sec", "per sec"),
    "output_token_throughput": ("tokens/sec",),
    "total_token_throughput": ("tokens/sec",),
    "request_count": ("requests", "count", ""),
    "error_request_count": ("requests", "count", ""),
    "benchmark_duration": ("sec",),
    "time_to_first_token": ("ms",),
    "inter_token_latency": ("ms",),
    "inter_chunk_latency": ("ms",),
    "input_sequence_length": ("tokens",),
    "output_sequence_length": ("tokens",),
}
_TITLE = re.compile(r"(?P<name>[^(]+?)\s*(?:\((?P<unit>[^()]*)\))?")


class Metric(Shape):
    unit: str
    avg: Figure
    p50: Figure | None = None
    p95: Figure | None = None
    p99: Figure | None = None

    def latency(self) -> dict[str, float | None] | None:
        return distribution(mean=self.avg, p50=self.p50, p95=self.p95, p99=self.p99)


class Export(Shape):
    """The metrics of a result that are used."""

    request_throughput: Metric
    request_count: Metric
    error_request_count: Metric | None = None
    benchmark_duration: Metric | None = None
    output_token_throughput: Metric | None = None
    total_token_throughput: Metric | None = None
    time_to_first_token: Metric | None = None
    inter_token_latency: Metric | None = None
    inter_chunk_latency: Metric | None = None
    input_sequence_length: Metric | None = None
    output_sequence_length: Metric | None = None
    aiperf_version: str | None = None
    input_config: dict[str, Any] = Field(default_factory=dict)
    was_cancelled: bool = False
    is_complete: bool = True
    incomplete_reason: str | None = None

    @model_validator(mode="after")
    def _usable(self) -> Self:
        wrong = []
        for name, units in _UNITS.items():
            metric: Metric | None = getattr(self, name)
            if metric is not None and metric.unit not in units:
                wrong.append(f'{name} is in "{metric.unit}", wanted is "{units[0]}"')
        if self.was_cancelled or not self.is_complete:
            wrong.append(f"the run was not finished ({self.incomplete_reason or 'cancelled'}), so its figures are of a part of it")
        requests, per_s = self.request_count.avg, self.request_throughput.avg
        if requests == 0:
            wrong.append("no request was completed, so nothing was measured")
        elif per_s == 0:
            wrong.append("request_throughput is 0, too little for the two decimals of a table; give the JSON file")
        elif self.benchmark_duration is not None and not _fits(self.benchmark_duration.avg, requests, per_s):
            span = self.benchmark_duration.avg
            wrong.append(f"benchmark_duration {span:g} s does not fit {requests:g} requests at {per_s:g} a second; one of them is wrong or in another unit")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


def _fits(span_s: float, requests: float, per_s: float) -> bool:
    """The rates are over the window of observation, which is a little longer than the span from the first request to the last answer."""
    return span_s * max(per_s - ROUNDING, 0) <= requests * (1 + TOLERANCE) and requests <= 10 * span_s * (per_s + ROUNDING)


def recognises(value: Any) -> bool:
    """True for an object with at least two metrics that carry a unit."""
    return isinstance(value, dict) and sum(isinstance(value[name], dict) and "unit" in value[name] for name in _UNITS.keys() & value.keys()) >= 2


def recognises_table(text: str) -> bool:
    """True for a CSV whose first row is the header of either section."""
    return text.lstrip().startswith(("Metric,avg,", "Metric,Value"))


def runs(document: Document) -> list[MeasuredRun]:
    """The run of one JSON result. Raises: InputError."""
    value = document.value
    # Early versions of aiperf wrote no version; their configuration tells them from genai-perf.
    signs = {"aiperf_version", "schema_version"} & value.keys() or _at(value, "input_config", "loadgen")
    return _runs(document, "aiperf" if signs else "genai-perf")


def _runs(document: Document, tool: str) -> list[MeasuredRun]:
    export = document.read(Export)
    model, concurrency, rate = _load(export.input_config)
    requests, per_s = export.request_count.avg, export.request_throughput.avg
    inputs, outputs = export.input_sequence_length, export.output_sequence_length
    output_per_s = export.output_token_throughput.avg if export.output_token_throughput else None
    total = export.total_token_throughput.avg if export.total_token_throughput else None
    if total is None and inputs and output_per_s is not None:
        total = inputs.avg * per_s + output_per_s
    return [
        document.read(
            MeasuredRun,
            {
                "tool": tool,
                "tool_version": export.aiperf_version,
                "model": model,
                "input_tokens": inputs.avg if inputs else None,
                "output_tokens": outputs.avg if outputs else None,
                "concurrency": concurrency,
                "request_rate": rate,
                # The window that the rates are over; genai-perf writes no duration, and aiperf's benchmark_duration is the shorter span.
                "duration_s": requests / per_s,
                "requests": round(requests),
                "failed": round(export.error_request_count.avg) if export.error_request_count else 0,
                "requests_per_s": per_s,
                "output_tokens_per_s": output_per_s,
                "total_tokens_per_s": total,
                "ttft_ms": export.time_to_first_token.latency() if export.time_to_first_token else None,
                # What both tools call inter-token latency is (request latency - TTFT) / (output tokens - 1): time per output token.
                "tpot_ms": export.inter_token_latency.latency() if export.inter_token_latency else None,
                "itl_ms": export.inter_chunk_latency.latency() if export.inter_chunk_latency else None,
                "path": document.path,
                "line": document.line,
            },
        )
    ]


def _load(config: dict[str, Any]) -> tuple[str | None, float | None, float | None]:
    """(model, concurrency, request rate) from the configuration that the tool repeats; None for what it does not say.

    aiperf lists models and phases (seen in 0.10 to 0.13), earlier it had endpoint and loadgen (0.5); genai-perf has model_names and a stimulus.
    """
    phases = [p for p in _at(config, "phases") or [] if "profiling" in (_at(p, "kind"), _at(p, "name"))]
    phase = phases[0] if len(phases) == 1 else None
    model = _at(config, "models", "items", 0, "name") or _at(config, "endpoint", "model_names", 0) or _at(config, "model_names", 0)
    concurrency = _at(phase, "concurrency") or _at(config, "loadgen", "concurrency") or _at(config, "perf_analyzer", "stimulus", "concurrency")
    rate = _at(phase, "rate") or _at(config, "loadgen", "request_rate") or _at(config, "perf_analyzer", "stimulus", "request_rate")
    return model, concurrency, rate


def _at(value: Any, *path: str | int) -> Any:
    """The part of nested data at a path; None where it is not there."""
    for key in path:
        found = value.get(key) if isinstance(value, dict) and isinstance(key, str) else None
        value = value[key] if isinstance(value, list) and isinstance(key, int) and key < len(value) else found
    return value


def table_runs(text: str, path: str) -> list[MeasuredRun]:
    """The run of a CSV result: a section of distributions, a section of single values, and maybe one of GPUs, which is not read.

    Raises: InputError.
    """
    metrics: dict[str, dict[str, Any]] = {}
    lines: dict[str, int] = {}
    header: list[str] = []
    tool = "aiperf"
    problems: list[Problem] = []
    reader = csv.reader(text.splitlines())
    for row in reader:
        match = _TITLE.fullmatch(row[0].strip()) if row else None
        name = match["name"].lower().replace(" ", "_") if match else ""
        if row[:1] == ["Metric"]:
            header = ["avg" if title == "Value" else title for title in row[1:]]
            # genai-perf lists the percentiles downwards, aiperf upwards.
            if "p99" in header and "p50" in header and header.index("p99") < header.index("p50"):
                tool = "genai-perf"
        elif row[:1] == ["Endpoint"]:
            break
        elif match and name in _UNITS:
            if name in metrics:
                problems.append(Problem("the metric is there twice; a table holds one run", field=name, file=path, line=reader.line_num))
            elif len(row) - 1 != len(header):
                problems.append(Problem(f"the row has {len(row) - 1} figures, its header {len(header)}", field=name, file=path, line=reader.line_num))
            metrics[name] = {"unit": match["unit"] or "", **dict(zip(header, map(_cell, row[1:]), strict=False))}
            lines[name] = reader.line_num
    if problems:
        raise InputError(problems)
    return _runs(Document(metrics, path, 1, lines), tool)


def _cell(text: str) -> float | str | None:
    """A figure such as `2,112.97`; None for an empty cell or N/A; text that is none stays text, for the check to refuse."""
    text = text.strip()
    try:
        return None if text in {"", "N/A"} else float(text.replace(",", ""))
    except ValueError:
        return text
