"""Same spec, same bytes: in another folder, in another process, under another hash seed, written in another order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from inferform.load import load_spec
from inferform.planner import size
from inferform.render import render

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SPEC = EXAMPLES / "mixed.yaml"
PROGRAM = "import sys; from inferform.cli.main import main; sys.exit(main(sys.argv[1:]))"


def run(folder: Path, seed: str, *args: object) -> str:
    """Standard output of a command in a process of its own, in some folder, with some hash seed."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo" if seed == "2" else "UTC", "LC_ALL": "C" if seed == "2" else "C.UTF-8"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM, *map(str, args)], text=True, capture_output=True, check=False, cwd=folder, env=env)
    assert (0, "") == (ran.returncode, ran.stderr)
    return ran.stdout


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("args", [("size", "--format", "json"), ("size",), ("cost", "--format", "json"), ("schema",)], ids=" ".join)
def test_results_are_the_same_bytes(args: tuple[str, ...], tmp_path: Path) -> None:
    """Two processes in two folders with two hash seeds print the same."""
    command = args if args == ("schema",) else (args[0], str(SPEC), *args[1:])
    assert run(tmp_path / "a", "1", *command) == run(tmp_path / "b" / "c", "2", *command)


def test_rendered_trees_are_the_same_bytes(tmp_path: Path) -> None:
    """The rendered tree does not depend on where, when or with which hash seed it was written."""
    for name, seed in (("a", "1"), ("b", "2")):
        run(tmp_path / name, seed, "render", SPEC, "--out", "tree", "--quiet")
    first = tree(tmp_path / "a" / "tree")
    assert first
    assert first == tree(tmp_path / "b" / "tree")


def test_synthesized_stacks_are_the_same_bytes(tmp_path: Path) -> None:
    """So are the Terraform stacks and their manifest."""
    for name, seed in (("a", "1"), ("b", "2")):
        run(tmp_path / name, seed, "synth", SPEC, "--out", "tree", "--quiet")
    first = tree(tmp_path / "a" / "tree")
    assert "manifest.json" in first
    assert first == tree(tmp_path / "b" / "tree")


def test_outputs_name_no_folder_of_the_machine(tmp_path: Path) -> None:
    """Nothing that is rendered says where it was rendered."""
    run(tmp_path, "1", "render", SPEC, "--out", "tree", "--quiet")
    assert [] == [name for name, text in tree(tmp_path / "tree").items() if str(tmp_path).encode() in text or str(EXAMPLES).encode() in text]


def reordered(node: object) -> object:
    """A document with the keys of every mapping in reverse."""
    if isinstance(node, dict):
        return {key: reordered(node[key]) for key in reversed(node)}
    return [reordered(item) for item in node] if isinstance(node, list) else node


@pytest.mark.parametrize("name", ["mixed", "batch"])
def test_fc38_the_order_in_a_spec_changes_nothing(name: str, tmp_path: Path) -> None:
    """FC-38: pools are keyed by name, so a spec with its models and fields in another order gives the same plan and files."""
    document = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(reordered(document), sort_keys=False), encoding="utf-8")
    one, other = (size(load_spec(path).spec) for path in (EXAMPLES / f"{name}.yaml", tmp_path / "spec.yaml"))
    assert one == other
    assert render(one) == render(other)


def test_fc38_removing_a_model_leaves_the_files_of_the_others(tmp_path: Path) -> None:
    """FC-38: without the first of three models, the files of the other two are the same bytes."""
    document = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
    del document["models"]["bge"]
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    before, after = (render(size(load_spec(path).spec)) for path in (SPEC, tmp_path / "spec.yaml"))
    kept = [name for name in before if "llama-" in name]
    assert len(kept) >= 6
    assert [] == [name for name in kept if before[name] != after.get(name)]
    assert [] == [name for name in after if "bge" in name]


def test_one_environment_does_not_change_with_another(tmp_path: Path) -> None:
    """An edit in the dev overlay leaves the prod plan as it was, digest included."""
    document = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
    document["environments"]["dev"]["models"]["llama-70b"]["workload"]["peak_rps"] = 0.7
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    assert size(load_spec(SPEC, "prod").spec, "prod") == size(load_spec(tmp_path / "spec.yaml", "prod").spec, "prod")
