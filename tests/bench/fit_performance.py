"""Fits the constants of the step model anew and writes them with the rows that fitted them.

Usage: python tests/bench/fit_performance.py [--cases FILE.csv] [--check] [--rounds N]

The measured rows are not part of this repository: `../shared/data/measured/performance_cases.csv` beside the checkout, or --cases.
--check fits nothing and prints the errors of the constants that ship.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from inferform.catalog.models import model_ids
from inferform.errors import InputError
from inferform.sizing.estimate_request import parse
from inferform.sizing.fitting import Row, figures, fit
from inferform.sizing.performance import estimate
from inferform.sizing.roofline import Constants, constants

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "../shared/data/measured/performance_cases.csv"
TARGET = ROOT / "modules/sizing/data/performance_constants.json"
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
# What each constant may be; physics, not statistics.
BOUNDS = {
    "compute_": (0.3, 0.8), "read_": (0.6, 0.92), "kv_": (0.3, 0.9), "attention_fp8_context": (1.0, 2.0), "attention_": (0.2, 0.8), "expert_compute_": (0.08, 1.0),
    "expert_int4_read": (0.1, 1.0), "expert_layer_us": (2, 60), "narrow_columns": (20, 3000), "hidden_passes": (6, 40), "pcie_rate": (0.2, 0.9),
    "pcie_latency_us": (10, 80), "pcie_ring_us": (5, 80), "nvlink_rate": (0.3, 0.95), "nvlink_latency_us": (3, 15), "nvlink_ring_us": (2, 30), "layer_us_": (1, 30),
    "step_us_": (50, 5000), "sequence_us_": (0.5, 30), "host_sequence_us_": (2, 60), "host_grace": (1, 2.5), "eager_layer_us": (1, 60), "request_ms_": (2, 150),
}  # fmt: skip
WEIGHTS = {"output_tokens_per_s": 1.0, "tpot_ms": 1.0, "ttft_ms": 0.35}


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def find_model(name: str) -> str | None:
    """The catalogue's name for a row's model; quantized twins are the same model in another precision."""
    tail = name.split(" (", maxsplit=1)[0].rsplit("/", maxsplit=1)[-1].lower().replace("meta-", "").replace("_", "-")
    for end in ("-fp8", "-fp4", "-nvfp4", "-instruct", "-hf"):
        tail = tail.removesuffix(end)
    for end in ("-fp8", "-fp4", "-nvfp4", "-instruct", "-hf"):
        tail = tail.removesuffix(end)
    found = MODELS.get(tail.replace("llama3.1", "llama-3.1").replace("llama-3-70b", "llama-3.1-70b"))
    return found if found in model_ids() else None


def read_row(row: dict[str, str]) -> Row | None:
    """A row as a case, or None when it does not say enough or is left out."""
    model, engine = find_model(row["model_id"]), ENGINES.get(row["engine"])
    if model is None or engine is None or row["id"] in LEFT_OUT:
        return None
    if row["id"] in BATCH_ONE:
        prompt, output, gpu = BATCH_ONE[row["id"]]
        wanted: dict[str, Any] = {
            "model": model,
            "gpu": gpu,
            "weights": "bf16",
            "input_tokens": prompt,
            "output_tokens": output,
            "concurrency": 1,
            "engine": engine,
        }
        return Row(row["id"], "batch one, vLLM", parse(wanted), {"tpot_ms": float(row["tpot_ms"])}, WEIGHTS)
    prompt_tokens, output_tokens, tp = number(row["isl"]), number(row["osl"]), number(row["tp"])
    weights = PRECISION.get(row["precision"].lower())
    if row["tier"] == "3" or not (prompt_tokens and output_tokens and tp and weights) or any((number(row[k] or "1") or 1) > 1 for k in ("ep", "dp")):
        return None
    wanted = {
        "model": model, "gpu": row["gpu"], "tp": int(tp), "pp": int(number(row["pp"] or "1") or 1), "weights": weights, "engine": engine,
        "input_tokens": int(prompt_tokens), "output_tokens": int(output_tokens),
    }  # fmt: skip
    if row["kv_dtype"].lower() in {"fp8", "fp16", "bf16"}:
        wanted["kv_cache"] = row["kv_dtype"].lower()
    elif engine == "tensorrt-llm" and weights in {"fp8", "nvfp4"}:
        wanted["kv_cache"] = "fp8"
    group = f"{row['engine']} {row['gpu']} {weights}"
    try:
        if row["mode"] == "online" and (clients := number(row["concurrency_or_batch"])):
            # Identical settings of these rows differ by up to five times.
            if row["gpu"].startswith("GB"):
                return None
            measured = {key: value for key, column in (("tpot_ms", "tpot_ms"), ("ttft_ms", "ttft_ms")) if (value := number(row[column]))}
            return Row(row["id"], f"online, {group}", parse({**wanted, "concurrency": int(clients)}), measured, WEIGHTS) if measured else None
        if row["mode"] == "offline_max_throughput" and (rate := number(row["output_tok_s_total"])):
            request = parse(wanted)
            # Several cards run experts with an attention data-parallel layout that the rows do not state.
            return None if request.model.moe and tp > 1 else Row(row["id"], f"offline, {group}", request, {"output_tokens_per_s": rate}, WEIGHTS)
    except InputError:
        return None
    return None


def bounds_for(values: dict[str, float], rows: Sequence[Row], errors: Sequence[tuple[Row, str, float]]) -> dict[str, tuple[float, float]]:
    """Constants that some row depends on; the others are assumptions and stay."""
    used = {}
    for name, value in values.items():
        prefix = max((p for p in BOUNDS if name.startswith(p)), key=len)
        moved = [r.id for r, key, error in errors if abs(log_error(r, key, {**values, name: value * 1.1}) - error) > 2e-4]
        if moved:
            used[name] = BOUNDS[prefix]
    return used


def log_error(row: Row, key: str, values: dict[str, float]) -> float:
    return math.log(max(figures(estimate(row.request, Constants(values, "", {})))[key], 1e-9) / row.measured[key])


def all_errors(rows: Iterable[Row], values: dict[str, float]) -> list[tuple[Row, str, float]]:
    return [(row, key, log_error(row, key, values)) for row in rows for key in row.measured]


def told(errors: Sequence[tuple[Row, str, float]]) -> None:
    groups: dict[str, list[float]] = {}
    for row, key, error in errors:
        kind = "moe" if row.request.model.moe else "dense"
        for name in (f"{key} all", f"{key} {kind} {row.request.engine}", f"{key} {row.group}"):
            groups.setdefault(name, []).append(math.exp(error) - 1)
    for name, found in sorted(groups.items()):
        off = sorted(abs(e) for e in found)
        print(f"{name:62} n={len(off):4} median={statistics.median(off):6.1%} mean={statistics.mean(off):6.1%} bias={statistics.median(found):+6.1%}")


def bands(errors: Sequence[tuple[Row, str, float]]) -> dict[str, dict[str, float]]:
    """Share of the value within which four of five rows lie, by kind of model and figure."""
    out: dict[str, dict[str, float]] = {}
    for kind in ("dense", "moe"):
        for key in WEIGHTS:
            off = sorted(abs(math.exp(e) - 1) for row, k, e in errors if k == key and (kind == "moe") == (row.request.model.moe is not None))
            if off:
                out.setdefault(kind, {})[key] = round(off[min(len(off) - 1, int(0.8 * len(off)))], 3)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    if not args.cases.exists():
        print(f"{args.cases} is not there; give the measured rows with --cases")
        return 5
    with args.cases.open(encoding="utf-8") as file:
        rows = [case for row in csv.DictReader(file) if (case := read_row(row))]
    values = dict(constants().values)
    if args.check:
        told(all_errors(rows, values))
        return 0
    start = time.monotonic()
    free = bounds_for(values, rows, all_errors(rows, values))
    print(f"{len(rows)} rows, {len(free)} of {len(values)} constants depend on them")
    values = fit(
        rows, values, free, rounds=args.rounds, told=lambda turn, loss: print(f"round {turn}: loss {loss:.4f}, {time.monotonic() - start:.0f} s", flush=True)
    )
    errors = all_errors(rows, values)
    told(errors)
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row.id)
    entries: dict[str, Any] = {}
    for name, value in sorted(values.items()):
        touched = sorted({r.group for r, key, error in errors if abs(log_error(r, key, {**values, name: value * 1.1}) - error) > 2e-4})
        entries[name] = {
            "value": float(f"{value:.4g}"),
            **({"fitted_on": touched} if name in free else {"assumed": "no measured row depends on it; near its neighbours"}),
        }
    source = f"constants fitted on {len(rows)} published measurements"
    TARGET.write_text(
        json.dumps(
            {
                "source": source, "note": "Efficiencies of the step model (roofline.py). Figures come from public benchmark tables; see NOTICE. Written by tests/bench/fit_performance.py.",
                "read": "2026-12-01", "error": bands(errors), "rows": {k: sorted(v) for k, v in sorted(groups.items())}, "left_out": dict(sorted(LEFT_OUT.items())), "constants": entries,
            },
            indent=1, sort_keys=True,
        )
        + "\n",
        encoding="utf-8",
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
