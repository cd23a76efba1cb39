"""The program around the commands: help, exit codes, streams, errors and interruptions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from inferform import __version__
from inferform.cli.command import formats, load
from inferform.cli.main import COMMANDS, main
from inferform.cli.output import Output, paint
from specs import MINIMAL, with_model, write

Run = Callable[..., object]


def python(code: str, *args: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter with the package, to look at what was imported or how it ends."""
    return subprocess.run([sys.executable, "-c", code, *args], text=True, capture_output=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


PROGRAM = "import sys; from inferform.cli.main import main; sys.exit(main(sys.argv[1:]))"


def test_help_lists_every_command_with_one_line(inferform: Run) -> None:
    """`inferform --help` shows each command and its first sentence on one line of at most 100 columns."""
    ran = inferform("--help")
    assert 0 == ran.code
    for name, words in COMMANDS.items():
        assert any(line.split() == [name, *words.split()] for line in ran.out.splitlines()), name
    assert 100 >= max(len(line) for line in ran.out.splitlines())


def test_help_imports_no_command_and_no_library_of_weight() -> None:
    """The help of the program needs neither the commands nor pydantic, rich, cdktf or boto3."""
    heavy = "[m for m in sys.modules if m.split('.')[0] in ('pydantic', 'rich', 'cdktf', 'boto3', 'botocore', 'jinja2', 'regopy', 'yaml')]"
    ran = python(
        f"import sys; from inferform.cli.main import main, COMMANDS; main(['--help']); print({heavy} + [c for c in COMMANDS if 'inferform.cli.' + c in sys.modules])"
    )
    assert "[]" == ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_command_says_what_it_does_with_examples(name: str, inferform: Run) -> None:
    """Each command's help starts with the sentence of the list, explains its options and has two or three examples that name it."""
    module = import_module(f"inferform.cli.{name}")
    ran = inferform(name, "--help")
    assert 0 == ran.code
    assert COMMANDS[name] in ran.out
    assert 100 >= max(len(line) for line in ran.out.splitlines())
    assert 2 <= len(module.EXAMPLES) <= 4
    assert all(f"inferform {name}" in example and example in ran.out for example in module.EXAMPLES)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_the_shared_options(name: str) -> None:
    """--format with text and json, --quiet, --debug and --help are on every command, and every option is explained."""
    command = load(name)
    options = {o for p in command.params for o in p.opts}
    assert {"--format", "--quiet", "--debug"} <= options
    assert {"text", "json"} <= set(formats(import_module(f"inferform.cli.{name}")))
    assert [] == [p.name for p in command.params if not getattr(p, "help", None)]


def test_no_command_at_all_is_a_usage_error_with_the_help(inferform: Run) -> None:
    """`inferform` alone shows the help and ends with 2."""
    ran = inferform()
    assert 2 == ran.code
    assert "Commands:" in ran.out


def test_version(inferform: Run) -> None:
    """--version prints name and version."""
    assert (0, f"inferform {__version__}\n") == ((ran := inferform("--version")).code, ran.out)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["validat", "x"], "did you mean validate?"),
        (["validate", "--fromat", "json", "x"], "did you mean --format?"),
        (["validate", "--format", "xml", "x"], "'xml' is not one of 'text', 'json'"),
        (["validate"], "Missing argument 'SPEC'"),
        (["validate", "x", "y"], "see inferform validate --help"),
        (["--no-such"], "see inferform --help"),
    ],
)
def test_mistakes_on_the_command_line_end_with_2_and_a_hint(args: list[str], words: str, inferform: Run) -> None:
    """A slip in a command or option names the nearest; nothing goes to standard output."""
    ran = inferform(*args)
    assert (2, "") == (ran.code, ran.out)
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_errors_read_as_file_line_field_message(tmp_path: Path, inferform: Run) -> None:
    """A problem starts with file:line, so that editors and terminals can follow it; remedies stand below it."""
    path = write(tmp_path, with_model("engine: vlm"))
    ran = inferform("validate", path)
    assert (2, "") == (ran.code, ran.out)
    assert [
        f"{path}:12: models.llama-8b.engine: is not one of the legal values (found vlm)", "    legal: vllm, tensorrt-llm, sglang", "    did you mean vllm?"
    ] == ran.err.splitlines()  # fmt: skip


@pytest.mark.parametrize("flag", [["--format", "json"], ["--format=json"], ["-f", "json"]])
def test_errors_are_json_where_results_are(flag: list[str], tmp_path: Path, inferform: Run) -> None:
    """With --format json the error is one JSON document on standard error."""
    ran = inferform("validate", write(tmp_path, with_model("engine: vlm")), *flag)
    assert (2, "", "InputError") == (ran.code, ran.out, ran.error["kind"])
    assert [("models.llama-8b.engine", 12, "vlm", ["vllm", "tensorrt-llm", "sglang"])] == [
        (p["field"], p["line"], p["value"], p["legal"]) for p in ran.error["problems"]
    ]


def test_json_mode_reports_usage_errors_as_json_too(inferform: Run) -> None:
    """A missing argument is a JSON error as well."""
    ran = inferform("validate", "--format", "json")
    assert 2 == ran.code
    assert "Missing argument" in ran.error["problems"][0]["message"]


def test_standard_input_is_a_spec(tmp_path: Path) -> None:
    """`cat spec | inferform validate -` works."""
    ran = python(PROGRAM, "validate", "-", input=MINIMAL)
    assert (0, "<stdin>: valid (default)\n", "") == (ran.returncode, ran.stdout, ran.stderr)


def test_a_closed_pipe_is_no_error() -> None:
    """A reader that goes away ends the program quietly, as SIGPIPE would."""
    read, written = os.pipe()
    os.close(read)
    ran = subprocess.run([sys.executable, "-c", PROGRAM, "schema"], stdout=written, stderr=subprocess.PIPE, text=True, check=False)
    os.close(written)
    assert (141, "") == (ran.returncode, ran.stderr)


def test_standard_output_may_be_closed() -> None:
    """`>&-` is no fault of ours."""
    ran = subprocess.run(["/bin/sh", "-c", f"'{sys.executable}' -c '{PROGRAM}' schema >&-"], stderr=subprocess.PIPE, text=True, check=False)
    assert (0, "") == (ran.returncode, ran.stderr)


def test_interruption_ends_with_130(monkeypatch: pytest.MonkeyPatch, inferform: Run) -> None:
    """Ctrl-C ends the program with 130 and one word."""

    def interrupted(name: str) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("inferform.cli.main.load", interrupted)
    ran = inferform("validate", "x")
    assert (130, "stopped\n") == (ran.code, ran.err)


FAULT = "import sys; import inferform.cli.main as p\ndef broken(name): raise RuntimeError('wheels\\ncame off')\np.load = broken\nsys.exit(p.main(sys.argv[1:]))"


def test_a_fault_of_ours_is_one_line_and_exit_1() -> None:
    """An unexpected exception prints one line that says how to get the traceback, not the traceback."""
    ran = python(FAULT, "validate", "x")
    assert (1, "") == (ran.returncode, ran.stdout)
    assert ["internal fault: RuntimeError: wheels came off; run again with --debug and report what it prints"] == ran.stderr.splitlines()


def test_debug_shows_the_traceback() -> None:
    """--debug prints the whole traceback of a fault."""
    ran = python(FAULT, "validate", "x", "--debug")
    assert 1 == ran.returncode
    assert "Traceback (most recent call last)" in ran.stderr


def test_colours_only_on_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR, a dumb terminal and anything that is no terminal get plain text."""

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[31mx\x1b[0m" == paint("x", "red", Terminal())  # type: ignore[arg-type]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "x" == paint("x", "red", Terminal())  # type: ignore[arg-type]
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "x" == paint("x", "red", Terminal())  # type: ignore[arg-type]


def test_notes_go_to_standard_error_and_quiet_drops_them(capsys: pytest.CaptureFixture[str]) -> None:
    """What is said beside the result is on standard error; --quiet leaves it out, warnings stay."""
    Output().note("working")
    Output(quiet=True).note("working")
    Output(quiet=True).warn("careful")
    assert ("", "working\nwarning: careful\n") == capsys.readouterr()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    """A shell can source the completion script of its kind."""
    ran = python(PROGRAM, env={**os.environ, "_INFERFORM_COMPLETE": f"source_{shell}"})
    assert 0 == ran.returncode
    assert "inferform" in ran.stdout
    assert "_INFERFORM_COMPLETE" in ran.stdout


def test_completion_knows_commands_and_options() -> None:
    """Completing a command and an option gives the names that fit."""
    for words, expected in (("inferform val", "validate"), ("inferform validate --for", "--format")):
        env = {**os.environ, "_INFERFORM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        assert expected in python(PROGRAM, env=env).stdout.split()


def test_unprintable_text_in_an_error_is_escaped(tmp_path: Path, inferform: Run) -> None:
    """A file name or value cannot steer the terminal through a message."""
    ran = inferform("validate", str(tmp_path / "a\x1b[31m.yaml"))
    assert 2 == ran.code
    assert "\x1b" not in ran.err
    assert "\\x1b" in ran.err


def test_main_can_be_called_with_arguments() -> None:
    """The entry point takes its arguments from the caller where it gets some."""
    assert 0 == main(["--version"])


@pytest.mark.parametrize("closed", ["validate - <&-", "memory --batch - <&-"])
def test_standard_input_may_be_closed(closed: str) -> None:
    """Reading from a closed standard input is an input error."""
    ran = subprocess.run(["/bin/sh", "-c", f"'{sys.executable}' -c '{PROGRAM}' {closed}"], capture_output=True, text=True, check=False)
    assert (2, "error: standard input is closed\n") == (ran.returncode, ran.stderr)


def test_a_full_disk_is_no_fault_of_ours() -> None:
    """A result that cannot be written is one line and exit 1."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run([sys.executable, "-c", PROGRAM, "schema"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (1, "error: the result cannot be written: No space left on device\n") == (ran.returncode, ran.stderr)


def test_values_of_options_are_asked_for_in_words(inferform: Run) -> None:
    """A number that is none is told without the words of a library."""
    ran = inferform("memory", "--tp", "x")
    assert 2 == ran.code
    assert "Invalid value for '--tp': wants a whole number" in ran.err
