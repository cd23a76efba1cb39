"""Drift: what changed in the cloud since the last apply behind Terraform's back, and what its sizing rested on that no longer holds.

Changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from inferform.errors import InputError, StateError
from inferform.operate import archive, assumptions, history, lock, record
from inferform.operate.audit import Actor
from inferform.operate.backend import Backend
from inferform.operate.changes import same
from inferform.operate.folder import CONFIG, Folder, open_folder
from inferform.operate.node_groups import COUNTS, NODE_TYPES
from inferform.operate.prepare import prepare, runs, told
from inferform.operate.progress import Progress, silent
from inferform.operate.results import Assumption, AttributeDrift, DriftedResource, DriftResult
from inferform.operate.stack_run import StackRun
from inferform.operate.steps import Steps
from inferform.plan import DeploymentPlan
from inferform.planner import spec_digest
from inferform.terraform import find_terraform

if TYPE_CHECKING:
    from inferform.load import LoadedSpec
    from inferform.operate.steps import Source

Json = dict[str, Any]
_LONGEST = 200
# Who owns an attribute that the stacks leave alone.
_OWNERS = {"scaling_config[0].desired_size": "the node autoscaler", "desired_capacity": "the node autoscaler"}


# Looks at what the applied plan rests on in the cloud itself; what it finds, and what it could not tell.
Look = Callable[[DeploymentPlan], tuple[Sequence[Assumption], Sequence[str]]]


def drift(
    source: Source, out: Path | None, progress: Progress = silent, *, backend: Backend, actor: Actor, steps: Steps | None = None, look: Look | None = None
) -> DriftResult:
    """Compare the cloud with the state of every stack, as it was applied from this folder, else as the spec is now.

    A change of an attribute that the stack leaves to another owner (lifecycle.ignore_changes: the node count that an
    autoscaler sets) is expected and not drift. What the sizing rested on is held against today: the spec, the catalogue, prices,
    dates of capacity, and with `look` the cloud's own reservations and prices.
    """
    tool = find_terraform(backend.settings)
    steps = steps or Steps()
    name, environment = history.identity(source)
    folder = open_folder(out, name, environment)
    found: list[DriftedResource] = []
    warnings: list[str] = []
    with lock.hold(folder.lock, "drift", actor.when):
        warnings += archive.pull(folder, archive.shelf_of(source, backend, steps))
        record.same_backend(folder, backend)
        names = applied_stacks(folder)
        if names is None:
            sized = told("size", progress, lambda: steps.size(source))
            prepared = prepare(source, folder, sized, steps=steps, backend=backend, progress=progress)
            names = list(prepared.configs)
            for stack, run in runs(names, folder, backend, tool, progress, live=True).items():
                run.write(prepared.configs[stack])
            warnings.append("Nothing was applied from this folder; the state is compared with the spec as it is now.")
        for run in runs(names, folder, backend, tool, progress, live=True).values():
            run.open()
            if not run.terraform.resources():
                continue
            found += _drifted(run, run.look())
        outdated, doubts = _outdated(source, folder, steps, look, progress, now=datetime.fromisoformat(actor.when))
    drifted = [r for r in found if r.owner is None]
    return DriftResult(
        name=name,
        environment=environment,
        folder=str(folder.root),
        drifted=bool(drifted),
        outdated=bool(outdated),
        resources=tuple(drifted),
        expected=tuple(r for r in found if r.owner is not None),
        assumptions=tuple(outdated),
        stacks=tuple(names),
        warnings=(*warnings, *doubts),
    )


def _outdated(source: Source, folder: Folder, steps: Steps, look: Look | None, progress: Progress, *, now: datetime) -> tuple[list[Assumption], list[str]]:
    """What the applied plan rested on and that no longer holds, and what could not be told."""
    applied = record.applied_plan(folder)
    if applied is None:
        return [], []
    then, doubts = _applied_spec(folder)
    found: list[Assumption] = []
    if not isinstance(source, DeploymentPlan) and spec_digest(source.spec) != applied.spec_digest:
        found += assumptions.spec_changed(then.spec if then else None, source.spec)
    if then is not None:
        spec = then
        try:
            found += assumptions.sized_otherwise(applied, told("size", progress, lambda: steps.size(spec)))
        except InputError as err:
            found += assumptions.not_sized(err)
    found += assumptions.dated_capacity(applied, now)
    found += assumptions.old_prices(applied, now.date())
    if look is not None:
        seen, unknown = look(applied)
        found += seen
        doubts += unknown
    return found, doubts


def _applied_spec(folder: Folder) -> tuple[LoadedSpec | None, list[str]]:
    """The spec that is applied; None with the reason where it is not kept."""
    known = history.entries(folder)
    if not known:
        return None, []
    try:
        kept = history.past(folder, known[-1].number).source
    except StateError as err:
        return None, [f"The applied spec cannot be read ({err}), so it was not sized anew."]
    return (None, []) if isinstance(kept, DeploymentPlan) else (kept, [])


def applied_stacks(folder: Folder) -> list[str] | None:
    """Stacks that were applied from this folder, in apply order; None when none were."""
    last = record.read_record(folder.applied_record)
    return list(last.reads) if last else None


def _drifted(run: StackRun, document: Json) -> list[DriftedResource]:
    """The changes of a refresh-only plan that mean something, by address."""
    config = json.loads((run.folder / CONFIG).read_text(encoding="utf-8"))
    rows = []
    for raw in sorted(document.get("resource_drift", []), key=lambda r: str(r["address"])):
        change = raw["change"]
        if raw.get("mode") != "managed" or change["actions"] == ["no-op"]:
            continue
        deleted = change["actions"] == ["delete"]
        hidden = (change.get("before_sensitive"), change.get("after_sensitive"))
        attributes = [] if deleted else _differences(change.get("before"), change.get("after"), "", hidden)
        if not deleted and not attributes:
            continue
        ours = _left_to_others(config, raw)
        others = [a for a in attributes if any(a.path == p or a.path.startswith((f"{p}.", f"{p}[")) for p in ours)]
        base = {"stack": run.stack, "address": raw["address"], "type": raw["type"]}
        if others:
            owners = sorted({_OWNERS.get(a.path, "another owner (lifecycle.ignore_changes)") for a in others})
            kind: Literal["changed", "scaled"] = "scaled" if all(_counts(raw, a) for a in others) else "changed"
            rows.append(DriftedResource(**base, change="updated", kind=kind, attributes=tuple(others), owner=", ".join(owners)))
        rest = [a for a in attributes if a not in others]
        scaled = tuple(a for a in rest if _counts(raw, a))
        if scaled:
            rows.append(DriftedResource(**base, change="updated", kind="scaled", attributes=scaled))
        rest = [a for a in rest if a not in scaled]
        if deleted or rest:
            rows.append(DriftedResource(**base, change="deleted" if deleted else "updated", attributes=tuple(rest)))
    return rows


def _counts(raw: Json, attribute: AttributeDrift) -> bool:
    """The attribute says how many nodes there are."""
    return raw["type"] in NODE_TYPES and attribute.path.removeprefix("scaling_config[0].") in COUNTS


def _left_to_others(config: Json, raw: Json) -> list[str]:
    """Paths that the configuration of a resource leaves to another owner."""
    body = config.get("resource", {}).get(raw["type"], {}).get(raw["name"], {})
    return [str(path) for path in body.get("lifecycle", {}).get("ignore_changes", [])]


def _differences(old: Any, new: Any, path: str, hidden: tuple[Any, Any]) -> list[AttributeDrift]:
    """Every leaf that differs, in path order."""
    if same(old, new):
        return []
    if True in hidden:
        return [AttributeDrift(path=path, before="(sensitive)", after="(sensitive)")]
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted({*old, *new})
        return [d for k in keys for d in _differences(old.get(k), new.get(k), f"{path}.{k}" if path else k, (_inner(hidden[0], k), _inner(hidden[1], k)))]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and all(isinstance(v, dict) for v in (*old, *new)):
        pairs = enumerate(zip(old, new, strict=True))
        return [d for i, (a, b) in pairs for d in _differences(a, b, f"{path}[{i}]", (_inner(hidden[0], i), _inner(hidden[1], i)))]
    return [AttributeDrift(path=path, before=_short(old), after=_short(new))]


def _inner(hidden: Any, key: str | int) -> Any:
    if isinstance(hidden, dict):
        return hidden.get(key)
    return hidden[key] if isinstance(hidden, list) and isinstance(key, int) and key < len(hidden) else None


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return value if len(text) <= _LONGEST else text[:_LONGEST] + "..."
