"""One spec, many tenants: a file of values by tenant (YAML or CSV), each merged into the spec as an environment's overlay is.

YAML: `tenants: {NAME: {field: value, ...}}`. CSV: a column `tenant`, every other column the dotted path of a field; an empty cell
leaves the spec's own value. A row or entry without values is a tenant that takes the spec as it is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from inferform.errors import InputError, Problem
from inferform.load import LoadedSpec, load_overlaid
from inferform.load_yaml import MAX_BYTES, Node, parse

# What identifies a tenant, and what is the same for all of them.
_FIXED = {"tenant": "it is the tenant's own name", "apiVersion": "it is the same for all", "environments": "name one with --env"}
_NAME = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
_LONGEST_NAME = 63
_MOST = 10_000
_COLUMN = "tenant"


def load_tenants(spec: str | Path, environment: str | None, tenants: str | Path) -> dict[str, LoadedSpec]:
    """The spec of every tenant, by name in the file's order. Raises: InputError with every problem of both files, each at its place."""
    path = Path(tenants)
    file = str(path)
    try:
        data = path.read_bytes()
    except OSError as err:
        raise InputError(Problem(f"cannot be read: {err.strerror or err}", file=file)) from err
    if len(data) > MAX_BYTES:
        raise InputError(Problem(f"is larger than {MAX_BYTES // 2**20} MiB", file=file))
    values, problems = _from_csv(data, file) if path.suffix == ".csv" else _from_yaml(data, file)
    problems += [fault for name, node in values.items() for fault in _faults(name, node, file)]
    if not values and not problems:
        problems.append(Problem("names no tenant", field="tenants", file=file))
    if problems:
        raise InputError(problems)
    overlays = {name: _with_tenant(name, node) for name, node in values.items()}
    return load_overlaid(spec, environment, overlays, file)


def _with_tenant(name: str, node: Node) -> Node:
    entries = node.value if isinstance(node.value, dict) else {}
    return replace(node, value={**entries, _COLUMN: Node(name, node.line, text=name)})


def _faults(name: str, node: Node, file: str) -> Iterator[Problem]:
    if not _NAME.match(name) or len(name) > _LONGEST_NAME:
        yield Problem("is no name: lower-case letters, digits and dashes, at most 63 of them", field="tenants", value=name[:80], file=file, line=node.line)
    if node.value is not None and not isinstance(node.value, dict):
        yield Problem("wants a mapping of fields", field=f"tenants.{name}", file=file, line=node.line)
        return
    for key, why in _FIXED.items():
        if isinstance(node.value, dict) and key in node.value:
            yield Problem(f"cannot be set for a tenant: {why}", field=f"tenants.{name}.{key}", file=file, line=node.value[key].line)


def _from_yaml(data: bytes, file: str) -> tuple[dict[str, Node], list[Problem]]:
    root, problems = parse(data, file)
    top = root.value if isinstance(root.value, dict) else {}
    problems += [
        Problem("is not known here", field=key, file=file, line=node.line, legal=("tenants",), fix="write tenants: {NAME: {...}}")
        for key, node in top.items()
        if key != "tenants"
    ]
    found = top.get("tenants")
    if found is None or not isinstance(found.value, dict):
        line = found.line if found else None
        return {}, [*problems, Problem("wants a mapping of tenants by name", field="tenants", file=file, line=line, fix="write tenants: {NAME: {...}}")]
    return dict(found.value), problems


def _from_csv(data: bytes, file: str) -> tuple[dict[str, Node], list[Problem]]:
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as err:
        raise InputError(Problem(f"is no CSV: {err}", file=file)) from err
    header = [cell.strip() for cell in rows[0]] if rows else []
    if _COLUMN not in header:
        raise InputError(Problem("has no column tenant", field="columns", value=", ".join(header)[:80], file=file, line=1))
    problems = [Problem("stands twice", field="columns", value=name, file=file, line=1) for name in sorted({n for n in header if header.count(n) > 1})]
    found: dict[str, Node] = {}
    for line, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            problems.append(Problem(f"has {len(row)} cells for {len(header)} columns", field="row", file=file, line=line))
            continue
        cells = dict(zip(header, (cell.strip() for cell in row), strict=True))
        name = cells.pop(_COLUMN)
        if name in found:
            problems.append(Problem("stands twice", field="tenants", value=name[:80], file=file, line=line))
            continue
        try:
            found[name] = _tree({column: _value(cell, file, line, column) for column, cell in cells.items() if cell}, file, line)
        except InputError as err:
            problems += err.problems
    if len(found) > _MOST:
        problems.append(Problem(f"names {len(found)} tenants, at most {_MOST} go into one run", field="tenants", file=file))
    return found, problems


def _value(cell: str, file: str, line: int, column: str) -> Node:
    """A cell as YAML: numbers, true and false, lists and mappings in brackets, else text."""
    try:
        root, problems = parse(f"value: {cell}".encode(), file)
    except InputError as err:
        raise InputError(replace(p, field=column, line=line) for p in err.problems) from err
    if problems:
        raise InputError(replace(p, field=column, line=line) for p in problems)
    assert isinstance(root.value, dict)
    return _on_line(root.value["value"], line)


def _on_line(node: Node, line: int) -> Node:
    if isinstance(node.value, dict):
        return replace(node, line=line, value={key: _on_line(child, line) for key, child in node.value.items()})
    if isinstance(node.value, list):
        return replace(node, line=line, value=[_on_line(child, line) for child in node.value])
    return replace(node, line=line)


def _tree(fields: dict[str, Node], file: str, line: int) -> Node:
    """Values at dotted paths as the mapping that they would be in a spec."""
    root: dict[str, Node] = {}
    for path, value in fields.items():
        *above, last = path.split(".")
        entries = root
        for key in above:
            node = entries.setdefault(key, Node({}, line))
            if not isinstance(node.value, dict):
                raise InputError(Problem("is a value in another column, and has no fields", field=path, file=file, line=line))
            entries = node.value
        entries[last] = value
    return Node(root, line)
