"""JSON lines in, JSON lines out: one request and one answer a line, in the same order."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from inferform.cli.output import Output, is_terminal
from inferform.errors import InputError, Problem

_MOST_BYTES = 2**20
_TOLD_EVERY = 200

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def run_batch(source: str, answer: Answer, out: Output) -> None:
    """Answers every line of a file (`-` reads standard input) as it comes; a bad line gets an error in its place.

    `id` of a request stands first in its answer. Empty lines are passed over.
    """
    asked = failed = 0
    # A bar between answers on one screen would garble both.
    watched = replace(out, quiet=out.quiet or is_terminal(sys.stdout))
    with _opened(source) as lines, watched.progress("answered") as tell:
        for line in _lines(lines):
            asked += 1
            reply = _reply(line, answer)
            failed += "error" in reply
            out.write(json.dumps(reply, allow_nan=False))
            if asked % _TOLD_EVERY == 0:
                tell(asked)
    if failed:
        out.note(f"{failed} of {asked} lines could not be answered")


@contextmanager
def _opened(source: str) -> Iterator[IO[bytes]]:
    if source == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed")
        yield sys.stdin.buffer
        return
    try:
        file = Path(source).open("rb")  # noqa: SIM115 - closed below; only opening it is the user's mistake
    except (OSError, ValueError) as err:
        raise InputError(Problem(f"cannot be read: {getattr(err, 'strerror', None) or err}", file=source)) from err
    with file:
        yield file


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines that hold something; what goes past the limit is cut, and so is no JSON."""
    while line := file.readline(_MOST_BYTES + 1):
        if len(line) > _MOST_BYTES:
            while not line.endswith(b"\n") and (rest := file.readline(_MOST_BYTES)):
                line = line[:1] + rest[-1:]
            yield b"a line of more than a mebibyte"
        elif line.strip():
            yield line


def _reply(line: bytes, answer: Answer) -> dict[str, Any]:
    name: Any = None
    try:
        request = _request(line)
        name = request.pop("id", None)
        return {**({} if name is None else {"id": name}), **answer(request)}
    except InputError as err:
        # One problem a line: a reader of JSON lines shows it beside its request.
        return {"id": name, "error": "; ".join(str(problem) for problem in err.problems)}


def _request(line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as err:
        raise InputError(f"is not JSON: {err}") from err
    if not isinstance(request, dict):
        raise InputError("wants a JSON object")
    return request


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number")
