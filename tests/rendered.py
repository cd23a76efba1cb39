"""Rendered objects as data, for tests that look at values and not at text."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import samples
import yaml
from inferform.plan import DeploymentPlan
from inferform.render import render

REFERENCE = Path(__file__).resolve().parents[1] / "../shared/reference"
NO_REFERENCE = "the reference data is not beside this checkout"
Objects = list[dict[str, Any]]
# The same safe loader in C, which is ten times as fast.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def plan(change: Callable[[dict[str, Any]], None] | None = None) -> DeploymentPlan:
    """The sample plan, changed as plain data first."""
    data = copy.deepcopy(samples.plan_data())
    if change:
        change(data)
    return DeploymentPlan.model_validate(data)


def one_pool(model: Mapping[str, Any] | None = None, /, **pool: Any) -> DeploymentPlan:
    """A plan with the single model `m`: one pool of p5 nodes, changed by `pool`; `model` changes the model."""

    def change(data: dict[str, Any]) -> None:
        data["models"] = {"m": samples.model({"aggregated": samples.pool(**pool)}, **{"served_name": "m", **(model or {})})}

    return plan(change)


def objects(source: DeploymentPlan | Mapping[str, str] | Objects, kind: str | None = None, name: str | None = None) -> Objects:
    """Kubernetes objects of a plan, of rendered files, or of objects read before, in path order."""
    if isinstance(source, list):
        return [o for o in source if kind in (None, o["kind"]) and name in (None, o["metadata"]["name"])]
    files = render(source) if isinstance(source, DeploymentPlan) else source
    found = [
        item
        for path in sorted(files)
        if path.endswith(".yaml") and not path.endswith(("kustomization.yaml", "-values.yaml"))
        for item in yaml.load_all(files[path], LOADER)
    ]
    return objects(found, kind, name)


def one(source: DeploymentPlan | Mapping[str, str] | Objects, kind: str, name: str | None = None) -> dict[str, Any]:
    """The only object of that kind and name."""
    found = objects(source, kind, name)
    assert len(found) == 1, [o["metadata"]["name"] for o in found]
    return found[0]


def pods(source: DeploymentPlan | Mapping[str, str], name: str) -> list[dict[str, Any]]:
    """Pod specs of a workload: one of a Deployment, leader and worker of a LeaderWorkerSet."""
    (workload,) = [o for o in objects(source) if o["kind"] in ("Deployment", "LeaderWorkerSet") and o["metadata"]["name"] == name]
    spec = workload["spec"]
    if workload["kind"] == "Deployment":
        return [spec["template"]["spec"]]
    return [spec["leaderWorkerTemplate"][part]["spec"] for part in ("leaderTemplate", "workerTemplate")]


def option(pod: Mapping[str, Any], flag: str) -> str:
    """The value after a flag of the engine container."""
    args: list[str] = pod["containers"][0]["args"]
    return args[args.index(flag) + 1]
