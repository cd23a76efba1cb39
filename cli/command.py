"""Turns a command module into a command: its `run` function, with the options that every command has.

A command module has a docstring, `EXAMPLES` and `run(out, ...) -> int | None`; `FORMATS` where it prints more than text and JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, Literal

import typer
from inferform.cli.output import Output
from typer.core import TyperCommand

FORMATS = ("text", "json")
SETTINGS = {"help_option_names": ["--help", "-h"], "max_content_width": 100}

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal fault.")]


def load(name: str) -> TyperCommand:
    """The command called `name`, from the module of the same name."""
    module = import_module(f"inferform.cli.{name}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name=name, help=inspect.getdoc(module.run), epilog=_epilog(module), context_settings=dict(SETTINGS))(_with_shared_options(module))
    command = typer.main.get_command(app)
    if not isinstance(command, TyperCommand):
        raise TypeError(f"{name} is not one command")
    return command


def formats(module: ModuleType) -> tuple[str, ...]:
    """The output formats of a command."""
    return getattr(module, "FORMATS", FORMATS)


def _with_shared_options(module: ModuleType) -> Callable[..., int]:
    """`run` with --format, --quiet and --debug in front of it; it gets an Output in their place."""
    run = module.run
    choices = formats(module)
    signature = inspect.signature(run, eval_str=True)
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in list(signature.parameters.values())[1:]]
    chosen = Annotated[Literal[choices], typer.Option("--format", "-f", help="How the result is printed.")]  # type: ignore[valid-type]
    shared = [
        inspect.Parameter("format", inspect.Parameter.KEYWORD_ONLY, default=choices[0], annotation=chosen),
        inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet),
        inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug),
    ]

    # `debug` is read by the program around the commands, which meets the fault.
    def invoke(*, format: str, quiet: bool, debug: bool, **values: Any) -> int:
        return run(Output(format=format, quiet=quiet), **values) or 0

    invoke.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    invoke.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    return invoke


def _epilog(module: ModuleType) -> str:
    # \b keeps the lines of the paragraph as they are.
    return "\b\n" + "\n".join(["Examples:", *(f"  {example}" for example in module.EXAMPLES)])
