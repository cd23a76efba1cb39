"""What pydantic found, said as a person would: field, line, value, legal values, the nearest right answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inferform.errors import Problem
from inferform.load_fields import advice, nearest, part_of, pattern_of
from inferform.load_secrets import names_a_secret, shortened
from inferform.load_yaml import WORDS, Node
from inferform.names import WANTS
from inferform.quantities import kubernetes_bytes, parse_bytes, parse_duration_s
from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]
# Errors that say "this is not the kind of value of this branch"; in a union another branch may fit.
_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "string_type": "text",
    "string_unicode": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_BOUNDS = {
    "greater_than": ("must be above {}", "gt"),
    "greater_than_equal": ("must be at least {}", "ge"),
    "less_than": ("must be below {}", "lt"),
    "less_than_equal": ("must be at most {}", "le"),
    "string_too_short": ("must have at least {} characters", "min_length"),
    "string_too_long": ("must have at most {} characters", "max_length"),
    "too_short": ("must have at least {} entries", "min_length"),
    "too_long": ("must have at most {} entries", "max_length"),
}


@dataclass(frozen=True, slots=True)
class _Found:
    """One error with its place in the document. `branch` is set inside a union: (path of the union, name of the branch)."""

    error: ErrorDetails
    path: Path
    branch: tuple[Path, str] | None
    of_key: bool


@dataclass(frozen=True, slots=True)
class Document:
    """The (merged) document that was checked, and where what an overlay removed was removed."""

    root: Node
    file: str
    removed: Mapping[Path, Node]

    def place(self, path: Path) -> tuple[str, int | None]:
        """(field as it is written, line) of a path or of the nearest part above it that stands in the file."""
        for end in range(len(path), -1, -1):
            node = self.removed.get(path[:end]) or self.root.at(path[:end])
            if node is not None:
                prefix = f"environments.{node.environment}." if node.environment else ""
                return prefix + dotted(path), node.line
        return dotted(path), None


def dotted(path: Path) -> str:
    """`models.llama.capacity.purchase[0].kind`."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")


def translate(errors: Sequence[ErrorDetails], document: Document) -> list[Problem]:
    """One Problem for each thing that is wrong; the several answers about a union become one."""
    found = [_locate(error, document.root) for error in errors]
    problems = [_problem(f, document) for f in found if f.branch is None and not _is_echo(f, found)]
    unions = dict.fromkeys(f.branch[0] for f in found if f.branch)
    for path in unions:
        problems += _union([f for f in found if f.branch and f.branch[0] == path], path, document)
    return problems


def _locate(error: ErrorDetails, root: Node) -> _Found:
    """Walks an error's location along the document; a part that is not in the document names a branch of a union."""
    path: Path = ()
    branch: tuple[Path, str] | None = None
    location = error["loc"]
    for position, key in enumerate(location):
        here = root.at(path)
        if key == "[key]":
            return _Found(error, path, branch, True)
        inside = here is not None and (
            (isinstance(key, str) and isinstance(here.value, dict) and key in here.value) or (isinstance(key, int) and isinstance(here.value, list))
        )
        if inside or (position == len(location) - 1 and error["type"] == "missing"):
            path = (*path, key)
        elif branch is None:
            branch = (path, str(key))
    return _Found(error, path, branch, False)


def _is_echo(found: _Found, everything: list[_Found]) -> bool:
    """True for "too few entries" that only says that entries below it are wrong."""
    return found.error["type"] == "too_short" and any(f.path[: len(found.path)] == found.path and f.path != found.path for f in everything)


def _union(found: list[_Found], path: Path, document: Document) -> list[Problem]:
    """The problems of a value that may be of several kinds: those of the kind it is, else one that names all kinds."""
    fitting = [f for f in found if not (f.path == path and (f.error["type"] in _KINDS or f.error["type"] in ("literal_error", "enum")))]
    if fitting:
        return [_problem(f, document) for f in fitting if not _is_echo(f, fitting)]
    legal = [choice for f in found for choice in _choices(f.error)]
    kinds = [k for f in found if (k := _kind(f.error, path))]
    if kinds == ["true or false"]:
        kinds, legal = [], ["true", "false", *legal]
    message = "wants " + " or ".join([*kinds, "one of the legal words"] if kinds and legal else kinds or ["one of the legal values"])
    return [_make(document, path, message, legal=tuple(legal), fix=_nearest(document, path, legal))]


def _kind(error: ErrorDetails, path: Path) -> str:
    kind = _KINDS.get(error["type"], "")
    if kind == "a mapping":
        part = part_of(pattern_of(path))
        return f"a mapping with {', '.join(part.model_fields)}" if part and len(part.model_fields) <= 8 else kind
    return kind


def _choices(error: ErrorDetails) -> list[str]:
    return re.findall(r"'([^']*)'", error.get("ctx", {}).get("expected", "")) if error["type"] in ("literal_error", "enum") else []


def _problem(found: _Found, document: Document) -> Problem:
    error, path, kind = found.error, found.path, found.error["type"]
    context = error.get("ctx", {})
    if kind == "missing":
        return _make(document, path, "is required", fix=_example(path), value=False)
    if kind == "extra_forbidden":
        return _unknown(document, path)
    if kind == "faults":
        name, what = context["faults"][0]
        return _make(document, (*path, name), what, value=False)
    if kind in ("literal_error", "enum"):
        legal = _choices(error)
        return _make(document, path, "is not one of the legal values", legal=tuple(legal), fix=_nearest(document, path, legal))
    if kind in _KINDS:
        wants = _kind(error, path)
        return _make(document, path, f"wants {wants}", fix=_rewrite(document.root.at(path), wants))
    if kind == "string_pattern_mismatch":
        return _make(document, path, f"wants {WANTS.get(context['pattern'], 'another form')}", of_key=found.of_key)
    if kind in _BOUNDS:
        text, bound = _BOUNDS[kind]
        text = (
            text.format(_limit(context[bound], document.root.at(path)))
            .replace("at least 1 characters", "at least 1 character")
            .replace("at least 1 entries", "at least 1 entry")
        )
        return _make(document, path, text, of_key=found.of_key)
    message = str(context["error"]) if "error" in context else error["msg"]
    return _make(document, path, message, of_key=found.of_key)


def _limit(limit: float, node: Node | None) -> str:
    """A bound as a person writes it: in the unit of what is bounded."""
    text = node.text if node and isinstance(node.value, str) else ""
    for parse, shown in ((parse_duration_s, f"{limit:g}s"), (parse_bytes, kubernetes_bytes(int(limit)) if limit == int(limit) else "")):
        try:
            parse(text)
        except ValueError:
            continue
        return shown
    return f"{limit:,}"


def faults(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """The errors with each contradiction of a part as an error of its own."""
    out: list[ErrorDetails] = []
    for error in errors:
        several = error.get("ctx", {}).get("faults", ()) if error["type"] == "faults" else ()
        out += [{**error, "ctx": {"faults": [fault]}} for fault in several] or [error]
    return out


def _unknown(document: Document, path: Path) -> Problem:
    parent, name = path[:-1], str(path[-1])
    fix = advice(name, parent)
    part = part_of(pattern_of(parent))
    legal = () if fix or part is None else tuple(part.model_fields)
    return _make(document, path, "is not a field", legal=legal, fix=fix, value=False)


def _make(document: Document, path: Path, message: str, *, legal: tuple[str, ...] = (), fix: str = "", value: bool = True, of_key: bool = False) -> Problem:
    field, line = document.place(path)
    shown = str(path[-1]) if of_key else _shown(document.root.at(path), field) if value else None
    return Problem(message, field=field, file=document.file, line=line, value=shortened(shown) if shown is not None else None, legal=legal, fix=fix)


def _shown(node: Node | None, field: str) -> str | None:
    if node is None or names_a_secret(field):
        return None
    if isinstance(node.value, dict):
        return "a mapping"
    if isinstance(node.value, list):
        return f"a list of {len(node.value)}"
    if isinstance(node.value, str) and (not node.text or node.text in WORDS or _as_number(node.text) is not None):
        return f'"{node.text}"'
    return node.text or "null"


def _nearest(document: Document, path: Path, legal: Sequence[str]) -> str:
    node = document.root.at(path)
    close = nearest(node.value, legal) if node and isinstance(node.value, str) else ""
    return f"did you mean {close}?" if close else ""


def _example(path: Path) -> str:
    part = part_of(pattern_of(path[:-1]))
    info = part.model_fields.get(str(path[-1])) if part else None
    if info is None:
        return ""
    example = f", such as {info.examples[0]}" if info.examples else ""
    text = (info.description or "").rstrip(".")
    return f"{text[:1].lower()}{text[1:]}{example}"


def _rewrite(node: Node | None, wants: str) -> str:
    """How to write a scalar so that it is of the wanted kind; empty where that is not clear."""
    if node is None or isinstance(node.value, dict | list):
        return ""
    text = node.text
    if wants == "text":
        return f'put it in quotes: "{shortened(text)}"' if node.value is not None else "give a value, or remove the line"
    if wants == "true or false":
        words = {"on": "true", "yes": "true", "y": "true", "off": "false", "no": "false", "n": "false", "true": "true", "false": "false"}
        return f"write {words[text.lower()]}" if text.lower() in words else ""
    if wants in ("a whole number", "a number") and text:
        number = _as_number(text)
        quotes = " without quotes" if text == str(number) and isinstance(node.value, str) else ""
        return f"write {number}{quotes}" if number is not None and (isinstance(number, int) or wants == "a number") else ""
    if node.value is None and wants.startswith(("a list", "a mapping")):
        return "give a value, or remove the line"
    if wants == "a list":
        return f"write [{shortened(text)}]"
    return ""


def _as_number(text: str) -> int | float | None:
    """The number that a person meant with `8_192`, `"8192"`, `1e5`, `8192.0` or `0x10`; None where that is a guess."""
    plain = text.replace("_", "").strip()
    if re.fullmatch(r"0x[0-9a-fA-F]{1,12}", plain):
        return int(plain, 16)
    if re.fullmatch(r"[0-9]{1,3}(,[0-9]{3}){1,4}", plain):
        return int(plain.replace(",", ""))
    if re.fullmatch(r"-?[1-9][0-9]{0,17}|0", plain):
        return int(plain)
    if re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{0,15})?([eE]\+?[0-9]{1,2})?", plain) and not re.match(r"-?0[0-9]", plain):
        number = float(plain)
        return int(number) if number.is_integer() and abs(number) < 1e15 else number
    return None
