"""`inferform calibrate`: own runs to factors, and a gate for CI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., object]
SAMPLES = Path(__file__).resolve().parents[1] / "measurements/samples"
ROOT = Path(__file__).resolve().parents[2]
OWN = ("--model", "meta-llama/Meta-Llama-3.1-8B", "--gpu", "A100-80GB-SXM4")


def test_json_has_runs_correction_and_what_is_beyond(inferform: Run) -> None:
    """The sample run of vllm bench serve with 64 clients, each figure beside its prediction."""
    data = inferform("calibrate", "--runs", SAMPLES / "vllm-serve.json", *OWN, "--format", "json").data
    assert {"runs", "correction", "allowed", "warnings", "beyond"} == set(data)
    # Llama-3.1-8B-Instruct has the shapes of Meta-Llama-3.1-8B.
    assert [] == data["warnings"]
    assert "64 clients, 8 requests each" == data["runs"][0]["load"]
    figures = {d["figure"]: d for d in data["runs"][0]["differences"]}
    assert 27.9 == figures["tpot_ms.mean"]["measured"]
    assert {"output_tokens_per_s", "tpot_ms", "ttft_ms"} == set(data["correction"]["factors"])


def test_text_fits_100_columns(inferform: Run) -> None:
    """The table, the factors and their bands."""
    ran = inferform("calibrate", "--runs", SAMPLES / "guidellm-0.8.1.json", *OWN)
    assert 0 == ran.code
    for word in ("measured", "predicted", "off by", "The runs ask for", "within"):
        assert word in ran.out
    assert 100 >= max(len(line) for line in ran.out.splitlines() if "guidellm-0.8.1.json" not in line)


def test_the_written_file_corrects_estimates(tmp_path: Path, inferform: Run) -> None:
    """estimate --calibration gives the measured TPOT of the run, with the band of the runs."""
    own = tmp_path / "own.json"
    assert 0 == inferform("calibrate", "--runs", SAMPLES / "vllm-serve.json", *OWN, "--out", own, "--quiet").code
    load = ("--input-tokens", 1024, "--output-tokens", 256, "--concurrency", 64, "--format", "json")
    plain, corrected = (inferform("estimate", *OWN, *load, *more).data for more in ((), ("--calibration", own)))
    factor = json.loads(own.read_text())["corrections"][0]["factors"]["tpot_ms"]
    assert abs(corrected["tpot_ms"]["p50"] / plain["tpot_ms"]["p50"] - factor["factor"]) < 1e-6
    assert abs(corrected["tpot_ms"]["p50"] / 27.9 - 1) < 0.01
    assert factor["band"] == corrected["error_band"]["tpot_ms"]


def variant(folder: Path, *, without: tuple[str, ...] = (), **changes: object) -> Path:
    """The sample of vllm bench serve with other figures, and without those whose names begin in a way."""
    run = json.loads((SAMPLES / "vllm-serve.json").read_text())
    path = folder / "run.json"
    path.write_text(json.dumps({key: value for key, value in run.items() if not key.startswith(without)} | changes))
    return path


def test_check_is_a_gate(tmp_path: Path, inferform: Run) -> None:
    """Beyond the allowed share it ends with 1 and names the figures; with the correction of the same run's means it ends with 0."""
    own = tmp_path / "own.json"
    asked = ("calibrate", "--runs", variant(tmp_path, without=("median_", "p95_", "p99_")), *OWN)
    late = inferform(*asked, "--check", "--allowed", 0.05, "--out", own)
    assert 1 == late.code
    assert "Beyond the allowed 5%" in late.out
    fine = inferform(*asked, "--check", "--allowed", 0.05, "--calibration", own)
    assert 0 == fine.code
    assert "Every figure is within the allowed 5%" in fine.out
    assert 0 == inferform(*asked, "--allowed", 0.05).code


def test_the_gate_looks_at_the_slow_requests_too(tmp_path: Path, inferform: Run) -> None:
    """A run that states only the p99 of TPOT, 151 % below its prediction, does not pass, and the figure is named."""
    told = inferform("calibrate", "--runs", SAMPLES / "vllm-serve.json", *OWN, "--format", "json").data
    p99 = next(d["predicted"] for d in told["runs"][0]["differences"] if d["figure"] == "tpot_ms.p99")
    rates = {d["figure"]: d["predicted"] for d in told["runs"][0]["differences"] if d["figure"].endswith("_per_s")}
    scale = rates["requests_per_s"] / json.loads((SAMPLES / "vllm-serve.json").read_text())["request_throughput"]
    own = variant(
        tmp_path, without=("mean_", "median_", "p95_", "p99_"), p99_tpot_ms=p99 / 2.51, request_throughput=rates["requests_per_s"],
        output_throughput=rates["output_tokens_per_s"], total_token_throughput=rates["total_tokens_per_s"], duration=61.44 / scale,
    )  # fmt: skip
    ran = inferform("calibrate", "--runs", own, *OWN, "--check", "--format", "json")
    assert 1 == ran.code
    assert [("tpot_ms.p99", 1.51)] == [(d["figure"], round(d["share"], 2)) for d in ran.data["beyond"]]


def test_another_models_run_warns(tmp_path: Path, inferform: Run) -> None:
    """The name in the run is told on standard error and in the JSON where it is another model's, not where it is the same by another name."""
    ran = inferform("calibrate", "--runs", SAMPLES / "vllm-serve.json", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--format", "json")
    assert 0 == ran.code
    assert "names the model 'meta-llama/Llama-3.1-8B-Instruct', and it is compared with Qwen/Qwen3-8B" in ran.err
    assert 1 == len(ran.data["warnings"])
    mine = variant(tmp_path, model_id="/models/Meta-Llama-3.1-8B-tuned")
    assert "" == inferform("calibrate", "--runs", mine, *OWN).err


def test_a_run_of_failures_teaches_nothing(tmp_path: Path, inferform: Run) -> None:
    """2,560 of 3,072 requests failed: a warning, no correction, no gate passed, and no file; 10 of 522 only warn."""
    own = tmp_path / "own.json"
    broken = variant(tmp_path, failed=2560)
    ran = inferform("calibrate", "--runs", broken, *OWN, "--format", "json")
    assert (0, None, False) == (ran.code, ran.data["correction"], ran.data["runs"][0]["learned"])
    assert "2,560 of 3,072 requests failed (83%); nothing is learned from it" in ran.err
    assert 1 == inferform("calibrate", "--runs", broken, *OWN, "--check", "--allowed", 50).code
    refused = inferform("calibrate", "--runs", broken, *OWN, "--out", own)
    assert (2, False) == (refused.code, own.exists())
    assert "too many requests failed" in refused.err
    few = inferform("calibrate", "--runs", variant(tmp_path, failed=10), *OWN, "--out", own)
    assert (0, True) == (few.code, own.exists())
    assert "10 of 522 requests failed (2%)\n" in few.err


def test_a_spec_names_the_deployment(inferform: Run) -> None:
    """With --spec the plan's pool is what was measured; options that the plan settles are refused."""
    spec = ROOT / "examples/contract-qa.yaml"
    runs = ("--runs", SAMPLES / "vllm-serve.json", "--spec", spec)
    data = inferform("calibrate", *runs, "--format", "json").data
    plan = inferform("size", spec, "--format", "json").data
    pool = next(iter(next(iter(plan["models"].values()))["pools"].values()))
    assert pool["tp"] == data["correction"]["deployment"]["tp"]
    refused = inferform("calibrate", *runs, "--gpu", "H100")
    assert 2 == refused.code and "--gpu" in refused.err


def test_problems_name_options(inferform: Run) -> None:
    """A missing model, an env without a spec and a bad share are usage errors that name the option."""
    sample = SAMPLES / "vllm-serve.json"
    for more, option in (((), "--model"), (("--env", "prod", *OWN), "--env"), (("--allowed", -1, *OWN), "--allowed")):
        ran = inferform("calibrate", "--runs", sample, *more)
        assert 2 == ran.code and option in ran.err
