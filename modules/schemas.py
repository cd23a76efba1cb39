"""Whether rendered objects are what a cluster takes: core kinds by Kubernetes' own schemas, custom ones by those of their definitions.

Rules that a definition states in CEL, and what admission webhooks check, are not looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from inferform.errors import MissingToolError
from inferform.schemas_custom import CustomKinds
from inferform.verdict import Finding, Outcome, Rule, Verdict

_RULE = Rule(
    id="SCH001", title="Every object is what its schema takes", severity="deny", needs=("objects",), file="modules/schemas.py",
    remedy="the cluster would refuse the object; give it the versions that the compatibility table names",
    source="schemas of Kubernetes and of the custom resource definitions given with --schemas",
)  # fmt: skip
_MOST_FAULTS = 20
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Groups of Kubernetes itself; `gateway.networking.k8s.io` and its like are custom ones.
_CORE = re.compile(r"[a-z]*|(admissionregistration|apiextensions|apiregistration|authentication|authorization|certificates|coordination|discovery|events"
                   r"|flowcontrol\.apiserver|internal\.apiserver|networking|node|rbac\.authorization|resource|scheduling|storage)\.k8s\.io")  # fmt: skip


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One thing that a schema does not take: where, in which object, at which path, and the value that stands there."""

    file: str
    address: str
    path: str
    value: str
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """How many objects were looked at, against which Kubernetes version, and what is wrong with them."""

    objects: int
    kubernetes_version: str
    faults: tuple[SchemaFault, ...]


def check_schemas(rendered: Mapping[str, str], kubernetes_version: str, custom: CustomKinds) -> Checked:
    """Every rendered object against the schema of its kind; one without a schema is a fault too.

    Core schemas are those of the newest known Kubernetes version up to the given one. Raises: MissingToolError where they are
    not installed.
    """
    faults: list[SchemaFault] = []
    count = 0
    version = _known_version(kubernetes_version)
    for path, item in _objects(rendered):
        count += 1
        api, kind = str(item.get("apiVersion", "")), str(item.get("kind", ""))
        metadata = item.get("metadata") or {}
        address = "/".join(part for part in (kind, metadata.get("namespace"), metadata.get("name")) if part)
        group = api.rpartition("/")[0]
        core = bool(_CORE.fullmatch(group))
        schema = _core_schema(version, api, kind) if core else custom.schema(api, kind)
        if schema is None:
            where = f"Kubernetes {version}" if core else custom.source
            faults.append(SchemaFault(path, address, "apiVersion", api, f"{where} has no kind {kind} in {api}"))
            continue
        faults += [SchemaFault(path, address, at, value, message) for at, value, message in _errors(schema, item, _definitions(version) if core else None)]
    return Checked(count, version, tuple(faults))


def with_schemas(verdict: Verdict, checked: Checked) -> Verdict:
    """The verdict with each fault as a finding of SCH001, which denies and cannot be waived."""
    findings = tuple(
        Finding(
            id=_RULE.id, title=_RULE.title, severity=_RULE.severity, result="fail", address=fault.address, remedy=_RULE.remedy, source=_RULE.source,
            file=fault.file, message=f"{fault.file}: {fault.path + ': ' if fault.path else ''}{fault.message}{f' (found {fault.value})' if fault.value else ''}",
        )
        for fault in checked.faults
    )  # fmt: skip
    outcome = Outcome(rule=_RULE, result="fail" if findings else "pass", subjects=checked.objects)
    return verdict.model_copy(update={"outcomes": (*verdict.outcomes, outcome), "findings": (*verdict.findings, *findings)})


def _objects(rendered: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(file, object) of what a cluster is given; kustomizations and Helm values are for other tools."""
    for path, text in sorted(rendered.items()):
        if not path.endswith((".yaml", ".yml")) or path.endswith(("kustomization.yaml", "-values.yaml")):
            continue
        for item in yaml.load_all(text, _LOADER):
            if isinstance(item, dict):
                yield path, item


def _errors(schema: Mapping[str, Any], item: dict[str, Any], definitions: Mapping[str, Any] | None) -> Iterator[tuple[str, str, str]]:
    """(path, value, message) of the first faults, the innermost reason of each. References lead to the definitions alone, never to the network."""
    from jsonschema import Draft7Validator, Draft202012Validator
    from jsonschema.exceptions import UnknownType, best_match
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable

    registry: Any = Registry()
    if definitions is not None:
        registry = Resource.from_contents(definitions) @ registry
    validator = (Draft7Validator if definitions is None else Draft202012Validator)(schema, registry=registry)
    try:
        for number, error in enumerate(validator.iter_errors(item)):
            if number == _MOST_FAULTS:
                yield "", "", f"and more; the first {_MOST_FAULTS} are told"
                return
            inner = best_match([error]) or error
            path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in inner.absolute_path).removeprefix(".")
            yield path, _short(inner.instance), _message(inner.message, inner.instance)
    except (Unresolvable, UnknownType, re.error, TypeError, AttributeError) as err:
        # A schema that somebody gave may be none.
        yield "", "", f"its schema cannot be used: {str(err)[:200]}"


def _message(message: str, instance: object) -> str:
    """The reason without the value, which is told beside it."""
    return message.removeprefix(repr(instance)).strip()[:300] or message[:300]


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _data() -> Any:
    """The folder of core schemas. The package is an extra, because its data are 69 MB."""
    try:
        return files("kubernetes_validate").joinpath("kubernetes-json-schema")
    except ModuleNotFoundError as err:
        raise MissingToolError("the schemas of Kubernetes are not installed; pip install 'inferform[schemas]'") from err


def _known_version(asked: str) -> str:
    """The newest version with schemas that is not newer than the one asked for, as `1.35`."""
    known = sorted(_minor(entry.name.split("v")[1]) for entry in _data().iterdir() if entry.name.endswith("-strict"))
    fitting = [version for version in known if version <= _minor(asked)] or known[:1]
    return f"{fitting[-1][0]}.{fitting[-1][1]}"


def _minor(version: str) -> tuple[int, int]:
    major, minor = version.removeprefix("v").split("-")[0].split(".")[:2]
    return int(major), int(minor)


@cache
def _definitions(version: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(_data().joinpath(f"v{version}.0-local-strict", "_definitions.json").read_text(encoding="utf-8"))
    return loaded


@cache
def _core_schema(version: str, api: str, kind: str) -> dict[str, Any] | None:
    """The strict schema of a core kind; None for a kind that this version does not have."""
    group, slash, number = api.rpartition("/")
    name = f"{group.split('.')[0]}-{number}" if slash else api
    path = _data().joinpath(f"v{version}.0-local-strict", f"{kind.lower()}-{name}.json")
    if not path.is_file():
        return None
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema
