"""The demonstration: `python -m inferform.cli.demo SPEC` (`make demo`). A program of its own, not one of the commands."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from inferform.cli.options import Env
from inferform.cli.output import Output
from inferform.errors import EXIT_DENIED, EXIT_DONE

EXAMPLES = (
    "python -m inferform.cli.demo examples/chat-8b.yaml",
    "python -m inferform.cli.demo examples/mixed.yaml --out /tmp/demo",
    "python -m inferform.cli.demo --serve 5555",
)


def run(
    out: Output,
    spec: Annotated[str | None, typer.Argument(metavar="SPEC", help="Deployment spec.", show_default=False)] = None,
    *,
    env: Env = None,
    folder: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder to keep.", show_default="one that is removed")] = None,
    serve: Annotated[int | None, typer.Option("--serve", metavar="PORT", help="Only run the double of AWS, for --sandbox.", show_default=False)] = None,
) -> int:
    """Run the whole job on a spec, on a double of AWS.

    Sizes, renders, synthesizes and checks it; where terraform is installed also plans, applies, plans again and destroys.
    """
    if serve is not None or spec is None:
        return _serve(out, serve or 0)
    from inferform.cli.formats.demo_text import demo_text
    from inferform.cli.progress import drawn
    from inferform.cli.session import actor, backend, rules
    from inferform.load import load_spec, located
    from inferform.sandbox.demo import demo

    loaded = load_spec(spec, env)
    judged = rules(None, strict=False, folders=None)
    with tempfile.TemporaryDirectory(prefix="inferform-demo-") as scratch, located(loaded), drawn(out) as progress:
        report = demo(loaded, folder or Path(scratch), progress, backend_at=backend, actor=actor(), rules=judged)
    out.result(report, lambda: demo_text(report, kept=folder is not None))
    return EXIT_DENIED if report.verdict.denied else EXIT_DONE


def _serve(out: Output, port: int) -> int:
    """The double alone, until Ctrl-C; its state goes with it."""
    from inferform.sandbox.server import Double

    with Double(port) as double:
        out.write(double.url)
        out.note(f"The double of AWS runs until Ctrl-C. Try: inferform plan examples/chat-8b.yaml --sandbox {double.url}")
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    from inferform.cli.main import COMMANDS, main

    COMMANDS["demo"] = "Run the whole job on a spec, on a double of AWS."
    sys.exit(main(["demo", *sys.argv[1:]]))
