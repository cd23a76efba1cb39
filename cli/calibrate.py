"""`inferform calibrate`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from inferform.cli.options import Calibration, Engine, EngineVersion, Env, Gpu, GpuMemory, KvCache, Weights, as_options
from inferform.cli.output import Output

if TYPE_CHECKING:
    from inferform.sizing.performance import EstimateRequest

EXAMPLES = (
    "inferform calibrate --runs result.json --model Qwen/Qwen3-32B --gpu H100 --tp 2 --out own.json",
    "inferform calibrate --runs profile_export_aiperf.json --spec deployment.yaml --env prod",
    "inferform calibrate --runs a.json --spec deployment.yaml --calibration own.json --check",
)


def run(
    out: Output,
    *,
    runs: Annotated[list[Path], typer.Option("--runs", metavar="FILE", help="Benchmark result; may be repeated.", show_default=False)],
    spec: Annotated[str | None, typer.Option("--spec", metavar="SPEC", help="Deployment spec whose plan was measured.", show_default=False)] = None,
    env: Env = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="NAME", help="Model of the spec, or without one a catalogue name or config.json.", show_default=False)
    ] = None,
    pool: Annotated[str | None, typer.Option("--pool", metavar="NAME", help="Pool of that model.", show_default="the only one")] = None,
    gpu: Gpu = None,
    tp: Annotated[int | None, typer.Option("--tp", help="Tensor parallel degree.", show_default="1")] = None,
    pp: Annotated[int | None, typer.Option("--pp", help="Pipeline parallel degree.", show_default="1")] = None,
    weights: Weights = None,
    kv_cache: KvCache = None,
    engine: Engine = None,
    engine_version: EngineVersion = None,
    gpu_memory_bytes: GpuMemory = None,
    shared_prefix_tokens: Annotated[int | None, typer.Option(help="Leading prompt tokens that the requests shared.", show_default="0")] = None,
    calibration: Calibration = None,
    to: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Correction file to write; what it holds of others stays.", show_default=False)
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="End with 1 when a figure differs by more than --allowed, or over a tenth of a run's requests failed.")
    ] = False,
    allowed: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share that throughput and every statistic of TTFT and TPOT may differ by.", show_default="0.2")
    ] = None,
) -> int:
    """Correct the estimates by own benchmark runs.

    Reads results of vllm bench serve, aiperf, genai-perf and guidellm, predicts each run, prints the differences and the
    factors that the runs ask for. estimate takes the written file by --calibration.
    """
    from inferform.calibration import calibrate, merged, read_all
    from inferform.cli.formats.calibrate_text import calibrate_json, calibrate_text
    from inferform.errors import EXIT_DONE, EXIT_FAILED, InputError, Problem
    from inferform.sizing.corrections import read_corrections

    options = {
        "gpu": gpu, "tp": tp, "pp": pp, "weights": weights, "kv_cache": kv_cache, "engine": engine, "engine_version": engine_version,
        "gpu_memory_bytes": gpu_memory_bytes, "shared_prefix_tokens": shared_prefix_tokens,
    }  # fmt: skip
    given = {key: value for key, value in options.items() if value is not None}
    if allowed is not None and not 0 < allowed < 100:
        raise InputError(Problem("wants a share above 0", field="--allowed", value=str(allowed), fix="0.2 allows 20 %"))
    share = 0.2 if allowed is None else allowed
    base, served_as = _planned(spec, env, model, pool, given) if spec is not None else (_asked(env, model, pool, given), None)
    known = read_corrections(calibration) if calibration else None
    found = calibrate(base, read_all(runs), known, served_as=served_as)
    if to is not None and found.correction is None and found.failed:
        raise InputError([
            Problem("too many requests failed to learn from the run", field="failed", file=r.path, line=r.line, value=f"{r.failed_share:.0%}", fix="measure at a load that is served")
            for r in found.failed
        ])  # fmt: skip
    for warning in found.warnings:
        out.warn(warning)
    if to is not None and found.correction is not None:
        from inferform.cli.files import write_text
        from inferform.cli.output import as_json

        write_text(to, as_json(merged(read_corrections(to) if to.exists() else None, found.correction)) + "\n", replace=True)
        out.note(f"{to}: written")
    late = found.beyond(share)
    out.result(calibrate_json(found, share), lambda: calibrate_text(found, share, check=check))
    return EXIT_FAILED if check and (late or found.failed) else EXIT_DONE


def _asked(env: str | None, model: str | None, pool: str | None, given: Mapping[str, Any]) -> EstimateRequest:
    """The deployment that the options describe."""
    from inferform.errors import InputError, Problem
    from inferform.sizing.estimate_request import parse

    alone = [Problem("belongs to a --spec, which is not given", field=f"--{name}", value=value) for name, value in (("env", env), ("pool", pool)) if value]
    if alone:
        raise InputError(alone)
    with as_options():
        # Each run brings its own lengths; the prompt only has to be longer than what is shared.
        prefix = given.get("shared_prefix_tokens") or 0
        return parse({"model": model, **given, "input_tokens": prefix + 1024 if isinstance(prefix, int) and prefix >= 0 else 1024})


def _planned(spec: str, env: str | None, model: str | None, pool: str | None, given: Mapping[str, Any]) -> tuple[EstimateRequest, str]:
    """The deployment that the spec's plan has, and the name that it is served by."""
    from dataclasses import replace

    from inferform.calibration import choose_pool, pool_request
    from inferform.errors import InputError, Problem
    from inferform.load import load_spec, located
    from inferform.planner import size

    prefix = given.get("shared_prefix_tokens", 0)
    if alone := [Problem("is the plan's, with --spec", field=f"--{key.replace('_', '-')}") for key in given if key != "shared_prefix_tokens"]:
        raise InputError(alone)
    loaded = load_spec(spec, env)
    with located(loaded):
        plan = size(loaded.spec, loaded.environment)
    with as_options():
        name, chosen = choose_pool(plan, model, pool)
        request = pool_request(loaded.spec.models[name].source, plan.models[name], chosen)
    return replace(request, shared_prefix_tokens=prefix), plan.models[name].served_name
