"""Engine versions as people write them, and their order."""

from __future__ import annotations

import re

from inferform.errors import InputError, Problem

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[.-]?(post|rc)(\d+))?")


def version_key(version: str) -> tuple[int, int, int, int]:
    """A sortable key: 0.9 < 0.18.0rc1 < 0.18.0 < 0.18.0.post1. Raises InputError for what is no version."""
    match = _VERSION.fullmatch(version.strip())
    if not match:
        raise InputError(Problem("is not an engine version", field="engine_version", value=version[:40], fix="write it as 0.33.0"))
    major, minor, patch, suffix, number = match.groups()
    order = {"rc": -1_000_000 + int(number or 0), "post": int(number or 0) + 1, None: 0}[suffix]
    return int(major), int(minor), int(patch or 0), order


def full_version(version: str) -> str:
    """The version with all three numbers, as image tags carry it: 0.19 becomes 0.19.0."""
    version_key(version)
    match = _VERSION.fullmatch(version.strip())
    assert match is not None
    major, minor, patch, suffix, number = match.groups()
    return f"{major}.{minor}.{patch or 0}" + (f"{'.' if suffix == 'post' else ''}{suffix}{number}" if suffix else "")
