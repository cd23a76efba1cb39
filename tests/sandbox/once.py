"""What the long runs on the sandbox need, and how each is lived once for all tests that look at it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import MissingToolError
from inferform.sandbox.provider import provider_archive
from moto.moto_api._internal.models import moto_api_backend

Json = dict[str, Any]


def need_terraform() -> None:
    """Skips where terraform or the old provider's package is missing."""
    if not any(shutil.which(name, path=os.environ.get("PATH")) for name in ("terraform", "tofu")):
        pytest.skip("terraform is not installed")
    try:
        provider_archive()
    except MissingToolError as err:
        pytest.skip(str(err))


def empty_cloud() -> None:
    """Empties moto, whose state all doubles of a process share: what another test left would be found here."""
    moto_api_backend.reset()


def lived_once(factory: pytest.TempPathFactory, name: str, run: Callable[[Path], Json]) -> Json:
    """The findings of `run`, also under xdist: the first process lives it, the others wait for its file."""
    need_terraform()
    base = factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    findings = shared / f"{name}.json"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not findings.exists():
            folder = shared / name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            empty_cloud()
            findings.write_text(json.dumps(run(folder)), encoding="utf-8")
    found: Json = json.loads(findings.read_text(encoding="utf-8"))
    return found
