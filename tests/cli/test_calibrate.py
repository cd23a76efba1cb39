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
    assert {"runs", "correction", "allowed", "beyond"} == set(data)
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


def test_check_is_a_gate(tmp_path: Path, inferform: Run) -> None:
    """Beyond the allowed share it ends with 1 and names the figures; with the correction of the same run it ends with 0."""
    own = tmp_path / "own.json"
    asked = ("calibrate", "--runs", SAMPLES / "vllm-serve.json", *OWN)
    late = inferform(*asked, "--check", "--allowed", 0.05, "--out", own)
    assert 1 == late.code
    assert "Beyond the allowed 5%" in late.out
    fine = inferform(*asked, "--check", "--allowed", 0.05, "--calibration", own)
    assert 0 == fine.code
    assert "Every figure is within the allowed 5%" in fine.out
    assert 0 == inferform(*asked, "--allowed", 0.05).code


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
