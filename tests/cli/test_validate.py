"""`inferform validate` checks every environment and reports everything at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specs import MINIMAL, write

Run = Callable[..., object]
TWO = MINIMAL + "environments:\n  dev: {}\n  prod: {protected: true}\n"


def test_every_environment_is_checked(tmp_path: Path, inferform: Run) -> None:
    """The document alone and each overlay are named as valid."""
    path = write(tmp_path, TWO)
    assert (0, f"{path}: valid (default, dev, prod)\n", "") == ((ran := inferform("validate", path)).code, ran.out, ran.err)
    data = inferform("validate", path, "--format", "json").data
    assert (True, ["default", "dev", "prod"]) == (data["valid"], [e["environment"] for e in data["environments"]])


def test_one_environment_can_be_checked_alone(tmp_path: Path, inferform: Run) -> None:
    """--env checks that environment, and a mistake in another does not stand in its way."""
    path = write(tmp_path, TWO.replace("dev: {}", "dev: {protected: maybe}"))
    assert f"{path}: valid (prod)\n" == inferform("validate", path, "--env", "prod").out
    assert 2 == inferform("validate", path).code


def test_an_unknown_environment_names_the_nearest(tmp_path: Path, inferform: Run) -> None:
    """A slip in --env is an input error."""
    ran = inferform("validate", write(tmp_path, TWO), "--env", "prd")
    assert 2 == ran.code
    assert "did you mean prod?" in ran.err


def test_all_problems_are_counted(tmp_path: Path, inferform: Run) -> None:
    """Several problems are listed one below the other and counted at the end."""
    path = write(tmp_path, TWO.replace("protected: true", "protected: maybe").replace("peak_rps: 2", "peak_rps: 0"))
    lines = inferform("validate", path).err.splitlines()
    assert [f"{path}:8: ", f"{path}:14: ", "2 problems"] == [lines[0][: len(f"{path}:8: ")], lines[1][: len(f"{path}:14: ")], lines[-1]]
