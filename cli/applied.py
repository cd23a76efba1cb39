"""Deployments whose spec cannot be read any more: what was applied from it stands in for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inferform.cli.output import Output
from inferform.errors import InputError

# Problems of operate that are about an option, not a field of the spec.
_OPTIONS = ("confirm", "out", "stack", "to")

if TYPE_CHECKING:
    from inferform.operate.backend import Backend
    from inferform.operate.folder import Folder
    from inferform.operate.steps import Source


def applied_folder(spec: str, env: str | None, folder: Path | None) -> Folder:
    """The folder of a deployment, by its spec where that can be read, else by what was applied from that file or under that name.

    Raises: InputError of the spec when neither tells.
    """
    from inferform.load import DEFAULT_ENVIRONMENT, load_spec
    from inferform.operate import history

    unread: InputError | None = None
    try:
        by_spec = history.of(load_spec(spec, env), folder)
        if folder is not None or by_spec.history.is_dir():
            return by_spec
    except InputError as err:
        unread = err
    found = history.locate(spec, env or DEFAULT_ENVIRONMENT, folder)
    if found is not None:
        return found
    if unread is not None:
        raise unread
    return by_spec


def source_to_apply(spec: str, env: str | None, folder: Path | None) -> tuple[Source, Path | None]:
    """The spec, and the folder; a saved rollback needs no spec, so where that is gone or has another name it stands in."""
    from inferform.load import DEFAULT_ENVIRONMENT, load_spec
    from inferform.operate import history, rollback
    from inferform.operate.steps import Steps

    try:
        loaded = load_spec(spec, env)
    except InputError:
        found: Folder | None = applied_folder(spec, env, folder)
        past = rollback.saved(found, Steps()) if found else None
        if found is None or past is None:
            raise
        return past.source, found.root
    if folder is None and not history.of(loaded, None).record.is_file():
        found = history.locate(spec, env or DEFAULT_ENVIRONMENT, None)
        past = rollback.saved(found, Steps()) if found else None
        if found is not None and past is not None:
            return past.source, found.root
    return loaded, folder


def source_in_cloud(out: Output, spec: str, env: str | None, folder: Path | None) -> tuple[Source, Path | None]:
    """The spec, and the folder; where the file is gone, what was applied from it last."""
    from inferform.load import load_spec
    from inferform.operate import history

    try:
        return load_spec(spec, env), folder
    except InputError:
        if Path(spec).exists() or spec == "-":
            raise
        found = applied_folder(spec, env, folder)
        known = history.entries(found)
        if not known:
            raise
        out.warn(f"{spec} is gone; this works from apply {known[-1].number}, kept in {found.root}")
        return history.past(found, known[-1].number).source, found.root


def brought_up_to_date(spec: str, env: str | None, folder: Folder, backend: Backend) -> list[str]:
    """Fetches into a folder what was applied elsewhere, where the spec can be read and so says where that is kept; warnings."""
    from inferform.load import load_spec
    from inferform.operate import archive
    from inferform.operate.steps import Steps

    if backend.shelf is None:
        return []
    try:
        source = load_spec(spec, env)
    except InputError:
        return []
    return archive.pull(folder, archive.shelf_of(source, backend, Steps()))


@contextmanager
def placed(source: Source | None) -> Iterator[None]:
    """Gives InputErrors raised inside their place: the option they are about, else file and line of a spec that was read."""
    from inferform.load import LoadedSpec, annotate

    try:
        yield
    except InputError as err:
        named = [replace(p, field=f"--{p.field}", file="") if p.field in _OPTIONS else p for p in err.problems]
        if isinstance(source, LoadedSpec):
            spec = source
            named = [q for p in named for q in ([p] if p.field.startswith("--") else annotate([p], spec))]
        raise InputError(named) from err
