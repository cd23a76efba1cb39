"""The program behind `cdktf synth`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import samples
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.stacks.main import run

ROOT = Path(__file__).resolve().parents[2]


class Planner:
    """Gives the sample plan and records what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def __call__(self, spec: str, environment: str | None) -> DeploymentPlan:
        self.asked.append((spec, environment))
        return samples.sample_plan()


def test_spec_and_environment_come_from_variables(tmp_path: Path) -> None:
    """INFERFORM_SPEC and INFERFORM_ENVIRONMENT win over the context; the stacks land where cdktf asked for them."""
    planner = Planner()
    context = json.dumps({"spec": "other.yaml", "environment": "dev"})
    run({"INFERFORM_SPEC": "a.yaml", "INFERFORM_ENVIRONMENT": "prod", "CDKTF_OUTDIR": str(tmp_path), "CDKTF_CONTEXT_JSON": context}, planner)
    assert [("a.yaml", "prod")] == planner.asked
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert {"network", "cluster", "model_store", "identity", "nodes"} == set(manifest["stacks"])
    assert all((tmp_path / s["synthesizedStackPath"]).is_file() for s in manifest["stacks"].values())


def test_the_context_names_the_spec(tmp_path: Path) -> None:
    """Without variables the context of cdktf.json decides; the environment may be left out."""
    planner = Planner()
    run({"CDKTF_CONTEXT_JSON": '{"spec": "b.yaml"}', "CDKTF_OUTDIR": str(tmp_path)}, planner)
    assert [("b.yaml", None)] == planner.asked


@pytest.mark.parametrize(("environ", "field"), [({}, "INFERFORM_SPEC"), ({"INFERFORM_SPEC": "a.yaml", "INFERFORM_CDK": "cdk8s"}, "INFERFORM_CDK")])
def test_what_is_missing_or_unknown_is_named(environ: dict[str, str], field: str) -> None:
    """No spec, or an unknown library, is an input error that names the variable; nothing is planned."""
    planner = Planner()
    with pytest.raises(InputError) as caught:
        run(environ, planner)
    assert [field] == [p.field for p in caught.value.problems]
    assert [] == planner.asked


def test_cdktf_json_names_this_program_and_an_example() -> None:
    """The file at the root runs this program on an example that exists."""
    settings = json.loads((ROOT / "cdktf.json").read_text(encoding="utf-8"))
    assert settings["app"].endswith("python3 -m inferform.stacks.main")
    assert (ROOT / settings["context"]["spec"]).is_file()
