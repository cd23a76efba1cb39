"""YAML files to DeploymentSpecs: the only place that reads a spec. Every problem at once, each with its line.

Environments: `environments.<name>` is merged into the document by key. Mappings merge, lists and scalars replace, null removes
the key. Name, apiVersion and environments themselves stay as they are. Without an environment the document stands alone and
the environment is called `default`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from inferform.errors import InputError, Nearest, Problem
from inferform.load_problems import Document, dotted, faults, translate
from inferform.load_problems import Path as FieldPath
from inferform.load_secrets import redacted, secret_in
from inferform.load_yaml import MAX_BYTES, Node, parse
from inferform.quantities import AS_WRITTEN
from inferform.spec import DeploymentSpec, ModelSpec
from pydantic import ValidationError

DEFAULT_ENVIRONMENT = "default"
STDIN = "-"
# What is the same in every environment: it identifies the deployment.
_FIXED = ("name", "apiVersion", "environments")


@dataclass(frozen=True)
class LoadedSpec:
    """A valid spec for one environment, and where each of its fields stands.

    `path` is the file as it was given (`-` for standard input), `lines` the line of each dotted field, `written` the fields
    whose value stands in the environment's overlay, as they are written there; `environments` the names of all overlays,
    `text` the document as it was read.
    """

    spec: DeploymentSpec
    environment: str
    path: str
    lines: Mapping[str, int]
    written: Mapping[str, str]
    environments: tuple[str, ...]
    text: str = ""

    @property
    def file(self) -> str:
        """The file as messages name it."""
        return _shown_file(self.path)


@dataclass(frozen=True)
class _Read:
    """A parsed file before it is a spec."""

    root: Node
    path: str
    overlays: Mapping[str, Node]
    problems: tuple[Problem, ...]
    text: str


def load_spec(path: str | Path, environment: str | None = None) -> LoadedSpec:
    """The spec in a file (`-` reads standard input), with the environment's overlay merged in.

    Raises: InputError with every problem of the document and the overlay, in document order.
    """
    read = _read(str(path))
    if environment not in (None, DEFAULT_ENVIRONMENT) and environment not in read.overlays:
        return _finished([], [*read.problems, _unknown_environment(str(environment), read)])[0]
    loaded, problems = _build(read, environment)
    return _finished([loaded], [*read.problems, *problems])[0]


def load_all(path: str | Path) -> list[LoadedSpec]:
    """The spec of every environment: the document alone first, then each overlay in document order.

    Raises: InputError with every problem of all of them, in document order, each once.
    """
    read = _read(str(path))
    built = [_build(read, environment) for environment in (None, *read.overlays)]
    return _finished([loaded for loaded, _ in built], [*read.problems, *(p for _, problems in built for p in problems)])


def load_overlaid(path: str | Path, environment: str | None, overlays: Mapping[str, Node], file: str) -> dict[str, LoadedSpec]:
    """The spec once for each overlay of another file, merged in after the environment's; by the overlays' names.

    Raises: InputError with every problem: of the document in document order, then of the overlays at their lines in `file`.
    """
    read = _read(str(path))
    if environment not in (None, DEFAULT_ENVIRONMENT) and environment not in read.overlays:
        _finished([], [*read.problems, _unknown_environment(str(environment), read)])
    found: dict[str, LoadedSpec] = {}
    problems = list(read.problems)
    theirs: list[Problem] = []
    for name, overlay in overlays.items():
        loaded, faulty = _build(read, environment, overlay)
        if loaded is not None:
            found[name] = loaded
        own = {dotted(at): node.line for at, node in overlay.walk() if at}
        for fault in faulty:
            line = own.get(re.sub(r"\[\d+\]", "", fault.field))
            if line is None:
                problems.append(fault)
            else:
                theirs.append(replace(fault, field=f"tenants.{name}.{fault.field}", file=file, line=line))
    problems = sorted(dict.fromkeys(problems), key=lambda p: p.line or 0) + theirs
    if problems:
        raise InputError(_cleaned(p) for p in dict.fromkeys(problems))
    return found


def annotate(problems: Iterable[Problem], loaded: LoadedSpec) -> tuple[Problem, ...]:
    """The problems with file and line for those that only name a field (found after loading)."""
    return tuple(p if p.file else _annotated(p, loaded) for p in problems)


@contextmanager
def located(loaded: LoadedSpec) -> Iterator[None]:
    """Gives every InputError raised inside its file and lines."""
    try:
        yield
    except InputError as err:
        raise InputError(annotate(err.problems, loaded)) from err


def _annotated(problem: Problem, loaded: LoadedSpec) -> Problem:
    field = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", problem.field)
    place = field
    while place and place not in loaded.lines:
        place = re.sub(r"(\.[^.\[]*|\[\d+\])$", "", place) if re.search(r"[.\[]", place) else ""
    written = loaded.written.get(place, place)
    return replace(problem, field=written + field[len(place) :], file=loaded.file, line=loaded.lines.get(place))


def _shown_file(path: str) -> str:
    return "<stdin>" if path == STDIN else redacted(path)


def _finished(loaded: list[LoadedSpec | None], problems: list[Problem]) -> list[LoadedSpec]:
    if problems:
        ordered = sorted(dict.fromkeys(problems), key=lambda p: p.line or 0)
        raise InputError(_cleaned(p) for p in ordered)
    return [spec for spec in loaded if spec is not None]


def _cleaned(problem: Problem) -> Problem:
    """A problem that repeats no secret and no character that a terminal would obey."""
    value = None if problem.value is None else redacted(problem.value)
    return replace(problem, message=redacted(problem.message), field=redacted(problem.field), value=value, fix=redacted(problem.fix))


def _bytes_of(path: str) -> bytes:
    """The content of a spec file, never more than one byte past the limit."""
    try:
        if path == STDIN:
            if sys.stdin is None:
                raise InputError("standard input is closed")
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        folder = Path(path).parent
        near = [p.name for p in folder.iterdir() if p.suffix in (".yaml", ".yml")] if folder.is_dir() else []
        close = Nearest(Path(path).name, tuple(sorted(near))).suggestions(1)
        raise InputError(Problem("there is no such file", file=_shown_file(path), fix=f"did you mean {folder / close[0]}?" if close else "")) from None
    except IsADirectoryError:
        raise InputError(Problem("this is a folder, not a spec file", file=_shown_file(path))) from None
    except (OSError, ValueError) as err:
        # ValueError: a path with a NUL byte.
        reason = err.strerror if isinstance(err, OSError) and err.strerror else str(err)
        raise InputError(Problem(f"cannot be read: {reason}", file=_shown_file(path))) from err


def _read(path: str) -> _Read:
    """Parses a file and checks what concerns all environments."""
    data = _bytes_of(path)
    file = _shown_file(path)
    try:
        root, problems = parse(data, file)
    except InputError as err:
        raise InputError(_cleaned(p) for p in err.problems) from None
    root, unprintable = _printable(root, file)
    problems += unprintable + _secrets(data, root, file)
    overlays: dict[str, Node] = {}
    written = root.at(("environments",))
    for name, overlay in written.value.items() if written and isinstance(written.value, dict) else ():
        overlays[name] = overlay if overlay.value is not None else replace(overlay, value={})
        problems += _overlay_problems(name, overlay, file)
    return _Read(root, path, overlays, tuple(problems), data.decode("utf-8", "replace"))


def _overlay_problems(name: str, overlay: Node, file: str) -> list[Problem]:
    if name == DEFAULT_ENVIRONMENT:
        text = f"{DEFAULT_ENVIRONMENT} names the document without an overlay"
        return [Problem(text, field=f"environments.{name}", file=file, line=overlay.line, fix="choose another name")]
    entries = overlay.value if isinstance(overlay.value, dict) else {}
    return [
        Problem("is the same in every environment", field=f"environments.{name}.{key}", file=file, line=entries[key].line, fix="remove it from the overlay")
        for key in _FIXED
        if key in entries
    ]


def _unknown_environment(name: str, read: _Read) -> Problem:
    known = tuple(read.overlays)
    close = Nearest(name, known).suggestions(1)
    line = node.line if (node := read.root.at(("environments",))) else None
    fix = f"did you mean {close[0]}?" if close else "" if known else f"declare it: `environments: {{{redacted(name)}: {{}}}}`"
    return Problem(
        "the spec has no such environment", file=_shown_file(read.path), line=line, value=redacted(name), legal=(DEFAULT_ENVIRONMENT, *known), fix=fix
    )


def _printable(root: Node, file: str) -> tuple[Node, list[Problem]]:
    """The tree without characters that do not print, and a problem for each text that had some."""
    problems: list[Problem] = []

    def mend(node: Node, path: FieldPath) -> Node:
        if isinstance(node.value, dict):
            for key, child in node.value.items():
                if not key.isprintable():
                    problems.append(Problem("a field name has a character that does not print", file=file, line=child.line, value=redacted(key)))
            return replace(node, value={key: mend(child, (*path, key)) for key, child in node.value.items() if key.isprintable()})
        if isinstance(node.value, list):
            return replace(node, value=[mend(child, (*path, i)) for i, child in enumerate(node.value)])
        if isinstance(node.value, str) and not node.value.isprintable():
            bad = next(c for c in node.value if not c.isprintable())
            problems.append(
                Problem(f"holds a character that does not print (U+{ord(bad):04X})", field=dotted(path), file=file, line=node.line, fix="remove it")
            )
            return replace(node, value="".join(c for c in node.value if c.isprintable()))
        return node

    return mend(root, ()), problems


def _secrets(data: bytes, root: Node, file: str) -> list[Problem]:
    """FC-34: a literal token anywhere, comments and field names too, is refused and not repeated."""
    fix = "take it out, revoke it, and name a Kubernetes Secret instead (hf_token_secret: {name, key})"
    found: dict[int, Problem] = {}
    for path, node in root.walk():
        texts = [str(path[-1])] if path and isinstance(path[-1], str) else []
        kind = next((k for t in [*texts, node.value if isinstance(node.value, str) else ""] if (k := secret_in(t))), None)
        if kind:
            found[node.line] = Problem(f"holds {kind}; a secret never stands in a spec", field=dotted(path), file=file, line=node.line, fix=fix)
    for line, text in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if kind := secret_in(text):
            found.setdefault(line, Problem(f"this line holds {kind}; a secret never stands in a spec", file=file, line=line, fix=fix))
    return list(found.values())


def _merge(base: Node, overlay: Node, path: FieldPath, removed: dict[FieldPath, Node]) -> Node:
    """`base` with `overlay` merged in by key; what null removes is noted in `removed`."""
    if not (isinstance(base.value, dict) and isinstance(overlay.value, dict)):
        return overlay
    entries = dict(base.value)
    for key, child in overlay.value.items():
        if child.value is None:
            entries.pop(key, None)
            removed[(*path, key)] = child
        else:
            # Merging into an empty mapping drops nulls inside a part that only the overlay has.
            under = entries.get(key, replace(child, value={}) if isinstance(child.value, dict) else child)
            entries[key] = _merge(under, child, (*path, key), removed)
    return replace(base, value=entries)


def _marked(node: Node, environment: str) -> Node:
    """The node with all below it marked as standing in an environment's overlay."""
    if isinstance(node.value, dict):
        return replace(node, environment=environment, value={k: _marked(v, environment) for k, v in node.value.items()})
    if isinstance(node.value, list):
        return replace(node, environment=environment, value=[_marked(v, environment) for v in node.value])
    return replace(node, environment=environment)


def _build(read: _Read, environment: str | None, extra: Node | None = None) -> tuple[LoadedSpec | None, list[Problem]]:
    """The spec of one environment, or what is wrong with it; `extra` is an overlay from another file."""
    name = environment or DEFAULT_ENVIRONMENT
    top = read.root.value if isinstance(read.root.value, dict) else {}
    removed: dict[FieldPath, Node] = {}
    root = replace(read.root, value={k: v for k, v in top.items() if k != "environments"})
    if name in read.overlays:
        overlay = read.overlays[name]
        if not isinstance(overlay.value, dict):
            return None, [Problem("wants a mapping", field=f"environments.{name}", file=_shown_file(read.path), line=overlay.line)]
        root = _merge(root, _marked(replace(overlay, value={k: v for k, v in overlay.value.items() if k not in _FIXED}), name), (), removed)
    if extra is not None:
        root = _merge(root, extra, (), removed)
    document = Document(root, _shown_file(read.path), removed)
    data = root.plain()
    if isinstance(data, dict) and "environments" in top:
        # Names and count of the environments are checked with the document; what is in them when they are merged.
        written = top["environments"]
        data["environments"] = {k: {} for k in written.value} if isinstance(written.value, dict) else written.plain()
        document = replace(document, root=replace(root, value={**(root.value if isinstance(root.value, dict) else {}), "environments": written}))
    try:
        spec = DeploymentSpec.model_validate_json(json.dumps(data), strict=True, context=AS_WRITTEN)
    except ValidationError as err:
        known = {(p.file, p.line, p.field) for p in read.problems}
        problems = translate(faults(err.errors(include_url=False)), document)
        return None, [p for p in problems if (p.file, p.line, p.field) not in known]
    nodes = [(dotted(path), node) for path, node in root.walk() if path]
    elsewhere = {dotted(path) for path, _ in extra.walk() if path} if extra is not None else set()
    lines = {field: node.line for field, node in nodes if field not in elsewhere}
    written_in = {field: f"environments.{name}.{field}" for field, node in nodes if node.environment}
    folder = Path() if read.path == STDIN else Path(read.path).parent
    models = {key: _with_config_path(model, folder) for key, model in spec.models.items()}
    # The overlays are merged in; without them one environment's spec does not change when another's overlay does.
    calibration = spec.calibration and _from_folder(spec.calibration, folder)
    spec = spec.model_copy(update={"environments": {}, "models": models, "calibration": calibration})
    return LoadedSpec(spec, name, read.path, lines, written_in, tuple(read.overlays), read.text), []


def _with_config_path(model: ModelSpec, folder: Path) -> ModelSpec:
    """The model with the path of its config.json made absolute: paths in a spec start at the spec's folder."""
    source = model.source
    if Path(source).is_absolute() or not (source.startswith(("./", "../")) or source.endswith(".json")):
        return model
    return model.model_copy(update={"source": _from_folder(source, folder)})


def _from_folder(path: str, folder: Path) -> str:
    # Not resolve(): a link stays the path that the user wrote, and a loop of links is for the reader of the file to report.
    return os.path.abspath(folder / path)  # noqa: PTH100
