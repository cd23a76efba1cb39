"""Draws the progress of plan, apply, drift and destroy: bars on a terminal, a line a stage elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from inferform.cli.output import Output, is_terminal, printable
from inferform.operate.progress import Progress, Step, silent


@contextmanager
def drawn(out: Output) -> Iterator[Progress]:
    """Something that takes the steps of a run and shows them on standard error."""
    if out.quiet:
        yield silent
    elif is_terminal(sys.stderr):
        with _bars() as progress:
            yield progress
    else:
        yield lambda step: _line(out, step)


def _name(step: Step) -> str:
    return printable(f"{step.phase} {step.stack}".strip())


def _line(out: Output, step: Step) -> None:
    """One line when a stage begins, and one when it ends where there is something to tell."""
    if step.state == "begin":
        out.note(_name(step))
    elif step.state == "end" and step.text:
        out.note(f"{_name(step)}: {printable(step.text)}")


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (SpinnerColumn(finished_text=" "), TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def draw(step: Step) -> None:
            key = (step.phase, step.stack)
            if key not in tasks:
                tasks[key] = bars.add_task(escape(_name(step)), total=step.total or None)
            if step.state == "end":
                bars.update(tasks[key], total=max(step.done, 1), completed=max(step.done, 1), description=escape(_name(step)))
            elif step.state == "progress":
                what = f"{_name(step)}: {printable(step.action)} {printable(step.address)}"[:60]
                bars.update(tasks[key], total=step.total or None, completed=step.done, description=escape(what))

        yield draw
