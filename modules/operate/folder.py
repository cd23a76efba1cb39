"""The folder of one deployment in one environment: where everything lies, and files that appear whole or not at all.

plan.json, manifest.json, stacks/<stack>/cdk.tf.json   what was sized and synthesized last
render/                                                what was rendered last
work/<stack>/                                          terraform's working directories: configuration, saved plan, logs
state/                                                 state, where the backend is local
record.json, journal.json                              the saved plan, and how far its apply came
applied/                                               what was applied last: plan.json, record.json, stacks
attempt.json                                           an apply began and no apply has ended since
history/<number>/                                      every apply that ended: spec, plan, who and when
unsent                                                 the copy beside the state lacks what happened here last
audit.jsonl                                            who did what, with digests; only ever added to
lock                                                   held while a command works here
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferform.errors import InputError, Problem

CONFIG = "cdk.tf.json"
PLAN_FILE = "saved.tfplan"
# Below the working directory: NAME/ENVIRONMENT of every deployment.
HOME = Path(".inferform")


@dataclass(frozen=True)
class Folder:
    """Paths below `root`, which is absolute: terraform runs elsewhere."""

    root: Path

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def record(self) -> Path:
        return self.root / "record.json"

    @property
    def journal(self) -> Path:
        return self.root / "journal.json"

    @property
    def audit(self) -> Path:
        return self.root / "audit.jsonl"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def render(self) -> Path:
        return self.root / "render"

    @property
    def applied(self) -> Path:
        return self.root / "applied"

    @property
    def attempt(self) -> Path:
        return self.root / "attempt.json"

    @property
    def unsent(self) -> Path:
        return self.root / "unsent"

    @property
    def history(self) -> Path:
        return self.root / "history"

    def work(self, stack: str) -> Path:
        """Working directory in which the stack is planned and applied."""
        return self.root / "work" / stack

    def live(self, stack: str) -> Path:
        """Working directory with the stack as it was applied; drift and destroy run here."""
        return self.applied / stack

    @property
    def applied_plan(self) -> Path:
        return self.applied / "plan.json"

    @property
    def applied_record(self) -> Path:
        return self.applied / "record.json"


def open_folder(out: Path | None, name: str, environment: str) -> Folder:
    """The folder to work in, made if it is not there; `.inferform/<name>/<environment>` when `out` is None.

    Raises: InputError when it cannot be made.
    """
    root = (out or HOME / name / environment).absolute()
    try:
        # Saved plans and states hold what the cloud told, so they are the user's alone.
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as err:
        raise InputError(Problem(f"cannot make the folder: {err.strerror}", field="out", value=str(root), fix="give a folder that can be written")) from err
    return Folder(root)


def canonical(value: Any) -> str:
    """JSON with one spelling for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """SHA-256 of plain data."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def file_digest(path: Path) -> str | None:
    """SHA-256 of a file; None when it is not there."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def write(path: Path, text: str) -> None:
    """Write a file in one step: a reader, or a power cut, finds the old text or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _beside(path) as (descriptor, scratch):
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(path)


@contextmanager
def _beside(path: Path) -> Iterator[tuple[int, Path]]:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        yield descriptor, Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write plain data for people and machines, in one step."""
    write(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
