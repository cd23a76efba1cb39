"""The program behind `cdktf synth`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import samples
from inferform.errors import InputError
from inferform.load import load_spec
from inferform.plan import DeploymentPlan
from inferform.planner import size
from inferform.stacks.main import run
from synthesis import stacks_of

ROOT = Path(__file__).resolve().parents[2]
# The last release of the archived line; the stacks are written by the library, the program only starts it and copies.
CLI = "cdktf-cli@0.21.0"


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


@pytest.mark.slow
def test_cdktf_synth_works_from_the_root(tmp_path: Path) -> None:
    """`cdktf synth` of the npm program writes the five stacks of an example, the same as the product's own synth of that spec."""
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("npm is not installed")
    environ = {**os.environ, "CHECKPOINT_DISABLE": "1", "CI": "1", "INFERFORM_SPEC": "examples/chat-8b.yaml"}
    command = [npx, "--yes", CLI, "synth", "--output", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=500)
    if done.returncode and ("ENOTFOUND" in done.stderr or "EAI_AGAIN" in done.stderr or "E404" in done.stderr or "ECONNREFUSED" in done.stderr):
        pytest.skip(f"npm does not reach {CLI}")
    assert 0 == done.returncode, done.stderr[-2000:]
    found = {p.parent.name: json.loads(p.read_text(encoding="utf-8")) for p in (tmp_path / "out/stacks").glob("*/cdk.tf.json")}
    assert {"network", "cluster", "model_store", "identity", "nodes"} == set(found)
    own = stacks_of(size(load_spec(ROOT / "examples/chat-8b.yaml").spec))
    kinds = {name: {k: sorted(v) for k, v in stack["resource"].items()} for name, stack in own.items()}
    assert kinds == {name: {k: sorted(v) for k, v in stack["resource"].items()} for name, stack in found.items()}
