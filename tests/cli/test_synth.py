"""`inferform synth` writes Terraform configuration and the order of the stacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from specs import MINIMAL, write

Run = Callable[..., object]


def test_stacks_and_manifest_are_written(tmp_path: Path, inferform: Run) -> None:
    """Each stack's cdk.tf.json is where the result says, in an order in which what is read comes first."""
    out = tmp_path / "build"
    data = inferform("synth", write(tmp_path, MINIMAL), "--out", out, "--format", "json").data
    assert data["order"] == json.loads((out / "manifest.json").read_text())["order"]
    for name, stack in data["stacks"].items():
        assert "resource" in json.loads((out / stack["path"]).read_text())
        assert all(data["order"].index(read) < data["order"].index(name) for read in stack["dependencies"])


def test_a_spec_that_cannot_be_sized_writes_nothing(tmp_path: Path, inferform: Run) -> None:
    """On failure there is no folder."""
    ran = inferform("synth", write(tmp_path, MINIMAL + "budget: {usd_per_month: 1}\n"), "--out", tmp_path / "build")
    assert (2, "", False) == (ran.code, ran.out, (tmp_path / "build").exists())


def test_text_lists_the_stacks(tmp_path: Path, inferform: Run) -> None:
    """The table names each stack, its file and what it reads, in 100 columns."""
    out = inferform("synth", write(tmp_path, MINIMAL), "--out", tmp_path / "b").out
    assert ["stack", "file", "reads"] == out.splitlines()[0].split()
    assert any(line.split()[:2] == ["network", "stacks/network/cdk.tf.json"] for line in out.splitlines())
