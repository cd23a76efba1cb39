"""What a synth leaves on disk."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError, StateError
from inferform.stacks import manifest

STACKS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {"network": ((), {"a": 1}), "cluster": (("network",), {"b": "é"})}


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below the folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_tree_reads_back(tmp_path: Path) -> None:
    """Stacks, dependencies, order and digests are written and read back."""
    written = manifest.write(tmp_path / "out", "d", "prod", STACKS)
    assert written == manifest.read(tmp_path / "out")
    assert ("network", "cluster") == written.order
    assert {"manifest.json", "stacks/network/cdk.tf.json", "stacks/cluster/cdk.tf.json"} == set(tree(tmp_path / "out"))
    text = (tmp_path / "out" / "stacks/cluster/cdk.tf.json").read_bytes()
    assert '{\n  "b": "é"\n}\n'.encode() == text
    row = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["stacks"]["cluster"]
    assert {"dependencies": ["network"], "path": "stacks/cluster/cdk.tf.json", "sha256": hashlib.sha256(text).hexdigest()} == row


def test_nothing_of_an_earlier_run_stays(tmp_path: Path) -> None:
    """A stack that is gone leaves no file and no folder; files of others stay where they are."""
    manifest.write(tmp_path, "d", "prod", {**STACKS, "old": ((), {}), "kept": ((), {})})
    (tmp_path / "stacks/network/.terraform.lock.hcl").write_text("lock")
    (tmp_path / "stacks/kept/terraform.tfstate").write_text("state")
    (tmp_path / "plan.json").write_text("{}")
    manifest.write(tmp_path, "d", "prod", STACKS)
    assert {
        "manifest.json", "plan.json", "stacks/cluster/cdk.tf.json", "stacks/kept/terraform.tfstate", "stacks/network/.terraform.lock.hcl",
        "stacks/network/cdk.tf.json",
    } == set(tree(tmp_path))  # fmt: skip
    assert not (tmp_path / "stacks/old").exists()


def test_a_failure_leaves_the_earlier_tree(tmp_path: Path) -> None:
    """When a folder cannot be made, the error says so and every earlier file is as it was."""
    manifest.write(tmp_path, "d", "prod", STACKS)
    before = tree(tmp_path)
    (tmp_path / "stacks/nodes").write_text("a file where a folder should be")
    with pytest.raises(InputError, match="cannot write the stacks"):
        manifest.write(tmp_path, "d", "prod", {"network": ((), {"a": 2}), "nodes": ((), {})})
    assert {**before, "stacks/nodes": b"a file where a folder should be"} == tree(tmp_path)


def test_a_file_is_no_output_folder(tmp_path: Path) -> None:
    """An output path that is a file is refused and stays."""
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="cannot write the stacks"):
        manifest.write(tmp_path / "out", "d", "prod", STACKS)
    assert "mine" == (tmp_path / "out").read_text()


def test_an_interrupted_tree_is_not_read(tmp_path: Path) -> None:
    """Without manifest.json, which is written last, the tree is refused with what to do."""
    manifest.write(tmp_path, "d", "prod", STACKS)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(StateError, match="run inferform synth"):
        manifest.read(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", '{"stacks": {}}', '{"stacks": {}, "order": ["a"], "deployment": "d", "environment": "e"}'])
def test_a_foreign_manifest_is_not_read(content: str, tmp_path: Path) -> None:
    """A manifest.json that is broken or another program's is refused, not followed."""
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(StateError, match="was not written by inferform synth"):
        manifest.read(tmp_path)


def test_an_edited_stack_is_not_read(tmp_path: Path) -> None:
    """A stack's file that differs from its digest is refused by name."""
    manifest.write(tmp_path, "d", "prod", STACKS)
    (tmp_path / "stacks/network/cdk.tf.json").write_text("{}")
    with pytest.raises(StateError, match=r"stacks/network/cdk\.tf\.json is not the file that was synthesized"):
        manifest.read(tmp_path)


def test_leftovers_of_a_killed_run_are_cleared(tmp_path: Path) -> None:
    """Staged files of a run that was killed are gone after the next one."""
    (tmp_path / ".synth").mkdir()
    (tmp_path / ".synth" / "network.json").write_text("half")
    manifest.write(tmp_path, "d", "prod", STACKS)
    assert not (tmp_path / ".synth").exists()
