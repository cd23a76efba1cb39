"""Paths, digests and files that appear whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from inferform.errors import InputError
from inferform.operate.audit import Actor, append
from inferform.operate.folder import digest, file_digest, open_folder, write, write_json


def test_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder, work goes below .inferform, by name and environment."""
    monkeypatch.chdir(tmp_path)
    assert tmp_path / ".inferform/contract-qa/prod" == open_folder(None, "contract-qa", "prod").root


def test_folder_is_the_users_alone(tmp_path: Path) -> None:
    """Saved plans are nothing for other accounts of the machine."""
    assert 0o700 == open_folder(tmp_path / "new", "a", "b").root.stat().st_mode & 0o777


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in the way is an input error that names it."""
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="out: cannot make the folder"):
        open_folder(tmp_path / "file/below", "a", "b")


def test_digest_does_not_depend_on_order() -> None:
    """Equal values have one digest, whatever order their keys were written in."""
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"a": [1, 2]}) != digest({"a": [2, 1]})


def test_write_replaces_whole_files(tmp_path: Path) -> None:
    """A file is replaced in one step and nothing is left beside it."""
    write(tmp_path / "a/b.json", "old")
    write_json(tmp_path / "a/b.json", {"z": 1, "a": "ü"})
    assert '{\n  "a": "ü",\n  "z": 1\n}\n' == (tmp_path / "a/b.json").read_text(encoding="utf-8")
    assert ["b.json"] == [p.name for p in (tmp_path / "a").iterdir()]
    assert None is file_digest(tmp_path / "absent")
    # SHA-256 of the empty file
    (tmp_path / "empty").touch()
    assert "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" == file_digest(tmp_path / "empty")


def test_audit_only_grows(tmp_path: Path) -> None:
    """Lines are added behind what is there, one JSON document each."""
    path = tmp_path / "audit.jsonl"
    append(path, Actor("ada", "2026-12-01T08:00:00Z"), "plan", digest="d1")
    first = path.read_text()
    append(path, Actor("bob\n", "2026-12-01T09:00:00Z"), "apply", digest="d1", stacks={"network": "done"})
    assert path.read_text().startswith(first)
    assert '{"action":"apply","digest":"d1","stacks":{"network":"done"},"when":"2026-12-01T09:00:00Z","who":"bob\\n"}' == path.read_text().splitlines()[1]
