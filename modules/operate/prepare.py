"""From a spec to configurations that terraform can run: the part that plan, apply, drift and destroy share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from inferform.operate.backend import Backend
from inferform.operate.folder import Folder, open_folder, write_json
from inferform.operate.progress import Phase, Progress, Step
from inferform.operate.stack_run import StackRun
from inferform.operate.steps import Evidence, Rules, StackConfig, Steps
from inferform.plan import DeploymentPlan
from inferform.terraform import Tool

if TYPE_CHECKING:
    from pathlib import Path

    from inferform.operate.steps import Source
    from inferform.verdict import Verdict

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Prepared:
    """A deployment that is sized, rendered, synthesized and fitted to its backend; stacks are in apply order."""

    source: Source
    plan: DeploymentPlan
    rendered: dict[str, str]
    stacks: dict[str, StackConfig]
    configs: dict[str, Json]
    adapted: dict[str, tuple[str, ...]]

    @property
    def dependencies(self) -> dict[str, tuple[str, ...]]:
        return {name: s.dependencies for name, s in self.stacks.items()}

    @property
    def adapted_lines(self) -> tuple[str, ...]:
        return tuple(f"{name}: {line}" for name, lines in self.adapted.items() for line in lines)


def prepare(source: Source, folder: Folder, plan: DeploymentPlan, *, steps: Steps, backend: Backend, progress: Progress) -> Prepared:
    """Render and synthesize a sized plan into the folder."""
    rendered = told("render", progress, lambda: steps.render(plan, folder.render))
    stacks = told("synth", progress, lambda: steps.synthesize(plan, folder.root))
    configs = {name: stack.config for name, stack in stacks.items()}
    adapted: dict[str, tuple[str, ...]] = {}
    if backend.adapt:
        fitted = backend.adapt(configs, folder.state)
        configs, adapted = {n: config for n, (config, _) in fitted.items()}, {n: removed for n, (_, removed) in fitted.items() if removed}
    write_json(folder.plan, plan.model_dump(mode="json"))
    return Prepared(source, plan, rendered, stacks, configs, adapted)


def size(source: Source, steps: Steps, out: Path | None, progress: Progress) -> tuple[DeploymentPlan, Folder]:
    """The plan of a spec, and the folder it works in."""
    plan = told("size", progress, lambda: steps.size(source))
    return plan, open_folder(out, plan.name, plan.environment)


def judge(prepared: Prepared, terraform_plans: dict[str, Json], rules: Rules, steps: Steps, progress: Progress) -> Verdict:
    """The verdict on everything that is known: terraform plans where there are any, else the synthesized stacks.

    A stack that was cut down for an older provider is judged as it was synthesized: its terraform plan lacks what was removed.
    """
    whole = {name: document for name, document in terraform_plans.items() if name not in prepared.adapted}
    evidence = Evidence(prepared.source, prepared.plan, prepared.rendered, {n: s.config for n, s in prepared.stacks.items()}, whole)
    return told("check", progress, lambda: steps.judge(evidence, rules))


def runs(names: Iterable[str], folder: Folder, backend: Backend, tool: Tool, progress: Progress, *, live: bool = False) -> dict[str, StackRun]:
    """Terraform on each stack, in the working directories or (live) in those of what was applied."""
    where = folder.live if live else folder.work
    return {name: StackRun(name, where(name), backend.settings, tool, progress) for name in names}


def outputs_read(config: Json, stack: str) -> set[str]:
    """Outputs of `stack` that a configuration reads."""
    return set(re.findall(rf"data\.terraform_remote_state\.{re.escape(stack)}\.outputs\.([A-Za-z_]\w*)", json.dumps(config)))


def told(phase: Phase, progress: Progress, work: Callable[[], T]) -> T:
    """The value of `work()`, its beginning and end told."""
    progress(Step(phase, "begin"))
    done = work()
    progress(Step(phase, "end"))
    return done
