"""One measured run, whatever tool wrote it down."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

# No benchmark of anything reaches this; beyond it arithmetic overflows.
_MOST = 10**15
Figure = Annotated[float, Field(ge=0, le=_MOST)]
Positive = Annotated[float, Field(gt=0, le=_MOST)]
Count = Annotated[int, Field(ge=0, le=_MOST)]
Some = Annotated[int, Field(gt=0, le=_MOST)]
# Tools round what they print to two decimals; beyond that, rates, counts and times of one run must agree.
ROUNDING, TOLERANCE = 0.006, 0.02


class Shape(BaseModel):
    """A part of a result file: what is read of it is checked, the rest is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class LatencyMs(Shape):
    """A latency distribution in milliseconds; None where the tool did not write that statistic."""

    mean: Positive | None = None
    p50: Figure | None = None
    p95: Figure | None = None
    p99: Figure | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        known = [(n, v) for n, v in (("p50", self.p50), ("p95", self.p95), ("p99", self.p99)) if v is not None]
        for (low, a), (high, b) in pairwise(known):
            if a > b:
                raise ValueError(f"{low} {a:g} ms is above {high} {b:g} ms")
        return self


def distribution(*, mean: float | None, p50: float | None, p95: float | None, p99: float | None) -> dict[str, float | None] | None:
    """The statistics of a latency as a MeasuredRun takes them; None where the tool had no sample, for which it writes zeros."""
    return {"mean": mean, "p50": p50, "p95": p95, "p99": p99} if any((mean, p50, p95, p99)) else None


class MeasuredRun(Shape):
    """Figures of one benchmark run at one load.

    `requests` counts the completed ones, `input_tokens` and `output_tokens` are means a request. `concurrency` is the
    client's limit and `request_rate` the offered requests a second; None means that the run had no such limit or the file
    does not say. `ttft_ms` and `tpot_ms` are distributions over requests: time to the first token, and time from the first
    to the last token over (output tokens - 1). `itl_ms` is the distribution of the single gaps between chunks of a stream.
    `path` and `line` say where the run stands.
    """

    tool: Literal["vllm bench serve", "aiperf", "genai-perf", "guidellm"]
    tool_version: str | None = None
    model: str | None = None
    input_tokens: Figure | None = None
    output_tokens: Figure | None = None
    concurrency: Positive | None = None
    request_rate: Positive | None = None
    duration_s: Positive
    requests: Some
    failed: Count = 0
    requests_per_s: Positive
    output_tokens_per_s: Figure | None = None
    total_tokens_per_s: Figure | None = None
    ttft_ms: LatencyMs | None = None
    tpot_ms: LatencyMs | None = None
    itl_ms: LatencyMs | None = None
    path: str
    line: int

    @property
    def failed_share(self) -> float:
        """Failed requests of all that were sent and ended."""
        return self.failed / (self.failed + self.requests)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        # A tool may count a request at either end of its window in one figure and not in the other.
        _agree("requests", self.requests, "requests_per_s x duration_s", self.requests_per_s * self.duration_s, allowed=2)
        # guidellm also counts the tokens of requests that were cut off when its time was over.
        if self.output_tokens_per_s is not None and self.output_tokens is not None and self.tool != "guidellm":
            tokens, per_s = self.output_tokens, self.requests_per_s
            _agree("output_tokens_per_s", self.output_tokens_per_s, "output_tokens x requests_per_s", tokens * per_s, allowed=tokens * ROUNDING)
        if (
            self.output_tokens_per_s is not None
            and self.total_tokens_per_s is not None
            and self.output_tokens_per_s > self.total_tokens_per_s * (1 + TOLERANCE)
        ):
            raise ValueError(f"output_tokens_per_s {self.output_tokens_per_s:g} is above total_tokens_per_s {self.total_tokens_per_s:g}")
        return self


def _agree(name: str, value: float, other_name: str, other: float, *, allowed: float) -> None:
    """Raises: ValueError when two figures of the same thing differ, as they do when one is in another unit."""
    if abs(value - other) > TOLERANCE * max(value, other) + allowed:
        raise ValueError(f"{name} {value:g} is not {other_name}, which is {other:g}; a figure of the file is wrong or in another unit")
