"""A result file taken apart: its JSON documents with their lines, and what is wrong told as problems."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from inferform.errors import InputError, Problem
from pydantic import BaseModel, ValidationError

_Model = TypeVar("_Model", bound=BaseModel)
_SHOWN = 80


@dataclass(frozen=True)
class Document:
    """One JSON document, or a table made into one. `lines` holds the line of a part by its first key, where it is known."""

    value: Any
    path: str
    line: int
    lines: dict[str, int]

    def read(self, model: type[_Model], value: Any = None, prefix: tuple[str, ...] = ()) -> _Model:
        """The document (or the part `value` of it, found at `prefix`) as a checked shape. Raises: InputError with every problem."""
        try:
            return model.model_validate(self.value if value is None else value)
        except ValidationError as err:
            raise InputError(self.problem(e["msg"].removeprefix("Value error, "), (*prefix, *map(str, e["loc"])), e) for e in err.errors()) from err
        except UnicodeEncodeError as err:
            raise InputError(self.problem(f"holds half a character: {err}", prefix)) from err

    def problem(self, message: str, field: tuple[str, ...] = (), error: Any = None) -> Problem:
        """A problem of this document; `error` is pydantic's, for the value it found."""
        missing = error is not None and error["type"] == "missing"
        value = None if error is None or missing or isinstance(error["input"], dict | list | BaseModel) else repr(error["input"])[:_SHOWN]
        return Problem(
            "the key is missing" if missing else message,
            field=".".join(field),
            file=self.path,
            line=self.lines.get(field[0] if field else "", self.line),
            value=value,
        )


def read_text(path: Path) -> str:
    """Raises: InputError when the file is not there, cannot be read, or is no text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(Problem(f"cannot read the result file: {err}", file=str(path))) from err


def json_documents(text: str, path: str) -> list[Document]:
    """Every document of a JSON or JSON-lines file; a list counts as its elements.

    Raises: InputError with line and column where the text stops being JSON, such as a file cut off.
    """
    decoder, found, at = json.JSONDecoder(), [], _skip(text, 0)
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as err:
            cut = "; the file seems to be cut off" if err.pos >= len(text.rstrip()) - 1 else ""
            raise InputError(Problem(f"not JSON at column {err.colno}: {err.msg}{cut}", file=path, line=err.lineno)) from err
        except (ValueError, RecursionError) as err:
            raise InputError(Problem(f"not JSON that can be read: {err}", file=path, line=line)) from err
        found += [Document(part, path, line, {}) for part in (value if isinstance(value, list) else [value])]
        at = _skip(text, end)
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
