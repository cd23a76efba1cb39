"""Reads the data files beside this package: every row as a mapping of column name to text."""

from __future__ import annotations

import csv
from importlib import resources

_DATA = resources.files("inferform.catalog.data")


def rows(name: str) -> list[dict[str, str]]:
    """Rows of one CSV file in `catalog/data/`, in file order; an empty cell is an empty string."""
    lines = csv.reader(_DATA.joinpath(name).read_text(encoding="utf-8").splitlines())
    header = next(lines)
    return [dict(zip(header, line, strict=True)) for line in lines]


def number(text: str) -> float | None:
    """A figure, None when the cell is empty."""
    return float(text) if text else None


def whole(text: str) -> int | None:
    """A whole figure, None when the cell is empty."""
    return int(text) if text else None


def scaled(text: str, unit: float) -> float | None:
    """A figure in base units: cell x unit."""
    return float(text) * unit if text else None
