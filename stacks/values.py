"""Values of resource attributes: plain data, and typed references to what only exists at apply.

Whatever is plain is data: `${` and `%{` in it are escaped, so nothing a user wrote is ever evaluated. Only a `Ref` becomes an
expression, and a `Ref` cannot be indexed, counted, looped over or put in an f-string (FC-35): it is a name, not a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from inferform.errors import InputError, Problem

# cdktf marks unresolved values this way; a user's text that looks so would be taken for one.
TOKEN_MARKER = "TfToken["  # noqa: S105

# Quoted strings of the Terraform language know fewer escapes than JSON: no \b, no \f.
_HCL_ESCAPES = {**{c: f"\\u{c:04x}" for c in range(32)}, ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\"}


@dataclass(frozen=True, slots=True)
class Ref:
    """A Terraform expression and what it evaluates to: `string`, `number`, `boolean`, `list(string)`, `map(string)`, `any`."""

    expression: str
    kind: str

    def key(self, name: str) -> Ref:
        """The value under `name` of a map."""
        return Ref(f"{self.expression}[{_quoted(name)}]", _inner(self.kind, "map"))

    def element(self, position: int) -> Ref:
        """The element at `position` of a list; Terraform's element() wraps around."""
        return Ref(f"element({self.expression}, {position})", _inner(self.kind, "list"))

    def _misuse(self) -> TypeError:
        return TypeError(f"{self.expression} is only known at apply; use call(), key(), element() or text() instead of Python's own operators")

    def __str__(self) -> NoReturn:
        raise self._misuse()

    def __format__(self, spec: str) -> NoReturn:
        raise self._misuse()

    def __bool__(self) -> NoReturn:
        raise self._misuse()

    def __len__(self) -> NoReturn:
        raise self._misuse()

    def __iter__(self) -> NoReturn:
        raise self._misuse()

    def __getitem__(self, position: object) -> NoReturn:
        raise self._misuse()

    def __add__(self, other: object) -> NoReturn:
        raise self._misuse()

    def __radd__(self, other: object) -> NoReturn:
        raise self._misuse()


@dataclass(frozen=True, slots=True)
class Text:
    """A string of literal parts (str) and references."""

    parts: tuple[str | Ref, ...]


Value: TypeAlias = "str | int | float | bool | Ref | Text | Sequence[Value] | Mapping[str, Value] | None"


def _inner(kind: str, outer: str) -> str:
    if kind == "any":
        return "any"
    if not kind.startswith(f"{outer}("):
        raise TypeError(f"wants a {outer}, found {kind}")
    return kind[len(outer) + 1 : -1]


def text(*parts: str | Ref | Text) -> Text:
    """The parts one after another, as one string."""
    flat: list[str | Ref] = []
    for part in parts:
        flat += part.parts if isinstance(part, Text) else [part]
    return Text(tuple(flat))


def call(kind: str, function: str, *arguments: Value) -> Ref:
    """`function(arguments)` of the Terraform language, giving a value of `kind`."""
    return Ref(f"{function}({', '.join(expression(a) for a in arguments)})", kind)


def expression(value: Value) -> str:
    """The value written in the Terraform language, as it stands inside `${...}`."""
    if isinstance(value, Ref):
        return value.expression
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Text):
        return '"' + _template(value, inside_quotes=True) + '"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(k)} = {expression(v)}" for k, v in sorted(value.items())) + "}"
    return "[" + ", ".join(expression(v) for v in value) + "]"


def json_text(document: Value) -> Text:
    """The document as JSON with sorted keys; references in it stand for strings without quotes or control characters (ARNs, ids, addresses)."""
    if isinstance(document, Ref | Text):
        parts = document.parts if isinstance(document, Text) else (document,)
        return text('"', *(p if isinstance(p, Ref) else json.dumps(p, ensure_ascii=False)[1:-1] for p in parts), '"')
    if isinstance(document, Mapping):
        rows = [text(json.dumps(k, ensure_ascii=False), ":", json_text(v)) for k, v in sorted(document.items())]
        return text("{", *_separated(rows), "}")
    if isinstance(document, Sequence) and not isinstance(document, str):
        return text("[", *_separated([json_text(v) for v in document]), "]")
    return text(json.dumps(document, ensure_ascii=False))


def _separated(rows: list[Text]) -> list[str | Text]:
    return [part for row in rows for part in (",", row)][1:]


def escape(literal: str) -> str:
    """The literal as a Terraform template that evaluates to it."""
    if TOKEN_MARKER in literal:
        raise InputError(Problem("text that looks like an internal token of the Terraform generator", value=literal[:60], fix=f"leave out {TOKEN_MARKER}"))
    return literal.replace("${", "$${").replace("%{", "%%{")


def _template(value: Text, *, inside_quotes: bool) -> str:
    out = ""
    for part in value.parts:
        if isinstance(part, Ref):
            # Dollar signs just before a reference would escape it.
            head = out.rstrip("$")
            out = (f'{head}${{"{out[len(head) :]}"}}' if head != out else out) + f"${{{part.expression}}}"
        elif "\r" in part:
            # Terraform takes the rest of a template after a bare carriage return for text.
            raise InputError(Problem("a carriage return cannot stand beside a reference", value=repr(part[:60]), fix="remove it"))
        else:
            out += _quoted(part)[1:-1] if inside_quotes else escape(part)
    return out


def _quoted(literal: str) -> str:
    return '"' + escape(literal).translate(_HCL_ESCAPES) + '"'


def plain(value: Value) -> Any:
    """The value as the JSON data that Terraform reads; keys whose value is None are left out."""
    if isinstance(value, Ref):
        return f"${{{value.expression}}}"
    if isinstance(value, Text):
        return _template(value, inside_quotes=False)
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, Mapping):
        return {escape(k): plain(v) for k, v in sorted(value.items()) if v is not None}
    if isinstance(value, Sequence):
        return [plain(v) for v in value]
    return value
