"""Schemas of custom kinds: from a folder of definitions, or from a cluster's own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from inferform.errors import InputError, MissingToolError, Problem, ToolFailedError

_MOST_BYTES = 64 * 2**20
_TIMEOUT_S = 120
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CustomKinds:
    """Schemas by (apiVersion, kind), and where they come from, for messages."""

    source: str
    schemas: Mapping[Key, dict[str, Any]]

    def schema(self, api_version: str, kind: str) -> dict[str, Any] | None:
        """The JSON Schema of a kind; None for one that is not served."""
        return self.schemas.get((api_version, kind))


def from_folder(folder: Path) -> CustomKinds:
    """Definitions in the YAML and JSON files of a folder and those below, and plain schemas named GROUP/KIND_VERSION.json.

    Raises: InputError where none is found or a file cannot be read; every problem at once.
    """
    found: dict[Key, dict[str, Any]] = {}
    plain: dict[Key, dict[str, Any]] = {}
    problems: list[Problem] = []
    for path in sorted(p for p in folder.rglob("*") if p.suffix in {".json", ".yaml", ".yml"} and p.is_file()):
        try:
            for document in _documents(path):
                found.update(_served(document))
                plain.update(_named(path, document))
        except InputError as err:
            problems += err.problems
    if problems:
        raise InputError(problems)
    if not found and not plain:
        raise InputError(
            Problem(
                "holds no CustomResourceDefinition and no GROUP/KIND_VERSION.json",
                field="--schemas",
                value=str(folder),
                fix="give a folder of them, or cluster",
            )
        )
    return CustomKinds(str(folder), {**plain, **found})


def from_cluster(environ: Mapping[str, str]) -> CustomKinds:
    """Definitions that the current kubectl context serves. Raises: MissingToolError without kubectl; ToolFailedError with what it said."""
    kubectl = shutil.which("kubectl", path=environ.get("PATH", ""))
    if kubectl is None:
        raise MissingToolError("kubectl is not on the search path; install it, or give --schemas a folder of definitions")
    try:
        finished = subprocess.run(
            [kubectl, "get", "customresourcedefinitions", "--output", "json"], env=dict(environ), capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as err:
        raise ToolFailedError(f"kubectl did not answer within {_TIMEOUT_S} s") from err
    if finished.returncode:
        said = finished.stderr.decode("utf-8", "replace").strip()
        raise ToolFailedError(f"kubectl get customresourcedefinitions failed: {(said.splitlines() or ['no reason given'])[-1][:300]}", said)
    try:
        answer = json.loads(finished.stdout)
    except ValueError as err:
        raise ToolFailedError(f"kubectl printed no JSON: {err}") from err
    return CustomKinds("the cluster", dict(_served(answer)))


def _documents(path: Path) -> list[Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(Problem("is too large to be a definition", file=str(path)))
        text = path.read_text(encoding="utf-8")
        return [json.loads(text)] if path.suffix == ".json" else list(yaml.load_all(text, _LOADER))
    except OSError as err:
        raise InputError(Problem(f"cannot be read: {err.strerror or err}", file=str(path))) from err
    except (ValueError, yaml.YAMLError, RecursionError) as err:
        raise InputError(Problem(f"is neither YAML nor JSON: {str(err).splitlines()[0][:120]}", file=str(path))) from err


def _served(document: Any) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Schemas of the served versions in a definition, or in a list of them."""
    if not isinstance(document, dict):
        return
    if str(document.get("kind", "")).endswith("List"):
        for item in document.get("items") or ():
            yield from _served(item)
    if document.get("kind") != "CustomResourceDefinition":
        return
    spec = document.get("spec") or {}
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if version.get("served") and schema:
            yield (f"{spec['group']}/{version['name']}", spec["names"]["kind"]), json_schema(schema)


def _named(path: Path, document: Any) -> Iterator[tuple[Key, dict[str, Any]]]:
    """A plain schema whose file name says what it is for; the kind stands in the schema, because some names have it in small letters."""
    if not isinstance(document, dict) or "properties" not in document or path.suffix != ".json" or "_" not in path.stem:
        return
    name, _, version = path.stem.removesuffix(".experimental").rpartition("_")
    kind = document["properties"].get("kind") or {}
    spelled = kind.get("const") or next(iter(kind.get("enum") or ()), name)
    yield (f"{path.parent.name}/{version}", spelled), document


def json_schema(node: Mapping[str, Any], *, plain: bool = False) -> dict[str, Any]:
    """A definition's structural schema as the API server applies it, in JSON Schema: unknown fields are faults.

    `plain` is for the branches of anyOf and its like, which add conditions and name no fields of their own.
    """
    made: dict[str, Any] = {key: value for key, value in node.items() if not key.startswith("x-kubernetes") and key not in _REPLACED}
    keeps = bool(node.get("x-kubernetes-preserve-unknown-fields"))
    properties = {name: json_schema(child, plain=plain) for name, child in (node.get("properties") or {}).items()}
    if node.get("x-kubernetes-embedded-resource") or "apiVersion" in properties:
        # The server adds these wherever a whole object stands.
        properties = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, **properties, "metadata": properties.get("metadata") or {"type": "object"}}
        if properties["metadata"] == {"type": "object", "additionalProperties": False}:
            properties["metadata"] = {"type": "object"}
    if properties:
        made["properties"] = properties
    extra = node.get("additionalProperties")
    if isinstance(extra, Mapping):
        made["additionalProperties"] = json_schema(extra, plain=plain)
    elif extra is not None:
        made["additionalProperties"] = extra
    elif properties and not keeps and not plain:
        made["additionalProperties"] = False
    if isinstance(node.get("items"), Mapping):
        made["items"] = json_schema(node["items"], plain=plain)
    for word in ("allOf", "anyOf", "oneOf"):
        if node.get(word):
            made[word] = [json_schema(branch, plain=True) for branch in node[word]]
    if node.get("not"):
        made["not"] = json_schema(node["not"], plain=True)
    return _typed(made, node)


_REPLACED = {"properties", "additionalProperties", "items", "allOf", "anyOf", "oneOf", "not", "nullable", "default", "exclusiveMinimum", "exclusiveMaximum"}


def _typed(made: dict[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
    """Type, null and bounds as JSON Schema spells them."""
    if node.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    if node.get("nullable") and "type" in made:
        made["type"] = [*(made["type"] if isinstance(made["type"], list) else [made["type"]]), "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
    for word, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        value = node.get(word)
        if value is True and bound in made:
            made[word] = made.pop(bound)
        elif value is not None and not isinstance(value, bool):
            made[word] = value
    return made
