"""The JSON Schema of a spec (draft 2020-12) for editors and CI, made from the fields of `spec.py`."""

from __future__ import annotations

from functools import cache
from typing import Any

from inferform.names import WANTS
from inferform.spec import DeploymentSpec

DRAFT = "https://json-schema.org/draft/2020-12/schema"
ID = "urn:inferform:schema:deployment:v1"
# In the overlay of an environment every field may be left out, and null removes what the document says.
_OVERLAY = "Overlay"
_FIXED = ("name", "apiVersion", "environments")
_REF = "#/$defs/"

Schema = dict[str, Any]


@cache
def _raw() -> Schema:
    return DeploymentSpec.model_json_schema()


def spec_schema() -> Schema:
    """A fresh copy of the schema: every field with description, example, default and limits; overlays as partial specs."""
    raw = _raw()
    parts = {name: _tidy(part) for name, part in raw["$defs"].items() if name != "JsonValue"}
    top = _tidy({key: value for key, value in raw.items() if key != "$defs"})
    overlays = {name + _OVERLAY: _partial(part, parts) for name, part in parts.items() if part.get("type") == "object"}
    overlay = _partial({**top, "properties": {k: v for k, v in top["properties"].items() if k not in _FIXED}}, parts)
    overlays["Environment"] = {**overlay, "description": "What differs in one environment; merged into the document by key, null removes a key."}
    environments = top["properties"]["environments"]
    environments["patternProperties"] = {name: {"anyOf": [{"$ref": f"{_REF}Environment"}, {"type": "null"}]} for name in environments["patternProperties"]}
    return {"$schema": DRAFT, "$id": ID, "title": "Inferform deployment", **top, "$defs": dict(sorted({**parts, **overlays}.items()))}


def _tidy(schema: Any) -> Any:
    """A schema without what only pydantic needs, with words for patterns and closed mappings."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "$defs"):
            out[key] = {name: _tidy(part) for name, part in value.items()}
        elif key == "default":
            # The default of a whole part repeats the defaults of its fields, as numbers that nobody may write.
            if not isinstance(value, dict | list) or value == []:
                out[key] = value
        elif key in ("examples", "enum", "const"):
            out[key] = value
        elif key not in ("title", "gt", "ge", "lt", "le"):
            out[key] = _tidy(value)
    if schema.get("pattern") in WANTS:
        # Read by the YAML language server; other tools pass over it.
        out["patternErrorMessage"] = f"wants {WANTS[schema['pattern']]}"
    if "patternProperties" in out:
        out["additionalProperties"] = False
    if "$ref" in out and out.get("default", "") is None:
        del out["default"]
    return out


def _partial(schema: Schema, parts: Schema) -> Schema:
    """The overlay of a mapping: nothing required, null allowed everywhere, and so for all parts below."""
    out = {key: value for key, value in schema.items() if key not in ("required", "default", "minProperties")}
    for group in ("properties", "patternProperties"):
        if group in out:
            out[group] = {name: _removable(_below(part, parts)) for name, part in out[group].items()}
    return out


def _below(schema: Schema, parts: Schema) -> Schema:
    """A field's schema with the parts it may hold exchanged for their overlays; lists are replaced whole, so stay as they are."""
    out = {key: value for key, value in schema.items() if key != "default"}
    name = out.get("$ref", "").removeprefix(_REF)
    if name and parts.get(name, {}).get("type") == "object":
        out["$ref"] = f"{_REF}{name}{_OVERLAY}"
    if "anyOf" in out:
        out["anyOf"] = [_below(choice, parts) for choice in out["anyOf"]]
    return _partial(out, parts) if "patternProperties" in out else out


def _removable(schema: Schema) -> Schema:
    if {"type": "null"} in schema.get("anyOf", ()):
        return schema
    words = {key: value for key, value in schema.items() if key in ("description", "examples")}
    return {**words, "anyOf": [{key: value for key, value in schema.items() if key not in words}, {"type": "null"}]}
