"""Rows of `performance_cases.csv` as cases of the step model: which rows are used, and as which request."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from inferform.catalog.models import model_ids
from inferform.errors import InputError
from inferform.sizing.estimate_request import parse
from inferform.sizing.fitting import Row
from inferform.sizing.performance import EstimateRequest

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "../shared/data/measured/performance_cases.csv"
PRECISION = {"bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "fp4": "nvfp4", "nvfp4": "nvfp4", "int4": "awq"}
ENGINES = {"vLLM": "vllm", "TensorRT-LLM": "tensorrt-llm"}
MODELS = {
    "llama-3.1-8b": "meta-llama/Meta-Llama-3.1-8B", "llama-3-8b": "meta-llama/Meta-Llama-3-8B", "llama-3.1-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.3-70b": "meta-llama/Llama-3.3-70B-Instruct", "llama-3.1-405b": "meta-llama/Meta-Llama-3.1-405B", "qwen3-32b": "Qwen/Qwen3-32B",
    "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B", "qwen3-235b-a22b": "Qwen/Qwen3-235B-A22B", "deepseek-r1": "deepseek-ai/DeepSeek-R1",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3", "kimi-k2.5": "moonshotai/Kimi-K2.5", "minimax-m2.5": "MiniMaxAI/MiniMax-M2.5",
    "gpt-oss-120b": "openai/gpt-oss-120b", "gpt-oss-20b": "openai/gpt-oss-20b",
}  # fmt: skip
# Rows that say something else than they seem to; each with the reason it is left out.
LEFT_OUT = {
    **dict.fromkeys(
        ("P1457", "P1463", "P1464", "P1470", "P1392"), "more prompt tokens a second than the same GPUs reach offline: the prompts came from a cache"
    ),
    **dict.fromkeys(("P1103", "P1195", "P1196"), "the first token waits for a free slot: queue depth, not speed"),
    **dict.fromkeys(("P1171", "P1173", "P1174", "P1175", "P1182", "P1185"), "attention data-parallel layout that the row does not state"),
}
# Sequential requests without stated lengths: the suite's medians, and the page's means.
BATCH_ONE = {"P0717": (280, 310, "A100-80GB-SXM4"), "P0822": (280, 310, "L4"), "P1557": (550, 150, "A10G")}
WEIGHTS = {"output_tokens_per_s": 1.0, "tpot_ms": 1.0, "ttft_ms": 0.35}
# The launch scripts of these Llama-70B runs hold prompts back for up to 20 steps when 1,024 tokens go in and out on fewer than eight
# GPUs (batch_wait_timeout_iters in SemiAnalysisAI/InferenceX, benchmarks/70b_fp4_b200_trt_slurm.sh at 73ef922); the rows do not say so.
HELD_STEPS = 20


def read_rows(path: Path = CASES) -> list[Row]:
    """Every usable row. Raises: OSError when the file is not there."""
    with path.open(encoding="utf-8") as file:
        return [case for row in csv.DictReader(file) if (case := read_row(row))]


def read_row(row: dict[str, str]) -> Row | None:
    """A row as a case, or None when it does not say enough or is left out."""
    model, engine = find_model(row["model_id"]), ENGINES.get(row["engine"])
    if model is None or engine is None or row["id"] in LEFT_OUT:
        return None
    if row["id"] in BATCH_ONE:
        prompt, output, gpu = BATCH_ONE[row["id"]]
        request = parse(
            {"model": model, "gpu": gpu, "weights": "bf16", "input_tokens": prompt, "output_tokens": output, "concurrency": 1, "engine": engine}
        )  # fmt: skip
        return Row(row["id"], "batch one, vLLM", request, {"tpot_ms": float(row["tpot_ms"])}, WEIGHTS, fold(request))
    wanted = _wanted(row, model, engine)
    if wanted is None:
        return None
    group = f"{row['engine']} {row['gpu']} {wanted['weights']}"
    try:
        if row["mode"] == "online" and (clients := number(row["concurrency_or_batch"])):
            # Identical settings of these rows differ by up to five times.
            if row["gpu"].startswith("GB"):
                return None
            measured = {key: value for key, column in (("tpot_ms", "tpot_ms"), ("ttft_ms", "ttft_ms")) if (value := number(row[column]))}
            request = parse({**wanted, "concurrency": int(clients)})
            return Row(row["id"], f"online, {group}", request, measured, WEIGHTS, fold(request)) if measured else None
        if row["mode"] == "offline_max_throughput" and (rate := _rate(row)):
            request = parse(wanted)
            # Experts over several cards run with an attention data-parallel layout that the rows do not state; only the cards that no
            # other row speaks about are worth that doubt.
            if request.model.moe and request.tp > 1 and "RTX" not in row["gpu"]:
                return None
            return Row(row["id"], f"offline, {group}", request, {"output_tokens_per_s": rate}, WEIGHTS, fold(request))
    except InputError:
        return None
    return None


def fold(request: EstimateRequest) -> str:
    """Model and GPU, for leaving out together; releases of one architecture (Llama 3.1 and 3.3) are one model."""
    return f"{request.model.total_params / 1e9:.0f}B, {request.model.layers} layers, on {request.gpu.name}"


def number(text: str) -> float | None:
    """The number that a cell holds, if it holds one."""
    try:
        return float(text)
    except ValueError:
        return None


def find_model(name: str) -> str | None:
    """The catalogue's name for a row's model; quantized twins are the same model in another precision."""
    tail = name.split(" (", maxsplit=1)[0].rsplit("/", maxsplit=1)[-1].lower().replace("meta-", "").replace("_", "-")
    for end in 2 * ("-fp8", "-fp4", "-nvfp4", "-instruct", "-hf"):
        tail = tail.removesuffix(end)
    found = MODELS.get(tail.replace("llama3.1", "llama-3.1").replace("llama-3-70b", "llama-3.1-70b"))
    return found if found in model_ids() else None


def _wanted(row: dict[str, str], model: str, engine: str) -> dict[str, Any] | None:
    """The options that a row states, without its load."""
    prompt, output, tp = number(row["isl"]), number(row["osl"]), number(row["tp"])
    weights = PRECISION.get(row["precision"].lower())
    if row["tier"] == "3" or not (prompt and output and tp and weights) or any((number(row[k] or "1") or 1) > 1 for k in ("ep", "dp")):
        return None
    wanted: dict[str, Any] = {
        "model": model, "gpu": row["gpu"], "tp": int(tp), "pp": int(number(row["pp"] or "1") or 1), "weights": weights, "engine": engine,
        "input_tokens": int(prompt), "output_tokens": int(output),
    }  # fmt: skip
    if row["kv_dtype"].lower() in {"fp8", "fp16", "bf16"}:
        wanted["kv_cache"] = row["kv_dtype"].lower()
    elif engine == "tensorrt-llm" and weights in {"fp8", "nvfp4"}:
        wanted["kv_cache"] = "fp8"
    llama_70b = model.startswith("meta-llama") and "70B" in model
    if engine == "tensorrt-llm" and row["notes"].startswith("InferenceX") and llama_70b and prompt == output == 1024 and tp < 8:
        wanted["batch_wait_iterations"] = HELD_STEPS
    return wanted


def _rate(row: dict[str, str]) -> float | None:
    """Output tokens a second of all GPUs; later pages print them by GPU."""
    total = number(row["output_tok_s_total"])
    by_gpu, gpus = number(row["tok_s_per_gpu"]), number(row["n_gpus"])
    return total or (by_gpu * gpus if by_gpu and gpus else None)
