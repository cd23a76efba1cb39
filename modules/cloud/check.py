"""What one check is, and how it says what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from inferform.cloud.results import Severity
from inferform.cloud.site import Site


@dataclass(frozen=True, slots=True)
class Answer:
    """One finding before it has its check's id. `command` is what to run; `fix` says it in words."""

    severity: Severity
    subject: str
    found: str
    needed: str = ""
    fix: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: a stable id, a title, and a look that yields what it finds. A look only reads.

    Raises (the look): CallFailedError, which ends this check and becomes a finding of its own.
    """

    id: str
    title: str
    look: Callable[[Site], Iterator[Answer]]


def shell(*words: str) -> str:
    """A command line; words that a shell would take apart are quoted."""
    import shlex

    return " ".join(shlex.quote(w) for w in words)


def number(value: float) -> str:
    """A count for people: `1,152`."""
    return f"{value:,.0f}"


def listed(items: Iterable[str]) -> str:
    """Names in one line, sorted: `a, b`; `none` for none."""
    return ", ".join(sorted(items)) or "none"
