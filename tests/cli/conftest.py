"""Running commands inside this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from inferform.cli.main import main


@dataclass(frozen=True)
class Ran:
    """What one run of a command gave."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON on standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The JSON error on standard error."""
        return json.loads(self.err)["error"]


@pytest.fixture
def inferform(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`inferform("size", path)` runs a command and gives its exit code and its two streams."""

    def run(*args: object) -> Ran:
        capsys.readouterr()
        code = main([str(a) for a in args])
        streams = capsys.readouterr()
        return Ran(code, streams.out, streams.err)

    return run
