"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Spec = Annotated[str, typer.Argument(metavar="SPEC", help="Deployment spec; - reads standard input.", show_default=False)]
Env = Annotated[str | None, typer.Option("--env", "-e", metavar="NAME", help="Environment whose overlay is merged in.", show_default=False)]
OutFolder = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; what an earlier run left in it is replaced.", show_default=False)]
