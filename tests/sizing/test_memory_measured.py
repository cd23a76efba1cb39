"""The whole memory model against every public start-up log beside this checkout."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.plan import MemoryPlan
from inferform.sizing.memory_request import memory_from_options

CASES = Path(__file__).resolve().parents[2] / "../shared/data/measured/memory_cases.csv"
GIB = 2**30
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the measured rows are not beside this checkout")
# Rows that say too little to be planned; SETTINGS has what the logs leave out for all but D10, a build of 2023 that counted the whole
# device as used and holds 11 GiB more than its settings explain.
UNDER_DETERMINED = {"E07", "D18", "D10", "A08"}
# What a log does not show, and would have to have been said for its figures: E07 runs on eight GPUs (its weights are an eighth) with
# the 0.10.2 of its line numbers; D18's sampler held 2,048 sequences; A08 printed what the sampler of 0.17 takes; E17's graphs were
# captured for up to 192 sequences, and its utilization is 13.18 of 14.74 GiB.
SETTINGS: dict[str, dict[str, Any]] = {
    "E07": {"tp": 8, "ep": 8, "engine_version": "0.10.2"},
    "D18": {"max_num_seqs": 2048, "engine_version": "0.6.6"},
    "A08": {"engine_version": "0.17.0"},
    "E17": {"max_num_seqs": 192, "gpu_memory_utilization": 13.18 / 14.74, "engine_version": "0.7.2"},
}
_TWINS = {
    "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic": "meta-llama/Llama-3.3-70B-Instruct",
    "RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8": "meta-llama/Llama-3.3-70B-Instruct",
    "RedHatAI/Qwen2.5-7B-Instruct-FP8-dynamic": "Qwen/Qwen2.5-7B-Instruct",
    "RedHatAI/Mistral-Small-3.1-24B-Instruct-2503-quantized.w8a8": "mistralai/Mistral-Small-3.1-24B-Instruct-2503",
    "Qwen/Qwen3-8B-FP8": "Qwen/Qwen3-8B",
    "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8": "Qwen/Qwen3-235B-A22B-FP8",
    "unsloth/Llama-3.2-3B-Instruct": "meta-llama/Llama-3.2-3B-Instruct",
}


def _rows() -> list[dict[str, str]]:
    with CASES.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _options(row: dict[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = {
        "model": _TWINS.get(row["model_id"], row["model_id"]), "gpu": row["gpu"] or None, "tp": int(row["tp"] or 1), "pp": int(row["pp"] or 1),
        "weights": row["weight_dtype"], "kv_cache": row["kv_dtype"] or "auto", "gpu_memory_utilization": float(row["gpu_memory_utilization"]),
        "engine_version": row["engine_version"] or None, "gpu_memory_bytes": int(float(row["gpu_mem_gib"]) * GIB) if row["gpu_mem_gib"] else None,
    }  # fmt: skip
    return options | {key: int(row[key]) for key in ("max_model_len", "max_num_seqs", "max_num_batched_tokens") if row[key]}


def _pairs() -> list[tuple[dict[str, str], MemoryPlan]]:
    found = []
    for row in _rows():
        if row["engine"] != "vllm" or row["id"] in UNDER_DETERMINED or not row["gpu_memory_utilization"]:
            continue
        if row["weight_dtype"] not in {"bf16", "fp16", "fp8", "int8"} or not (row["gpu"] or row["gpu_mem_gib"]):
            continue
        try:
            found.append((row, memory_from_options(_options(row))))
        except InputError:
            continue
    return found


def _figures(errors: list[float]) -> tuple[float, float]:
    ordered = sorted(errors)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]


def test_weights() -> None:
    """Median error at most 0.2 %, 90th percentile at most 2 % of what was printed."""
    errors = [abs(plan.weights_bytes_per_gpu / GIB / float(row["model_load_gib"]) - 1) for row, plan in _pairs() if row["model_load_gib"]]
    median, ninth = _figures(errors)
    assert len(errors) >= 20 and median <= 0.002 and ninth <= 0.02


def test_activations() -> None:
    """Median error at most 0.05 GiB, 90th percentile at most 0.6 GiB."""
    errors = [
        abs(plan.activation_bytes_per_gpu / GIB - float(row["activation_gib"]))
        for row, plan in _pairs()
        if row["activation_gib"] and "Vision" not in row["model_id"]
    ]
    median, ninth = _figures(errors)
    assert len(errors) >= 22 and median <= 0.05 and ninth <= 0.6


def test_cache_bytes() -> None:
    """Median error at most 0.5 % of the device budget, 90th percentile at most 3 %."""
    errors = [
        abs(plan.kv_cache_bytes_per_gpu / GIB - float(row["kv_mem_gib"])) / (plan.budget_bytes / GIB)
        for row, plan in _pairs()
        if row["kv_mem_gib"] and float(row["kv_mem_gib"]) > 0
    ]
    median, ninth = _figures(errors)
    assert len(errors) >= 14 and median <= 0.005 and ninth <= 0.03


def test_cache_tokens() -> None:
    """Median error at most 3 %, 90th percentile at most 8 % (rows of uniform models)."""
    errors = [
        abs(plan.kv_cache_tokens / float(row["kv_tokens"]) - 1)
        for row, plan in _pairs()
        if row["kv_tokens"] and "Vision" not in row["model_id"] and "gemma" not in row["model_id"]
    ]
    median, ninth = _figures(errors)
    assert len(errors) >= 5 and median <= 0.03 and ninth <= 0.08


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_the_log_leaves_out_explains_the_row(name: str) -> None:
    """With it every printed part is met: activations within 0.05 GiB, weights within 0.2 %, cache tokens within 0.6 %."""
    (row,) = (row for row in _rows() if row["id"] == name)
    plan = memory_from_options(_options(row) | SETTINGS[name])
    assert float(row["activation_gib"]) == pytest.approx(plan.activation_bytes_per_gpu / GIB, abs=0.05)
    assert float(row["model_load_gib"]) == pytest.approx(plan.weights_bytes_per_gpu / GIB, rel=0.002)
    assert int(row["kv_tokens"]) == pytest.approx(plan.kv_cache_tokens, rel=0.006)


def test_a_replica_of_one_gpu_is_taken_at_its_word() -> None:
    """E07 as the row stands: 220 GiB of weights do not fit one L40S, and the answer says so instead of guessing eight."""
    (row,) = (row for row in _rows() if row["id"] == "E07")
    plan = memory_from_options(_options(row))
    assert not plan.fits and 0 == plan.kv_cache_tokens
