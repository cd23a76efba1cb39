"""Rollback plans an earlier apply again and apply runs that, with the real terraform."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inferform.errors import InputError, StateError, ToolFailedError
from inferform.load import LoadedSpec, load_spec
from inferform.operate.apply import apply
from inferform.operate.folder import Folder
from inferform.operate.history import history
from inferform.operate.plan import plan
from inferform.operate.results import ApplyResult, PlanResult
from inferform.operate.rollback import rollback
from inferform.operate.steps import StackConfig, Steps
from inferform.plan import DeploymentPlan
from operate.tiny import ACTOR, BACKEND, RULES, Seen, stacks, tiny_plan
from specs import MINIMAL, write


def planned(folder: Path, source: LoadedSpec | DeploymentPlan, steps: Steps | None = None) -> PlanResult:
    return plan(source, folder, backend=BACKEND, actor=ACTOR, rules=RULES, steps=steps or Seen().product())


def applied(folder: Path, source: LoadedSpec | DeploymentPlan, steps: Steps | None = None) -> ApplyResult:
    return apply(source, folder, backend=BACKEND, actor=ACTOR, rules=RULES, steps=steps or Seen().product())


def back(folder: Path, to: int | None = None, steps: Steps | None = None) -> PlanResult:
    return rollback(Folder(folder), backend=BACKEND, actor=ACTOR, rules=RULES, to=to, steps=steps or Seen().product())


def pools(folder: Path) -> list[str]:
    """Pools in the state."""
    return sorted(r["name"] for r in json.loads((folder / "state/nodes.tfstate").read_text())["resources"] if r["mode"] == "managed")


def test_rollback_brings_back_what_was_applied_before(tmp_path: Path) -> None:
    """Two specs applied from one file; rollback shows the way back with its cost, apply runs it although the file says otherwise."""
    path, out = write(tmp_path, MINIMAL), tmp_path / "out"
    planned(out, load_spec(path))
    applied(out, load_spec(path))
    write(tmp_path, MINIMAL.replace("llama-8b:", "llama-new:"))
    changed = load_spec(path)
    planned(out, changed)
    applied(out, changed)
    assert ["llama-new-aggregated"] == pools(out)
    shown = back(out)
    assert 1 == shown.rollback_to
    assert [("create", "terraform_data.llama-8b-aggregated"), ("delete", "terraform_data.llama-new-aggregated")] == [
        (c.action, c.address) for s in shown.stacks for c in s.changes
    ]
    assert {"llama-8b/aggregated", "llama-new/aggregated"} == set(shown.cost.by_pool_usd_per_month)
    assert ["pool-renamed"] == [r.code for r in shown.risks]
    result = applied(out, changed)
    assert shown.digest == result.digest
    assert ["llama-8b-aggregated"] == pools(out)
    kept = history(Folder(out))
    assert [(1, None), (2, None), (3, 1)] == [(e.number, e.rollback_to) for e in kept.applied]
    assert (3, False) == (kept.current, kept.unfinished)
    assert kept.applied[0].deployment_digest == kept.applied[2].deployment_digest
    assert {"rollback_to": 1}.items() <= json.loads([line for line in (out / "audit.jsonl").read_text().splitlines() if '"plan"' in line][-1]).items()


def test_after_an_apply_that_failed_the_last_good_one_comes_back(tmp_path: Path) -> None:
    """An apply that broke half way is undone by the one before it, not by the one before that; then there is nothing left to change."""

    def synth(source: DeploymentPlan, folder: Path) -> dict[str, StackConfig]:
        made = stacks(source)
        made["nodes"].config["resource"]["terraform_data"]["llama-8b-aggregated"]["provisioner"] = [{"local-exec": {"command": "exit 1"}}]
        return made

    broken = Steps(render=Seen().product().render, synthesize=synth, judge=Seen().product().judge)
    one, two = tiny_plan(pools=["bge"]), tiny_plan(pools=["llama-8b"])
    planned(tmp_path, one)
    applied(tmp_path, one)
    planned(tmp_path, two, broken)
    with pytest.raises(ToolFailedError):
        applied(tmp_path, two, broken)
    assert history(Folder(tmp_path)).unfinished
    assert 1 == back(tmp_path).rollback_to
    applied(tmp_path, one)
    assert ["bge-aggregated"] == pools(tmp_path)
    assert not history(Folder(tmp_path)).unfinished
    with pytest.raises(StateError, match="is the only deployment that is kept"):
        back(tmp_path)


def test_without_an_earlier_apply_it_says_so(tmp_path: Path) -> None:
    """Nothing applied, an unknown number: told without touching anything."""
    with pytest.raises(StateError, match=r"no apply has ended in .*, so there is nothing to go back to"):
        back(tmp_path)
    with pytest.raises(InputError, match="no such apply is kept"):
        back(tmp_path, to=7)
    assert [] == list(tmp_path.iterdir())
