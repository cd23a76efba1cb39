"""`inferform schema` prints the published schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from inferform.schema import spec_schema

Run = Callable[..., object]


def test_the_schema_goes_to_standard_output(inferform: Run) -> None:
    """Both formats print the same JSON document."""
    assert spec_schema() == inferform("schema").data
    assert spec_schema() == inferform("schema", "--format", "json").data


def test_the_schema_goes_to_a_file(tmp_path: Path, inferform: Run) -> None:
    """--out writes it and prints nothing on standard output; running it again replaces it."""
    path = tmp_path / "editor" / "schema.json"
    for _ in range(2):
        ran = inferform("schema", "--out", path)
        assert (0, "") == (ran.code, ran.out)
    assert spec_schema() == json.loads(path.read_text())
    assert "" == inferform("schema", "--out", path, "--quiet").err
