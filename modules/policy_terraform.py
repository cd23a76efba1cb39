"""Terraform plans and synthesized stacks in the one shape that policy rules read.

A rule sees a resource as `{address, mode, type, name, change: {actions, before, after, after_unknown}, config}`. For a plan
these are terraform's own; for a synthesized stack `after` holds the literals and `after_unknown` is true where a
`${...}` expression stands, so literals are judged before any plan exists and references are never taken as compliant.

`config` has terraform's form of expressions: `{"constant_value": v}` or `{"references": [...]}`; where the synthesized
text is known `template` holds it, so that a policy document with one unknown ARN inside can still be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Json = Any

# Keys of a resource block that steer Terraform and are no attributes.
META = frozenset({"//", "connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"})
_EXPRESSION = re.compile(r"(?<!\$)\$\{|(?<!%)%\{")
_INSIDE = re.compile(r"(?<!\$)\$\{([^}]*)\}?")
_REFERENCE = re.compile(r"\b(?:data\.)?[a-z][a-z0-9_]*(?:\.[A-Za-z_][\w-]*|\[[^\]]*\])+")
_INSTANCE = re.compile(r"\[[^\]]*\]")


def from_plan(plan: Json, synth: Json | None = None) -> Json:
    """The parts of `terraform show -json` that rules read, each change with the expressions it is written with."""
    written = {address: _expressions(body) for address, _, body in _blocks(synth)} if synth else {}
    planned = dict(_configured(plan.get("configuration", {}).get("root_module", {})))
    changes = []
    for change in plan.get("resource_changes") or []:
        bare = _INSTANCE.sub("", str(change.get("address", "")))
        # The synthesized text says more than the plan's list of references, so it goes first.
        changes.append({**change, "config": written.get(bare) or planned.get(bare) or {}})
    # A plan does not list data sources that terraform could read already; policy documents are among them.
    seen = {change.get("address") for change in changes}
    changes += [change for change in (from_synth(synth)["resource_changes"] if synth else []) if change["mode"] == "data" and change["address"] not in seen]
    return {"from": "plan", "resource_changes": changes, "settings": _settings(synth) if synth else {}}


def from_synth(synth: Json) -> Json:
    """A synthesized `cdk.tf.json` as the plan of a first apply: everything is created, references are unknown."""
    changes = []
    for address, mode, body in _blocks(synth):
        kind, name = address.removeprefix("data.").split(".", 1)
        known, unknown = _split(_attributes(body))
        change = {"actions": ["create"], "before": None, "after": known, "after_unknown": unknown}
        changes.append({"address": address, "mode": mode, "type": kind, "name": name, "change": change, "config": _expressions(body)})
    return {"from": "synth", "resource_changes": changes, "settings": _settings(synth)}


def _settings(synth: Json) -> Json:
    """The `terraform` block: backend and versions, which no plan holds."""
    return synth.get("terraform") or {}


def _blocks(synth: Json) -> Iterator[tuple[str, str, dict[str, Json]]]:
    """(address, mode, body) of every resource and data source."""
    for section, mode, prefix in (("resource", "managed", ""), ("data", "data", "data.")):
        for kind, items in sorted((synth.get(section) or {}).items()):
            for name, body in sorted(items.items()):
                yield f"{prefix}{kind}.{name}", mode, body


def _attributes(body: Mapping[str, Json]) -> dict[str, Json]:
    """Attributes of a resource block; blocks made by `dynamic` are one expression each."""
    found = {key: value for key, value in body.items() if key not in META and key != "dynamic"}
    for name, dynamic in (body.get("dynamic") or {}).items():
        found[name] = "${" + str(dynamic.get("for_each", "")).removeprefix("${").removesuffix("}") + "}"
    return found


def _split(value: Json) -> tuple[Json, Json]:
    """A value as terraform's pair (after, after_unknown): unknown leaves are left out of objects and null in lists."""
    if isinstance(value, dict):
        known, unknown = {}, {}
        for key, item in value.items():
            left, right = _split(item)
            if right is not True:
                known[key] = left
            if right not in (False, {}):
                unknown[key] = right
        return known, unknown
    if isinstance(value, list):
        pairs = [_split(item) for item in value]
        return [None if right is True else left for left, right in pairs], [right for _, right in pairs]
    if isinstance(value, str):
        return (None, True) if _EXPRESSION.search(value) else (value.replace("$${", "${").replace("%%{", "%{"), False)
    return value, False


def _expressions(body: Mapping[str, Json]) -> dict[str, Json]:
    return {key: _expression(value) for key, value in _attributes(body).items()}


def _expression(value: Json) -> Json:
    """One attribute as terraform's configuration has it; blocks stay lists of blocks."""
    if isinstance(value, dict):
        return {key: _expression(item) for key, item in value.items()}
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [_expression(item) for item in value]
    inside = [code for text in _strings(value) for code in _INSIDE.findall(text)]
    if not inside:
        return {"constant_value": value}
    return {"references": sorted({ref for code in inside for ref in _REFERENCE.findall(code)}), "template": value}


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _configured(module: Json, prefix: str = "") -> Iterator[tuple[str, Json]]:
    """(address without instance keys, expressions) of every resource of a configuration, in modules of any depth."""
    for resource in module.get("resources") or []:
        yield prefix + str(resource.get("address", "")), resource.get("expressions") or {}
    for name, call in (module.get("module_calls") or {}).items():
        yield from _configured(call.get("module") or {}, f"{prefix}module.{name}.")
