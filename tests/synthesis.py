"""Synthesized stacks for tests: the sample plan, changed here and there, as Terraform configuration."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import samples
from inferform.plan import DeploymentPlan
from inferform.planning.termination import termination_plan
from inferform.stacks.app import synthesize
from inferform.stacks.cdk import Library

Json = dict[str, Any]


def stacks_of(plan: DeploymentPlan, library: Library = "cdktf") -> dict[str, Json]:
    """Configuration by stack name."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = synthesize(plan, Path(folder), library)
        return {s.name: json.loads((Path(folder) / s.path).read_text(encoding="utf-8")) for s in manifest.stacks}


@cache
def sample_stacks() -> dict[str, Json]:
    """The stacks of the sample plan; read only."""
    return stacks_of(samples.sample_plan())


def changed(change: Callable[[Json], object]) -> DeploymentPlan:
    """The sample plan after `change` was applied to its data; who drains nodes follows from its pools."""
    data = samples.plan_data()
    change(data)
    plan = DeploymentPlan.model_validate(data)
    pools = {f"{model}-{name}": pool for model, _, name, pool in plan.pool_items()}
    return plan.model_copy(update={"termination": termination_plan(plan.resource_prefix(), pools)})


def one_pool(purchase: list[Json] | None = None, *, instance_type: str = "p5.48xlarge", **infrastructure: Any) -> DeploymentPlan:
    """A plan with the single pool `m-aggregated` of p5.48xlarge nodes, managed unless `infrastructure` says otherwise."""

    def change(data: Json) -> None:
        pool = samples.pool(instance_type=instance_type, infrastructure=infrastructure)
        if purchase is not None:
            pool["purchase"] = purchase
        data["models"] = {"m": samples.model({"aggregated": pool})}

    return changed(change)


def part(kind: str, nodes: tuple[int, int, int] = (1, 1, 2), **more: Any) -> Json:
    """One purchase part of p5.48xlarge nodes."""
    counts = dict(zip(("min", "steady", "max"), nodes, strict=True))
    base = {"kind": kind, "instance_types": ["p5.48xlarge"], "nodes": counts, "usd_per_hour": 55.04, "price_as_of": "2026-07-20", "price_source": "catalogue"}
    return {**base, **more}


def user_data_text(template: Json) -> str:
    """User data as the node reads it; references stay as `${...}`."""
    text = template["user_data"]
    found = re.fullmatch(r'\$\{base64encode\("(.*)"\)\}', text, re.DOTALL)
    if not found:
        return base64.b64decode(text).decode()
    return found.group(1).replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
