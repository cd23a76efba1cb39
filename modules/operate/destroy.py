"""Destroy: every stack in reverse order of dependency, each only when nothing that reads it is left (FC-37)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inferform.errors import InputError, Problem, StateError
from inferform.operate import archive, audit, lock, record
from inferform.operate.audit import Actor
from inferform.operate.backend import Backend
from inferform.operate.changes import add
from inferform.operate.folder import CONFIG, PLAN_FILE, Folder
from inferform.operate.prepare import prepare, runs, size
from inferform.operate.progress import Progress, silent
from inferform.operate.results import Counts, DestroyResult, StackResult
from inferform.operate.stack_run import StackRun
from inferform.operate.steps import Steps
from inferform.plan import DeploymentPlan
from inferform.terraform import find_terraform

if TYPE_CHECKING:
    from inferform.operate.steps import Source


def destroy(
    source: Source,
    out: Path | None,
    progress: Progress = silent,
    *,
    backend: Backend,
    actor: Actor,
    confirmed: str | None = None,
    stacks: Sequence[str] | None = None,
    steps: Steps | None = None,
) -> DestroyResult:
    """Destroy all stacks, or only `stacks`. `confirmed` is the deployment's name as a person typed it.

    Raises: InputError for a protected environment without the right name, and for unknown stacks; StateError for a stack that
    another one with resources reads; ToolFailedError with what the cloud refused. The state of what is left is kept.
    """
    tool = find_terraform(backend.settings)
    steps = steps or Steps()
    sized, folder = size(source, steps, out, progress)
    with lock.hold(folder.lock, "destroy", actor.when):
        shelf = backend.shelf(sized) if backend.shelf else None
        warnings = archive.pull(folder, shelf)
        record.same_backend(folder, backend)
        _confirm(sized, record.applied_plan(folder), confirmed)
        dependencies = _configured(source, folder, sized, steps=steps, backend=backend, progress=progress)
        unknown = [s for s in stacks or () if s not in dependencies]
        if unknown:
            raise InputError(Problem("unknown stack", field="stack", value=", ".join(unknown), legal=tuple(dependencies)))
        work = runs(dependencies, folder, backend, tool, progress, live=True)
        chosen = [s for s in reversed(dependencies) if stacks is None or s in stacks]
        audit.append(folder.audit, actor, "destroy", stacks=chosen, spec=sized.spec_digest, backend=backend.name)
        results: list[StackResult] = []
        for name in chosen:
            gone = {r.stack for r in results}
            _refuse_while_read(name, [r for r in record.dependents(dependencies, name) if r not in gone], work)
            warnings += _mend(StackRun(name, folder.work(name), backend.settings, tool, progress))
            work[name].open()
            results.append(_destroy(work[name]))
        if stacks is None:
            record.forget_applied(folder)
            warnings += archive.push(folder, shelf)
        audit.append(folder.audit, actor, "destroyed", stacks=chosen, spec=sized.spec_digest, counts=add(r.counts for r in results).model_dump())
    return DestroyResult(
        name=sized.name,
        environment=sized.environment,
        folder=str(folder.root),
        stacks=tuple(results),
        counts=add(r.counts for r in results),
        warnings=tuple(warnings),
    )


def _confirm(sized: DeploymentPlan, applied: DeploymentPlan | None, confirmed: str | None) -> None:
    """Protected now or when it was applied: the name has to be typed."""
    if (sized.protected or (applied is not None and applied.protected)) and confirmed != sized.name:
        said = "is protected" if confirmed is None else f"is protected and {confirmed!r} is not its name"
        raise InputError(Problem(f"{sized.name} in {sized.environment} {said}", field="confirm", fix=f"confirm with its name: --confirm {sized.name}"))


def _configured(source: Source, folder: Folder, sized: DeploymentPlan, *, steps: Steps, backend: Backend, progress: Progress) -> dict[str, tuple[str, ...]]:
    """Stacks and what they read, with the configuration of each in its live directory: as applied, else as last planned, else as the spec is now."""
    last = record.read_record(folder.applied_record)
    if last is not None:
        return last.reads
    begun = record.read_journal(folder.journal)
    if begun is not None and (kept := record.read_record(folder.record)) is not None:
        # The first apply was cut off: what is in the cloud comes from these configurations.
        texts = {name: (folder.work(name) / CONFIG).read_text(encoding="utf-8") for name in kept.dependencies}
        for name, text in texts.items():
            folder.live(name).mkdir(parents=True, exist_ok=True)
            (folder.live(name) / CONFIG).write_text(text, encoding="utf-8")
        return kept.reads
    prepared = prepare(source, folder, sized, steps=steps, backend=backend, progress=progress)
    for name, config in prepared.configs.items():
        StackRun(name, folder.live(name), backend.settings, find_terraform(backend.settings), progress).write(config)
    return prepared.dependencies


def _refuse_while_read(name: str, readers: list[str], work: dict[str, StackRun]) -> None:
    for reader in readers:
        work[reader].open()
        left = work[reader].terraform.resources()
        if left:
            raise StateError(
                f"{name} stays: {reader} reads it and still has {len(left)} resources ({', '.join(left[:3])}{', ...' if len(left) > 3 else ''}); destroy {reader} first"
            )


def _mend(run: StackRun) -> list[str]:
    """Take what a killed apply was just making into the state, so that it is destroyed as well; advice about the rest."""
    if (run.folder / CONFIG).is_file() and (run.terraform.unfinished() or run.terraform.running_pid()):
        run.open()
        run.plan(PLAN_FILE)
        run.forget_cut_off()
    return run.warnings


def _destroy(run: StackRun) -> StackResult:
    began = time.monotonic()
    if not run.terraform.resources():
        return StackResult(stack=run.stack, state="empty", counts=Counts(), seconds=round(time.monotonic() - began, 2))
    total = run.destroy(PLAN_FILE)
    left = run.terraform.resources()
    if left:
        raise StateError(f"{run.stack}: {len(left)} resources are left after destroy: {', '.join(left[:5])}; run inferform destroy again")
    return StackResult(stack=run.stack, state="destroyed", counts=Counts(delete=total), seconds=round(time.monotonic() - began, 2))
