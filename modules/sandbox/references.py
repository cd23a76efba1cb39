"""References between the parts of a Terraform JSON configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ADDRESS = re.compile(r"(?<![\w.-])(data\.)?([a-z][a-z0-9]*_[a-z0-9_]+)\.([A-Za-z_][\w-]*)((?:\[[^\]]*\])*)(?:\.([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?)?")


@dataclass(frozen=True)
class Reference:
    """`data.TYPE.NAME.ATTRIBUTE.FIELD` as an expression names it; attribute and field may be empty."""

    data: bool
    type: str
    name: str
    attribute: str
    field: str


def expressions(text: str) -> Iterator[str]:
    """The inside of every `${...}` of a template; `$${` is plain text."""
    at = 0
    while (at := text.find("${", at)) >= 0:
        if at and text[at - 1] == "$":
            at += 2
            continue
        depth, end = 1, at + 2
        while end < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield text[at + 2 : end - 1]
        at = end


def references(text: str, *, bare: bool = False) -> list[Reference]:
    """What a value refers to; `bare` for places that hold an address without `${}` (depends_on)."""
    sources = [text] if bare else list(expressions(text))
    return [Reference(bool(m.group(1)), m.group(2), m.group(3), m.group(5) or "", m.group(6) or "") for source in sources for m in _ADDRESS.finditer(source)]
