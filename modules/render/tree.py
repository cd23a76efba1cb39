"""Writing a rendered tree: all of it or nothing, nothing left over from before, and never a folder that someone else wrote."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from inferform.errors import InputError, Problem, StateError

INDEX = "index.json"
# The index says who wrote a folder; only such folders are ever replaced.
FORMAT = "inferform-tree/1"


def write(files: Mapping[str, str], out: Path) -> None:
    """Writes the files below `out` and replaces what an earlier run left there.

    The new tree is written beside `out` and then takes its place, so that a failure changes nothing. Raises InputError
    for a path that would leave `out` or a folder that holds other things, StateError when the disk refuses.
    """
    _check_paths(files)
    if _format_of(files.get(INDEX)) != FORMAT:
        raise InputError(Problem(f"a tree needs {INDEX} of format {FORMAT}", field=INDEX))
    out = Path(os.path.abspath(out))  # noqa: PTH100 - resolve() would follow a link that stands in the way
    try:
        _check_target(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}.new-", dir=out.parent))
    except OSError as error:
        raise StateError(f"cannot write to {out}: {error.strerror or error}") from error
    try:
        for path, text in files.items():
            target = fresh / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8"))
        fresh.chmod(0o755)
        _take_place(fresh, out)
    except UnicodeEncodeError as error:
        raise InputError(Problem("holds half of a character (a lone surrogate) and cannot be written")) from error
    except OSError as error:
        raise StateError(f"cannot write to {out}: {error.strerror or error}; nothing was changed") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def check(out: Path) -> None:
    """Raises InputError unless `out` is missing, empty, or a tree of ours without additions: what `write` would replace."""
    _check_target(Path(os.path.abspath(out)))  # noqa: PTH100 - as in write


def same(files: Mapping[str, str], out: Path) -> bool:
    """Whether `out` holds exactly these files already, so that nothing needs to be written."""
    try:
        present = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file() and not p.is_symlink()}
        return present == set(files) and all((out / path).read_bytes() == text.encode("utf-8") for path, text in files.items())
    except (OSError, UnicodeEncodeError):
        return False


def remove(out: Path) -> bool:
    """Removes a tree of ours without additions; False where there is none. Raises InputError for a folder that holds other things."""
    if not out.is_dir() or out.is_symlink():
        return False
    _check_target(out)
    shutil.rmtree(out)
    return True


def _take_place(fresh: Path, out: Path) -> None:
    if not out.exists():
        fresh.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old-", dir=out.parent))
    try:
        # Renaming onto an empty folder is atomic, so `out` is missing only between the two renames.
        out.rename(old)
        try:
            fresh.rename(out)
        except OSError:
            old.rename(out)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _check_paths(files: Mapping[str, str]) -> None:
    problems = []
    folded: dict[str, str] = {}
    for path in files:
        parts = PurePosixPath(path).parts
        wrong = not path or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path or str(PurePosixPath(path)) != path or ":" in path
        if wrong:
            problems.append(Problem("is not a path below the output folder", field="path", value=ascii(path)[:80]))
        other = folded.setdefault(path.casefold(), path)
        if other != path:
            problems.append(Problem(f"cannot stand beside {other!r} on every file system", field="path", value=path[:80]))
        if any(str(parent) in files for parent in PurePosixPath(path).parents):
            problems.append(Problem("is a file and a folder at once", field="path", value=path[:80]))
    if problems:
        raise InputError(problems)


def _check_target(out: Path) -> None:
    """Raises InputError unless `out` is missing, empty, or a tree of ours without additions."""
    if out.is_symlink():
        raise InputError(Problem("is a link; name the folder itself", field="out", value=str(out)))
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(Problem("is not a folder", field="out", value=str(out)))
    present = {p.relative_to(out).as_posix() for p in out.rglob("*") if not p.is_dir() or p.is_symlink()}
    if not present and not any(out.iterdir()):
        return
    try:
        index = (out / INDEX).read_text(encoding="utf-8") if INDEX in present else None
    except (OSError, UnicodeDecodeError):
        index = None
    if _format_of(index) != FORMAT:
        raise InputError(Problem("holds files that were not written by this command", field="out", value=str(out), fix="name an empty or new folder"))
    known = {INDEX, *json.loads(index or "{}").get("files", {})}
    foreign = sorted(present - known)
    if foreign:
        raise InputError(
            Problem(
                f"holds {len(foreign)} file(s) that were not written by this command, such as {foreign[0]}",
                field="out",
                value=str(out),
                fix="move them away, or name another folder",
            )
        )


def _format_of(index: str | None) -> str | None:
    try:
        data = json.loads(index) if index else None
    except ValueError:
        return None
    return data.get("format") if isinstance(data, dict) else None
