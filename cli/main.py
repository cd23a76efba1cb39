"""The program `inferform`: its commands, and what happens when one of them fails.

Command modules are imported when their command runs, so that `--help` and completion stay fast.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Annotated, Any

# Looking for pydantic plugins reads the metadata of every installed package; none is used here.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

import typer
from inferform import __version__
from inferform.cli.command import SETTINGS, load
from inferform.cli.output import emit
from inferform.errors import EXIT_DONE, EXIT_INPUT, InferformError, InputError, Nearest, Problem
from typer.core import TyperCommand, TyperGroup

EXIT_STOPPED = 130  # 128 + SIGINT
PROGRAM = "inferform"
_KINDS = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}

# In the order of the work; the words are the first sentence of the command's own help.
COMMANDS: dict[str, str] = {
    "init": "Write a starter spec.",
    "validate": "Check a spec in every environment.",
    "schema": "Print the JSON Schema of a spec.",
    "size": "Size a deployment.",
    "cost": "Price a deployment by pool.",
    "memory": "Plan the memory of one GPU.",
    "estimate": "Estimate latency and throughput of one replica.",
    "calibrate": "Correct the estimates by own benchmark runs.",
    "render": "Render the Kubernetes objects of a deployment.",
    "synth": "Write the Terraform configuration of a deployment.",
    "check": "Judge a deployment by the policy rules.",
    "bootstrap": "Make the bucket for Terraform state.",
    "preflight": "Check the cloud account before an apply.",
    "plan": "Plan what apply would do, and save it.",
    "apply": "Apply exactly the saved plan.",
    "rollback": "Plan an earlier apply again.",
    "drift": "Find what changed behind Terraform's back.",
    "destroy": "Destroy a deployment, stack by stack in reverse order.",
    "breakeven": "Compare an own fleet with a managed API.",
}


class LazyGroup(TyperGroup):
    """The group of all commands; a command's module is imported when the command is asked for."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> TyperCommand | None:  # type: ignore[override]
        return load(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            close = Nearest(name, tuple(COMMANDS)).suggestions(1)
            raise InputError(Problem("there is no such command", value=name, legal=tuple(COMMANDS), fix=f"did you mean {close[0]}?" if close else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


def root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal fault.")] = False,
) -> None:
    """One typed spec becomes a sized, priced, checked, planned and applied LLM-inference fleet."""


def program() -> TyperGroup:
    """The whole program as a command."""
    app = typer.Typer(cls=LazyGroup, rich_markup_mode=None, context_settings=dict(SETTINGS), pretty_exceptions_enable=False)
    app.callback()(root)
    command = typer.main.get_command(app)
    if not isinstance(command, TyperGroup):
        raise TypeError("the program is a group of commands")
    return command


def main(args: Sequence[str] | None = None) -> int:
    """Runs the program and gives its exit code: 0 done, 1 failed, 2 bad input, 3 denied, 4 differences, 5 a tool is missing."""
    given = list(sys.argv[1:] if args is None else args)
    if not given:
        main(["--help"])
        return EXIT_INPUT
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets an escape instead of a crash.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = _traceback if "--debug" in given else _one_line
    try:
        code = program().main(given, prog_name=PROGRAM, standalone_mode=False)
    except InferformError as err:
        return _failed(err, given)
    except typer.TyperException as err:
        return _failed(_usage(err), given)
    except (KeyboardInterrupt, typer.Abort):
        # Abort: a question was left without an answer.
        code = EXIT_STOPPED
    if code == EXIT_STOPPED:
        emit("stopped", sys.stderr)
    return code if isinstance(code, int) else EXIT_DONE


def _usage(err: typer.TyperException) -> InputError:
    """A mistake on the command line as an input error that says where the help is."""
    context = getattr(err, "ctx", None)
    command = context.command_path if context else PROGRAM
    message = re.sub(
        r"Input should be a valid (integer|number|boolean)[^.]*", lambda m: f"wants {_KINDS[m[1]]}", err.format_message().replace("Value error, ", "")
    )
    options = tuple(sorted(getattr(err, "possibilities", None) or ()))
    if options:
        fix = f"did you mean {options[0]}?" if len(options) == 1 else f"did you mean one of {', '.join(options)}?"
        return InputError(Problem(f"{command}: {err.message}", fix=fix))
    return InputError(Problem(f"{command}: {' '.join(message.split())}", fix=f"see {command} --help"))


def _failed(err: InferformError, args: Sequence[str]) -> int:
    from inferform.cli.formats.errors import error_json, error_text

    wanted = "--format=json" in args or any(pair in (("--format", "json"), ("-f", "json")) for pair in itertools.pairwise(args))
    emit(error_json(err) if wanted else error_text(err), sys.stderr)
    return err.exit_code


def _one_line(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
    """Python's last resort for a fault of ours: one line; the interpreter then ends with 1."""
    text = " ".join(str(value).split())[:300]
    emit(f"internal fault: {kind.__name__}: {text}; run again with --debug and report what it prints", sys.stderr)


def _traceback(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
    traceback.print_exception(kind, value, trace)


if __name__ == "__main__":
    sys.exit(main() or EXIT_DONE)
