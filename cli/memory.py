"""`inferform memory`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from inferform.cli.options import Batch, Engine, EngineVersion, Gpu, GpuMemory, KvCache, Model, Weights, as_options, with_version
from inferform.cli.output import Output

EXAMPLES = (
    "inferform memory --model meta-llama/Llama-3.3-70B-Instruct --gpu H100 --tp 4 --weights fp8",
    "inferform memory --model ./config.json --gpu mine --gpu-memory-bytes 85899345920 --format json",
    "inferform memory --batch requests.jsonl > answers.jsonl",
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
    gpu_memory_utilization: Annotated[float | None, typer.Option(help="Share of GPU memory the engine may take.", show_default="the engine's")] = None,
    max_model_len: Annotated[int | None, typer.Option(help="Longest prompt + output in tokens.", show_default="the model's")] = None,
    max_num_seqs: Annotated[int | None, typer.Option(help="Most sequences in one step.", show_default="the engine's")] = None,
    max_num_batched_tokens: Annotated[int | None, typer.Option(help="Token budget of one step.", show_default="the engine's")] = None,
    enforce_eager: Annotated[bool, typer.Option("--enforce-eager", help="Run without CUDA graphs.")] = False,
    engine: Engine = None,
    engine_version: EngineVersion = None,
    gpu_memory_bytes: GpuMemory = None,
    batch: Batch = None,
) -> None:
    """Plan the memory of one GPU.

    Weights, activations, runtime and KV cache on the tightest GPU of a replica: does it fit, how many tokens, how many
    requests. Batch requests have the option names with underscores as keys, and an optional id; where one names no engine
    version, its answer covers old and new versions alike.
    """
    from inferform.cli.batch import run_batch
    from inferform.cli.formats.memory_text import memory_text

    if batch is not None:
        run_batch(batch, _answer, out)
        return
    values = {
        "model": model, "gpu": gpu, "tp": tp, "pp": pp, "weights": weights, "kv_cache": kv_cache, "gpu_memory_utilization": gpu_memory_utilization,
        "max_model_len": max_model_len, "max_num_seqs": max_num_seqs, "max_num_batched_tokens": max_num_batched_tokens, "enforce_eager": enforce_eager or None,
        "engine": engine, "engine_version": engine_version, "gpu_memory_bytes": gpu_memory_bytes,
    }  # fmt: skip
    asked = with_version({key: value for key, value in values.items() if value is not None})
    with as_options(source="model"):
        plan = _answer(asked)
    out.result(plan, lambda: memory_text(asked, plan))


def _answer(values: Mapping[str, Any]) -> Mapping[str, Any]:
    from inferform.sizing.memory import plan_memory
    from inferform.sizing.memory_request import parse

    return plan_memory(parse(values)).model_dump(mode="json")
