"""The scripts of the quantization job: the steps run for real against a fake store, the gate, and the parts that need no GPU."""

from __future__ import annotations

import hashlib
import json
import os
import py_compile
import shutil
import subprocess
import types
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.templates.places import FAKE_AWS

FAKE_PYTHON = """#!/bin/sh
# `-c import` fails until pip has run; the quantizer writes a checkpoint and a report.
case "$*" in
  "-c import llmcompressor") [ -e "$WORK/installed" ] ;;
  "-m pip install"*) printf '%s\\n' "$*" >> "$WORK/installed" ;;
  *quantize.py) mkdir -p "$OUT/sub" && printf weights > "$OUT/model.safetensors" && printf '{}' > "$OUT/sub/a b.json" && cp "$FAKE_REPORT" "$REPORT" ;;
esac
"""


def script(name: str) -> str:
    return files("inferform.templates").joinpath(f"scripts/{name}.j2").read_text()


def module() -> types.ModuleType:
    """The Python script as a module; its heavy libraries are imported where they are used."""
    made = types.ModuleType("quantize")
    exec(compile(script("quantize.py"), "quantize.py", "exec"), made.__dict__)  # noqa: S102 - our own script
    return made


class Job:
    """A store and a node; each step is run as its container would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        tools = root / "bin"
        tools.mkdir()
        for name, text in (("aws", FAKE_AWS), ("python3", FAKE_PYTHON)):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        (root / "work").mkdir()
        (root / "quantize.sh").write_text(script("quantize.sh"))
        self.report(0.99)
        self.environment = {
            "PATH": f"{tools}:{os.environ['PATH']}", "FAKE_S3": str(root / "s3"), "FAKE_REPORT": str(root / "report.json"), "STORE": "s3://models/models/llama",
            "WORK": str(root / "work"), "IDENTITY": "abc123", "MODEL": "org/llama", "METHOD": "awq", "ENGINE": "vllm 0.33.0", "MIN_SCORE_SHARE": "0.96",
            "DATA_URI": "s3://data/prompts.jsonl", "INSTALL": "llmcompressor==1.2.3",
        }  # fmt: skip
        (root / "s3/data").mkdir(parents=True)
        (root / "s3/data/prompts.jsonl").write_text('{"text": "a"}\n')

    def report(self, share: float) -> None:
        text = json.dumps({"score_share": share, "data_sha256": "d" * 64, "versions": {"llmcompressor": "1.2.3", "torch": "2.14.0"}}, indent=2)
        (self.root / "report.json").write_text(text)

    def step(self, name: str, **more: str) -> subprocess.CompletedProcess[str]:
        values = {**self.environment, **more}
        return subprocess.run(["bash", str(self.root / "quantize.sh"), name], env=values, capture_output=True, text=True, check=False)

    def all(self, **more: str) -> subprocess.CompletedProcess[str]:
        done = self.step("fetch", **more)
        for name in ("run", "publish"):
            if done.returncode == 0:
                done = self.step(name, **more)
        return done

    @property
    def manifest(self) -> list[str]:
        path = self.root / "s3/models/models/llama/MANIFEST"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_a_checkpoint_that_kept_its_score_becomes_what_pods_load(job: Job) -> None:
    """Files with their checksums stand in the manifest, with method, data digest, engine, score and what made it."""
    done = job.all()
    assert 0 == done.returncode, done.stderr
    head = {line.split(" ", 2)[1]: line.split(" ", 2)[2] for line in job.manifest if line.startswith("# ") and "made-with" not in line}
    assert ("org/llama", "abc123", "awq", "d" * 64, "vllm 0.33.0", "0.99", "0.96") == tuple(
        head[key] for key in ("model", "quantized-by", "quantization", "data-sha256", "engine", "score-share", "asked-share")
    )
    assert ["# made-with llmcompressor 1.2.3", "# made-with torch 2.14.0"] == [line for line in job.manifest if "made-with" in line]
    rows = [line.split(" ", 2) for line in job.manifest if not line.startswith("#")]
    assert [(hashlib.sha256(b"weights").hexdigest(), "7", "model.safetensors"), (hashlib.sha256(b"{}").hexdigest(), "2", "sub/a b.json")] == [
        tuple(r) for r in rows
    ]
    store = job.root / "s3/models/models/llama"
    assert b"weights" == (store / head["prefix"] / "model.safetensors").read_bytes()
    assert (
        "-m pip install --user --no-cache-dir --disable-pip-version-check --no-warn-script-location llmcompressor==1.2.3"
        in (job.root / "work/installed").read_text()
    )


@pytest.mark.parametrize(
    ("share", "asked", "passes"), [(0.96, "0.96", True), (0.959999, "0.96", False), (1.01, "1", True), (0.5, "0.96", False), (1.0, "0.99", True)]
)
def test_the_gate_lets_nothing_below_the_share_into_the_store(job: Job, share: float, asked: str, passes: bool) -> None:
    """Below it only the report is stored: no manifest, so no pod can load the checkpoint."""
    job.report(share)
    done = job.all(MIN_SCORE_SHARE=asked)
    assert passes == (done.returncode == 0), done.stderr
    assert passes == bool(job.manifest)
    assert 1 == len(list((job.root / "s3/models/models/llama/reports").iterdir()))
    if not passes:
        assert f"of the score, {asked} is asked for; nothing was stored but the report" in done.stderr
        assert [] == list((job.root / "s3/models/models/llama").rglob("*.safetensors"))


def test_a_store_that_holds_the_result_is_left_alone(job: Job) -> None:
    """The same inputs again: no step does anything; other inputs are made anew."""
    assert 0 == job.all().returncode
    shutil.rmtree(job.root / "work")
    (job.root / "work").mkdir()
    calls = (job.root / "s3/calls").read_text()
    assert 0 == job.all().returncode
    assert not (job.root / "work/out").exists()
    assert 1 == len((job.root / "s3/calls").read_text().splitlines()) - len(calls.splitlines())
    shutil.rmtree(job.root / "work")
    (job.root / "work").mkdir()
    assert 0 == job.all(IDENTITY="other").returncode
    assert "# quantized-by other" in job.manifest


def test_broken_reports_publish_nothing(job: Job) -> None:
    """A report without a score, or with one that is no share."""
    for text in ("{}", '{"score_share": 7.5}'):
        (job.root / "report.json").write_text(text)
        assert 0 != job.all().returncode
        assert [] == job.manifest


def test_scripts_are_clean(tmp_path: Path) -> None:
    """The Python compiles, shellcheck finds nothing in the shell, and neither holds a template expression."""
    path = tmp_path / "quantize.py"
    path.write_text(script("quantize.py"))
    py_compile.compile(str(path), doraise=True)
    for name in ("quantize.py", "quantize.sh"):
        assert not [mark for mark in ("{{", "{%", "{#") if mark in script(name)]
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", "-s", "bash", "-"], input=script("quantize.sh"), text=True, capture_output=True, check=False)
        assert "" == done.stdout


def test_calibration_and_comparison_share_no_prompt() -> None:
    """Duplicates count once; parts are disjoint and do not depend on the order of the data, nor does the digest."""
    made = module()
    rows = [{"text": f"prompt {i % 40}"} for i in range(100)] + [{"text": " "}, {"other": "x"}]
    found = made.texts(rows, "text", 40)
    calibration, held_out = made.parts(found, 30)
    assert (30, 10, set()) == (len(calibration), len(held_out), set(calibration) & set(held_out))
    again = made.parts(list(reversed(found)), 30)
    assert (calibration, held_out) == again
    assert made.digest(found) == made.digest(reversed(found)) != made.digest(found[1:])
    with pytest.raises(SystemExit, match="the data have 40 different texts in 'text', 41 are needed"):
        made.texts(rows, "text", 41)


def test_rows_are_read_line_by_line(tmp_path: Path) -> None:
    """A JSON-lines file; empty lines are skipped."""
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "a"}\n\n{"text": "b"}\n')
    assert [{"text": "a"}, {"text": "b"}] == list(module().read(str(path), "", ""))


@pytest.mark.parametrize(("score", "base", "left"), [(0.45, 0.5, 0.9), (0.6, 0.5, 1.2), (0.0, 0.0, 1.0)])
def test_the_share_is_of_the_originals_score(score: float, base: float, left: float) -> None:
    """Half of the tokens right before and 45 % after leave 90 %."""
    assert left == pytest.approx(module().share(score, base))


def test_the_report_names_the_releases_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The release of each library that is there is told; one that is missing is left out."""
    made: Any = module()
    monkeypatch.setattr(made, "version", lambda name: {"torch": "2.14.0"}[name] if name == "torch" else missing(name))
    assert {"python", "torch"} == set(made.versions())


def missing(name: str) -> str:
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(name)
