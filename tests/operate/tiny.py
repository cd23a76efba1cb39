"""A deployment of built-in terraform resources: the whole of operate with the real terraform, without a provider or a cloud.

network (one resource, output `vpc`) <- cluster (output `name`) <- nodes (one resource a pool). The address range of the plan is
the network's value, so a plan with another range changes it and what the others read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from inferform.operate.audit import Actor
from inferform.operate.backend import Backend
from inferform.operate.progress import Step
from inferform.operate.steps import Evidence, Rules, StackConfig, Steps
from inferform.plan import DeploymentPlan
from inferform.terraform import Settings
from inferform.verdict import Finding, Verdict
from samples import plan_data

ACTOR = Actor("ada@acme.example", "2026-12-01T08:00:00Z")
BACKEND = Backend("aws", Settings(os.environ, isolated=True, lock_timeout_s=1))
RULES = Rules(date(2026, 12, 1))


def tiny_plan(**changes: Any) -> DeploymentPlan:
    """The sample plan without its budget; `cidr` and `pools` (names to keep) change it, other keys replace top-level ones."""
    data = plan_data()
    cidr, pools = changes.pop("cidr", None), changes.pop("pools", None)
    if cidr:
        data["cloud"]["vpc_cidr"] = cidr
    if pools is not None:
        data["models"] = {name: data["models"][name] for name in pools}
    return DeploymentPlan.model_validate({**data, **changes})


def _backend(stack: str) -> dict[str, str]:
    return {"path": f"../../state/{stack}.tfstate"}


def _config(stack: str, resources: dict[str, Any], outputs: dict[str, str], reads: tuple[str, ...]) -> StackConfig:
    config: dict[str, Any] = {
        "terraform": {"required_version": ">= 1.10", "backend": {"local": _backend(stack)}},
        "resource": {"terraform_data": resources},
    }
    if outputs:
        config["output"] = {name: {"value": value} for name, value in outputs.items()}
    if reads:
        config["data"] = {"terraform_remote_state": {s: {"backend": "local", "config": _backend(s)} for s in reads}}
    return StackConfig(config, reads)


def sleeping(seconds: float) -> dict[str, Any]:
    """Makes a resource whose creation takes so long."""
    return {"provisioner": [{"local-exec": {"command": f"sleep {seconds}"}}]}


def stacks(plan: DeploymentPlan, slow: float = 0.0) -> dict[str, StackConfig]:
    """The three stacks; `slow` seconds to make each pool."""
    more = sleeping(slow) if slow else {}
    name = "${data.terraform_remote_state.cluster.outputs.name}"
    pools = {f"{m}-{p}": {"input": {"cluster": name, "nodes": pool.nodes.max}, **more} for m, _, p, pool in plan.pool_items()}
    return {
        "network": _config("network", {"vpc": {"input": plan.cloud.vpc_cidr}}, {"vpc": "${terraform_data.vpc.output}"}, ()),
        "cluster": _config(
            "cluster",
            {"main": {"input": "${data.terraform_remote_state.network.outputs.vpc}"}},
            {"name": "${terraform_data.main.output}"},
            ("network",),
        ),
        "nodes": _config("nodes", pools, {}, ("cluster",)),
    }


def verdict(*messages: str) -> Verdict:
    """A verdict that denies for each message."""
    rows = [
        Finding(id="TST001", title="A test rule", severity="deny", result="fail", address="plan", message=m, remedy="Mend it now.", source="test")
        for m in messages
    ]
    return Verdict(outcomes=(), findings=tuple(rows), strict=False)


class Seen:
    """Steps that behave, and what they saw."""

    def __init__(self, *, slow: float = 0.0, deny: Callable[[Evidence], list[str]] = lambda evidence: []):
        self.evidence: list[Evidence] = []
        self.steps: list[Step] = []
        self._slow, self._deny = slow, deny

    def product(self) -> Steps:
        return Steps(render=self._render, synthesize=lambda plan, folder: stacks(plan, self._slow), judge=self._judge)

    def _render(self, plan: DeploymentPlan, folder: Path) -> dict[str, str]:
        return {"serving/deployment.yaml": f"kind: Deployment\nmetadata: {{name: {plan.name}}}\n"}

    def _judge(self, evidence: Evidence, rules: Rules) -> Verdict:
        self.evidence.append(evidence)
        return verdict(*self._deny(evidence))

    def progress(self, step: Step) -> None:
        self.steps.append(step)
