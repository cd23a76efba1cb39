"""plan, apply, drift and destroy on the command line, with the real terraform against the double of AWS.

What they do is tested with operate; here it is the way from the command to it: options, exit codes, streams.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from specs import MINIMAL, write

PROGRAM = "import sys; from inferform.cli.main import main; sys.exit(main(sys.argv[1:]))"
LOCAL = MINIMAL + "state: {backend: local}\nenvironments: {prod: {protected: true}}\n"


def run(folder: Path, *args: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, in a folder, with its caches there too."""
    env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "INFERFORM_ACTOR": "ada", **environment}
    return subprocess.run([sys.executable, "-c", PROGRAM, *map(str, args)], text=True, capture_output=True, check=False, cwd=folder, env=env, timeout=300)


@pytest.fixture
def sandbox() -> Iterator[str]:
    """The address of a double."""
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not installed")
    from inferform.sandbox.server import Double

    with Double() as double:
        yield double.url


@pytest.mark.slow
def test_plan_saves_and_apply_refuses_another_spec(sandbox: str, tmp_path: Path) -> None:
    """plan ends with 4 where there are changes and tells its stages; apply of a changed spec ends with 1; both write the audit record."""
    path = write(tmp_path, LOCAL)
    planned = run(tmp_path, "plan", path, "--sandbox", sandbox, "--detailed-exitcode", "--format", "json")
    assert 4 == planned.returncode, planned.stderr
    data: dict[str, Any] = json.loads(planned.stdout)
    assert ("demo", "default", True, True) == (data["name"], data["environment"], data["first"], data["allowed"])
    assert data["counts"]["create"] > 20
    assert ["network", "cluster"] == [s["stack"] for s in data["stacks"]][:2]
    assert "plan network" in planned.stderr.splitlines()
    folder = tmp_path / ".inferform" / "demo" / "default"
    assert str(folder) == data["folder"]
    assert ["ada"] == [json.loads(line)["who"] for line in (folder / "audit.jsonl").read_text().splitlines()]
    write(tmp_path, LOCAL.replace("peak_rps: 2", "peak_rps: 2.1"))
    refused = run(tmp_path, "apply", path, "--sandbox", sandbox, "--quiet")
    assert (1, "") == (refused.returncode, refused.stdout)
    assert "run inferform plan again" in refused.stderr


def test_without_terraform_the_exit_code_is_5(tmp_path: Path) -> None:
    """A missing terraform is told as such by every command that needs it."""
    path = write(tmp_path, LOCAL)
    for command in ("plan", "apply", "drift", "destroy"):
        ran = run(tmp_path, command, path, PATH=str(tmp_path))
        assert (5, "") == (ran.returncode, ran.stdout)
        assert "terraform" in ran.stderr


@pytest.mark.slow
def test_a_protected_deployment_needs_its_name_typed(sandbox: str, tmp_path: Path) -> None:
    """destroy of a protected environment without --confirm, or with another name, ends with 2."""
    path = write(tmp_path, LOCAL)
    for confirm in ((), ("--confirm", "other")):
        ran = run(tmp_path, "destroy", path, "--env", "prod", "--sandbox", sandbox, *confirm)
        assert (2, "") == (ran.returncode, ran.stdout)
        assert "demo" in ran.stderr


def test_a_bad_spec_ends_before_anything_is_looked_for(tmp_path: Path) -> None:
    """An input error comes first, with its line, and leaves no folder."""
    path = write(tmp_path, LOCAL.replace("peak_rps: 2", "peak_rps: 0"))
    for command in ("plan", "apply", "drift", "destroy"):
        ran = run(tmp_path, command, path)
        assert 2 == ran.returncode
        assert f"{path}:8: " in ran.stderr
    assert not (tmp_path / ".inferform").exists()
