"""Errors as people read them, and as JSON."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import asdict
from typing import Any

from inferform.cli.output import WIDTH, as_json, paint, printable
from inferform.errors import InferformError, InputError, Problem, ToolFailedError


def error_text(err: InferformError) -> str:
    """The error with its problems one below the other: place, field, message, value; then what is legal and what to do."""
    if not isinstance(err, InputError):
        output = printable(getattr(err, "output", "")).rstrip()
        tail = f"\n{textwrap.indent(output, '  ')}" if isinstance(err, ToolFailedError) and output else ""
        return f"{_label()} {printable(str(err))}{tail}"
    lines = [line for problem in err.problems for line in _problem_lines(problem)]
    count = len(err.problems)
    return "\n".join([*lines, f"{count} problems"] if count > 1 else lines)


def error_json(err: InferformError) -> str:
    """The error as a JSON document: kind, exit_code, message and problems."""
    problems = [_without_empty(problem) for problem in err.problems] if isinstance(err, InputError) else []
    return as_json({"error": {"kind": type(err).__name__, "exit_code": err.exit_code, "message": str(err), "problems": problems}})


def _problem_lines(problem: Problem) -> list[str]:
    place = f"{problem.file}:{problem.line}: " if problem.file and problem.line else f"{problem.file}: " if problem.file else ""
    field = f"{problem.field}: " if problem.field else ""
    found = f" (found {problem.value})" if problem.value is not None else ""
    mark = paint(printable(place), "bold", sys.stderr) if place else f"{_label()} "
    head = f"{mark}{printable(field + problem.message + found)}"
    legal = [f"legal: {', '.join(problem.legal)}"] if problem.legal else []
    fix = [problem.fix] if problem.fix else []
    below = [line for text in (*legal, *fix) for line in textwrap.wrap(printable(text), WIDTH - 4, break_on_hyphens=False)]
    return [head, *(f"    {line}" for line in below)]


def _label() -> str:
    return paint("error:", "red", sys.stderr)


def _without_empty(problem: Problem) -> dict[str, Any]:
    return {key: value for key, value in asdict(problem).items() if value not in (None, "", ())}
