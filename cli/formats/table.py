"""Tables and paragraphs of plain text that fit a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from inferform.cli.output import WIDTH, printable

GAP = "  "


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), width: int = WIDTH) -> str:
    """Rows under their headers, columns as wide as they need; the widest column of words wraps where the whole is too wide.

    `right` are the columns of numbers, set to the right.
    """
    cells = [[printable(text).replace("\n", " ") for text in row] for row in (headers, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    over = sum(widths) + len(GAP) * (len(widths) - 1) - width
    if over > 0:
        widest = max((i for i in range(len(widths)) if i not in right), key=lambda i: widths[i])
        widths[widest] = max(widths[widest] - over, 12)
    lines: list[str] = []
    for row in cells:
        wrapped = [_wrap(text, widths[i]) for i, text in enumerate(row)]
        for n in range(max(len(part) for part in wrapped)):
            parts = [part[n] if n < len(part) else "" for part in wrapped]
            aligned = (p.rjust(widths[i]) if i in right else p.ljust(widths[i]) for i, p in enumerate(parts))
            lines.append(GAP.join(aligned).rstrip())
    return "\n".join(lines)


def bullets(items: Sequence[str], *, indent: str = "  ", width: int = WIDTH) -> str:
    """One paragraph an item, each with a dash."""
    return "\n".join(
        textwrap.fill(printable(item), width, initial_indent=f"{indent}- ", subsequent_indent=f"{indent}  ", break_on_hyphens=False) for item in items
    )


def pairs(rows: Sequence[tuple[str, str]], *, indent: str = "  ", width: int = WIDTH) -> str:
    """Names and values, one a line, values in one column."""
    longest = max(len(name) for name, _ in rows)
    lines = []
    for name, value in rows:
        head = f"{indent}{name.ljust(longest)}{GAP}"
        lines.append(textwrap.fill(printable(value), width, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False))
    return "\n".join(lines)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
