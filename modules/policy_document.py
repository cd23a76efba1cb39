"""The one document that policy rules judge: spec, plan, rendered objects, Terraform and the text of every output.

`Document.sections()` is what Rego sees as `input`; only sections that were given are present, so a rule that needs an
absent one says so. Terraform comes per stack, from a terraform plan where there is one and from the synthesized
`cdk.tf.json` where there is none yet; both take the shape of `terraform show -json`: `resource_changes` with
`change.after` and `change.after_unknown`, and `config`, the expressions the resource is written with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from inferform.errors import InputError, Problem
from inferform.policy_terraform import from_plan, from_synth

Json = Any


@dataclass(frozen=True)
class Document:
    """What is judged. None means "not given", which is not the same as empty.

    `objects` are Kubernetes objects; `terraform` is keyed by stack; `files` maps the path of every rendered or
    synthesized file to its text; `origins` maps the address of an object or stack to the file it stands in.
    """

    spec: Mapping[str, Json] | None = None
    plan: Mapping[str, Json] | None = None
    objects: tuple[Json, ...] | None = None
    terraform: Mapping[str, Json] | None = None
    files: Mapping[str, str] | None = None
    origins: Mapping[str, str] = field(default_factory=dict)

    def sections(self) -> dict[str, Json]:
        """The document as plain JSON, as rules and `opa eval --input` read it."""
        given = {"spec": self.spec, "plan": self.plan, "objects": self.objects, "terraform": self.terraform, "files": self.files}
        return {name: list(value) if name == "objects" else value for name, value in given.items() if value is not None}


def load_document(
    *,
    spec: Mapping[str, Json] | None = None,
    plan: Mapping[str, Json] | None = None,
    rendered: Mapping[str, str] | None = None,
    synthesized: Mapping[str, Json] | None = None,
    terraform_plans: Mapping[str, Json] | None = None,
    texts: Mapping[str, str] | None = None,
    spec_path: str = "",
) -> Document:
    """Joins what the commands have into one document.

    `rendered`: path -> text of the rendered tree. `synthesized`: stack -> `cdk.tf.json` as data. `terraform_plans`: stack
    -> `terraform show -json` of its plan; a stack without one is judged by its synthesized form. `texts`: further outputs
    to scan for secrets, path -> text; what is given otherwise is scanned anyway. Raises InputError where a rendered file
    is no YAML.
    """
    objects: list[Json] = []
    origins: dict[str, str] = {"plan": spec_path} if spec_path else {}
    for path, obj in kubernetes_objects(rendered or {}):
        objects.append(obj)
        origins[object_address(obj)] = path
    stacks: dict[str, Json] = {}
    files = {**(rendered or {}), **(texts or {})}
    for name in sorted({*(synthesized or {}), *(terraform_plans or {})}):
        synth, change = (synthesized or {}).get(name), (terraform_plans or {}).get(name)
        stacks[name] = from_plan(change, synth) if change is not None else from_synth(synth)
        origins[name] = f"stacks/{name}/cdk.tf.json"
        if synth is not None:
            files[origins[name]] = _text(synth)
        if change is not None:
            files[f"terraform plan of {name}"] = _text(change.get("resource_changes"))
    return Document(
        spec=spec,
        plan=plan,
        objects=None if rendered is None else tuple(objects),
        # No stack at all means that none was given: a deployment has several.
        terraform=stacks or None,
        files=files or None,
        origins=origins,
    )


def _text(value: Json) -> str:
    """JSON as `inferform synth` writes it, so that line numbers are those of the file."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def object_address(obj: Mapping[str, Json]) -> str:
    """`Kind/namespace/name`, or `Kind/name` for objects without a namespace; the same text as `kubernetes.at` in Rego."""
    meta = obj.get("metadata") or {}
    return "/".join(str(part) for part in (obj.get("kind"), meta.get("namespace"), meta.get("name")) if part)


class _JsonLoader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """YAML as JSON knows it: a date stays text."""


_JsonLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def kubernetes_objects(rendered: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    """(path, object) of every Kubernetes object in the YAML files of a rendered tree, in path order; kustomizations are not objects."""
    for path in sorted(rendered):
        if not path.endswith((".yaml", ".yml")):
            continue
        try:
            documents = list(yaml.load_all(rendered[path], Loader=_JsonLoader))
        except yaml.YAMLError as err:
            mark = getattr(err, "problem_mark", None)
            raise InputError(Problem("is no YAML", file=path, line=mark.line + 1 if mark else None)) from err
        for obj in documents:
            if isinstance(obj, dict) and obj.get("kind") and obj.get("apiVersion") and obj["kind"] != "Kustomization":
                yield path, obj
