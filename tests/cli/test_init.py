"""`inferform init` writes a starter and never replaces a file unasked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., object]


@pytest.mark.parametrize("profile", ["interactive", "batch", "agentic", "mixed"])
def test_the_starter_of_each_profile_validates(profile: str, tmp_path: Path, inferform: Run) -> None:
    """What `init` writes, `validate` accepts as it is."""
    path = tmp_path / "new" / "spec.yaml"
    assert 0 == inferform("init", "--profile", profile, "--out", path).code
    assert (0, f"{path}: valid (default, dev, prod)\n") == ((ran := inferform("validate", path)).code, ran.out)


def test_without_a_file_the_starter_is_the_result(inferform: Run) -> None:
    """The starter goes to standard output, and nothing else does."""
    ran = inferform("init")
    assert (0, "") == (ran.code, ran.err)
    assert ran.out.startswith("# A starter for chat")


def test_a_file_is_not_replaced_unasked(tmp_path: Path, inferform: Run) -> None:
    """An existing file stays as it is without --force, and is replaced with it."""
    path = tmp_path / "spec.yaml"
    path.write_text("mine\n")
    ran = inferform("init", "--out", path)
    assert (2, "mine\n") == (ran.code, path.read_text())
    assert "--force" in ran.err
    assert 0 == inferform("init", "--out", path, "--force").code
    assert path.read_text().startswith("# A starter")
    assert ["spec.yaml"] == [p.name for p in tmp_path.iterdir()]


def test_json_has_the_text_and_the_file(tmp_path: Path, inferform: Run) -> None:
    """--format json tells where the starter was written and what it says."""
    path = tmp_path / "spec.yaml"
    data = inferform("init", "--out", path, "--format", "json").data
    assert ("interactive", str(path), path.read_text()) == (data["profile"], data["file"], data["text"])


def test_a_folder_that_cannot_be_written_is_an_input_error(tmp_path: Path, inferform: Run) -> None:
    """A path below a file is told as such, with exit 2."""
    (tmp_path / "file").write_text("")
    ran = inferform("init", "--out", tmp_path / "file" / "spec.yaml")
    assert 2 == ran.code
    assert "cannot be written" in ran.err


def test_an_unknown_profile_lists_the_profiles(inferform: Run) -> None:
    """--profile takes the profiles there are."""
    ran = inferform("init", "--profile", "chatty")
    assert 2 == ran.code
    assert "'interactive', 'batch', 'agentic', 'mixed'" in ran.err


@pytest.mark.parametrize("profile", ["interactive", "batch", "agentic", "mixed"])
def test_the_starter_of_each_profile_can_be_sized(profile: str, tmp_path: Path, inferform: Run) -> None:
    """A first spec leads to a plan in every environment it declares."""
    path = tmp_path / "spec.yaml"
    assert 0 == inferform("init", "--profile", profile, "--out", path).code
    for environment in ("dev", "prod"):
        ran = inferform("size", path, "--env", environment, "--format", "json")
        assert (0, environment) == (ran.code, ran.data["environment"]), ran.err
