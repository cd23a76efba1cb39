"""`inferform init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from inferform.cli.output import Output

EXAMPLES = (
    "inferform init > deployment.yaml",
    "inferform init --profile agentic --out agents.yaml",
    "inferform init --profile mixed --out assistants.yaml --force",
)
ProfileName = Literal["interactive", "batch", "agentic", "mixed"]


def run(
    out: Output,
    profile: Annotated[ProfileName, typer.Option("--profile", "-p", help="What the fleet is for.")] = "interactive",
    file: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it to a file instead.", show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
) -> None:
    """Write a starter spec.

    It validates as it is written and explains every field that it sets.
    """
    from inferform.cli.files import write_text
    from inferform.starters import starter

    text = starter(profile)
    if file is not None:
        write_text(file, text, replace=force)
        out.note(f"wrote {file}; next: inferform validate {file}")
    if file is None or out.format == "json":
        out.result({"profile": profile, "file": str(file) if file else None, "text": text}, lambda: text)
