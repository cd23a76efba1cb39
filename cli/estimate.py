"""`inferform estimate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from inferform.cli.options import Batch, Calibration, Engine, EngineVersion, Gpu, GpuMemory, KvCache, Model, Weights, as_options, with_version
from inferform.cli.output import Output

EXAMPLES = (
    "inferform estimate --model Qwen/Qwen3-32B --gpu H100 --tp 2 --input-tokens 2000",
    "inferform estimate --model Qwen/Qwen3-8B --gpu L4 --tp 1 --concurrency 8 --format json",
    "inferform estimate --batch requests.jsonl > answers.jsonl",
)


def run(
    out: Output,
    *,
    model: Model = None,
    gpu: Gpu = None,
    tp: Annotated[int | None, typer.Option("--tp", help="Tensor parallel degree.", show_default="1")] = None,
    pp: Annotated[int | None, typer.Option("--pp", help="Pipeline parallel degree.", show_default="1")] = None,
    weights: Weights = None,
    kv_cache: KvCache = None,
    engine: Engine = None,
    engine_version: EngineVersion = None,
    input_tokens: Annotated[int | None, typer.Option(help="Prompt tokens of a request.", show_default="1024")] = None,
    output_tokens: Annotated[int | None, typer.Option(help="Generated tokens of a request.", show_default="256")] = None,
    shared_prefix_tokens: Annotated[int | None, typer.Option(help="Leading prompt tokens that requests share.", show_default="0")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Requests in flight.", show_default="the point of highest throughput")] = None,
    gpu_memory_bytes: GpuMemory = None,
    calibration: Calibration = None,
    performance_model: Annotated[
        Literal["step", "silicon"], typer.Option(help="Own step model, or measured kernel tables (the extra inferform[silicon]).")
    ] = "step",
    batch: Batch = None,
) -> None:
    """Estimate latency and throughput of one replica.

    Without --concurrency it is the point of highest throughput. Batch requests have the option names with underscores as
    keys, and an optional id.
    """
    from inferform.cli.batch import run_batch
    from inferform.cli.formats.estimate_text import estimate_text

    answer = _answerer(performance_model, calibration)
    if batch is not None:
        run_batch(batch, answer, out)
        return
    values = {
        "model": model, "gpu": gpu, "tp": tp, "pp": pp, "weights": weights, "kv_cache": kv_cache, "engine": engine, "engine_version": engine_version,
        "input_tokens": input_tokens, "output_tokens": output_tokens, "shared_prefix_tokens": shared_prefix_tokens, "concurrency": concurrency,
        "gpu_memory_bytes": gpu_memory_bytes,
    }  # fmt: skip
    asked = with_version({key: value for key, value in values.items() if value is not None})
    with as_options():
        found = answer(asked)
    out.result(found, lambda: estimate_text(asked, found))


def _answerer(performance_model: str, calibration: Path | None) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """What answers one request: the asked model of performance, and own corrections where there are any."""
    from inferform.sizing.estimate_request import answer, parse
    from inferform.sizing.performance import estimate

    if performance_model == "silicon":
        from inferform.sizing.silicon import estimate
    if calibration is None:
        return lambda values: answer(estimate(parse(values)))
    from inferform.sizing.corrections import read_corrections

    known = read_corrections(calibration)

    def corrected(values: Mapping[str, Any]) -> Mapping[str, Any]:
        request = parse(values)
        return answer(known.apply(request, estimate(request)))

    return corrected
