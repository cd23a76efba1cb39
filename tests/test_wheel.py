"""The wheel holds every shipped file and works without the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = {"modules": "inferform", "cli": "inferform/cli", "stacks": "inferform/stacks", "templates": "inferform/templates", "policies": "inferform/policies"}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


def run(command: list[str], cwd: Path) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "COV_"))}
    done = subprocess.run(command, cwd=cwd, env=clean, text=True, capture_output=True, check=False)
    assert 0 == done.returncode, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what git tracks, so that nothing untracked slips in and the checkout stays clean."""
    source = tmp_path_factory.mktemp("source")
    files = run(["git", "ls-files", "-z"], ROOT).split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    out = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)], out)
    return next(out.glob("*.whl"))


def test_every_shipped_file_is_in_the_wheel(wheel: Path) -> None:
    """Each tracked file below a shipped folder stands in the wheel under its import path."""
    tracked = run(["git", "ls-files", *SHIPPED], ROOT).splitlines()
    wanted = {f"{SHIPPED[name.split('/', 1)[0]]}/{name.split('/', 1)[1]}" for name in tracked}
    held = set(zipfile.ZipFile(wheel).namelist())
    assert wanted
    assert [] == sorted(wanted - held)
    assert [] == [name for name in held if name.startswith(("tests/", "examples/"))]


def test_the_wheel_runs_from_an_unrelated_folder(wheel: Path, tmp_path: Path) -> None:
    """In a fresh environment with only the declared dependencies, a starter is made, sized, rendered, synthesized and checked."""
    home = tmp_path / "env"
    work = tmp_path / "work"
    work.mkdir()
    # A user's own folders with our top-level names must not shadow the package.
    for name in ("cli", "modules", "stacks"):
        (work / name).mkdir()
        (work / name / "__init__.py").write_text("raise RuntimeError('shadowed')\n")
    uv = str(Path(sys.executable).with_name("uv"))
    run([uv, "venv", "--quiet", "--python", sys.executable, str(home)], work)
    python = str(home / "bin" / "python")
    run([uv, "pip", "install", "--quiet", "--python", python, "--constraint", str(ROOT / "requirements.lock"), str(wheel)], work)
    inferform = str(home / "bin" / "inferform")
    assert "inferform" in run([inferform, "--version"], work)
    run([inferform, "init", "--profile", "interactive", "--out", "spec.yaml"], work)
    run([inferform, "validate", "spec.yaml"], work)
    plan = json.loads(run([inferform, "size", "spec.yaml", "--format", "json"], work))
    assert plan["models"]
    run([inferform, "render", "spec.yaml", "--out", "rendered"], work)
    assert list((work / "rendered").rglob("*.yaml"))
    run([inferform, "synth", "spec.yaml", "--out", "synth"], work)
    assert list((work / "synth").rglob("cdk.tf.json"))
    run([inferform, "check", "spec.yaml"], work)
