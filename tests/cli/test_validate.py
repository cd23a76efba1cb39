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


def test_names_are_looked_up_in_every_environment(tmp_path: Path, inferform: Run) -> None:
    """An unknown model, GPU, instance type and engine flag are told at once, each at its line, in overlays too."""
    text = MINIMAL.replace("meta-llama/Llama-3.1-8B-Instruct", "meta-lama/Llama-3.1-8B") + "environments:\n"
    text += "  a: {models: {llama-8b: {source: Qwen/Qwen3-8B, hardware: {gpus: [H1000]}}}}\n"
    text += "  b: {models: {llama-8b: {source: Qwen/Qwen3-8B, hardware: {instance_types: [p5.48xlarg]}}}}\n"
    text += "  c: {models: {llama-8b: {source: Qwen/Qwen3-8B, extra_args: [--seeed, '7']}}}\n"
    path = write(tmp_path, text)
    ran = inferform("validate", path, "--format", "json")
    assert 2 == ran.code
    found = [(p["line"], p["field"]) for p in ran.error["problems"]]
    prefix = "models.llama-8b"
    assert [
        (5, f"{prefix}.source"),
        (13, f"environments.a.{prefix}.hardware.gpus"),
        (14, f"environments.b.{prefix}.hardware.instance_types"),
        (15, f"environments.c.{prefix}.extra_args"),
    ] == [(line, field.split("[")[0]) for line, field in found]
    assert all(p["file"] == str(path) for p in ran.error["problems"])


def test_fc01_an_explicit_degree_that_does_not_divide_the_heads_is_refused(tmp_path: Path, inferform: Run) -> None:
    """FC-01: tp 3 with 32 heads is refused at its line, before anything is written."""
    path = write(tmp_path, MINIMAL + "    parallelism: {tp: 3}\n")
    ran = inferform("validate", path)
    assert 2 == ran.code
    assert f"{path}:12: models.llama-8b.parallelism" in ran.err
    assert "32" in ran.err
