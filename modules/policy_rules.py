"""Where rules come from: the packs that ship and folders of a user's own, read and looked over before they run.

The looking-over is needed because the engine in the process is lenient: it evaluates a call of a function that does not
exist, and some constructs that it does not carry, to "no finding". So a rule may only use what this engine and OPA
evaluate alike, and everything else is refused with file and line.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from inferform.errors import InputError, Nearest, Problem
from inferform.verdict import Rule
from pydantic import ValidationError

RULES = "inferform.rules"
# What regopy 1.5 and OPA 1.x were seen to evaluate alike; tests compare both on every rule.
BUILTINS = frozenset(
    [
        "abs",
        "array.concat",
        "array.reverse",
        "array.slice",
        "base64.decode",
        "ceil",
        "concat",
        "contains",
        "count",
        "endswith",
        "floor",
        "format_int",
        "indexof",
        "intersection",
        "is_array",
        "is_boolean",
        "is_null",
        "is_number",
        "is_object",
        "is_set",
        "is_string",
        "json.filter",
        "json.unmarshal",
        "lower",
        "max",
        "min",
        "numbers.range",
        "object.filter",
        "object.get",
        "object.keys",
        "object.remove",
        "object.subset",
        "object.union",
        "object.union_n",
        "product",
        "regex.find_n",
        "regex.match",
        "regex.replace",
        "regex.split",
        "replace",
        "round",
        "semver.compare",
        "set",
        "sort",
        "split",
        "sprintf",
        "startswith",
        "strings.any_prefix_match",
        "strings.any_suffix_match",
        "strings.count",
        "strings.reverse",
        "substring",
        "sum",
        "to_number",
        "trim",
        "trim_left",
        "trim_prefix",
        "trim_right",
        "trim_space",
        "trim_suffix",
        "type_name",
        "union",
        "units.parse_bytes",
        "upper",
        "walk",
        "yaml.unmarshal",
    ]
)
# Keywords of Rego that the engine carries wrongly, or that make a rule depend on more than the document.
REFUSED = {
    "every": "write a helper rule that finds the exception and negate it",
    "with": "a rule reads `input` as it is; `with` belongs into rule_test.rego",
}
_TOKEN = re.compile(r'#[^\n]*|`[^`]*`|"(?:\\.|[^"\\\n])*"|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?P<call>\()?')
_HEAD = re.compile(r"^([A-Za-z_]\w*)\(", re.MULTILINE)
_PACKAGE = re.compile(r"^package\s+([\w.]+)", re.MULTILINE)
_IMPORT = re.compile(r"^import\s+data\.([\w.]+?)(?:\s+as\s+(\w+))?\s*$", re.MULTILINE)
_ABOUT = re.compile(r"^about := (\{.*?^\})", re.MULTILINE | re.DOTALL)
_LAST_COMMA = re.compile(r'(?P<text>"(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
_KEYWORDS = frozenset({"if", "in", "not", "some", "else", "contains", "default", "import", "package", "as"})


@dataclass(frozen=True)
class Module:
    """One Rego file: where it stands, for messages, and its text."""

    file: str
    text: str

    @property
    def package(self) -> str:
        """Name of its package, empty where it has none."""
        match = _PACKAGE.search(self.text)
        return match.group(1) if match else ""

    @property
    def rule_id(self) -> str:
        """Id of the rule it defines, empty for a library."""
        return self.package.removeprefix(f"{RULES}.") if self.package.startswith(f"{RULES}.") else ""


@functools.cache
def shipped() -> tuple[Module, ...]:
    """The rules and libraries that come with the package, in path order."""
    return tuple(Module(f"policies/{path}", text) for path, text in _read(resources.files("inferform.policies")))


def from_folder(folder: str | Path) -> tuple[Module, ...]:
    """A user's own rules: every `*.rego` below `folder` but tests.

    Raises: InputError for a folder that is missing or holds no rule, or files that are not of the shape rules have.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(Problem("no such folder of rules", file=str(folder)))
    try:
        modules = tuple(Module(f"{root.as_posix()}/{path}", text) for path, text in _read(root))
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(Problem(f"the rules cannot be read: {err}", file=str(folder))) from err
    if not any(module.rule_id for module in modules):
        raise InputError(Problem("holds no rule", file=str(folder), fix=f"a rule is <area>/<ID>/rule.rego with `package {RULES}.<ID>`"))
    problems = [*_clashes(modules), *(problem for module in modules for problem in look_over(module, (*shipped(), *modules)))]
    if problems:
        raise InputError(problems)
    return modules


def modules(rule_folders: Sequence[str | Path] = ()) -> tuple[Module, ...]:
    """The shipped modules and those of a user's folders."""
    return (*shipped(), *(module for folder in rule_folders for module in from_folder(folder)))


def known_rules(found: Iterable[Module]) -> tuple[Rule, ...]:
    """The rules of these modules by their headers, in id order. Raises InputError for every header that cannot be read."""
    rules, problems = [], []
    for module in sorted((m for m in found if m.rule_id), key=lambda m: m.rule_id):
        match = _ABOUT.search(module.text)
        line = module.text.count("\n", 0, match.start()) + 1 if match else 1
        try:
            # The header is JSON but for the comma that Rego allows before a closing bracket.
            header = json.loads(_LAST_COMMA.sub(lambda m: m.group("text") or "", match.group(1))) if match else {}
            rules.append(Rule.model_validate({**header, "id": module.rule_id, "file": module.file}))
        except ValidationError as err:
            what = "; ".join(f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in err.errors())
            problems.append(Problem(f"the header `about` is not complete: {what}", file=module.file, line=line))
        except ValueError as err:
            problems.append(Problem(f"the header `about` is no plain object: {err}", file=module.file, line=line))
    if problems:
        raise InputError(problems)
    return tuple(rules)


def _read(root: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    for item in sorted(root.iterdir(), key=lambda entry: entry.name):
        if item.is_dir():
            yield from _read(item, f"{prefix}{item.name}/")
        elif item.name.endswith(".rego") and not item.name.endswith("_test.rego"):
            yield f"{prefix}{item.name}", item.read_text(encoding="utf-8")


def _clashes(modules: Iterable[Module]) -> Iterator[Problem]:
    taken = {module.rule_id: module.file for module in shipped() if module.rule_id}
    libraries = {module.package: module.file for module in shipped() if not module.rule_id}
    for module in modules:
        if module.rule_id:
            if module.rule_id in taken:
                yield Problem(
                    f"the rule {module.rule_id} exists already, in {taken[module.rule_id]}", file=module.file, line=1, fix="give it an id of your own"
                )
            taken.setdefault(module.rule_id, module.file)
        elif module.package in libraries:
            yield Problem(f"the package {module.package} ships with Inferform", file=module.file, line=1, fix="name your library anything else")


def look_over(module: Module, all_modules: Iterable[Module]) -> Iterator[Problem]:
    """What stands in the way of evaluating a module, each with its line."""
    if not module.package:
        yield Problem("has no package", file=module.file, line=1, fix=f"start with `package {RULES}.<ID>`")
        return
    if module.package.startswith(RULES):
        folder = Path(module.file).parent.name
        if not re.fullmatch(r"[A-Z]{3}[0-9]{3}", module.rule_id):
            yield Problem("a rule's id is three capitals and three digits", file=module.file, line=1, value=module.rule_id, fix=f"`package {RULES}.ORG001`")
        elif module.rule_id != folder:
            yield Problem(f"the rule {module.rule_id} stands in the folder {folder}", file=module.file, line=1, fix="folder and package carry the same id")
        missing = [name for name in ("about", "subjects", "fail") if not re.search(rf"^{name}\b", module.text, re.MULTILINE)]
        if missing:
            yield Problem(f"the rule defines no {', '.join(missing)}", file=module.file, line=1, fix="see policies/README.md for the shape of a rule")
    functions = {f"{m.package}.{name}" for m in all_modules for name in _HEAD.findall(m.text)}
    aliases = {alias or path.rsplit(".", 1)[-1]: path for path, alias in _IMPORT.findall(module.text)}
    for match in _TOKEN.finditer(module.text):
        name = match.group("name")
        line = module.text.count("\n", 0, match.start()) + 1
        if name in REFUSED:
            yield Problem(f"`{name}` is not carried by every Rego engine", file=module.file, line=line, fix=REFUSED[name])
        elif name and match.group("call") and name not in _KEYWORDS and name not in BUILTINS:
            first, _, rest = name.partition(".")
            full = f"{aliases[first]}.{rest}" if rest and first in aliases else name.removeprefix("data.") if rest else f"{module.package}.{name}"
            if full not in functions:
                close = Nearest(name, (*sorted(BUILTINS), *(f.removeprefix(f"{module.package}.") for f in sorted(functions)))).suggestions(2)
                yield Problem(f"there is no function {name}", file=module.file, line=line, fix=f"nearest: {', '.join(close)}" if close else "")
