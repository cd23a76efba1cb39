"""Apply: exactly the saved plan, after the verdict allows it, or nothing.

Before anything is touched the digests are compared: of the spec's plan, of every configuration and of every saved plan file;
and the policy judges once more, by the rules and waivers of today.
Saved stacks run their plan file. Stacks that were shown as `after`, and a stack in which an earlier apply was cut off, are
planned anew and run only when the new plan does nothing that was not shown. A journal says how far apply came, so that the
next apply goes on behind what is done, however this one ended.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inferform.errors import PolicyDeniedError, StateError, ToolFailedError
from inferform.operate import archive, audit, history, lock, record, rollback
from inferform.operate.audit import Actor
from inferform.operate.backend import Backend
from inferform.operate.changes import add, beyond, count, from_plan
from inferform.operate.folder import CONFIG, PLAN_FILE, Folder, digest, file_digest, write_json
from inferform.operate.prepare import Prepared, judge, prepare, runs, size
from inferform.operate.progress import Progress, silent
from inferform.operate.record import Journal, Record
from inferform.operate.results import ApplyResult, Counts, StackPlan, StackResult
from inferform.operate.stack_run import StackRun
from inferform.operate.steps import Rules, Steps
from inferform.plan import DeploymentPlan
from inferform.terraform import TerraformError, find_terraform

if TYPE_CHECKING:
    from inferform.operate.steps import Source
    from inferform.verdict import Verdict

PLAN_AGAIN = "again.tfplan"
AGAIN = "run inferform plan again, look at it, and apply that"


def apply(
    source: Source, out: Path | None, progress: Progress = silent, *, backend: Backend, actor: Actor, rules: Rules, steps: Steps | None = None
) -> ApplyResult:
    """Apply the saved plan of a spec; where that is a rollback, the deployment that it brings back, whatever the spec says now.

    Raises: PolicyDeniedError when the verdict denies; StateError when there is no saved plan, when it is not of this spec,
    when anything differs from what was shown, or while another command works here; ToolFailedError with what the cloud refused.
    """
    tool = find_terraform(backend.settings)
    steps = steps or Steps()
    past = rollback.saved(history.of(source, out), steps)
    if past is not None:
        source, steps = past.source, past.steps
    sized, folder = size(source, steps, out, progress)
    with lock.hold(folder.lock, "apply", actor.when):
        kept = _saved(folder, sized, backend)
        shelf = backend.shelf(sized) if backend.shelf else None
        apart = archive.pull(folder, shelf)
        journal = record.read_journal(folder.journal)
        resumed = journal is not None and journal.digest == kept.result.digest
        journal = journal if journal is not None and resumed else Journal(digest=kept.result.digest)
        prepared = prepare(source, folder, sized, steps=steps, backend=backend, progress=progress)
        _same(prepared, kept, folder, journal)
        audit.append(folder.audit, actor, "apply", digest=kept.result.digest, spec=sized.spec_digest, backend=backend.name, resumed=resumed)
        work = _Apply(prepared, kept, folder, journal, rules, steps, progress, warnings=[*apart, *journal.warnings])
        try:
            each = runs(prepared.configs, folder, backend, tool, progress)
            work.judge_again(each)
            write_json(folder.attempt, {"digest": kept.result.digest, "who": actor.who, "when": actor.when})
            for run in each.values():
                work.stack(run)
            for result in work.results:
                if result.state != "unchanged":
                    each[result.stack].settle()
        except (StateError, ToolFailedError, PolicyDeniedError) as err:
            audit.append(folder.audit, actor, "apply failed", digest=kept.result.digest, reason=str(err)[:400], stacks=dict(work.journal.stacks))
            if isinstance(err, ToolFailedError):
                raise work.how_to_go_on(err) from err
            raise
        record.keep_applied(folder, sized, kept)
        counts = add(s.counts for s in work.results)
        history.keep(folder, source, sized, kept, actor=actor, counts=counts)
        work.warnings += [w for w in archive.push(folder, shelf) if w not in work.warnings]
        # In this order a cut between two of them leaves something that the next apply completes.
        for path in (folder.attempt, folder.record, folder.journal):
            path.unlink(missing_ok=True)
        audit.append(folder.audit, actor, "applied", digest=kept.result.digest, spec=sized.spec_digest, counts=counts.model_dump())
    return ApplyResult(
        name=sized.name,
        environment=sized.environment,
        folder=str(folder.root),
        digest=kept.result.digest,
        resumed=resumed,
        stacks=tuple(work.results),
        counts=counts,
        outputs=work.outputs,
        warnings=tuple(work.warnings),
        rollback_to=kept.result.rollback_to,
    )


def _saved(folder: Folder, sized: DeploymentPlan, backend: Backend) -> Record:
    """The saved plan, when it is of this spec and backend and may be applied."""
    kept = record.read_record(folder.record)
    if kept is None:
        raise StateError(f"there is no saved plan in {folder.root}; run inferform plan first")
    result = kept.result
    if record.plan_digest(kept.backend, kept.deployment_digest, result.stacks) != result.digest:
        raise StateError(f"the saved plan {result.digest[:12]} was changed after it was made; {AGAIN}")
    if kept.backend != backend.name:
        raise StateError(f"the saved plan is for {kept.backend}, not for {backend.name}; {AGAIN}")
    if kept.deployment_digest != record.deployment_digest(sized):
        raise StateError(f"the spec, the prices, the catalogue or inferform itself changed since plan {result.digest[:12]} was made; {AGAIN}")
    if not result.allowed:
        _deny(result.verdict)
    blocked = [r for r in result.risks if r.level == "block"]
    if blocked:
        raise StateError("; ".join(f"{r.message}. {r.remedy}" for r in blocked))
    return kept


def _deny(verdict: Verdict) -> None:
    found = [f"{f.id} {f.address}: {f.message}" for f in verdict.findings if verdict.denies(f)]
    shown = "; ".join(found[:5]) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
    raise PolicyDeniedError(f"the policy denies this plan: {shown}")


def _same(prepared: Prepared, kept: Record, folder: Folder, journal: Journal) -> None:
    """Everything that will run is, byte for byte, what was planned."""
    planned = {s.stack: s for s in kept.result.stacks}
    if list(planned) != list(prepared.configs):
        raise StateError(f"the stacks are {', '.join(prepared.configs)} and were {', '.join(planned)}; {AGAIN}")
    for name, stack in planned.items():
        config = folder.work(name) / CONFIG
        same = file_digest(config) == stack.config_digest and digest(_json(config)) == digest(prepared.configs[name])
        if not same:
            raise StateError(f"{config} is not the configuration that was planned; {AGAIN}")
        begun = name in journal.stacks
        if stack.state == "saved" and not begun and file_digest(folder.work(name) / PLAN_FILE) != stack.plan_digest:
            raise StateError(f"{folder.work(name) / PLAN_FILE} is not the saved plan that was shown; {AGAIN}")


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@dataclass
class _Apply:
    """The stacks applied so far."""

    prepared: Prepared
    kept: Record
    folder: Folder
    journal: Journal
    rules: Rules
    steps: Steps
    progress: Progress
    results: list[StackResult] = field(default_factory=list)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def judge_again(self, each: Mapping[str, StackRun]) -> None:
        """The verdict of today on the saved plans: a waiver may have expired, or a rule come, since they were made."""
        waiting = [s.stack for s in self.kept.result.stacks if s.state == "saved" and s.stack not in self.journal.stacks]
        documents = {name: each[name].terraform.show(PLAN_FILE) for name in waiting if name not in self.prepared.adapted}
        self._judge(documents)

    def _judge(self, documents: dict[str, dict[str, Any]]) -> None:
        verdict = judge(self.prepared, documents, self.rules, self.steps, self.progress)
        if verdict.denied:
            _deny(verdict)

    def stack(self, run: StackRun) -> None:
        """Apply one stack, after those it reads."""
        shown, began = next(s for s in self.kept.result.stacks if s.stack == run.stack), time.monotonic()
        earlier = self.journal.stacks.get(run.stack)
        if earlier == "done":
            self._finish(run, StackResult(stack=run.stack, state="done_before", counts=Counts(), seconds=0.0))
            return
        run.open()
        if shown.state == "saved" and earlier is None:
            counts, different = count(shown.changes), bool(shown.changes) or shown.outputs_change
            file = PLAN_FILE
        else:
            file = PLAN_AGAIN
            counts, different = self._plan_again(run, shown, file)
        if different:
            self._note(run.stack, "started")
            run.apply(file, sum(counts.model_dump().values()))
        self._note(run.stack, "done")
        self._finish(
            run, StackResult(stack=run.stack, state="applied" if different else "unchanged", counts=counts, seconds=round(time.monotonic() - began, 2))
        )

    def _plan_again(self, run: StackRun, shown: StackPlan, file: str) -> tuple[Counts, bool]:
        """Plan a stack once what it reads is there; refuse what was not shown or what the policy denies."""
        different, document = run.plan(file)
        self.warnings += [w for w in run.warnings if w not in self.warnings]
        self._write()
        run.forget_cut_off()
        found = from_plan(document, record.applied_plan(self.folder), self.prepared.plan)
        more = beyond(shown.changes, found)
        if more:
            rest = f"; and {len(more) - 5} more" if len(more) > 5 else ""
            raise StateError(f"{run.stack}: the plan that is possible now does more than was shown: {'; '.join(more[:5])}{rest}; {AGAIN}")
        # Of a stack that was cut down for its backend the policy knows no more now than when it was planned.
        if run.stack not in self.prepared.adapted:
            self._judge({run.stack: document})
        return count(found), different

    def how_to_go_on(self, err: ToolFailedError) -> ToolFailedError:
        """The error with what is done, and what to do."""
        known = ", ".join(f"{s} {how}" for s, how in self.journal.stacks.items()) or "no stack begun"
        go_on = f"What was made is in the state ({known}); mend the cause and run inferform apply again: it goes on from there"
        text = ". ".join([str(err), go_on, *self.warnings])
        return TerraformError(text, err.output, err.diagnostics) if isinstance(err, TerraformError) else ToolFailedError(text, err.output)

    def _finish(self, run: StackRun, result: StackResult) -> None:
        for file in (PLAN_FILE, PLAN_AGAIN):
            (run.folder / file).unlink(missing_ok=True)
        self.results.append(result)
        self.outputs[run.stack] = run.outputs()

    def _note(self, stack: str, state: record.State) -> None:
        self.journal = self.journal.model_copy(update={"stacks": {**self.journal.stacks, stack: state}})
        self._write()

    def _write(self) -> None:
        self.journal = self.journal.model_copy(update={"warnings": tuple(self.warnings)})
        write_json(self.folder.journal, self.journal.model_dump(mode="json"))
