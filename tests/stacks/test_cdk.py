"""The seam to CDK for Terraform."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from inferform.errors import MissingToolError
from inferform.stacks import cdk


@pytest.mark.parametrize("library", get_args(cdk.Library))
def test_the_library_is_loaded_by_name_and_the_environment_put_back(library: cdk.Library) -> None:
    """The module is the one asked for, and no variable is left changed."""
    pytest.importorskip(library)
    before = dict(os.environ)
    assert library == cdk.load(library).__name__
    assert before == dict(os.environ)


def test_a_library_that_is_not_installed_names_what_to_install() -> None:
    """A missing library is a missing tool (exit code 5) with the command that installs it."""
    with pytest.raises(MissingToolError, match=r"cdktx is not installed; pip install 'inferform'"):
        cdk.load("cdktx")  # type: ignore[arg-type]


@pytest.mark.slow
def test_node_comes_with_the_package(tmp_path: Path) -> None:
    """Synthesis starts without any node on the PATH."""
    program = "from inferform.stacks import cdk; print(cdk.load('cdktf').App(outdir='out', skip_validation=True).outdir)"
    env = {"PATH": "", "HOME": os.environ.get("HOME", "")}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, check=True, capture_output=True, text=True)
    assert ("out\n", "") == (done.stdout, done.stderr)
