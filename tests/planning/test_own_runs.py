"""Sizing with the corrections that a user's own benchmark runs ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.load import load_spec
from inferform.planner import size, spec_digest
from inferform.sizing.corrections import Corrections, Deployment, deployment

from tests.planning.specs import SMALL

SPEC = f"""
name: own
cloud: {{provider: aws, region: us-east-1}}
models:
  chat:
    source: {SMALL}
    hf_token_secret: {{name: hub}}
    hardware: {{instance_types: [g6e.xlarge]}}
    quantization: bf16
    workload: {{peak_rps: 6, input_tokens: {{mean: 1000, p95: 2000}}, output_tokens: {{mean: 200, p95: 400}}}}
    slo: {{ttft_p95: 1s, tpot_p95: 60ms}}
"""


def written(folder: Path, *, factors: dict[str, float], **other: Any) -> Path:
    """A correction file for the deployment that SPEC becomes, or one that differs in `other`."""
    from inferform.catalog.models import find_model

    layout: dict[str, Any] = {"gpu": "L40S", "tp": 1, "pp": 1, "dp": 1, "ep": 1, "weights": "bf16", "kv_cache": "auto", "engine": "vllm"} | other
    measured: Deployment = deployment(find_model(SMALL), **layout)
    one = {
        "deployment": measured.model_dump(), "factors": {name: {"factor": value, "band": 0.05, "runs": 3} for name, value in factors.items()},
        "runs": [{"file": "a.json", "line": 1, "sha256": "0" * 64, "tool": "vllm bench serve"}],
    }  # fmt: skip
    path = folder / "own.json"
    path.write_text(json.dumps({"kind": "inferform/calibration/v1", "corrections": [one]}))
    Corrections.model_validate_json(path.read_text())
    return path


def spec_file(folder: Path, calibration: str | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "spec.yaml"
    path.write_text(SPEC + (f"calibration: {calibration}\n" if calibration else ""))
    return path


def test_a_slower_machine_needs_more_replicas(tmp_path: Path) -> None:
    """Measured at half the throughput and 1.2 times the latency, the plan buys for that and says so."""
    plain = size(load_spec(str(spec_file(tmp_path))).spec)
    written(tmp_path, factors={"output_tokens_per_s": 0.5, "ttft_ms": 1.2, "tpot_ms": 1.2})
    slow = size(load_spec(str(spec_file(tmp_path, "own.json"))).spec)
    before, after = (plan.models["chat"].pools["aggregated"] for plan in (plain, slow))
    assert after.replicas.steady > before.replicas.steady
    assert after.requests_per_s < 0.55 * before.requests_per_s
    assert after.tpot_ms.p95 <= 60 and after.ttft_ms.p95 <= 1000
    assert any("corrected by own runs: throughput x 0.50, TTFT x 1.20, TPOT x 1.20" in line for line in slow.models["chat"].why)
    assert not any("own run" in text for text in slow.warnings)


def test_factors_of_one_change_nothing(tmp_path: Path) -> None:
    """Runs that agree with the model leave every figure as it was."""
    plain = size(load_spec(str(spec_file(tmp_path))).spec)
    written(tmp_path, factors={"output_tokens_per_s": 1.0})
    same = size(load_spec(str(spec_file(tmp_path, "own.json"))).spec)
    assert plain.models["chat"].pools == same.models["chat"].pools


def test_a_latency_that_was_measured_too_high_rules_out(tmp_path: Path) -> None:
    """Where even a lone request misses the objective by the measured factor, the plan is refused with the corrected number."""
    written(tmp_path, factors={"tpot_ms": 3.0})
    with pytest.raises(InputError) as caught:
        size(load_spec(str(spec_file(tmp_path, "own.json"))).spec)
    assert any("TPOT" in str(p) for p in caught.value.problems)


def test_runs_of_another_layout_are_told(tmp_path: Path) -> None:
    """A file that measured something else corrects nothing, and the plan says that."""
    written(tmp_path, factors={"tpot_ms": 3.0}, gpu="H100")
    plan = size(load_spec(str(spec_file(tmp_path, "own.json"))).spec)
    assert any("no own run measured L40S bf16 TP 1" in text for text in plan.warnings)


@pytest.mark.parametrize(("text", "told"), [(None, "cannot be read"), ("{", "is not JSON"), ('{"kind": "x", "corrections": []}', "kind")])
def test_a_wrong_file_is_named_by_the_field(tmp_path: Path, text: str | None, told: str) -> None:
    """A missing or wrong correction file is a problem of the field that names it."""
    if text is not None:
        (tmp_path / "own.json").write_text(text)
    with pytest.raises(InputError) as caught:
        size(load_spec(str(spec_file(tmp_path, "own.json"))).spec)
    assert ["calibration"] == [p.field for p in caught.value.problems]
    assert told in caught.value.problems[0].message


def test_the_place_of_a_checkout_is_no_part_of_the_plan(tmp_path: Path) -> None:
    """The same spec and files in two folders have one digest; another content of a named file has another."""
    specs = []
    for name in ("here", "there"):
        spec_file(tmp_path / name, "own.json")
        written(tmp_path / name, factors={"tpot_ms": 1.1})
        specs.append(load_spec(str(tmp_path / name / "spec.yaml")).spec)
    assert spec_digest(specs[0]) == spec_digest(specs[1])
    written(tmp_path / "there", factors={"tpot_ms": 1.2})
    assert spec_digest(specs[0]) != spec_digest(specs[1])
