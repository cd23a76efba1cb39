"""The whole job on a spec without a cloud: sized, rendered, synthesized, checked, and applied to the double where terraform is.

Without terraform or the sandbox's packages everything up to the check runs, and the report says what was skipped and why.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inferform.errors import MissingToolError
from inferform.operate.apply import apply
from inferform.operate.audit import Actor
from inferform.operate.backend import Backend
from inferform.operate.destroy import destroy
from inferform.operate.plan import plan
from inferform.operate.prepare import judge, prepare, size
from inferform.operate.progress import Progress, silent
from inferform.operate.results import Counts, Result
from inferform.operate.steps import Rules, Steps
from inferform.plan import DeploymentPlan
from inferform.terraform import Settings, find_terraform
from inferform.verdict import Verdict

if TYPE_CHECKING:
    from inferform.operate.steps import Source

T = TypeVar("T")


class DemoReport(Result):
    """What was done to a spec, with seconds a stage; `applied` and what follows is None where it was skipped."""

    plan: DeploymentPlan
    files: int
    stacks: tuple[str, ...]
    resources: int
    verdict: Verdict
    applied: Counts | None = None
    changes_after_apply: int | None = None
    destroyed: Counts | None = None
    adapted: tuple[str, ...] = ()
    skipped: str = ""
    seconds: dict[str, float]
    folder: str


def demo(
    source: Source,
    out: Path,
    progress: Progress = silent,
    *,
    backend_at: Callable[[str], Backend],
    actor: Actor,
    rules: Rules,
    steps: Steps | None = None,
) -> DemoReport:
    """Run the whole job on a spec below `out`; `backend_at` gives the backend for a double at an address.

    Raises: what size, plan and apply raise for a spec that cannot be built.
    """
    steps = steps or Steps()
    clock = _Clock()
    try:
        from inferform.sandbox.server import Double
    except ModuleNotFoundError as err:
        return _without(
            source, out, progress, rules=rules, steps=steps, clock=clock, why=f"the package {err.name} is not installed; install inferform[sandbox]"
        )
    with Double() as double:
        try:
            backend = clock.timed("sandbox", lambda: backend_at(double.url))
            find_terraform(backend.settings)
        except MissingToolError as err:
            return _without(source, out, progress, rules=rules, steps=steps, clock=clock, why=str(err))
        return _with(source, out, progress, backend=backend, actor=actor, rules=rules, steps=steps, clock=clock)


def _without(source: Source, out: Path, progress: Progress, *, rules: Rules, steps: Steps, clock: _Clock, why: str) -> DemoReport:
    """Everything that needs neither terraform nor a cloud."""
    sized, folder = clock.timed("size", lambda: size(source, steps, out, progress))
    nowhere = Backend("none", Settings({}))
    prepared = clock.timed("render and synth", lambda: prepare(source, folder, sized, steps=steps, backend=nowhere, progress=progress))
    verdict = clock.timed("check", lambda: judge(prepared, {}, rules, steps, progress))
    return DemoReport(
        plan=sized,
        files=len(prepared.rendered),
        stacks=tuple(prepared.configs),
        resources=sum(len(named) for config in prepared.configs.values() for named in config.get("resource", {}).values()),
        verdict=verdict,
        skipped=f"terraform plan, apply and destroy on the sandbox: {why}",
        seconds=clock.seconds,
        folder=str(folder.root),
    )


def _with(source: Source, out: Path, progress: Progress, *, backend: Backend, actor: Actor, rules: Rules, steps: Steps, clock: _Clock) -> DemoReport:
    sized, _ = clock.timed("size", lambda: size(source, steps, out, progress))
    counted = _Counting(steps, sized)

    def planned() -> DemoReport:
        first = plan(source, out, progress, backend=backend, actor=actor, rules=rules, steps=counted.steps())
        return DemoReport(
            plan=sized,
            files=counted.files,
            stacks=tuple(s.stack for s in first.stacks),
            resources=first.counts.create,
            verdict=first.verdict,
            adapted=first.adapted,
            skipped="" if first.allowed else "apply: the policy denies the plan",
            seconds=clock.seconds,
            folder=first.folder,
        )

    report = clock.timed("plan", planned)
    if report.skipped:
        return report.model_copy(update={"seconds": clock.seconds})
    applied = clock.timed("apply", lambda: apply(source, out, progress, backend=backend, actor=actor, rules=rules, steps=counted.steps()))
    again = clock.timed("second plan", lambda: plan(source, out, progress, backend=backend, actor=actor, rules=rules, steps=counted.steps()))
    gone = clock.timed("destroy", lambda: destroy(source, out, progress, backend=backend, actor=actor, confirmed=sized.name, steps=counted.steps()))
    return report.model_copy(
        update={
            "applied": applied.counts,
            "changes_after_apply": sum(len(s.changes) for s in again.stacks),
            "destroyed": gone.counts,
            "seconds": clock.seconds,
        }
    )


class _Counting:
    """Steps that size only once and count the rendered files."""

    def __init__(self, steps: Steps, sized: DeploymentPlan):
        self._inner, self._sized = steps, sized
        self.files = 0

    def steps(self) -> Steps:
        def render(sized: DeploymentPlan, folder: Path) -> dict[str, str]:
            made = self._inner.render(sized, folder)
            self.files = len(made)
            return made

        return Steps(lambda source: self._sized, render, self._inner.synthesize, self._inner.judge)


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, stage: str, work: Callable[[], T]) -> T:
        began = time.monotonic()
        done = work()
        self.seconds = {**self.seconds, stage: round(time.monotonic() - began, 1)}
        return done
