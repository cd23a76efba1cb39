"""Rollback: plans an earlier apply again, whatever has become of the spec since, and saves that as the plan to apply.

Nothing is sized anew: the DeploymentPlan is the one that was applied then, so a newer catalogue does not turn the way back into
another change. Stacks are synthesized, judged and planned against the cloud of today as for any plan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inferform.errors import StateError
from inferform.operate import history
from inferform.operate.audit import Actor
from inferform.operate.backend import Backend
from inferform.operate.plan import plan
from inferform.operate.progress import Progress, silent
from inferform.operate.steps import Rules, Steps

if TYPE_CHECKING:
    from inferform.operate.folder import Folder
    from inferform.operate.results import PlanResult


def rollback(
    folder: Folder, progress: Progress = silent, *, backend: Backend, actor: Actor, rules: Rules, to: int | None = None, steps: Steps | None = None
) -> PlanResult:
    """Make and save the plan that brings back apply `to`; None means the one before what is applied now.

    After an apply that began and did not end, the one before it is the last that did.
    Raises: StateError when there is nothing to go back to; InputError for a number that is not kept; else as `plan.plan`.
    """
    number = to if to is not None else _before(folder)
    past = history.past(folder, number, steps)
    result = plan(past.source, folder.root, progress, backend=backend, actor=actor, rules=rules, steps=past.steps, rollback_to=number)
    return result.model_copy(update={"warnings": (*past.warnings, *result.warnings)}) if past.warnings else result


def _before(folder: Folder) -> int:
    found = history.entries(folder)
    if not found:
        raise StateError(f"no apply has ended in {folder.root}, so there is nothing to go back to")
    unfinished = folder.attempt.is_file()
    if not unfinished and not folder.applied_record.is_file():
        raise StateError(f"nothing is applied from {folder.root} now; to bring back one of its {len(found)} applies, give its number: --to {found[-1].number}")
    target = history.before(found, unfinished=unfinished)
    if target is None:
        raise StateError(f"apply {found[-1].number} is the only deployment that is kept in {folder.root}, so there is nothing before it")
    return target.number


def saved(folder: Folder, steps: Steps) -> history.Past | None:
    """The past deployment that the saved plan brings back; None where the saved plan is one of a spec, or there is none."""
    from inferform.operate import record

    kept = record.read_record(folder.record)
    if kept is None or kept.result.rollback_to is None:
        return None
    past = history.past(folder, kept.result.rollback_to, steps)
    return replace(past, warnings=())
