"""What was applied from a folder, one entry an apply that ended: enough to plan it again when the spec has changed or is gone.

Beside each entry lie `plan.json` (the DeploymentPlan) and, where it came from a spec, `spec.json` (the spec as it was loaded, its
overlay merged in) and `spec.yaml` (the file as it was written). Each is held to its digest when it is read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from inferform.errors import InputError, Problem, StateError
from inferform.operate import record
from inferform.operate.audit import Actor
from inferform.operate.folder import HOME, Folder, file_digest, write, write_json
from inferform.operate.results import Applied, Counts, HistoryResult
from inferform.operate.steps import Steps
from inferform.plan import DeploymentPlan
from pydantic import ValidationError

if TYPE_CHECKING:
    from inferform.load import LoadedSpec
    from inferform.operate.record import Record
    from inferform.operate.steps import Source

ENTRY, PLAN, SPEC, TEXT = "entry.json", "plan.json", "spec.json", "spec.yaml"
# Entries that are kept; the oldest goes first.
_KEPT = 100


@dataclass(frozen=True)
class Past:
    """A deployment as it was applied: what to plan, and the steps that plan just that and size nothing anew."""

    source: Source
    steps: Steps
    warnings: tuple[str, ...] = ()


def entries(folder: Folder) -> tuple[Applied, ...]:
    """Every apply that ended, oldest first. Raises: StateError for an entry that inferform did not write."""
    found = [record.read(path, Applied) for path in sorted(folder.history.glob(f"*/{ENTRY}"))]
    return tuple(e for e in found if e is not None)


def history(folder: Folder) -> HistoryResult:
    """Everything that was applied from a folder, as a result."""
    found = entries(folder)
    name, environment = (found[-1].name, found[-1].environment) if found else ("", "")
    there = record.read_record(folder.applied_record) is not None
    return HistoryResult(
        name=name, environment=environment, folder=str(folder.root), current=found[-1].number if found and there else None,
        unfinished=folder.attempt.is_file(), applied=found,
    )  # fmt: skip


def keep(folder: Folder, source: Source, sized: DeploymentPlan, saved: Record, *, actor: Actor, counts: Counts) -> None:
    """Add what was just applied. The same deployment applied again without a change adds nothing.

    The entry comes last: an apply that is cut off here and completed later adds it then.
    """
    known = entries(folder)
    last = known[-1] if known else None
    nothing_new = not any(counts.model_dump().values()) and last is not None and last.deployment_digest == saved.deployment_digest
    if last is not None and (last.digest == saved.result.digest or nothing_new):
        return
    number = last.number + 1 if last else 1
    place = folder.history / f"{number:04d}"
    shutil.rmtree(place, ignore_errors=True)
    write_json(place / PLAN, sized.model_dump(mode="json"))
    spec_file = None
    if not isinstance(source, DeploymentPlan):
        write_json(place / SPEC, source.spec.model_dump(mode="json"))
        if source.text:
            write(place / TEXT, source.text)
        spec_file = None if source.path == "-" else str(Path(source.path).absolute())
    entry = Applied(
        number=number, name=sized.name, environment=sized.environment, when=actor.when, who=actor.who, digest=saved.result.digest, spec_digest=sized.spec_digest,
        deployment_digest=saved.deployment_digest, spec_file=spec_file, inferform_version=sized.inferform_version, backend=saved.backend,
        rollback_to=saved.result.rollback_to, usd_per_month=sized.cost.usd_per_month,
        nodes={f"{model}/{pool}": body.nodes.steady for model, _, pool, body in sized.pool_items()}, counts=counts,
        files={p.name: str(file_digest(p)) for p in sorted(place.iterdir())},
    )  # fmt: skip
    write_json(place / ENTRY, entry.model_dump(mode="json"))
    for old in known[: max(0, len(known) + 1 - _KEPT)]:
        shutil.rmtree(folder.history / f"{old.number:04d}", ignore_errors=True)


def past(folder: Folder, number: int, steps: Steps | None = None) -> Past:
    """The deployment of one entry.

    Raises: InputError when there is no such entry; StateError when its files are not what was kept, or not readable any more.
    """
    found = entries(folder)
    entry = next((e for e in found if e.number == number), None)
    if entry is None:
        raise InputError(Problem("no such apply is kept", field="to", value=str(number), legal=tuple(str(e.number) for e in found)))
    place = folder.history / f"{number:04d}"
    for name, kept in entry.files.items():
        if file_digest(place / name) != kept:
            raise StateError(f"{place / name} is not what was applied; choose another number with --to")
    plan = _readable(place / PLAN)
    source = _loaded(place, entry)
    if source is None and plan is None:
        raise StateError(f"inferform {entry.inferform_version} kept apply {number} in a form that this version cannot read; use that version")
    steps = steps or Steps()
    if plan is None:
        assert source is not None
        return Past(source, steps, (f"Apply {number} was kept by inferform {entry.inferform_version} in another form, so its spec is sized anew.",))
    return Past(source or plan, replace(steps, size=lambda _: plan))


def locate(spec: str, environment: str, out: Path | None) -> Folder | None:
    """The folder of a deployment whose spec cannot be read: `out`, else the one that was applied from that file, or that is so called."""
    if out is not None:
        return Folder(out.absolute()) if out.is_dir() else None
    path = str(Path(spec).absolute())
    found = []
    for place in sorted(HOME.glob(f"*/{environment}")):
        folder = Folder(place.absolute())
        if place.parent.name == spec or any(e.spec_file == path for e in entries(folder)[-1:]):
            found.append(folder)
    if len(found) > 1:
        raise InputError(
            Problem("several deployments were applied from this file", file=spec, legal=tuple(str(f.root) for f in found), fix="name the folder with --out")
        )
    return found[0] if found else None


def of(source: Source, out: Path | None) -> Folder:
    """The folder of a source, which is not made if it is not there."""
    name, environment = identity(source)
    return Folder((out or HOME / name / environment).absolute())


def identity(source: Source) -> tuple[str, str]:
    """Deployment and environment of a source, before it is sized."""
    return (source.name if isinstance(source, DeploymentPlan) else source.spec.name), source.environment


def before(found: Iterable[Applied], *, unfinished: bool) -> Applied | None:
    """The apply to go back to: the last one after an apply that did not end, else the last that differs from what is applied."""
    known = list(found)
    if unfinished or not known:
        return known[-1] if known else None
    return next((e for e in reversed(known) if e.deployment_digest != known[-1].deployment_digest), None)


def _readable(path: Path) -> DeploymentPlan | None:
    try:
        return DeploymentPlan.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError):
        return None


def _loaded(place: Path, entry: Applied) -> LoadedSpec | None:
    """The spec of an entry as if it had been loaded; None where there is none, or one that this version cannot read."""
    if SPEC not in entry.files:
        return None
    from inferform.load import LoadedSpec
    from inferform.spec import DeploymentSpec

    try:
        spec = DeploymentSpec.model_validate_json((place / SPEC).read_text(encoding="utf-8"), strict=True)
    except ValidationError:
        return None
    text = (place / TEXT).read_text(encoding="utf-8") if TEXT in entry.files else ""
    return LoadedSpec(spec, entry.environment, entry.spec_file or os.devnull, {}, {}, (), text)
