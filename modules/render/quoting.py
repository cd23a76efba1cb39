"""Values as text that a YAML reader or a shell gives back exactly. Templates insert nothing that has not been through here.

Strings are plain only where every YAML version reads them as that string (`on`, `1e3`, `0o7` and `12:30` are not); all
others are double-quoted, with characters outside printable text as escapes.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from inferform.errors import InputError, Problem

# Starts like a word or a path and holds nothing that any YAML version gives a meaning to.
_PLAIN = re.compile(r"(--)?[A-Za-z/][A-Za-z0-9_./@-]*(:[A-Za-z0-9_./@-]+)*")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_STEP = "  "


class Quoted(str):
    """Text that is safe to insert; the template engine refuses to output anything else."""

    __slots__ = ()


def scalar(value: Any) -> str:
    """One scalar on one line. Raises InputError for text that no file can hold (a lone surrogate) and for numbers that are none."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(Problem("is not a number", value=str(value)))
        # Without exponent: some readers take 1e-05 for text.
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else f"{text}.0"
    if not isinstance(value, str):
        # An undefined name of a template raises its own error here.
        raise TypeError(f"{type(value).__name__} is no scalar: {value}")
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    # Text full of double quotes, such as PromQL, reads better between single ones.
    if '"' in value and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return _double_quoted(value)


def _double_quoted(text: str) -> str:
    parts = []
    for char in text:
        code = ord(char)
        if char in _ESCAPES:
            parts.append(_ESCAPES[char])
        elif 0xD800 <= code <= 0xDFFF:
            raise InputError(Problem("holds half of a character (a lone surrogate) and cannot be written", value=ascii(text)[:60]))
        elif char.isprintable():
            parts.append(char)
        elif code <= 0xFF:
            parts.append(f"\\x{code:02X}")
        else:
            parts.append(f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}")
    return f'"{"".join(parts)}"'


def block(value: Any, indent: int) -> Quoted:
    """A mapping, list or scalar as block YAML whose lines start at column `indent`, without a closing newline."""
    return Quoted("\n".join(" " * indent + line if line else line for line in _lines(value)))


def flow(value: Any) -> Quoted:
    """A scalar, or a small list or mapping, on one line."""
    if isinstance(value, Mapping):
        return Quoted("{" + ", ".join(f"{_key(k)}: {flow(v)}" for k, v in value.items()) + "}")
    if isinstance(value, (list, tuple)):
        return Quoted("[" + ", ".join(flow(v) for v in value) + "]")
    # Plain scalars hold no comma and no bracket (_PLAIN), so they are safe inside both.
    return Quoted(scalar(value))


def shell(value: Any) -> Quoted:
    """One word for a POSIX shell."""
    return Quoted(shlex.quote(str(value)))


def _key(key: Any) -> str:
    return scalar(str(key))


def _lines(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [line for key, item in value.items() for line in _entry(f"{_key(key)}:", item)] or ["{}"]
    if isinstance(value, (list, tuple)):
        return [line for item in value for line in _item(item)] or ["[]"]
    if isinstance(value, str) and "\n" in value:
        literal = _literal(value)
        if literal:
            return literal
    return [scalar(value)]


def _entry(head: str, item: Any) -> list[str]:
    """Lines of `key: value`."""
    if isinstance(item, (Mapping, list, tuple)) and item:
        # Lists stand below their key without further indentation, as kubectl writes them.
        step = _STEP if isinstance(item, Mapping) else ""
        return [head, *(step + line for line in _lines(item))]
    first, *rest = _lines(item)
    return [f"{head} {first}", *(_STEP + line if line else line for line in rest)]


def _item(item: Any) -> list[str]:
    """Lines of `- value`."""
    first, *rest = _lines(item)
    return [f"- {first}", *(_STEP + line if line else line for line in rest)]


def _literal(text: str) -> list[str] | None:
    """A literal block, where its lines survive one: printable, no tabs, no blanks at ends, one newline at the end."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    plain = all(line.isprintable() and line == line.rstrip() for line in lines)
    if not plain or body == text or not lines[0] or lines[0].startswith(" ") or not lines[-1] or "\r" in text:
        return None
    return ["|", *lines]
