"""A place to run the model scripts in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.templates.places import FAKE_AWS, Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "aws").write_text(FAKE_AWS)
    (tools / "aws").chmod(0o755)
    (tmp_path / "s3").mkdir()
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}", "FAKE_S3": str(tmp_path / "s3"), "STORE": "s3://models/models/llama", "POLL_S": "0.1", "STALE_S": "2", "WAIT_S": "20",
    }  # fmt: skip
    yield Place(tmp_path, environment)
