"""What was applied, kept for everybody beside the state: the next plan, drift or rollback may run on another machine.

A folder keeps the same for itself; here the two are brought together. Each apply that ended is one document, and `current.json` says
which of them is in the cloud. The shelf is only a copy: where it cannot be reached a command goes on with what its folder has, and
says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from inferform.errors import InferformError, InputError
from inferform.operate import history, record
from inferform.operate.folder import CONFIG, Folder, canonical, write
from inferform.operate.results import Applied
from pydantic import ValidationError

if TYPE_CHECKING:
    from inferform.operate.backend import Backend
    from inferform.operate.steps import Source, Steps

Json = dict[str, Any]
CURRENT = "current.json"
_NAME = re.compile(r"(\d{4,})-[0-9a-f]{12}\.json")
_FILE = re.compile(r"[a-z]+\.(json|yaml)")
_STACK = re.compile(r"[a-z][a-z0-9_]*")


class Shelf(Protocol):
    """Documents by name, beside the state of one deployment in one environment. Each method raises InferformError when it cannot."""

    def read(self, name: str) -> bytes | None:
        """A document; None when there is none."""

    def write(self, name: str, data: bytes) -> None:
        """Put a document there."""

    def names(self) -> Sequence[str]:
        """Every document."""


def shelf_of(source: Source, backend: Backend, steps: Steps) -> Shelf | None:
    """The shelf of a deployment; None where there is none, or where the spec cannot be sized and so does not say where it is."""
    if backend.shelf is None:
        return None
    try:
        return backend.shelf(steps.size(source))
    except InputError:
        return None


def pull(folder: Folder, shelf: Shelf | None) -> list[str]:
    """Bring folder and shelf to the later of the two; what could not be done, as warnings."""
    return _told(lambda: _pull(folder, shelf)) if shelf else []


def push(folder: Folder, shelf: Shelf | None) -> list[str]:
    """Put what is applied from the folder, or that nothing is any more, on the shelf; what could not be done, as warnings."""
    return _told(lambda: _push(folder, shelf)) if shelf else []


def _told(work: Callable[[], None]) -> list[str]:
    try:
        work()
    except InferformError as err:
        return [f"What was applied is kept in this folder only, not beside the state: {err}"]
    return []


def _pull(folder: Folder, shelf: Shelf) -> None:
    text = shelf.read(CURRENT)
    here = history.entries(folder)
    mine = here[-1].number if here else 0
    current = _json(text) if text is not None else {"number": 0, "applied": False}
    number, there = int(current["number"]), bool(current["applied"])
    if folder.unsent.is_file() or number < mine:
        _push(folder, shelf)
        return
    last: Json = {}
    missing = there and not folder.applied_record.is_file()
    for at, name in sorted((int(m.group(1)), name) for name in shelf.names() if (m := _NAME.fullmatch(name))):
        if (mine < at <= number or (missing and at == number)) and (document := shelf.read(name)) is not None:
            last = _json(document)
            _keep(folder, last)
    if there and last:
        _live(folder, last)
    elif not there and folder.applied_record.is_file():
        record.forget_applied(folder)


def _push(folder: Folder, shelf: Shelf) -> None:
    known = history.entries(folder)
    if not known:
        return
    # Until it is through, what this folder has counts: the next command sends it again.
    write(folder.unsent, "")
    there = folder.applied_record.is_file()
    on_shelf = set(shelf.names())
    for entry in known:
        name = f"{entry.number:04d}-{entry.digest[:12]}.json"
        if name not in on_shelf:
            # Only of the last one the folder has what terraform ran.
            shelf.write(name, canonical(_document(folder, entry, live=there and entry is known[-1])).encode())
    shelf.write(CURRENT, canonical({"number": known[-1].number, "digest": known[-1].digest, "applied": there}).encode())
    folder.unsent.unlink()


def _document(folder: Folder, entry: Applied, *, live: bool) -> Json:
    place = folder.history / f"{entry.number:04d}"
    files = {name: (place / name).read_text(encoding="utf-8") for name in entry.files}
    kept = record.read_record(folder.applied_record) if live else None
    configs = {stack: (folder.live(stack) / CONFIG).read_text(encoding="utf-8") for stack in kept.dependencies} if kept else {}
    return {"entry": entry.model_dump(mode="json"), "files": files, "record": kept.model_dump(mode="json") if kept else None, "configs": configs}


def _keep(folder: Folder, document: Json) -> None:
    """Add one entry to the folder's history; the entry itself comes last."""
    entry = _entry(document)
    place = folder.history / f"{entry.number:04d}"
    for name, text in document["files"].items():
        if not _FILE.fullmatch(name):
            raise InferformError(f"{name!r} is no file of an apply")
        write(place / name, text)
    write(place / history.ENTRY, entry.model_dump_json(indent=2) + "\n")


def _live(folder: Folder, document: Json) -> None:
    """Make a document what is applied from the folder, if it has all of that."""
    if not document["record"]:
        return
    for stack, text in document["configs"].items():
        if not _STACK.fullmatch(stack):
            raise InferformError(f"{stack!r} is no stack")
        write(folder.live(stack) / CONFIG, text)
    write(folder.applied_record, json.dumps(document["record"], indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    write(folder.applied_plan, document["files"][history.PLAN])
    folder.attempt.unlink(missing_ok=True)


def _entry(document: Json) -> Applied:
    try:
        return Applied.model_validate(document["entry"])
    except (ValidationError, KeyError) as err:
        raise InferformError("another version of inferform wrote it") from err


def _json(data: bytes) -> Json:
    try:
        found = json.loads(data)
    except ValueError as err:
        raise InferformError("it is not what inferform wrote") from err
    if not isinstance(found, dict):
        raise InferformError("it is not what inferform wrote")
    return found
