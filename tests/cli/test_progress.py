"""Progress is drawn on a terminal, told in lines elsewhere, and not at all with --quiet."""

from __future__ import annotations

import io
import sys

import pytest
from inferform.cli.output import Output
from inferform.cli.progress import drawn
from inferform.operate.progress import Step

STEPS = (
    Step("plan", "begin", "network"),
    Step("plan", "progress", "network", address="aws_vpc.main[red]", action="create", done=1, total=3),
    Step("plan", "end", "network", done=3, total=3, text="3 changes"),
    Step("check", "begin"),
    Step("check", "end"),
)


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_elsewhere_each_stage_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A stage's beginning, and its end where there is something to say; nothing on standard output."""
    with drawn(Output()) as progress:
        for step in STEPS:
            progress(step)
    assert ("", "plan network\nplan network: 3 changes\ncheck\n") == capsys.readouterr()


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """--quiet is silent."""
    with drawn(Output(quiet=True)) as progress:
        for step in STEPS:
            progress(step)
    assert ("", "") == capsys.readouterr()


def test_a_terminal_gets_bars(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Bars with the stage and the resource, whose brackets are text and no markup; standard output stays empty."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with drawn(Output()) as progress:
        for step in STEPS[:2]:
            progress(step)
    assert "aws_vpc.main[red]" in terminal.getvalue()
    assert "1/3" in terminal.getvalue()
    assert "" == capsys.readouterr().out


def test_long_work_draws_a_bar_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The count of answered lines is drawn on a terminal and left out elsewhere."""
    with Output().progress("answered") as tell:
        tell(200)
    assert ("", "") == capsys.readouterr()
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with Output().progress("answered") as tell:
        tell(200)
    assert "answered" in terminal.getvalue()
    assert "200" in terminal.getvalue()
