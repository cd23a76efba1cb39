"""`inferform rollback`: the history it lists, and what stands in for a spec that is gone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inferform.cli.applied import applied_folder, brought_up_to_date, placed, source_in_cloud, source_to_apply
from inferform.cli.output import Output
from inferform.errors import InputError, Problem
from inferform.load import load_spec
from inferform.operate import archive, history
from inferform.operate.folder import Folder, write_json
from operate.test_archive import Shared
from operate.test_history import keep, saved
from operate.tiny import BACKEND, tiny_plan
from specs import MINIMAL as WITHOUT_STATE
from specs import write

# With local state nothing is asked of AWS.
MINIMAL = WITHOUT_STATE + "state: {backend: local}\n"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A spec that was applied twice from the working directory, with another load in between."""
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, MINIMAL)
    folder = history.of(load_spec(path), None)
    keep(folder, load_spec(path), "a" * 64)
    write(tmp_path, MINIMAL.replace("peak_rps: 2", "peak_rps: 9"))
    keep(folder, load_spec(path), "b" * 64, rollback_to=1)
    return str(path)


def test_the_history_is_listed_newest_first(inferform: Callable[..., Any], spec: str) -> None:
    """Numbers, who, plan, price and nodes of every apply; which one is in the cloud and which brought another back."""
    ran = inferform("rollback", spec, "--list")
    assert 0 == ran.code
    rows = [line.split() for line in ran.out.splitlines() if "ada@acme.example" in line]
    assert [["2", "b" * 12], ["1", "a" * 12]] == [[row[0], row[4]] for row in rows]
    assert "in the cloud, rollback to 1" in " ".join(ran.out.split())
    data = inferform("rollback", spec, "--list", "--format", "json").data
    assert ("demo", "default", 2, False, [1, 2]) == (
        data["name"], data["environment"], data["current"], data["unfinished"], [a["number"] for a in data["applied"]],
    )  # fmt: skip


def test_the_history_outlives_the_spec(inferform: Callable[..., Any], spec: str) -> None:
    """With the file gone, broken or under another name, its path or the deployment's name still finds what was applied."""
    own = Folder(Path(".inferform/demo/default").absolute())
    for text in (MINIMAL.replace("name: demo", "name: other"), "models: ["):
        Path(spec).write_text(text)
        assert own == applied_folder(spec, None, None)
    Path(spec).unlink()
    for name in (spec, "demo"):
        assert 2 == inferform("rollback", name, "--list", "--format", "json").data["current"]
    assert 2 == inferform("rollback", "nothing", "--list", "--out", own.root, "--format", "json").data["current"]


def test_nothing_applied_and_no_spec_is_an_input_error(inferform: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not there, and was never applied, is told as for every other command; a spec without a history lists nothing."""
    monkeypatch.chdir(tmp_path)
    ran = inferform("rollback", "none.yaml")
    assert (2, "") == (ran.code, ran.out)
    assert "none.yaml: there is no such file" in ran.err
    assert "No apply has ended in" in inferform("rollback", write(tmp_path, MINIMAL), "--list").out
    assert not (tmp_path / ".inferform").exists()


def test_wrong_numbers_are_refused_with_the_right_ones(inferform: Callable[..., Any], spec: str) -> None:
    """--to 0 and --to 9 are input errors; the second names what is kept."""
    assert 2 == inferform("rollback", spec, "--to", "0").code
    ran = inferform("rollback", spec, "--to", "9")
    assert 2 == ran.code
    assert "--to: no such apply is kept (found 9)" in ran.err
    assert "legal: 1, 2" in ran.err


def test_problems_are_named_after_what_they_are_about(tmp_path: Path) -> None:
    """An option that is wrong is named as an option; a field of the spec with its file and line."""
    loaded = load_spec(write(tmp_path, MINIMAL))
    with pytest.raises(InputError) as caught, placed(loaded):
        raise InputError([Problem("is protected", field="confirm"), Problem("too few", field="models.llama-8b.workload.peak_rps")])
    assert [("--confirm", "", None), ("models.llama-8b.workload.peak_rps", loaded.path, 8)] == [(p.field, p.file, p.line) for p in caught.value.problems]
    with pytest.raises(InputError, match=r"^--out: no"), placed(None):
        raise InputError(Problem("no", field="out"))


def test_apply_takes_a_saved_rollback_in_place_of_a_lost_spec(spec: str) -> None:
    """Only a saved rollback stands in for a spec; a saved plan of a spec needs that spec."""
    folder = Folder(Path(".inferform/demo/default").absolute())
    Path(spec).unlink()
    write_json(folder.record, saved(tiny_plan(), "c" * 64).model_dump(mode="json"))
    with pytest.raises(InputError, match="there is no such file"):
        source_to_apply(spec, None, None)
    write_json(folder.record, saved(tiny_plan(), "c" * 64, rollback_to=1).model_dump(mode="json"))
    source, place = source_to_apply(spec, None, None)
    assert folder.root == place
    assert 2.0 == source.spec.models["llama-8b"].workload.peak_rps  # type: ignore[union-attr]
    # The file is back, under another name: its own folder has no plan, so the saved rollback still counts.
    Path(spec).write_text(MINIMAL.replace("name: demo", "name: other"))
    assert folder.root == source_to_apply(spec, None, None)[1]


def test_drift_and_destroy_go_on_without_the_file(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A spec that is gone is replaced by what was applied last, and that is said; a spec that is broken is not."""
    Path(spec).write_text("models: [")
    with pytest.raises(InputError):
        source_in_cloud(Output(), spec, None, None)
    Path(spec).unlink()
    source, place = source_in_cloud(Output(), spec, None, None)
    assert 9.0 == source.spec.models["llama-8b"].workload.peak_rps  # type: ignore[union-attr]
    assert Path(".inferform/demo/default").absolute() == place
    assert f"{spec} is gone; this works from apply 2" in capsys.readouterr().err


def test_what_was_applied_elsewhere_is_fetched_first(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that never applied, the spec says where the history lies; without a spec there is only what the folder has."""
    shared = Shared()
    here = Folder(Path(".inferform/demo/default").absolute())
    archive.push(here, shared)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    backend = dataclasses.replace(BACKEND, shelf=lambda sized: shared)
    fetched = applied_folder(spec, None, None)
    assert other / ".inferform/demo/default" == fetched.root
    assert [] == brought_up_to_date(spec, None, fetched, backend)
    assert [1, 2] == [e.number for e in history.entries(fetched)]
    assert [] == brought_up_to_date("gone.yaml", None, Folder(other / "x"), backend)
    assert not (other / "x").exists()
