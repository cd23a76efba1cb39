"""Writing one file that a command was asked for."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from inferform.errors import InputError, Problem


def write_text(path: Path, text: str, *, replace: bool) -> None:
    """Writes a file of text whole or not at all. Raises: as `write_bytes`."""
    write_bytes(path, text.encode("utf-8"), replace=replace)


def write_bytes(path: Path, data: bytes, *, replace: bool) -> None:
    """Writes a file whole or not at all.

    Raises: InputError where the file is there and may not be replaced, or the folder cannot be written.
    """
    if path.exists() and not replace:
        raise InputError(Problem("is there already", file=str(path), fix="choose another name, or replace it with --force"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            file.write(data)
        temporary = Path(file.name)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as err:
        raise InputError(Problem(f"cannot be written: {err.strerror or err}", file=str(path))) from err


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
