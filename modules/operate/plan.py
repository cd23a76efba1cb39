"""Plan: size, render, synthesize, check, and a saved terraform plan for every stack that can have one.

Stacks are planned in dependency order. A stack is `saved` when nothing it reads will change: terraform holds its plan in a
file and apply runs exactly that file. A stack is `after` when it reads outputs that do not exist yet, or that may change once
the stacks it waits for are applied. For such a stack the plan shows what it may do at most: the terraform plan of today, or
before the first apply every resource of its configuration as a creation. Apply plans it anew once the others are applied,
judges that plan, and runs it only when it does nothing that was not shown; else it stops and asks for a new plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inferform.errors import StateError
from inferform.operate import archive, audit, lock, record
from inferform.operate.audit import Actor
from inferform.operate.backend import Backend
from inferform.operate.changes import add, count, from_config, from_plan, outputs_change
from inferform.operate.difference import cost_difference
from inferform.operate.folder import CONFIG, PLAN_FILE, Folder, file_digest, write_json
from inferform.operate.node_groups import Resize, resizes
from inferform.operate.prepare import Prepared, judge, outputs_read, prepare, runs, size
from inferform.operate.progress import Progress, silent
from inferform.operate.results import Change, PlanResult, StackPlan
from inferform.operate.risks import risks
from inferform.operate.stack_run import StackRun
from inferform.operate.steps import Rules, Steps
from inferform.plan import DeploymentPlan
from inferform.terraform import find_terraform, managed

if TYPE_CHECKING:
    from inferform.operate.steps import Source

Json = dict[str, Any]


def plan(
    source: Source,
    out: Path | None,
    progress: Progress = silent,
    *,
    backend: Backend,
    actor: Actor,
    rules: Rules,
    steps: Steps | None = None,
    rollback_to: int | None = None,
) -> PlanResult:
    """Make and save the plan of a spec (or of a DeploymentPlan); `out` None means `.inferform/<name>/<environment>`.

    `rollback_to` says that the source is an earlier apply, by its number.

    Raises: InputError for a spec that cannot be built, MissingToolError without terraform, ToolFailedError with terraform's
    diagnostics, StateError while another command works in the folder. A verdict that denies is a result, not an error.
    """
    tool = find_terraform(backend.settings)
    steps = steps or Steps()
    sized, folder = size(source, steps, out, progress)
    with lock.hold(folder.lock, "plan", actor.when):
        apart = archive.pull(folder, backend.shelf(sized) if backend.shelf else None)
        record.same_backend(folder, backend)
        # A plan that is cut off must not leave an older one to apply.
        folder.record.unlink(missing_ok=True)
        cut_off = record.read_journal(folder.journal)
        before = record.applied_plan(folder)
        prepared = prepare(source, folder, sized, steps=steps, backend=backend, progress=progress)
        planned = _Planned(prepared, folder, before)
        for run in runs(prepared.configs, folder, backend, tool, progress).values():
            planned.add(run)
        _refuse_orphans(folder, prepared)
        verdict = judge(prepared, planned.documents, rules, steps, progress)
        stacks = tuple(planned.stacks.values())
        deployment = record.deployment_digest(sized)
        result = PlanResult(
            name=sized.name,
            environment=sized.environment,
            folder=str(folder.root),
            digest=record.plan_digest(backend.name, deployment, stacks),
            first=before is None,
            stacks=stacks,
            counts=add(count(s.changes) for s in stacks),
            cost=cost_difference(before, sized),
            risks=risks({s.stack: s.changes for s in stacks}, before, sized, planned.sizes),
            allowed=not verdict.denied,
            verdict=verdict,
            warnings=(*apart, *_after_cut_off(cut_off), *(cut_off.warnings if cut_off else ()), *sized.warnings, *planned.warnings),
            adapted=prepared.adapted_lines,
            rollback_to=rollback_to,
        )
        kept = record.Record(backend=backend.name, deployment_digest=deployment, dependencies=prepared.dependencies, result=result)
        write_json(folder.record, kept.model_dump(mode="json"))
        planned.told()
        # The new plan starts from what is there, so how far an older one came no longer matters.
        folder.journal.unlink(missing_ok=True)
        facts = {} if rollback_to is None else {"rollback_to": rollback_to}
        audit.append(folder.audit, actor, "plan", digest=result.digest, spec=sized.spec_digest, backend=backend.name, allowed=result.allowed, **facts)
    return result


class _Planned:
    """The stacks planned so far, in order."""

    def __init__(self, prepared: Prepared, folder: Folder, before: DeploymentPlan | None):
        self.prepared = prepared
        self.folder = folder
        self.before = before
        self.stacks: dict[str, StackPlan] = {}
        self.documents: dict[str, Json] = {}
        self.warnings: list[str] = []
        self.sizes: dict[str, tuple[Resize, ...]] = {}
        self._cut_off: list[StackRun] = []
        self._outputs: dict[str, set[str]] = {}
        self._moving: set[str] = set()  # stacks whose outputs may change when they are applied

    def add(self, run: StackRun) -> None:
        """Plan one stack, after those it reads."""
        name, config = run.stack, self.prepared.configs[run.stack]
        run.write(config)
        run.open()
        reads = self.prepared.stacks[name].dependencies
        missing = [d for d in reads if outputs_read(config, d) - self._outputs[d]]
        if missing:
            state = run.terraform.state()
            existing = managed(state)
            self._outputs[name] = set(state.get("outputs", {}))
            self._moving.add(name)
            self._keep(run, from_config(config, existing, self.before, self.prepared.plan), waits_for=missing, moves=True)
            return
        _, document = run.plan(PLAN_FILE)
        self.warnings += run.warnings
        self._cut_off.append(run)
        self.documents[name] = document
        self.sizes[name] = resizes(document)
        self._outputs[name] = set(document.get("prior_state", {}).get("values", {}).get("outputs", {}))
        moves, waits = outputs_change(document), [d for d in reads if d in self._moving]
        if moves or waits:
            self._moving.add(name)
        self._keep(run, from_plan(document, self.before, self.prepared.plan), waits_for=waits, moves=moves)

    def told(self) -> None:
        """The plan is saved with its warnings, so what killed runs left need not be found again."""
        for run in self._cut_off:
            run.forget_cut_off()

    def _keep(self, run: StackRun, changes: tuple[Change, ...], *, waits_for: list[str], moves: bool) -> None:
        saved = run.folder / PLAN_FILE
        if waits_for:
            saved.unlink(missing_ok=True)
        self.stacks[run.stack] = StackPlan(
            stack=run.stack,
            state="after" if waits_for else "saved",
            waits_for=tuple(waits_for),
            changes=changes,
            outputs_change=moves,
            config_digest=str(file_digest(run.folder / CONFIG)),
            plan_digest=file_digest(saved),
        )


def _refuse_orphans(folder: Folder, prepared: Prepared) -> None:
    """A stack that is no longer part of the deployment would be forgotten with all that is in it."""
    last = record.read_record(folder.applied_record)
    gone = [s for s in (last.dependencies if last else ()) if s not in prepared.stacks]
    if gone:
        raise StateError(f"{', '.join(gone)} is applied but no longer part of the deployment; destroy it first: inferform destroy --stack {gone[0]}")


def _after_cut_off(journal: record.Journal | None) -> tuple[str, ...]:
    if journal is None:
        return ()
    done: Mapping[str, str] = journal.stacks
    state = ", ".join(f"{name} {how}" for name, how in done.items()) or "nothing started"
    return (f"An earlier apply was cut off ({state}); this plan starts from what it left.",)
