"""`make demo`: what it does where terraform or kubectl is absent, and with a wrong spec."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(spec: Path, folder: Path, *, path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inferform.cli.demo", str(spec), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}, cwd=folder.parent)


@pytest.mark.slow
def test_demo_without_terraform_says_what_it_skipped(tmp_path: Path) -> None:
    """With neither terraform nor kubectl on the path it sizes, renders, synthesizes, checks, and names what it left out and why."""
    done = run(ROOT / "examples/contract-qa.yaml", tmp_path / "demo", path=str(tmp_path))
    assert 0 == done.returncode, done.stderr
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    assert "kubectl is not installed" in rows["kustomize"]
    assert "skipped" in rows["terraform"]
    assert "allowed" in rows["check"]
    assert list((tmp_path / "demo" / "synth").rglob("cdk.tf.json"))
    assert list((tmp_path / "demo" / "rendered").rglob("*.yaml"))
    assert "Nothing real was touched." in done.stdout
    assert all(len(line) <= 120 for line in done.stdout.splitlines())


def test_demo_of_a_wrong_spec_ends_with_its_problem(tmp_path: Path) -> None:
    """A spec that cannot be used is exit code 2 and one readable message, no traceback."""
    (tmp_path / "spec.yaml").write_text("apiVersion: inferform/v1\nname: x\n")
    done = run(tmp_path / "spec.yaml", tmp_path / "demo", path=os.environ["PATH"])
    assert 2 == done.returncode
    assert "Traceback" not in done.stderr
    assert "cloud" in done.stderr
