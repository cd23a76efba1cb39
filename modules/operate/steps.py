"""The parts of the product that plan joins, as functions; what is heavy is imported when it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inferform.plan import DeploymentPlan

if TYPE_CHECKING:
    from datetime import date

    from inferform.load import LoadedSpec
    from inferform.verdict import Verdict
    from inferform.waivers import Waiver

    Source = LoadedSpec | DeploymentPlan


@dataclass(frozen=True)
class StackConfig:
    """One synthesized stack: its configuration and the stacks whose outputs it reads."""

    config: dict[str, Any]
    dependencies: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """What the policy judges: the source, its plan, rendered files, and per stack the configuration and terraform plan."""

    source: Source
    plan: DeploymentPlan
    rendered: Mapping[str, str]
    stacks: Mapping[str, dict[str, Any]]
    terraform_plans: Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Rules:
    """How the policy judges: the day for waivers, waivers, own rules, and whether what is unknown denies."""

    today: date
    waivers: tuple[Waiver, ...] = ()
    strict: bool = False
    rule_folders: tuple[str, ...] = ()


def _size(source: Source) -> DeploymentPlan:
    if isinstance(source, DeploymentPlan):
        return source
    from inferform.planner import size

    return size(source.spec, source.environment)


def _render(plan: DeploymentPlan, folder: Path) -> dict[str, str]:
    from inferform.render import render, tree

    files = render(plan)
    tree.write(files, folder)
    return files


def _synthesize(plan: DeploymentPlan, folder: Path) -> dict[str, StackConfig]:
    import json

    from inferform.stacks.app import synthesize

    manifest = synthesize(plan, folder)
    return {s.name: StackConfig(json.loads((folder / s.path).read_text(encoding="utf-8")), s.dependencies) for s in manifest.stacks}


def _judge(evidence: Evidence, rules: Rules) -> Verdict:
    from inferform.policy import judge
    from inferform.policy_document import load_document

    source = evidence.source
    document = load_document(
        spec=None if isinstance(source, DeploymentPlan) else source.spec.model_dump(mode="json"),
        plan=evidence.plan.model_dump(mode="json"),
        rendered=evidence.rendered,
        synthesized=evidence.stacks,
        terraform_plans=evidence.terraform_plans,
        spec_path="" if isinstance(source, DeploymentPlan) else source.file,
    )
    return judge(document, rules.waivers, today=rules.today, strict=rules.strict, rule_folders=rules.rule_folders)


@dataclass(frozen=True)
class Steps:
    """What plan calls in turn. `synthesize` gives stacks in apply order and writes them below its folder, as `render` does its files."""

    size: Callable[[Source], DeploymentPlan] = field(default=_size)
    render: Callable[[DeploymentPlan, Path], dict[str, str]] = field(default=_render)
    synthesize: Callable[[DeploymentPlan, Path], dict[str, StackConfig]] = field(default=_synthesize)
    judge: Callable[[Evidence, Rules], Verdict] = field(default=_judge)
