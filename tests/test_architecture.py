"""Who may import whom, and the other rules of the house that a reader would otherwise have to remember."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"modules": "inferform", "cli": "inferform.cli", "stacks": "inferform.stacks", "templates": "inferform.templates", "policies": "inferform.policies"}

# The plan and the spec lie in several files; who may read one may read all.
PLAN, SPEC = (
    {f"inferform.{path.stem}" for path in (ROOT / "modules").glob(f"{name}*.py") if path.stem == name or "_" in path.stem} for name in ("plan", "spec")
)
READERS = {"inferform.errors", *PLAN}

# For each part: the parts of ours that it may import. A part is the longest matching prefix.
ALLOWED: dict[str, set[str]] = {
    "inferform.errors": set(),
    "inferform.quantities": set(),
    "inferform.labels": set(),
    "inferform.names": set(),
    **dict.fromkeys(PLAN, READERS),
    **{key: {"inferform.quantities", "inferform.names", *SPEC} for key in SPEC},
    "inferform.catalog": {"inferform.errors", "inferform.catalog"},
    "inferform.sizing": {*READERS, "inferform.quantities", "inferform.catalog", "inferform.sizing"},
    "inferform.cloud": {*READERS, "inferform.cloud"},
    "inferform.measurements": {"inferform.errors", "inferform.measurements"},
    "inferform.engines": {*READERS, "inferform.quantities", "inferform.engines", "inferform.labels"},
    "inferform.planning": {
        *READERS,
        *SPEC,
        "inferform",
        "inferform.quantities",
        "inferform.catalog",
        "inferform.sizing",
        "inferform.engines",
        "inferform.planning",
    },
    "inferform.render": {*READERS, "inferform.quantities", "inferform.engines", "inferform.labels", "inferform.render"},
    "inferform.simulate": {*READERS, "inferform.quantities", "inferform.engines", "inferform.simulate"},
    "inferform.stacks": {*READERS, "inferform.labels", "inferform.stacks"},
    # A program, for `cdktf synth`: it joins loading, planning and synthesis as the command line does.
    "inferform.stacks.main": {*READERS, "inferform.load", "inferform.planner", "inferform.stacks"},
}
# An outside library that only one part may import.
ONLY = {
    "cdktf": "inferform.stacks",
    "cdktn": "inferform.stacks",
    "constructs": "inferform.stacks",
    "jsii": "inferform.stacks",
    "regopy": "inferform.policy",
    "moto": "inferform.sandbox",
    "typer": "inferform.cli",
    "click": "inferform.cli",
    "rich": "inferform.cli",
    "jinja2": "inferform.render",
    "matplotlib": "inferform.sizing",
}


def modules() -> dict[str, Path]:
    found = {}
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(p for p in parts if p != "__init__")])] = path
    return found


def imports(path: Path) -> list[tuple[int, str, bool]]:
    """(line, module, at import time) of every import; names imported from a package count as its submodules where they are."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(f)}
    typing_only = {id(n) for i in ast.walk(tree) if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.dump(i.test) for n in ast.walk(i)}
    known = set(modules())
    rows = []
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            rows += [(node.lineno, a.name, id(node) not in late) for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                rows.append((node.lineno, full if full in known else node.module, id(node) not in late))
    return rows


def part_of(module: str, parts: set[str]) -> str | None:
    fits = [p for p in parts if module == p or module.startswith(p + ".")]
    return max(fits, key=len) if fits else None


MODULES = modules()


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_flow_one_way(module: str) -> None:
    """A module imports only the parts of ours that stand before it in the flow."""
    part = part_of(module, set(ALLOWED))
    if part is None:
        assert module.startswith("inferform")
        return
    allowed = ALLOWED[part]
    wrong = [
        f"{MODULES[module].relative_to(ROOT)}:{line} imports {name}"
        for line, name, _ in imports(MODULES[module])
        if (name == "inferform" or name.startswith("inferform."))
        and name != part
        and not (name == "inferform" and "inferform" in allowed)
        and part_of(name, allowed - {"inferform"}) is None
    ]
    assert [] == wrong


@pytest.mark.parametrize("module", sorted(MODULES))
def test_each_outside_thing_is_reached_through_one_part(module: str) -> None:
    """cdktf, Rego, moto, Jinja and the terminal libraries are imported by their one owner only."""
    wrong = []
    for line, name, _ in imports(MODULES[module]):
        owner = ONLY.get(name.split(".")[0])
        if owner and not (module == owner or module.startswith(owner + ".")):
            wrong.append(f"{MODULES[module].relative_to(ROOT)}:{line} imports {name}")
    assert [] == wrong


@pytest.mark.parametrize("module", sorted(MODULES))
def test_heavy_libraries_are_imported_late(module: str) -> None:
    """Outside stacks and sandbox nothing imports stacks, boto3, moto or a cloud SDK at import time."""
    if module.startswith(("inferform.stacks", "inferform.sandbox")):
        assert MODULES[module].exists()
        return
    heavy = ("inferform.stacks", "inferform.sandbox", "boto3", "botocore", "moto", "google", "pulumi", "cdktf", "cdktn", "regopy")
    wrong = [
        f"{MODULES[module].relative_to(ROOT)}:{line} imports {name}" for line, name, early in imports(MODULES[module]) if early and part_of(name, set(heavy))
    ]
    assert [] == wrong


@pytest.mark.parametrize("module", sorted(MODULES))
def test_only_the_cli_prints_exits_or_reads_the_environment(module: str) -> None:
    """Every other module is a function of its arguments."""
    programs = ("inferform.cli", "inferform.stacks.main")
    if module.startswith(programs):
        assert MODULES[module].exists()
        return
    text = MODULES[module].read_text(encoding="utf-8")
    found = [
        f"{MODULES[module].relative_to(ROOT)}:{text[: m.start()].count(chr(10)) + 1} {m.group()}"
        for m in re.finditer(r"(?<![\w.])print\(|sys\.exit\(|os\.environ\b|os\.getenv\(", text)
    ]
    assert [] == found


def test_no_file_is_too_long_to_read() -> None:
    """Code, policies and templates stay under 400 lines a file."""
    files = [p for folder in [*FOLDERS, "tests"] for suffix in ("*.py", "*.rego", "*.j2") for p in (ROOT / folder).rglob(suffix)]
    assert files
    assert [] == [f"{p.relative_to(ROOT)} {n}" for p in files if (n := len(p.read_text(encoding="utf-8").splitlines())) > 400]


def test_no_room_without_a_name() -> None:
    """There is no utils, common, helpers or misc module."""
    assert [] == [m for m in MODULES if m.rsplit(".", 1)[-1] in {"utils", "util", "common", "helpers", "misc"}]


def test_the_house_is_complete() -> None:
    """The folders and files that users and CI rely on are at the root."""
    wanted = [
        "stacks",
        "modules",
        "templates",
        "cli",
        "policies",
        "tests",
        "examples",
        "cdktf.json",
        "pyproject.toml",
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "LICENSE",
        "NOTICE",
        "Makefile",
        ".ci/run",
        "requirements.lock",
        "requirements-dev.lock",
    ]
    assert [] == [name for name in wanted if not (ROOT / name).exists()]


def test_locks_name_no_registry_host() -> None:
    """A lock file pins versions and hashes and leaves the index to the user's configuration."""
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "--hash=sha256:" in text
        assert "://" not in text


def test_every_package_is_declared() -> None:
    """Each folder of code is in pyproject's package list; setuptools cannot find them through the folder map."""
    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"])
    found = {
        ".".join([package, *path.parent.relative_to(ROOT / folder).parts])
        for folder, package in FOLDERS.items()
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert found == declared
