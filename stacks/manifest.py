"""What a synth writes: one folder a stack and manifest.json, which says in which order they are applied.

    stacks/<stack>/cdk.tf.json
    manifest.json

manifest.json is removed first and written last, so a tree without it is an interrupted one. Other files below `stacks/`
(a lock file, terraform's own folder) are left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferform.errors import InputError, Problem, StateError

FILE_NAME = "cdk.tf.json"
_MANIFEST = "manifest.json"
_STAGING = ".synth"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class StackFile:
    """One stack of the tree; `path` is relative to the tree."""

    name: str
    path: str
    dependencies: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The stacks of one deployment in one environment, in the order in which they are applied."""

    deployment: str
    environment: str
    stacks: tuple[StackFile, ...]

    @property
    def order(self) -> tuple[str, ...]:
        """Stack names, each after those it depends on."""
        return tuple(s.name for s in self.stacks)

    def text(self) -> str:
        """The manifest as manifest.json holds it."""
        stacks = {s.name: {"dependencies": list(s.dependencies), "path": s.path, "sha256": s.sha256} for s in self.stacks}
        return _json({"version": _VERSION, "deployment": self.deployment, "environment": self.environment, "order": list(self.order), "stacks": stacks})


def write(out: Path, deployment: str, environment: str, stacks: Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]]) -> Manifest:
    """Write `stacks` (name -> dependencies and configuration, in apply order) below `out`, all or nothing.

    Everything is on disk before the first file of an earlier run is touched.
    Raises: InputError when `out` is not a folder that can be written.
    """
    texts = {name: _json(configuration) for name, (_, configuration) in stacks.items()}
    files = tuple(
        StackFile(name, f"stacks/{name}/{FILE_NAME}", dependencies, hashlib.sha256(texts[name].encode()).hexdigest())
        for name, (dependencies, _) in stacks.items()
    )
    manifest = Manifest(deployment, environment, files)
    staging = out / _STAGING
    try:
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        try:
            for file in files:
                _write(staging / f"{file.name}.json", texts[file.name])
            _write(staging / _MANIFEST, manifest.text())
            _swap(out, staging, files)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as err:
        raise InputError(Problem(f"cannot write the stacks: {err.strerror}", field="out", value=str(out), fix="give a folder that can be written")) from err
    return manifest


def read(out: Path) -> Manifest:
    """The manifest of a tree that a synth has written.

    Raises: StateError when there is none or it is another program's, or when a stack's file is not the one that was written.
    """
    try:
        content = json.loads((out / _MANIFEST).read_text(encoding="utf-8"))
        stacks = content["stacks"]
        files = tuple(StackFile(n, stacks[n]["path"], tuple(stacks[n]["dependencies"]), stacks[n]["sha256"]) for n in content["order"])
        named = Manifest(content["deployment"], content["environment"], files)
    except FileNotFoundError as err:
        raise StateError(f"{out}: no {_MANIFEST}; the synth was interrupted or never ran; run inferform synth") from err
    except (KeyError, TypeError, ValueError) as err:
        raise StateError(f"{out / _MANIFEST} was not written by inferform synth; give another folder or run inferform synth") from err
    for file in files:
        path = out / file.path
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != file.sha256:
            raise StateError(f"{path} is not the file that was synthesized; run inferform synth")
    return named


def _swap(out: Path, staging: Path, files: tuple[StackFile, ...]) -> None:
    for file in files:
        (out / file.path).parent.mkdir(parents=True, exist_ok=True)
    (out / _MANIFEST).unlink(missing_ok=True)
    for file in files:
        (staging / f"{file.name}.json").replace(out / file.path)
    kept = {file.name for file in files}
    for stale in (out / "stacks").glob(f"*/{FILE_NAME}"):
        if stale.parent.name not in kept:
            stale.unlink()
            if not any(stale.parent.iterdir()):
                stale.parent.rmdir()
    (staging / _MANIFEST).replace(out / _MANIFEST)


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
