"""A folder of trees, one a tenant. Trees that have not changed are not touched, and those of tenants that are gone are removed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inferform.errors import InputError, Problem, StateError
from inferform.render import tree

INDEX = "tenants.json"
FORMAT = "inferform-tenants/1"


@dataclass(frozen=True, slots=True)
class Written:
    """What a run did, tenants by name."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def write_tenants(trees: Mapping[str, Mapping[str, str]], out: Path) -> Written:
    """Writes each tenant's files to a folder of its name below `out`; each tree is replaced as a whole.

    Raises InputError where `out` or a tenant's folder holds other things, before anything is written; StateError when the disk refuses.
    """
    known = _known(out)
    gone = sorted(known - set(trees))
    for name in (*trees, *gone):
        tree.check(out / name)
    written, unchanged = [], []
    for name, files in trees.items():
        if tree.same(files, out / name):
            unchanged.append(name)
            continue
        tree.write(files, out / name)
        written.append(name)
    removed = [name for name in gone if tree.remove(out / name)]
    if written or removed or not (out / INDEX).exists():
        _write_index(out, sorted(trees))
    return Written(tuple(written), tuple(unchanged), tuple(removed))


def _known(out: Path) -> set[str]:
    """Tenants of an earlier run. Raises InputError for a folder that is not one of ours."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return set()
    try:
        data = json.loads((out / INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(Problem("holds no tenants' trees that were written by this command", field="out", value=str(out), fix="name an empty or new folder"))
    return {str(name) for name in data.get("tenants", ()) if "/" not in str(name) and str(name) not in ("", ".", "..")}


def _write_index(out: Path, names: list[str]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        fresh = out / f".{INDEX}.new"
        fresh.write_text(json.dumps({"format": FORMAT, "tenants": names}, indent=2) + "\n", encoding="utf-8")
        fresh.replace(out / INDEX)
    except OSError as error:
        raise StateError(f"cannot write to {out}: {error.strerror or error}") from error
