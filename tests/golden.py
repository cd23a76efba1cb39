"""Golden folders: what a case must give, file by file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def check(found: Mapping[str, str], folder: Path, *, write: bool) -> None:
    """Compare `found` (path below the folder -> text) with the folder, or write it there; a failure names the command that writes."""
    kept = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file()}
    if write:
        for path in kept.keys() - found.keys():
            kept[path].unlink()
        for name, text in found.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        return
    command = f"python -m pytest {folder.relative_to(ROOT).parts[0]}/{folder.relative_to(ROOT).parts[1]} --golden-write"
    assert sorted(kept) == sorted(found), f"other files than in {folder.relative_to(ROOT)}; if that is meant: {command}"
    for name, text in sorted(found.items()):
        assert kept[name].read_text(encoding="utf-8") == text, f"{folder.relative_to(ROOT) / name} differs; if that is meant: {command}"
