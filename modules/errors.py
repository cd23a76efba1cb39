"""The error tree and the value that describes one problem.

InferformError            1  the command failed
  InputError              2  what the user gave cannot be used; carries every problem found
  PolicyDeniedError       3  a policy verdict denies
  ToolFailedError         1  an outside tool ran and failed
  MissingToolError        5  an outside tool that is needed is not there
  StateError              1  saved state does not allow the step (digest differs, interrupted run, lock held)

Exit code 4 (differences found) is a result, not an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

EXIT_DONE, EXIT_FAILED, EXIT_INPUT, EXIT_DENIED, EXIT_DIFFERENT, EXIT_NO_TOOL = range(6)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input, with all a person needs to mend it.

    `field` is the dotted path in the document (`models.llama.slo.ttft_p95`); `file` and `line` (1-based) say where it stands.
    `value` is the offending value as text, shortened, never a secret; `legal` lists what would be accepted; `fix` is the
    nearest right answer as one sentence.
    """

    message: str
    field: str = ""
    file: str = ""
    line: int | None = None
    value: str | None = None
    legal: tuple[str, ...] = ()
    fix: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        what = f"{self.field}: " if self.field else ""
        found = f" (found {self.value})" if self.value is not None else ""
        legal = f"; legal: {', '.join(self.legal)}" if self.legal else ""
        fix = f"; {self.fix}" if self.fix else ""
        return f"{where}{what}{self.message}{found}{legal}{fix}"


class InferformError(Exception):
    """Something Inferform was asked to do did not work."""

    exit_code = EXIT_FAILED


class InputError(InferformError):
    """The input cannot be used; `problems` holds every problem found, in document order."""

    exit_code = EXIT_INPUT

    def __init__(self, problems: Iterable[Problem] | Problem | str):
        if isinstance(problems, str):
            problems = [Problem(problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class PolicyDeniedError(InferformError):
    """A policy verdict denies the step."""

    exit_code = EXIT_DENIED


class ToolFailedError(InferformError):
    """An outside tool ran and failed; `output` keeps what it said."""

    def __init__(self, message: str, output: str = ""):
        self.output = output
        super().__init__(message)


class MissingToolError(InferformError):
    """An outside tool that this step needs is not installed."""

    exit_code = EXIT_NO_TOOL


class StateError(InferformError):
    """Saved state does not allow the step; the message says what to do."""


@dataclass(frozen=True)
class Nearest:
    """A name that is not known and the known names closest to it."""

    name: str
    known: tuple[str, ...] = field(repr=False)

    def suggestions(self, count: int = 3) -> tuple[str, ...]:
        """Up to `count` known names, closest first; empty when nothing is close."""
        folded = {k.lower(): k for k in reversed(self.known)}
        close = difflib.get_close_matches(self.name.lower(), folded, n=count, cutoff=0.4)
        return tuple(folded[c] for c in close)
