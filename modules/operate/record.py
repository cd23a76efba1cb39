"""The saved plan of a deployment, how far its apply came, and what was applied last."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

from inferform.errors import StateError
from inferform.operate.backend import Backend
from inferform.operate.folder import CONFIG, Folder, digest, write, write_json
from inferform.operate.results import PlanResult, Result, StackPlan
from inferform.plan import DeploymentPlan
from pydantic import BaseModel, Field, ValidationError

State = Literal["started", "done"]
M = TypeVar("M", bound=BaseModel)


class Record(Result):
    """A saved plan: what was shown, and the digests that tie it to what it was made from."""

    backend: str
    deployment_digest: str = Field(description="SHA-256 of the DeploymentPlan.")
    dependencies: dict[str, tuple[str, ...]]
    result: PlanResult

    @property
    def reads(self) -> dict[str, tuple[str, ...]]:
        """Stacks in apply order (JSON keeps none), each with those it reads."""
        return {s.stack: self.dependencies[s.stack] for s in self.result.stacks}


class Journal(Result):
    """How far the apply of one saved plan came."""

    digest: str
    stacks: dict[str, State] = Field(default_factory=dict)
    warnings: tuple[str, ...] = Field((), description="What a person has to look at after runs that were cut off.")


def plan_digest(backend: str, deployment: str, stacks: tuple[StackPlan, ...]) -> str:
    """One digest over all that apply will do."""
    return digest({"backend": backend, "deployment": deployment, "stacks": [s.model_dump(mode="json") for s in stacks]})


def deployment_digest(plan: DeploymentPlan) -> str:
    """Digest of every decision."""
    return digest(plan.model_dump(mode="json"))


def read_record(path: Path) -> Record | None:
    """The saved plan; None when there is none.

    Raises: StateError when the file is not what plan wrote.
    """
    return read(path, Record)


def read_journal(path: Path) -> Journal | None:
    """The journal of an apply that has not ended; None when there is none."""
    return read(path, Journal)


def applied_plan(folder: Folder) -> DeploymentPlan | None:
    """The DeploymentPlan that was applied last from this folder."""
    return read(folder.applied_plan, DeploymentPlan)


def same_backend(folder: Folder, backend: Backend) -> None:
    """Raises: StateError when what is applied from here is in another cloud, whose ids mean nothing in this one."""
    last = read_record(folder.applied_record)
    if last is not None and last.backend != backend.name:
        remedy = "give another folder with --out" if last.backend == "aws" else f"give --{last.backend}, or another folder with --out"
        raise StateError(f"what is applied from {folder.root} is in {last.backend}, not in {backend.name}; {remedy}")


def keep_applied(folder: Folder, plan: DeploymentPlan, record: Record) -> None:
    """Keep what was just applied: for drift, for destroy, and for the next difference."""
    for stack in record.dependencies:
        write(folder.live(stack) / CONFIG, (folder.work(stack) / CONFIG).read_text(encoding="utf-8"))
    write_json(folder.applied_record, record.model_dump(mode="json"))
    write_json(folder.applied_plan, plan.model_dump(mode="json"))


def forget_applied(folder: Folder) -> None:
    """Nothing is applied any more; state, history and audit stay."""
    for path in (folder.record, folder.journal, folder.plan, folder.attempt):
        path.unlink(missing_ok=True)
    for path in (folder.applied, folder.root / "work"):
        shutil.rmtree(path, ignore_errors=True)


def dependents(dependencies: Mapping[str, tuple[str, ...]], stack: str) -> list[str]:
    """Stacks that read `stack`, directly or through others."""
    found = [s for s, reads in dependencies.items() if stack in reads]
    return list(dict.fromkeys([*found, *(d for s in found for d in dependents(dependencies, s))]))


def read(path: Path, kind: type[M]) -> M | None:
    """What a file holds; None when it is not there. Raises: StateError when it is not what inferform wrote."""
    try:
        return kind.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, ValidationError) as err:
        raise StateError(f"{path} is not what inferform wrote; remove it and run plan again") from err
