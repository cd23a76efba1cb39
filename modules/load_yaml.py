"""YAML text as a tree of nodes that know their lines; nothing is constructed, evaluated or followed.

Parsing is event by event with an explicit stack, so that neither deep nesting nor a web of aliases can exhaust the machine.
Plain scalars are read by the YAML 1.2 core rules: `on`, `yes` and `12:30` are text, `0x10`, `1_000` and `007` are text too
(so a number field refuses them instead of reading something else), and `1e3` is a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import yaml
from inferform.errors import InputError, Problem

MAX_BYTES = 2**20
MAX_NODES = 100_000
MAX_DEPTH = 32
# YAML 1.1 merge key; not part of 1.2, kept because people share blocks with it.
MERGE = "<<"
_CORE_TAGS = {None, "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,29})")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,30}|(0|[1-9][0-9]{0,29})(\.[0-9]{0,30})?)([eE][-+]?[0-9]{1,3})?")
WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")
}

Plain = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Node:
    """One value with its line (1-based; of its key where it has one). `size` counts nodes with aliases expanded.

    `text` is a scalar as it is written; `environment` names the overlay that the value stands in ("" for the document).
    """

    value: Plain | dict[str, Node] | list[Node]
    line: int
    text: str = ""
    size: int = 1
    depth: int = 1
    environment: str = ""

    def plain(self) -> object:
        """The value without lines, as JSON has it."""
        if isinstance(self.value, dict):
            return {k: v.plain() for k, v in self.value.items()}
        if isinstance(self.value, list):
            return [v.plain() for v in self.value]
        return self.value

    def walk(self, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Node]]:
        """Every node below and its path, in document order."""
        yield path, self
        items = self.value.items() if isinstance(self.value, dict) else enumerate(self.value) if isinstance(self.value, list) else ()
        for key, child in items:
            yield from child.walk((*path, key))

    def at(self, path: tuple[str | int, ...]) -> Node | None:
        """The node at `path`, None where there is none."""
        node: Node | None = self
        for key in path:
            if node is None:
                return None
            if isinstance(node.value, dict) and isinstance(key, str):
                node = node.value.get(key)
            elif isinstance(node.value, list) and isinstance(key, int) and key < len(node.value):
                node = node.value[key]
            else:
                return None
        return node


class _TooBigError(Exception):
    """The document goes past a limit; the rest is not looked at."""


@dataclass(slots=True)
class _Open:
    """A mapping or list that is not finished yet."""

    line: int
    anchor: str | None
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Node] | None = None
    key: Node | None = None
    merged: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class _Builder:
    """Puts events together into nodes and collects what is wrong."""

    file: str
    problems: list[Problem] = field(default_factory=list)
    anchors: dict[str, Node | None] = field(default_factory=dict)
    stack: list[_Open] = field(default_factory=list)
    root: Node | None = None
    documents: int = 0

    def refuse(self, line: int, message: str, *, name: str = "", fix: str = "") -> None:
        self.problems.append(Problem(message, field=name, file=self.file, line=line, fix=fix))

    def feed(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents == 2:
                self.refuse(line, "a second document starts here", fix="keep one deployment a file; environments go under `environments`")
        elif self.documents > 1:
            return
        elif isinstance(event, yaml.ScalarEvent):
            self._check_tag(event.tag, line)
            self._add(_scalar(event, line), event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor or "", line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._check_tag(event.tag, line)
            if len(self.stack) >= MAX_DEPTH:
                self.refuse(line, f"nested deeper than {MAX_DEPTH} levels")
                raise _TooBigError
            if event.anchor:
                self.anchors[event.anchor] = None
            self.stack.append(_Open(line, event.anchor, entries={} if isinstance(event, yaml.MappingStartEvent) else None))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()

    def _check_tag(self, tag: str | None, line: int) -> None:
        if tag not in _CORE_TAGS:
            self.refuse(line, f"the tag {_tag_text(tag)} is not accepted", fix="a spec is plain data: drop the tag")

    def _alias(self, anchor: str, line: int) -> None:
        node = self.anchors.get(anchor)
        if anchor not in self.anchors:
            self.refuse(line, f"the alias *{anchor} has no anchor &{anchor} before it")
        elif node is None:
            self.refuse(line, f"the alias *{anchor} stands inside its own anchor &{anchor}")
        self._add(replace(node, line=line) if node else Node(None, line), None)

    def _close(self) -> None:
        part = self.stack.pop()
        children = list(part.entries.values()) if part.entries is not None else part.items
        value: dict[str, Node] | list[Node] = part.entries if part.entries is not None else part.items
        if part.entries is not None:
            for base in part.merged:
                for key, child in base.value.items() if isinstance(base.value, dict) else ():
                    part.entries.setdefault(key, child)
            children = list(part.entries.values())
        node = Node(value, part.line, size=1 + sum(c.size for c in children), depth=1 + max((c.depth for c in children), default=0))
        self._add(node, part.anchor)

    def _add(self, node: Node, anchor: str | None) -> None:
        if node.size > MAX_NODES or node.depth + len(self.stack) > MAX_DEPTH:
            wide = f"with its aliases followed this has more than {MAX_NODES:,} values"
            self.refuse(node.line, wide if node.size > MAX_NODES else f"nested deeper than {MAX_DEPTH} levels")
            raise _TooBigError
        if anchor:
            self.anchors[anchor] = node
        if not self.stack:
            self.root = node
            return
        top = self.stack[-1]
        if top.entries is None:
            top.items.append(node)
        elif top.key is None:
            top.key = node
        else:
            key, top.key = top.key, None
            self._put(top, key, node)

    def _path(self, key: str) -> str:
        """Where the mapping on top of the stack stands, and `key` in it."""
        parts = [f".{part.key.value}" if part.key else f"[{len(part.items)}]" for part in self.stack[:-1]]
        return f"{''.join(parts)}.{key}".lstrip(".")

    def _put(self, top: _Open, key: Node, node: Node) -> None:
        entries = top.entries if top.entries is not None else {}
        if not isinstance(key.value, str):
            kind = "a mapping or list" if isinstance(key.value, dict | list) else f"`{key.text or 'null'}`"
            fix = "" if isinstance(key.value, dict | list) or not key.text else f'put it in quotes: "{key.text}"'
            self.refuse(key.line, f"a key must be text, found {kind}", fix=fix)
        elif key.value == MERGE and key.text == MERGE:
            bases = node.value if isinstance(node.value, list) else [node]
            if not all(isinstance(b.value, dict) for b in bases):
                self.refuse(key.line, f"{MERGE} merges mappings", fix=f"write {MERGE}: *anchor, where the anchor is on a mapping")
            top.merged += [b for b in bases if isinstance(b.value, dict)]
        elif key.value in entries:
            self.refuse(key.line, f"`{key.value}` is given twice", name=self._path(key.value), fix=f"keep one; the other is on line {entries[key.value].line}")
        else:
            entries[key.value] = replace(node, line=key.line)


def _tag_text(tag: str | None) -> str:
    return (tag or "").replace("tag:yaml.org,2002:", "!!")[:60]


def _scalar(event: yaml.ScalarEvent, line: int) -> Node:
    """A scalar as YAML 1.2 reads it; what is quoted is text."""
    text = event.value
    if not event.implicit[0] or event.tag:
        return Node(text, line, text="" if text == MERGE else text)
    if text in WORDS:
        return Node(WORDS[text], line, text=text)
    if _INT.fullmatch(text):
        return Node(int(text), line, text=text)
    if _FLOAT.fullmatch(text) and abs(number := float(text)) < float("inf"):
        return Node(number, line, text=text)
    return Node(text, line, text=text)


def _decoded(data: bytes, file: str) -> str:
    """The text of a spec file: UTF-8, printable."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data:
        raise InputError(Problem("this is not a text file in UTF-8 (UTF-16 or binary data)", file=file, fix="save it as UTF-8"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = data[: err.start].count(b"\n") + 1
        raise InputError(Problem(f"byte {err.start} is not UTF-8", file=file, line=line, fix="save the file as UTF-8")) from err
    bad = [(n, c) for n, row in enumerate(text.split("\n"), 1) for c in row if c < " " and c not in "\t\r"]
    if bad:
        raise InputError(Problem(f"control character U+{ord(c):04X}", file=file, line=n, fix="remove it") for n, c in bad[:20])
    return text


def parse(data: bytes, file: str) -> tuple[Node, list[Problem]]:
    """The top mapping of a YAML document and the problems of its form (duplicate keys, tags, odd keys).

    Raises: InputError where there is no usable tree: too big, not UTF-8, a syntax error, empty, or not a mapping.
    """
    if len(data) > MAX_BYTES:
        raise InputError(Problem(f"the file is larger than {MAX_BYTES // 2**20} MiB", file=file, fix="a spec is a few kilobytes; is this the right file?"))
    builder = _Builder(file)
    text = _decoded(data, file)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.feed(event)
    except _TooBigError:
        raise InputError(builder.problems) from None
    except yaml.MarkedYAMLError as err:
        raise InputError([*builder.problems, _syntax(err, file, text)]) from err
    except yaml.YAMLError as err:
        raise InputError([*builder.problems, Problem(f"not YAML: {err}", file=file)]) from err
    if builder.root is None or builder.root.value is None:
        raise InputError(Problem("the file is empty", file=file, fix="start from `inferform init`"))
    if not isinstance(builder.root.value, dict):
        raise InputError(
            [*builder.problems, Problem("the top of a spec is a mapping of fields", file=file, line=builder.root.line, fix="start with `name: ...`")]
        )
    return builder.root, builder.problems


def _syntax(err: yaml.MarkedYAMLError, file: str, text: str) -> Problem:
    """A syntax error as one sentence with its line."""
    mark = err.problem_mark or err.context_mark
    problem = (err.problem or "cannot be read").removeprefix("did not find ").removeprefix("could not find ")
    wants = "expected" in problem and problem != err.problem
    context = f" {err.context}" if err.context else ""
    fixes = {
        "tab": "indent with spaces",
        "mapping values": "put the value in quotes, or start a new line",
        "cannot start any token": "put the value in quotes",
        "unexpected end": "close the quote or bracket",
    }
    fix = next((f for word, f in fixes.items() if word in (err.problem or "")), "")
    if mark is None:
        return Problem(f"not YAML: {problem}{context}", file=file, fix=fix)
    if "\t" in "".join(text.split("\n")[mark.line : mark.line + 1])[mark.column : mark.column + 1]:
        return Problem(f"not YAML: a tab where indentation is expected (column {mark.column + 1})", file=file, line=mark.line + 1, fix=fixes["tab"])
    said = f"missing {problem.removeprefix('expected ')}" if wants else problem
    return Problem(f"not YAML: {said}{context} (column {mark.column + 1})", file=file, line=mark.line + 1, fix=fix)
