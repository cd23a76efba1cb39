"""Users' own benchmark runs beside the step model: the differences, the factors they ask for, and whether they are allowed."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model, known_model
from inferform.catalog.types import Model
from inferform.errors import InputError, Problem
from inferform.measurements import Comparison, Difference, LatencyMs, MeasuredRun, Predicted, compare, read_runs
from inferform.plan import DeploymentPlan, ModelPlan, PoolPlan
from inferform.sizing.bench_run import RunPoint, run_point
from inferform.sizing.corrections import Correction, Corrections, Factor, Figure, RunDigest, deployment, layout_of
from inferform.sizing.error_bands import bands
from inferform.sizing.performance import EstimateRequest
from inferform.sizing.queueing import Latency
from inferform.sizing.roofline import default_link, family

# The figure that a factor corrects -> the statistics of a run that tell it, best first: what a run prints as its mean is steadier than a quantile.
_TOLD_BY: dict[Figure, tuple[str, ...]] = {
    "output_tokens_per_s": ("output_tokens_per_s", "requests_per_s"),
    "tpot_ms": ("tpot_ms.mean", "tpot_ms.p50"),
    "ttft_ms": ("ttft_ms.mean", "ttft_ms.p50"),
}
# Two runs of the same thing differ by this much.
_NOISE = 0.03
# So few runs say little about the next one.
_FEW = 3
# A server that sheds this share of its load shows another load's latencies.
MOST_FAILED = 0.1


@dataclass(frozen=True, slots=True)
class Compared:
    """One run, the load it was predicted at, and the difference of every figure that both have."""

    run: MeasuredRun
    how: str
    comparison: Comparison

    def told(self, figure: Figure) -> Difference | None:
        """The statistic of this run that tells a figure."""
        known = {d.figure: d for d in self.comparison.differences}
        return next((known[name] for name in _TOLD_BY[figure] if name in known), None)

    @property
    def learned(self) -> bool:
        """Whether the run teaches anything; not where too many of its requests failed."""
        return self.run.failed_share <= MOST_FAILED

    def checked(self) -> tuple[Difference, ...]:
        """What a gate looks at: the throughput once, and every statistic of TTFT and TPOT, for objectives are about the slow ones."""
        rate = self.told("output_tokens_per_s")
        latencies = tuple(d for d in self.comparison.differences if "_ms." in d.figure)
        return (rate, *latencies) if rate is not None else latencies


@dataclass(frozen=True, slots=True)
class Calibration:
    """All runs of one deployment, what they ask for, and what speaks against them."""

    compared: tuple[Compared, ...]
    correction: Correction | None
    warnings: tuple[str, ...] = ()

    def beyond(self, allowed: float) -> tuple[tuple[MeasuredRun, Difference], ...]:
        """The figures that differ by more than the allowed share, the worst first."""
        found = [(c.run, d) for c in self.compared for d in c.checked() if abs(d.share) > allowed]
        return tuple(sorted(found, key=lambda pair: (-abs(pair[1].share), pair[1].figure)))

    @property
    def failed(self) -> tuple[MeasuredRun, ...]:
        """The runs in which so many requests failed that nothing is learned from them and no gate may pass on them."""
        return tuple(c.run for c in self.compared if not c.learned)


def read_all(paths: Sequence[Path]) -> list[MeasuredRun]:
    """The runs of all files. Raises: InputError with the problems of every file."""
    runs: list[MeasuredRun] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            runs += read_runs(path)
        except InputError as err:
            problems += err.problems
    if problems:
        raise InputError(problems)
    return runs


def calibrate(base: EstimateRequest, runs: Sequence[MeasuredRun], known: Corrections | None = None, *, served_as: str | None = None) -> Calibration:
    """Each run predicted on the deployment of `base`, whose lengths and load the run replaces; `known` corrects the predictions.

    The correction is that of the uncorrected model, whatever is known already, from the runs in which at most a tenth of the
    requests failed. `served_as` is the name under which a spec serves the model. Raises: InputError where the deployment does not fit,
    or a run does not say how long its prompts are.
    """
    if problems := [Problem("says nothing about its prompt lengths", field="input_tokens", file=r.path, line=r.line) for r in runs if not r.input_tokens]:
        raise InputError(problems)
    correction = known.find(base.model, **layout_of(base)) if known else None
    plain = [_compared(base, run, None) for run in runs]
    shown = plain if correction is None else [_compared(base, run, correction) for run in runs]
    learned = [c for c in plain if c.learned]
    return Calibration(tuple(shown), _correction(base, learned), tuple(_doubts(base, runs, served_as)))


def _doubts(base: EstimateRequest, runs: Sequence[MeasuredRun], served_as: str | None) -> Iterator[str]:
    """What speaks against each run: another model's name, failed requests."""
    for run in runs:
        where = f"{run.path}:{run.line}"
        if run.model is not None and not _same_model(base.model, run.model, served_as):
            yield f"{where}: the run names the model {run.model[:200]!r}, and it is compared with {base.model.id}"
        if run.failed:
            share, fate = run.failed_share, "; nothing is learned from it, for the rest met less than the stated load" if run.failed_share > MOST_FAILED else ""
            yield f"{where}: {run.failed:,} of {run.failed + run.requests:,} requests failed ({share:.{0 if share >= 0.01 else 2}%}){fate}"


def _same_model(model: Model, name: str, served_as: str | None) -> bool:
    """Whether a run's name may mean the model: the name it is served by, a model of the same shape, or the same name but for owner and endings."""
    if name == served_as:
        return True
    meant = known_model(name)
    if meant is not None:
        return _shape(meant) == _shape(model)
    named, own = (text.rstrip("/").rsplit("/", 1)[-1].lower() for text in (name, model.id))
    return bool(named and own) and (named in own or own in named)


def _shape(model: Model) -> tuple[object, ...]:
    return model.model_type, model.layers, model.hidden, model.heads, model.intermediate, model.vocab, model.moe


def pool_request(model: str, plan: ModelPlan, pool: PoolPlan) -> EstimateRequest:
    """The deployment of one pool of a plan. Raises: InputError for a pool without GPUs or with one of two roles."""
    if pool.gpu is None or pool.role != "aggregated":
        what = "runs on CPUs" if pool.gpu is None else f"only does the {pool.role} part of a request"
        raise InputError(Problem(f"the pool {what}, so a run of whole requests says nothing about it", field="model"))
    gpu = find_gpu(pool.gpu)
    return EstimateRequest(
        model=find_model(model), gpu=gpu, tp=pool.tp, pp=pool.pp, dp=pool.dp, ep=pool.ep, weights=plan.weights, kv_cache=plan.kv_cache, engine=plan.engine,
        engine_version=plan.engine_version, max_model_len=pool.max_model_len, max_num_seqs=pool.max_num_seqs, max_num_batched_tokens=pool.max_num_batched_tokens,
        gpu_memory_utilization=pool.gpu_memory_utilization, link=default_link(gpu, pool.tp * pool.dp),
    )  # fmt: skip


def _compared(base: EstimateRequest, run: MeasuredRun, correction: Correction | None) -> Compared:
    prompt, output = max(1, round(run.input_tokens or 1)), max(1, round(run.output_tokens or 1))
    asked = replace(base, input_tokens=prompt, output_tokens=output, shared_prefix_tokens=min(base.shared_prefix_tokens, prompt - 1))
    found = run_point(asked, clients=run.concurrency, requests_per_s=run.request_rate, requests=run.requests)
    return Compared(run, found.how, compare(run, _predicted(found, run, correction)))


def _predicted(found: RunPoint, run: MeasuredRun, correction: Correction | None) -> Predicted:
    rate, tpot, ttft = (correction.factor(figure) if correction else 1.0 for figure in ("output_tokens_per_s", "tpot_ms", "ttft_ms"))
    per_s = found.requests_per_s * rate
    if run.request_rate is not None and found.ttft is not None and run.concurrency is None:
        # What is offered comes out again as long as it is carried; there is nothing to correct.
        per_s = found.requests_per_s
    tokens_out, tokens_in = run.output_tokens, run.input_tokens or 0
    return Predicted(
        requests_per_s=per_s,
        output_tokens_per_s=per_s * tokens_out if tokens_out else None,
        total_tokens_per_s=per_s * (tokens_in + (tokens_out or 0)),
        ttft_ms=_milliseconds(found.ttft_mean_s, found.ttft, ttft),
        tpot_ms=_milliseconds(found.tpot_mean_s, found.tpot, tpot) if tokens_out and tokens_out > 1 else None,
    )


def _milliseconds(mean: float | None, latency: Latency | None, factor: float) -> LatencyMs | None:
    if latency is None:
        return None
    return LatencyMs(mean=None if mean is None else mean * factor * 1e3, **{name: getattr(latency, name) * factor * 1e3 for name in ("p50", "p95", "p99")})


def _correction(base: EstimateRequest, compared: Sequence[Compared]) -> Correction | None:
    """The factors that the runs ask for; None without runs."""
    if not compared:
        return None
    usual = dict(bands("moe" if base.model.moe else "dense", base.engine, family(base.gpu)).shares)
    factors: dict[Figure, Factor] = {}
    for figure in _TOLD_BY:
        # A run at an offered rate puts out what was put in, so it tells nothing of the throughput.
        told = [c.told(figure) for c in compared if figure != "output_tokens_per_s" or c.run.request_rate is None]
        logs = [math.log(d.measured / d.predicted) for d in told if d is not None and d.predicted > 0]
        if not logs:
            continue
        middle = statistics.median(logs)
        left = max(math.expm1(abs(value - middle)) for value in logs)
        band = max(left, _NOISE if len(logs) >= _FEW else usual[figure] / 2)
        factors[figure] = Factor(factor=round(math.exp(middle), 4), band=round(band, 4), runs=len(logs))
    return Correction(deployment=deployment(base.model, **layout_of(base)), factors=factors, runs=_digests(compared))


def _digests(compared: Sequence[Compared]) -> list[RunDigest]:
    sums: dict[str, str] = {}
    for c in compared:
        if c.run.path not in sums:
            sums[c.run.path] = hashlib.sha256(Path(c.run.path).read_bytes()).hexdigest()
    return [RunDigest(file=Path(c.run.path).name, line=c.run.line, sha256=sums[c.run.path], tool=c.run.tool) for c in compared]


def merged(known: Corrections | None, correction: Correction) -> Corrections:
    """A correction file with this deployment's part put in its place; the others stay, in order of their names."""
    others = [c for c in (known.corrections if known else []) if c.deployment != correction.deployment]
    return Corrections(corrections=sorted([*others, correction], key=lambda c: c.deployment.model_dump_json()))


def choose_pool(plan: DeploymentPlan, model: str | None, pool: str | None) -> tuple[str, PoolPlan]:
    """(model, pool) by their names, which may be left out where there is one. Raises: InputError."""
    if model is None and len(plan.models) > 1:
        raise InputError(Problem("the spec has several models; name the one that was measured", field="model", legal=tuple(plan.models)))
    name = model or next(iter(plan.models))
    if name not in plan.models:
        raise InputError(Problem("the spec has no such model", field="model", value=name, legal=tuple(plan.models)))
    pools = plan.models[name].pools
    usable = [key for key, each in pools.items() if each.role == "aggregated" and each.gpu is not None]
    if pool is None and len(usable) > 1:
        raise InputError(Problem("the model has several pools; name the one that was measured", field="pool", legal=tuple(usable)))
    if pool is not None and pool not in pools:
        raise InputError(Problem("the model has no such pool", field="pool", value=pool, legal=tuple(pools)))
    return name, pools[pool or next(iter(usable or pools))]
