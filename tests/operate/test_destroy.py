"""Destroy goes backwards through the stacks and takes nothing that is still read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError, StateError, ToolFailedError
from inferform.operate.apply import apply
from inferform.operate.destroy import destroy
from inferform.operate.plan import plan
from inferform.operate.results import DestroyResult
from inferform.operate.steps import Steps
from inferform.plan import DeploymentPlan
from operate.tiny import ACTOR, BACKEND, RULES, Seen, stacks, tiny_plan


def up(folder: Path, source: DeploymentPlan, steps: Steps | None = None) -> None:
    """Plan and apply."""
    steps = steps or Seen().product()
    plan(source, folder, backend=BACKEND, actor=ACTOR, rules=RULES, steps=steps)
    apply(source, folder, backend=BACKEND, actor=ACTOR, rules=RULES, steps=steps)


def down(folder: Path, source: DeploymentPlan, steps: Steps | None = None, **more: Any) -> DestroyResult:
    """Destroy."""
    return destroy(source, folder, backend=BACKEND, actor=ACTOR, steps=steps or Seen().product(), **more)


def test_fc37_destroy_walks_the_stacks_backwards(tmp_path: Path) -> None:
    """FC-37: nodes, then cluster, then network; afterwards every state is empty and nothing counts as applied."""
    up(tmp_path, tiny_plan())
    result = down(tmp_path, tiny_plan())
    assert [("nodes", "destroyed", 4), ("cluster", "destroyed", 1), ("network", "destroyed", 1)] == [(s.stack, s.state, s.counts.delete) for s in result.stacks]
    assert [[], [], []] == [json.loads(p.read_text())["resources"] for p in (tmp_path / "state").glob("*.tfstate")]
    assert not (tmp_path / "applied").exists()
    actions = [json.loads(line)["action"] for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert ["plan", "apply", "applied", "destroy", "destroyed"] == actions
    assert ["empty", "empty", "empty"] == [s.state for s in down(tmp_path, tiny_plan()).stacks]


def test_fc37_a_stack_that_is_read_stays(tmp_path: Path) -> None:
    """FC-37: the network is not destroyed while cluster or nodes have resources; alone, the last one goes."""
    up(tmp_path, tiny_plan(pools=["bge"]))
    with pytest.raises(StateError, match=r"network stays: cluster reads it and still has 1 resources \(terraform_data\.main\); destroy cluster first"):
        down(tmp_path, tiny_plan(pools=["bge"]), stacks=["network"])
    assert ["nodes"] == [s.stack for s in down(tmp_path, tiny_plan(pools=["bge"]), stacks=["nodes"]).stacks]
    assert ["cluster", "network"] == [s.stack for s in down(tmp_path, tiny_plan(pools=["bge"]), stacks=["network", "cluster"]).stacks]


def test_unknown_stack_is_named(tmp_path: Path) -> None:
    """A stack that is not there is an input error with the ones that are."""
    with pytest.raises(InputError, match=r"stack: unknown stack \(found disks\); legal: network, cluster, nodes"):
        down(tmp_path, tiny_plan(), stacks=["disks"])


def test_protected_environment_wants_its_name(tmp_path: Path) -> None:
    """A protected environment stays unless its name was typed; nothing is touched."""
    guarded = tiny_plan(pools=["bge"], protected=True)
    up(tmp_path, guarded)
    for typed in (None, "contract", ""):
        with pytest.raises(InputError, match="confirm with its name: --confirm contract-qa"):
            down(tmp_path, guarded, confirmed=typed)
        # Taking the protection out of the spec is not enough: it counts as it was applied.
        with pytest.raises(InputError, match="is protected"):
            down(tmp_path, tiny_plan(pools=["bge"]), confirmed=typed)
    assert 3 == len(down(tmp_path, guarded, confirmed="contract-qa").stacks)


def test_destroy_after_an_apply_that_failed(tmp_path: Path) -> None:
    """What an apply that never ended has made can be destroyed, without ending it first."""

    def synth(source: DeploymentPlan, folder: Path) -> dict[str, Any]:
        made = stacks(source)
        made["nodes"].config["resource"]["terraform_data"]["bge-aggregated"]["provisioner"] = [{"local-exec": {"command": "exit 1"}}]
        return made

    steps = Steps(render=Seen().product().render, synthesize=synth, judge=Seen().product().judge)
    with pytest.raises(ToolFailedError):
        up(tmp_path, tiny_plan(pools=["bge"]), steps)
    result = down(tmp_path, tiny_plan(pools=["bge"]), steps)
    assert [("nodes", "destroyed"), ("cluster", "destroyed"), ("network", "destroyed")] == [(s.stack, s.state) for s in result.stacks]


def test_state_is_kept_when_destroy_fails(tmp_path: Path) -> None:
    """A refusal of the cloud stops destroy; what is left is still known and the next destroy goes on."""
    blocked = tmp_path / "blocked"
    blocked.touch()

    def synth(source: DeploymentPlan, folder: Path) -> dict[str, Any]:
        made = stacks(source)
        made["cluster"].config["resource"]["terraform_data"]["main"]["provisioner"] = [{"local-exec": {"when": "destroy", "command": f"test ! -e {blocked}"}}]
        return made

    steps = Steps(render=Seen().product().render, synthesize=synth, judge=Seen().product().judge)
    one = tiny_plan(pools=["bge"])
    up(tmp_path, one, steps)
    with pytest.raises(ToolFailedError, match="cluster: terraform apply failed"):
        down(tmp_path, one, steps)
    blocked.unlink()
    assert [("nodes", "empty"), ("cluster", "destroyed"), ("network", "destroyed")] == [(s.stack, s.state) for s in down(tmp_path, one, steps).stacks]
