"""What measurements of one deployment taught: factors on the estimates of exactly that deployment.

A correction file is written by `inferform calibrate` and holds, for each deployment that was measured, the factor that its runs ask
for and the band in which they then lie, by figure, with the digests of the runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from inferform.catalog.types import Model
from inferform.errors import InputError, Problem
from inferform.plan import Percentiles
from inferform.sizing.performance import Estimate, EstimateRequest
from inferform.sizing.queueing import Latency, Point
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Figure = Literal["output_tokens_per_s", "tpot_ms", "ttft_ms"]
KIND = "inferform/calibration/v1"
_MOST_BYTES = 2**24


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Factor(_Part):
    """Measured over predicted, and the share of the corrected value within which the runs lie."""

    factor: float = Field(gt=0, le=1000)
    band: float = Field(ge=0, le=1000)
    runs: int = Field(ge=1)


class Deployment(_Part):
    """What a correction holds for; everything that the step model looks at but the load."""

    model: str
    layers: int
    total_params: int
    gpu: str
    tp: int
    pp: int
    dp: int
    ep: int
    weights: str
    kv_cache: str
    engine: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Factors on a step model's figures; 1 where no run measured one."""

    output_tokens_per_s: float = 1.0
    tpot_ms: float = 1.0
    ttft_ms: float = 1.0

    def point(self, found: Point) -> Point:
        """An operating point as this deployment behaves."""
        first, each = (Latency(*(v * f for v in (at.p50, at.p95, at.p99))) for at, f in ((found.ttft, self.ttft_ms), (found.tpot, self.tpot_ms)))
        return replace(found, ttft=first, tpot=each, requests_per_s=found.requests_per_s * self.output_tokens_per_s)


@dataclass(frozen=True, slots=True)
class OwnRuns:
    """What own runs taught about deployments, as the search asks for it."""

    scales: tuple[tuple[Deployment, Scale], ...] = ()

    def scale(self, model: Model, **layout: Any) -> Scale:
        """The factors of exactly this deployment; all 1 where it was not measured. `layout` as `deployment` takes it."""
        if not self.scales:
            return Scale()
        wanted = deployment(model, **layout)
        return next((scale for measured, scale in self.scales if measured == wanted), Scale())


NOT_MEASURED = Scale()
NO_RUNS = OwnRuns()


class RunDigest(_Part):
    """A run that taught something: where it stood, and the SHA-256 of that file."""

    file: str
    line: int
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    tool: str


class Correction(_Part):
    """The factors of one deployment by figure, and the runs they come from."""

    deployment: Deployment
    factors: dict[Figure, Factor]
    runs: list[RunDigest]

    def factor(self, figure: Figure) -> float:
        """1 for a figure that no run measured."""
        return self.factors[figure].factor if figure in self.factors else 1.0

    def estimate(self, found: Estimate) -> Estimate:
        """The estimate as this deployment behaves."""
        rate, tpot, ttft = (self.factor(figure) for figure in ("output_tokens_per_s", "tpot_ms", "ttft_ms"))
        return replace(
            found,
            ttft_ms=_scaled(found.ttft_ms, ttft),
            tpot_ms=_scaled(found.tpot_ms, tpot),
            output_tokens_per_s=found.output_tokens_per_s * rate,
            total_tokens_per_s=found.total_tokens_per_s * rate,
            requests_per_s=found.requests_per_s * rate,
            source=f"{found.source}; corrected by {len(self.runs)} own run{'s' if len(self.runs) > 1 else ''}",
            error_band={figure: self.factors[figure].band if figure in self.factors else band for figure, band in found.error_band.items()},
        )

    def scale(self) -> Scale:
        """The factors alone."""
        return Scale(*(self.factor(figure) for figure in ("output_tokens_per_s", "tpot_ms", "ttft_ms")))


class Corrections(_Part):
    """A correction file."""

    kind: Literal["inferform/calibration/v1"] = "inferform/calibration/v1"
    corrections: list[Correction]

    def find(
        self, model: Model, *, gpu: str, tp: int, pp: int, dp: int, ep: int, weights: str, kv_cache: str, engine: str
    ) -> Correction | None:  # fmt: skip
        """The correction of exactly this deployment, if it was measured."""
        wanted = deployment(model, gpu=gpu, tp=tp, pp=pp, dp=dp, ep=ep, weights=weights, kv_cache=kv_cache, engine=engine)
        return next((c for c in self.corrections if c.deployment == wanted), None)

    def own_runs(self) -> OwnRuns:
        """The factors of every deployment."""
        return OwnRuns(tuple((c.deployment, c.scale()) for c in self.corrections))

    def apply(self, request: EstimateRequest, found: Estimate) -> Estimate:
        """The estimate, corrected where the deployment was measured; the source says which it is."""
        correction = self.find(request.model, **layout_of(request))
        return replace(found, source=f"{found.source}; no own run measured this deployment") if correction is None else correction.estimate(found)


def deployment(model: Model, *, gpu: str, tp: int, pp: int, dp: int, ep: int, weights: str, kv_cache: str, engine: str) -> Deployment:
    """The key of a deployment; the shape of the model stands beside its name, since names of files say little."""
    if kv_cache == "auto" and model.quantization and model.quantization.kv_cache:
        kv_cache = model.quantization.kv_cache
    return Deployment(
        model=model.id, layers=model.layers, total_params=model.total_params, gpu=gpu, tp=tp, pp=pp, dp=dp, ep=ep, weights=weights, kv_cache=kv_cache, engine=engine
    )  # fmt: skip


def layout_of(request: EstimateRequest) -> dict[str, Any]:
    """The parts of a request that name its deployment."""
    return {
        "gpu": request.gpu.name, "tp": request.tp, "pp": request.pp, "dp": request.dp, "ep": request.ep, "weights": request.weights,
        "kv_cache": request.kv_cache, "engine": request.engine,
    }  # fmt: skip


def read_corrections(path: Path) -> Corrections:
    """A correction file. Raises: InputError where it cannot be read or is none, with every problem."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as err:
        raise InputError(Problem(f"cannot be read: {getattr(err, 'strerror', None) or err}", file=str(path))) from err
    if len(data) > _MOST_BYTES:
        raise InputError(Problem("is too large for a correction file", file=str(path)))
    try:
        value: Mapping[str, Any] = json.loads(data)
        return Corrections.model_validate(value)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as err:
        raise InputError(Problem(f"is not JSON: {err}", file=str(path), fix="write it with inferform calibrate --out FILE")) from err
    except ValidationError as err:
        raise InputError(
            Problem(e["msg"], field=".".join(map(str, e["loc"])), file=str(path), fix="write it with inferform calibrate --out FILE") for e in err.errors()
        ) from err


def _scaled(latency: Percentiles, factor: float) -> Percentiles:
    return Percentiles(p50=latency.p50 * factor, p95=latency.p95 * factor, p99=latency.p99 * factor)
