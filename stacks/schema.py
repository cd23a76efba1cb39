"""Check of every resource against the provider's own schema, on every synth.

The schema is data (`aws/schema.json`, written from the published bindings by tests/extract_schema.py): for each type the
attributes with type, nesting, whether they are required and whether only the provider sets them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal

from inferform.errors import InferformError, Nearest
from inferform.stacks.values import Ref, Text

Where = Literal["resource", "data"]
Attributes = Mapping[str, Any]

_NESTED = ("block", "blocks", "object", "objects")
# Nested values that Terraform addresses by position; a single block is a list of one.
_LISTED = ("block", "blocks", "objects")
_LITERALS: dict[str, tuple[type, ...]] = {"string": (str, Text), "boolean": (bool,), "number": (int, float)}
_NAMES = {str: "a string", Text: "a string", bool: "a boolean", int: "a number", float: "a number"}


class SchemaError(InferformError):
    """Synthesized resources do not fit the provider's schema; the message has one line for each fault."""

    def __init__(self, faults: Sequence[str]):
        self.faults = tuple(faults)
        super().__init__("\n".join(faults))


@cache
def document(provider: str) -> dict[str, Any]:
    """The schema document of one provider, such as `aws`."""
    text = resources.files("inferform.stacks").joinpath(provider, "schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def type_schema(where: Where, kind: str) -> dict[str, Any]:
    """Attributes of a resource or data source type such as `aws_vpc`.

    Raises: SchemaError when the type is not in the shipped schema.
    """
    known: dict[str, Any] = document(kind.partition("_")[0])[where]
    if kind not in known:
        raise SchemaError([f"unknown {where} type {kind!r}{_nearest(kind, known)}; types are listed in tests/extract_schema.py"])
    return dict(known[kind])


def faults(address: str, attributes: Mapping[str, object], wanted: Attributes) -> list[str]:
    """What is wrong with the attributes of one resource: unknown, missing, set though computed, or of the wrong type."""
    return list(_faults(address, attributes, wanted))


def reference_kind(address: str, wanted: Attributes, path: Sequence[str | int]) -> str:
    """Type of the attribute at `path`, whose whole numbers are list positions.

    Raises: SchemaError naming the first step that does not exist.
    """
    kind, level = "", wanted
    for step in path:
        if isinstance(step, int):
            kind = "" if kind in _LISTED else kind.removeprefix("list(").removesuffix(")")
            continue
        if kind in _LISTED:
            raise SchemaError([f"{address}.{step} is inside a list; give the position before {step!r}"])
        if step not in level:
            raise SchemaError([f"{address} has no attribute {step!r}{_nearest(step, level)}"])
        kind, level = level[step]["type"], level[step].get("attributes", {})
    return kind


def _nearest(name: str, known: Mapping[str, object]) -> str:
    close = Nearest(name, tuple(sorted(known))).suggestions(1)
    return f", nearest is {close[0]!r}" if close else ""


def _faults(address: str, attributes: Mapping[str, object], wanted: Attributes) -> Iterator[str]:
    for name, value in sorted(attributes.items()):
        if value is None:
            continue
        if name not in wanted:
            yield f"{address}: unknown attribute {name!r}{_nearest(name, wanted)}"
        elif wanted[name].get("computed"):
            yield f"{address}: attribute {name!r} is set by the provider only"
        else:
            yield from _value_faults(f"{address}.{name}", value, wanted[name])
    for name, row in sorted(wanted.items()):
        if row.get("required") and attributes.get(name) is None:
            yield f"{address}: required attribute {name!r} is missing"


def _value_faults(address: str, value: object, row: Mapping[str, Any]) -> Iterator[str]:
    kind: str = row["type"]
    if isinstance(value, Ref):
        if not _reference_fits(value.kind, kind):
            yield f"{address}: expected {_article(kind)}, found a reference to {_article(value.kind)} ({value.expression[:60]})"
    elif kind in _NESTED:
        single = kind in ("block", "object")
        items = value if isinstance(value, list | tuple) else [value]
        if isinstance(value, list | tuple) if single else not isinstance(value, list | tuple):
            yield f"{address}: expected {_article(kind)}, found {_shape(value)}"
            return
        for position, item in enumerate(items):
            where = address if single else f"{address}[{position}]"
            if isinstance(item, Mapping):
                yield from _faults(where, item, row["attributes"])
            else:
                yield f"{where}: expected a block, found {_shape(item)}"
    elif kind.startswith("list(") and isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _value_faults(f"{address}[{position}]", item, {"type": kind[5:-1]})
    elif kind.startswith("map(") and isinstance(value, Mapping):
        for key, item in sorted(value.items()):
            yield from _value_faults(f"{address}[{key!r}]", item, {"type": kind[4:-1]}) if item is not None else ()
    elif not _literal_fits(value, kind):
        yield f"{address}: expected {_article(kind)}, found {_shape(value)}"


def _literal_fits(value: object, kind: str) -> bool:
    # In Python a boolean is a number too.
    return kind == "any" or (isinstance(value, _LITERALS.get(kind, ())) and not (kind == "number" and isinstance(value, bool)))


def _reference_fits(found: str, wanted: str) -> bool:
    scalars = ("string", "number", "boolean")
    return "any" in (found, wanted) or found == wanted or (wanted == "string" and found in scalars)


def _article(kind: str) -> str:
    return {"blocks": "a list of blocks", "objects": "a list of objects"}.get(kind, f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}")


def _shape(value: object) -> str:
    named = _NAMES.get(type(value))
    if named:
        return f"{named} ({str(value)[:40]!r})" if not isinstance(value, Text) else named
    return "a list" if isinstance(value, list | tuple) else "a map" if isinstance(value, Mapping) else type(value).__name__
