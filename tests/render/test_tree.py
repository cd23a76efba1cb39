"""Writing a tree: whole or not at all, and only where it belongs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inferform.errors import InputError, StateError
from inferform.render import tree


def files(**contents: str) -> dict[str, str]:
    paths = {name.replace("__", "/"): text for name, text in contents.items()}
    return {**paths, tree.INDEX: json.dumps({"format": tree.FORMAT, "files": dict.fromkeys(paths, "")})}


def present(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def listing(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_nothing_is_left_over_from_an_earlier_run(tmp_path: Path) -> None:
    """A second tree replaces the first: files that are no longer rendered are gone, and nothing stands beside it."""
    out = tmp_path / "out"
    tree.write(files(a__x="1", b__y="2"), out)
    tree.write(files(a__x="3"), out)
    assert {"a/x", "index.json"} == present(out)
    assert "3" == (out / "a/x").read_text()
    assert ["out"] == listing(tmp_path)


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    """An existing empty folder is as good as none."""
    tree.write(files(x="1"), tmp_path)
    assert {"x", "index.json"} == present(tmp_path)


@pytest.mark.parametrize("index", [None, "{}", "not json", '{"format": "other"}', "[1]"])
def test_a_folder_of_someone_else_is_refused(tmp_path: Path, index: str | None) -> None:
    """Files without our index are never deleted."""
    (tmp_path / "precious").write_text("keep")
    if index is not None:
        (tmp_path / tree.INDEX).write_text(index)
    with pytest.raises(InputError, match="not written by this command"):
        tree.write(files(x="1"), tmp_path)
    assert "keep" == (tmp_path / "precious").read_text()


def test_a_file_added_to_our_folder_stops_the_next_run(tmp_path: Path) -> None:
    """A file that a person put into a tree of ours is named, and nothing is deleted."""
    out = tmp_path / "out"
    tree.write(files(x="1"), out)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"such as notes\.txt"):
        tree.write(files(x="2"), out)
    assert ("mine", "1") == ((out / "notes.txt").read_text(), (out / "x").read_text())


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a//x", "./x", "a/./x", "", "a\\x", "a\0x", "C:x", "a/"])
def test_no_path_leaves_the_folder(tmp_path: Path, path: str) -> None:
    """Paths that climb, start at the root or read differently elsewhere are refused before anything is written."""
    with pytest.raises(InputError, match="below the output folder"):
        tree.write({**files(), path: "x"}, tmp_path / "out")
    assert [] == listing(tmp_path)


def test_names_that_collide_on_some_file_systems_are_refused(tmp_path: Path) -> None:
    """A and a are one file on some systems; x and x/y are file and folder at once."""
    with pytest.raises(InputError, match="cannot stand beside"):
        tree.write({**files(), "A": "1", "a": "2"}, tmp_path / "out")
    with pytest.raises(InputError, match="file and a folder"):
        tree.write({**files(), "x": "1", "x/y": "2"}, tmp_path / "out")


def test_a_failure_leaves_the_earlier_tree(tmp_path: Path) -> None:
    """Text that cannot be encoded fails while the new tree is built; the old one stands untouched, and no rest is left."""
    out = tmp_path / "out"
    tree.write(files(x="1"), out)
    with pytest.raises(InputError, match="half of a character"):
        tree.write(files(x="2", y="\ud800"), out)
    assert "1" == (out / "x").read_text()
    assert ["out"] == listing(tmp_path)


def test_links_and_files_in_the_way_are_refused(tmp_path: Path) -> None:
    """A link is not followed, a file is not replaced."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a link"):
        tree.write(files(x="1"), tmp_path / "link")
    with pytest.raises(InputError, match="is not a folder"):
        tree.write(files(x="1"), tmp_path / "file")
    with pytest.raises(StateError, match="cannot write to"):
        tree.write(files(x="1"), tmp_path / "file" / "below")


def test_a_tree_without_its_index_is_refused(tmp_path: Path) -> None:
    """Without an index a tree could never be replaced later."""
    with pytest.raises(InputError, match=r"needs index\.json"):
        tree.write({"x": "1"}, tmp_path / "out")
