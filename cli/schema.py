"""`inferform schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from inferform.cli.output import Output, as_json

EXAMPLES = (
    "inferform schema > inferform.schema.json",
    "inferform schema --out .vscode/inferform.schema.json",
)


def run(
    out: Output,
    file: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it to a file instead.", show_default=False)] = None,
) -> None:
    """Print the JSON Schema of a spec.

    Draft 2020-12, with descriptions, examples and limits for editors and CI. Overlays are typed as partial specs.
    """
    from inferform.cli.files import write_text
    from inferform.schema import spec_schema

    text = as_json(spec_schema()) + "\n"
    if file is None:
        out.write(text)
        return
    write_text(file, text, replace=True)
    out.note(f"wrote {file}")
