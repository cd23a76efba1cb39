"""Others read what is synthesized: the real terraform, and a checker that knows nothing of this code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inferform.errors import MissingToolError
from inferform.sandbox.adapt import adapt
from inferform.sandbox.provider import lay_mirror, read_schema
from inferform.stacks import manifest
from inferform.terraform import Settings, Terraform, find_terraform
from inferform.terraform_tool import environment

GOLDEN = Path(__file__).parent / "golden"
CHECKER = Path(__file__).resolve().parents[2].parent / "shared" / "accept" / "terraform_json.py"
ZONES = ["use1-az1", "use1-az4", "use1-az6"]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["sample", "edges"])
def test_terraform_validates_every_stack(case: str, tmp_path: Path) -> None:
    """The real provider 3.39 finds no fault in the stacks once what it does not know is taken out."""
    try:
        settings = Settings(os.environ, cli_config=lay_mirror(tmp_path / "provider"), isolated=True)
        tool = find_terraform(settings)
    except MissingToolError as err:
        pytest.skip(str(err))
    order = manifest.read(GOLDEN / case).stacks
    stacks = {s.name: json.loads((GOLDEN / case / s.path).read_text(encoding="utf-8")) for s in order}
    schema = read_schema(tmp_path / "provider", settings)
    for name, adapted in adapt(stacks, schema, endpoint="http://127.0.0.1:9", state=tmp_path / "state", offerings=lambda kinds: ZONES).items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / manifest.FILE_NAME).write_text(json.dumps(adapted.config), encoding="utf-8")
        Terraform(folder, settings, tool).init()
        command = [tool.path, "validate", "-json", "-no-color"]
        done = subprocess.run(command, cwd=folder, env=environment(settings), capture_output=True, text=True, check=False)
        assert [] == [d for d in json.loads(done.stdout)["diagnostics"] if d["severity"] == "error"], name


@pytest.mark.slow
@pytest.mark.parametrize("case", ["sample", "edges"])
def test_an_independent_checker_finds_no_fault(case: str) -> None:
    """A checker that reads the bindings' schema on its own counts no fault."""
    if not CHECKER.exists():
        pytest.skip("the acceptance checkers are not beside this checkout")
    done = subprocess.run([sys.executable, str(CHECKER), str(GOLDEN / case)], capture_output=True, text=True, check=False)
    if "CalledProcessError" in done.stderr:
        pytest.skip("pip cannot download the bindings that the checker reads")
    assert ", 0 faults" in done.stdout, done.stdout
