"""Own runs against the model: factors, bands and the gate."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from inferform.calibration import calibrate, choose_pool, merged, pool_request, read_all
from inferform.errors import InputError
from inferform.load import load_spec
from inferform.measurements import MeasuredRun
from inferform.planner import size
from inferform.sizing.bench_run import run_point
from inferform.sizing.corrections import Corrections
from inferform.sizing.error_bands import bands
from inferform.sizing.estimate_request import parse
from inferform.sizing.performance import EstimateRequest

ROOT = Path(__file__).resolve().parents[1]


def base(**more: object) -> EstimateRequest:
    return parse({"model": "meta-llama/Meta-Llama-3.1-8B", "gpu": "H100", **more})


def result(clients: int, *, slower: float, prompt: int = 1000, output: int = 200, rounds: int = 10) -> dict[str, Any]:
    """What vllm bench serve would print on a machine that is so many times slower than the model."""
    asked = parse({"model": "meta-llama/Meta-Llama-3.1-8B", "gpu": "H100", "input_tokens": prompt, "output_tokens": output})
    requests = clients * rounds
    found = run_point(asked, clients=clients, requests_per_s=None, requests=requests)
    assert found.ttft_mean_s is not None and found.tpot_mean_s is not None
    per_s = found.requests_per_s / slower
    return {
        "backend": "openai", "model_id": "own", "num_prompts": requests, "request_rate": "inf", "max_concurrency": clients, "duration": requests / per_s,
        "completed": requests, "failed": 0, "total_input_tokens": requests * prompt, "total_output_tokens": requests * output,
        "request_throughput": per_s, "output_throughput": per_s * output, "total_token_throughput": per_s * (prompt + output),
        "mean_ttft_ms": found.ttft_mean_s * 1e3 * slower, "mean_tpot_ms": found.tpot_mean_s * 1e3 * slower,
    }  # fmt: skip


def runs(folder: Path, *results: dict[str, Any]) -> list[MeasuredRun]:
    path = folder / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, results)) + "\n")
    return read_all([path])


def test_a_slower_machine_is_found_out(tmp_path: Path) -> None:
    """Three runs of a machine that takes 1.25 times as long: TTFT and TPOT x 1.25, throughput x 0.8, and nothing left over but noise."""
    found = calibrate(base(), runs(tmp_path, *(result(n, slower=1.25) for n in (4, 16, 64))))
    assert found.correction is not None
    factors = found.correction.factors
    assert (1.25, 1.25, 0.8) == pytest.approx((factors["ttft_ms"].factor, factors["tpot_ms"].factor, factors["output_tokens_per_s"].factor), rel=1e-3)
    assert (0.03, 3) == (factors["tpot_ms"].band, factors["tpot_ms"].runs)


def test_few_runs_keep_half_of_the_usual_band(tmp_path: Path) -> None:
    """One run agrees with its own factor, which says nothing of the next: the band is half of what the model usually misses."""
    found = calibrate(base(), runs(tmp_path, result(16, slower=1.25)))
    assert found.correction is not None
    usual = dict(bands("dense", "vllm", "hopper").shares)
    assert usual["tpot_ms"] / 2 == pytest.approx(found.correction.factors["tpot_ms"].band, abs=1e-4)


def test_runs_that_disagree_widen_the_band(tmp_path: Path) -> None:
    """1.0, 1.1 and 1.5 times: the middle is 1.1, and 1.5 lies 36 % above it."""
    found = calibrate(base(), runs(tmp_path, *(result(n, slower=s) for n, s in ((4, 1.0), (16, 1.1), (64, 1.5)))))
    assert found.correction is not None
    factor = found.correction.factors["tpot_ms"]
    assert (1.1, 0.3636) == (pytest.approx(factor.factor, rel=1e-3), pytest.approx(factor.band, abs=1e-3))


def test_the_gate_counts_throughput_once_and_every_latency(tmp_path: Path) -> None:
    """At 1.25 times 20 % off everything is just off by 20-25 %: three figures beyond 15 %, none beyond 30 %; the worst first."""
    found = calibrate(base(), runs(tmp_path, result(16, slower=1.25)))
    assert ["output_tokens_per_s", "tpot_ms.mean", "ttft_ms.mean"] == sorted(d.figure for _, d in found.beyond(0.15))
    shares = [abs(d.share) for _, d in found.beyond(0.15)]
    assert shares == sorted(shares, reverse=True)
    assert () == found.beyond(0.30)


def test_a_known_correction_closes_the_gap_and_is_not_applied_twice(tmp_path: Path) -> None:
    """With the correction of the same runs nothing differs any more, and the correction that is told stays the same."""
    measured = runs(tmp_path, *(result(n, slower=1.25) for n in (4, 16, 64)))
    first = calibrate(base(), measured)
    assert first.correction is not None
    again = calibrate(base(), measured, Corrections(corrections=[first.correction]))
    assert () == again.beyond(0.01)
    assert first.correction == again.correction


def test_offered_load_says_nothing_of_throughput(tmp_path: Path) -> None:
    """A run at 1 request a second puts out what was put in: no factor of throughput comes of it."""
    paced = {**result(16, slower=1.0), "request_rate": 1.0, "max_concurrency": None}
    paced |= {"duration": 160.0, "request_throughput": 1.0, "output_throughput": 200.0, "total_token_throughput": 1200.0}
    found = calibrate(base(), runs(tmp_path, paced))
    assert found.correction is not None
    assert "output_tokens_per_s" not in found.correction.factors


def test_runs_are_known_by_their_digest(tmp_path: Path) -> None:
    """The correction holds the name, line and SHA-256 of every run's file, and no folder."""
    found = calibrate(base(), runs(tmp_path, result(4, slower=1.0), result(8, slower=1.0)))
    assert found.correction is not None
    digest = hashlib.sha256((tmp_path / "runs.jsonl").read_bytes()).hexdigest()
    assert [("runs.jsonl", 1, digest), ("runs.jsonl", 2, digest)] == [(r.file, r.line, r.sha256) for r in found.correction.runs]


def test_one_file_holds_many_deployments(tmp_path: Path) -> None:
    """A second deployment joins, the same one is replaced, and the order does not depend on the order of writing."""
    measured = runs(tmp_path, result(16, slower=1.25))
    one, two = (calibrate(base(tp=tp), measured).correction for tp in (1, 2))
    assert one is not None and two is not None
    both = merged(merged(None, one), two)
    assert both == merged(merged(None, two), one) == merged(both, one)
    assert 2 == len(both.corrections)


def test_every_bad_file_is_told(tmp_path: Path) -> None:
    """Problems of all files come at once."""
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError) as caught:
        read_all([tmp_path / "a.json", tmp_path / "b.json"])
    assert 2 == len(caught.value.problems)


def test_a_plan_names_its_deployment() -> None:
    """The pool of an example's plan as a request: its degrees, limits and precision."""
    loaded = load_spec(str(ROOT / "examples/contract-qa.yaml"), None)
    plan = size(loaded.spec, loaded.environment)
    name, pool = choose_pool(plan, next(iter(plan.models)), None)
    found = pool_request(loaded.spec.models[name].source, plan.models[name], pool)
    assert (pool.tp, pool.max_num_seqs, plan.models[name].weights, pool.gpu) == (found.tp, found.max_num_seqs, found.weights, found.gpu.name)


def test_unknown_names_get_the_legal_ones() -> None:
    """A model or pool that the plan lacks is an input error with the names that it has."""
    loaded = load_spec(str(ROOT / "examples/contract-qa.yaml"), None)
    plan = size(loaded.spec, loaded.environment)
    with pytest.raises(InputError, match="no such model"):
        choose_pool(plan, "none", None)
    with pytest.raises(InputError, match="no such pool"):
        choose_pool(plan, next(iter(plan.models)), "none")
