"""Definitions of custom kinds: read from folders and from a cluster, and turned into schemas that find unknown fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from inferform.errors import InputError, MissingToolError, ToolFailedError
from inferform.schemas_custom import from_cluster, from_folder, json_schema
from jsonschema import Draft7Validator


def definition(kind: str = "Widget", **version: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    made = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.acme.example"},
        "spec": {"group": "acme.example", "names": {"kind": kind}, "scope": "Namespaced", "versions": [made, {"name": "v0", "served": False, "schema": {}}]},
    }  # fmt: skip


def kubectl(folder: Path, script: str) -> dict[str, str]:
    """An environment with a kubectl that does this."""
    tool = folder / "bin" / "kubectl"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return {"PATH": f"{tool.parent}:/usr/bin:/bin"}


def test_folders_hold_definitions_in_yaml_and_json(tmp_path: Path) -> None:
    """Several documents a file, lists, folders below; a version that is not served and other kinds are left out."""
    (tmp_path / "below").mkdir()
    (tmp_path / "a.yaml").write_text(yaml.safe_dump_all([definition("A"), {"kind": "ConfigMap"}, definition("B")]))
    (tmp_path / "below" / "c.json").write_text(json.dumps({"kind": "List", "items": [definition("C")]}))
    (tmp_path / "notes.txt").write_text("nothing")
    found = from_folder(tmp_path)
    assert {("acme.example/v1", kind) for kind in "ABC"} == set(found.schemas)
    assert found.schema("acme.example/v0", "A") is None


def test_folders_of_plain_schemas_are_read_by_their_names(tmp_path: Path) -> None:
    """GROUP/KIND_VERSION.json, as public catalogues of schemas have them; the kind is spelled as the schema says."""
    folder = tmp_path / "keda.sh"
    folder.mkdir()
    (folder / "scaledobject_v1alpha1.json").write_text(json.dumps({"properties": {"kind": {"enum": ["ScaledObject"]}}}))
    assert {("keda.sh/v1alpha1", "ScaledObject")} == set(from_folder(tmp_path).schemas)


def test_every_unreadable_file_is_told(tmp_path: Path) -> None:
    """Both files by name, and a folder without any definition."""
    with pytest.raises(InputError, match=r"holds no CustomResourceDefinition"):
        from_folder(tmp_path)
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.json").write_text("{")
    with pytest.raises(InputError) as caught:
        from_folder(tmp_path)
    assert ["a.yaml", "b.json"] == [Path(p.file).name for p in caught.value.problems]


def test_a_cluster_tells_what_it_serves(tmp_path: Path) -> None:
    """kubectl is asked for the definitions, once, in JSON."""
    (tmp_path / "answer.json").write_text(json.dumps({"kind": "CustomResourceDefinitionList", "items": [definition()]}))
    environ = kubectl(tmp_path, f'echo "$@" > {tmp_path}/asked; cat {tmp_path}/answer.json')
    found = from_cluster(environ)
    assert {("acme.example/v1", "Widget")} == set(found.schemas)
    assert "get customresourcedefinitions --output json" == (tmp_path / "asked").read_text().strip()


def test_no_kubectl_and_no_answer_are_told(tmp_path: Path) -> None:
    """A missing tool, a failing one with the last line it said, and one that prints no JSON."""
    with pytest.raises(MissingToolError, match="kubectl is not on the search path"):
        from_cluster({"PATH": str(tmp_path)})
    environ = kubectl(tmp_path, "echo noise >&2; echo 'connection refused' >&2; exit 1")
    with pytest.raises(ToolFailedError, match="failed: connection refused"):
        from_cluster(environ)
    (tmp_path / "bin" / "kubectl").write_text("#!/bin/sh\necho hello\n")
    with pytest.raises(ToolFailedError, match="no JSON"):
        from_cluster(environ)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, [{}, {"a": "x"}], [{"b": 1}, {"a": 1}]),
        ({"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": True}, [{"b": 1}], [[]]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{"b": 1}], [{"b": "x"}]),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, [1, "25%"], [1.5, []]),
        ({"type": "string", "nullable": True, "enum": ["a"]}, ["a", None], ["b"]),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, [1], [0]),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}, [[{"a": "x"}]], [[{"b": "x"}]]),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"], "properties": {"a": {"type": "string"}}}, {"required": ["b"]}]},
            [{"a": "x"}, {"b": 1}],
            [{}, {"a": "x", "b": 1}],
        ),
        ({"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {}}}, [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}], [{"x": 1}]),
    ],
)  # fmt: skip
def test_definitions_mean_what_the_api_server_does_with_them(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    """Unknown fields, kept fields, maps, integers or text, null, exclusive bounds, lists, conditions, and whole objects inside."""
    validator = Draft7Validator(json_schema(schema))
    assert [] == [value for value in good if not validator.is_valid(value)]
    assert [] == [value for value in bad if validator.is_valid(value)]
