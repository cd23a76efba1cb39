"""The published JSON Schema describes what loads: same fields, same limits, overlays as partial specs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from inferform.load_fields import parts
from inferform.schema import spec_schema
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from specs import MINIMAL

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.yaml"))


def faults(document: Any) -> list[str]:
    """Where a document does not fit the schema."""
    errors = Draft202012Validator(spec_schema()).iter_errors(document)
    return ["/".join(str(p) for p in best.absolute_path) for error in errors if (best := best_match([error]))]


def changed(text: str) -> Any:
    return yaml.safe_load(MINIMAL + text)


def test_the_schema_is_valid_draft_2020_12() -> None:
    """Editors can read it: it fits the draft's own schema and names its draft and id."""
    Draft202012Validator.check_schema(spec_schema())
    assert ("https://json-schema.org/draft/2020-12/schema", "urn:inferform:schema:deployment:v1") == (spec_schema()["$schema"], spec_schema()["$id"])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_fit_the_schema(path: Path) -> None:
    """Every shipped example is valid for an editor."""
    assert [] == faults(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("budgett: {}\n", [""]),
        ("protected: 'yes'\n", ["protected"]),
        ("budget: {usd_per_month: 0}\n", ["budget/usd_per_month"]),
        ("scaling: {scale_in_delay: 900}\n", ["scaling/scale_in_delay"]),
        ("environments: {prod: {name: other}}\n", ["environments/prod"]),
        ("environments: {prod: {cloud: {regio: x}}}\n", ["environments/prod/cloud"]),
        ("environments: {Prod: {}}\n", ["environments"]),
    ],
)
def test_mistakes_are_shown_where_they_stand(text: str, where: list[str]) -> None:
    """Unknown fields, wrong kinds and limits are faults at their place, in overlays too."""
    found = faults(changed(text))
    assert found
    assert all(any(f.startswith(w) for w in where) for f in found)


@pytest.mark.parametrize(
    "text",
    [
        "environments: {prod: null}\n",
        "environments: {prod: {budget: null, protected: true, cloud: {region: eu-west-1}}}\n",
        "environments: {dev: {models: {llama-8b: {workload: {peak_rps: 1}}, other: null}}}\n",
        "environments: {dev: {models: {llama-8b: {parallelism: {tp: 2}, topology: null}}}}\n",
        "budget: null\n",
    ],
)
def test_overlays_are_partial_specs(text: str) -> None:
    """An overlay needs no required field and may remove a key with null."""
    assert [] == faults(changed(text))


def test_every_field_carries_its_description() -> None:
    """Hovering a field in an editor explains it."""
    schema = spec_schema()
    for path, part in parts().items():
        shown = schema["properties"] if not path else schema["$defs"][part.__name__]["properties"]
        assert sorted(part.model_fields) == sorted(shown)
        assert [] == [f"{path}.{name}" for name, field in shown.items() if not (field.get("description") or field.get("$ref"))]


def test_no_message_shows_a_bare_pattern() -> None:
    """A pattern that an editor checks comes with words."""

    def bare(schema: Any) -> list[str]:
        if isinstance(schema, list):
            return [p for item in schema for p in bare(item)]
        if not isinstance(schema, dict):
            return []
        own = [schema["pattern"]] if "pattern" in schema and "patternErrorMessage" not in schema else []
        return own + [p for value in schema.values() for p in bare(value)]

    assert [] == bare(spec_schema())


def test_the_schema_is_the_same_every_time() -> None:
    """Two calls give equal documents, and changing one does not change the next."""
    first = spec_schema()
    text = json.dumps(first)
    first["properties"].clear()
    assert text == json.dumps(spec_schema())
