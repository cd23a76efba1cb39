"""`inferform render` writes the tree, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specs import MINIMAL, write

Run = Callable[..., object]


def test_the_tree_is_written_and_listed(tmp_path: Path, inferform: Run) -> None:
    """Every file that is listed is there, families in their folders, with a kustomization."""
    out = tmp_path / "build"
    data = inferform("render", write(tmp_path, MINIMAL), "--out", out, "--format", "json").data
    assert sorted(data["files"]) == sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    assert {"serving", "gateway", "isolation", "observability"} <= {name.split("/")[0] for name in data["files"]}
    assert "kustomization.yaml" in data["files"]


def test_nothing_is_left_over_from_before(tmp_path: Path, inferform: Run) -> None:
    """A model that is gone from the spec is gone from the tree."""
    two = MINIMAL + MINIMAL.split("models:\n")[1].replace("llama-8b:", "other:")
    out = tmp_path / "build"
    assert 0 == inferform("render", write(tmp_path, two), "--out", out).code
    assert list(out.rglob("*other*"))
    assert 0 == inferform("render", write(tmp_path, MINIMAL), "--out", out).code
    assert not list(out.rglob("*other*"))


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, inferform: Run) -> None:
    """A folder with other files is refused and unchanged; the problem names --out."""
    out = tmp_path / "home"
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    ran = inferform("render", write(tmp_path, MINIMAL), "--out", out)
    assert (2, ["letter.txt"]) == (ran.code, [p.name for p in out.iterdir()])
    assert "--out" in ran.err


def test_a_spec_that_cannot_be_sized_writes_nothing(tmp_path: Path, inferform: Run) -> None:
    """On failure there is no folder."""
    ran = inferform("render", write(tmp_path, MINIMAL + "budget: {usd_per_month: 1}\n"), "--out", tmp_path / "build")
    assert (2, "", False) == (ran.code, ran.out, (tmp_path / "build").exists())


def test_out_is_needed(tmp_path: Path, inferform: Run) -> None:
    """Without --out it is a usage error."""
    ran = inferform("render", write(tmp_path, MINIMAL))
    assert 2 == ran.code
    assert "--out" in ran.err
