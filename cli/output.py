"""Where a command's words go: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import typer
from inferform.errors import InferformError

if TYPE_CHECKING:
    from pydantic import BaseModel

EXIT_PIPE = 141  # 128 + SIGPIPE, as a shell shows a command whose reader went away
WIDTH = 100


@dataclass(frozen=True)
class Output:
    """How one command prints. `format` is what --format says, `quiet` leaves notes and progress out."""

    format: str = "text"
    quiet: bool = False

    def result(self, data: Any, text: Callable[[], str]) -> None:
        """Prints the result: the data as JSON, or as the text that `text` makes of it."""
        self.write(as_json(data) if self.format == "json" else text())

    def write(self, text: str) -> None:
        """Prints a result that is text already."""
        emit(text, sys.stdout)

    def note(self, text: str) -> None:
        """Tells what is going on; left out with --quiet."""
        if not self.quiet:
            emit(text, sys.stderr)

    def warn(self, text: str) -> None:
        """Tells what needs attention, with --quiet too."""
        emit(f"{paint('warning:', 'yellow', sys.stderr)} {text}", sys.stderr)

    @contextmanager
    def progress(self, title: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """A bar on a terminal while long work runs; the work reports how much was done."""
        if self.quiet or not is_terminal(sys.stderr):
            yield lambda done: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=total)
            yield lambda done: bar.update(task, completed=done)


def as_json(data: Any) -> str:
    """A result as JSON: models by their fields, two blanks of indentation, ASCII."""
    return json.dumps(plain(data), indent=2, allow_nan=False)


def plain(data: Any) -> Any:
    """Models, dataclasses and tuples as the dicts and lists that JSON has."""
    from dataclasses import asdict, is_dataclass

    if hasattr(data, "model_dump"):
        model: BaseModel = data
        return model.model_dump(mode="json")
    if is_dataclass(data) and not isinstance(data, type):
        return plain(asdict(data))
    if isinstance(data, dict):
        return {str(k): plain(v) for k, v in data.items()}
    return [plain(v) for v in data] if isinstance(data, list | tuple | set | frozenset) else data


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at what is written there; a stream that was closed (`2>&-`) is None."""
    return stream is not None and stream.isatty()


def paint(text: str, colour: str, stream: TextIO | None) -> str:
    """`text` in a colour, on a terminal that wants colours; NO_COLOR turns them off."""
    codes = {"red": "31", "yellow": "33", "green": "32", "bold": "1"}
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not is_terminal(stream)
    return text if plain else f"\x1b[{codes[colour]}m{text}\x1b[0m"


def printable(text: str) -> str:
    """`text` without characters that a terminal would obey; line ends stay."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def emit(text: str, stream: TextIO | None) -> None:
    """Writes text and a line end at once.

    Raises: typer.Exit where the reader went away, InferformError where it cannot be written for another reason.
    """
    if stream is None:
        return
    try:
        stream.write(text if text.endswith("\n") else text + "\n")
        stream.flush()
    except OSError as err:
        # The interpreter flushes once more when it ends, and must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(err, BrokenPipeError):
            raise typer.Exit(EXIT_PIPE) from None
        raise InferformError(f"the result cannot be written: {err.strerror}") from err
