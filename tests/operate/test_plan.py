"""Plans of the tiny deployment: what is saved, what waits, and what is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inferform.errors import StateError
from inferform.operate.apply import apply
from inferform.operate.folder import file_digest
from inferform.operate.plan import plan
from operate.tiny import ACTOR, BACKEND, RULES, Seen, tiny_plan


def test_first_plan_saves_what_can_be_planned(tmp_path: Path) -> None:
    """Before the first apply only the network has a terraform plan; the others are shown from their configuration and wait."""
    seen = Seen()
    result = plan(tiny_plan(), tmp_path, seen.progress, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    assert [("network", "saved", ()), ("cluster", "after", ("network",)), ("nodes", "after", ("cluster",))] == [
        (s.stack, s.state, s.waits_for) for s in result.stacks
    ]
    # one network, one cluster, four pools
    assert (6, 0, 0, 0) == tuple(result.counts.model_dump().values())
    assert ["terraform_data.bge-aggregated", "terraform_data.llama-405b-aggregated"] == [c.address for c in result.stacks[2].changes][:2]
    assert result.first
    assert result.allowed
    assert result.has_changes
    assert result.stacks[0].plan_digest == file_digest(tmp_path / "work/network/saved.tfplan")
    assert [None, None] == [s.plan_digest for s in result.stacks[1:]]
    assert json.loads((tmp_path / "record.json").read_text())["result"]["digest"] == result.digest


def test_plan_tells_its_phases(tmp_path: Path) -> None:
    """Progress names every phase in turn, with the stack where there is one."""
    seen = Seen()
    plan(tiny_plan(), tmp_path, seen.progress, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    begun = [(s.phase, s.stack) for s in seen.steps if s.state == "begin"]
    assert [
        ("size", ""),
        ("render", ""),
        ("synth", ""),
        ("init", "network"),
        ("plan", "network"),
        ("init", "cluster"),
        ("init", "nodes"),
        ("check", ""),
    ] == begun
    assert len(begun) == len([s for s in seen.steps if s.state == "end"])


def test_fc33_policy_gets_what_is_unknown(tmp_path: Path) -> None:
    """FC-33: the policy sees terraform's own plan with after_unknown, and the configuration of stacks that wait."""
    seen = Seen()
    plan(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    evidence = seen.evidence[0]
    assert ["network"] == list(evidence.terraform_plans)
    change = evidence.terraform_plans["network"]["resource_changes"][0]["change"]
    assert (["create"], "10.0.0.0/16", True) == (change["actions"], change["after"]["input"], change["after_unknown"]["id"])
    assert "configuration" in evidence.terraform_plans["network"]
    assert ["network", "cluster", "nodes"] == list(evidence.stacks)


def test_second_plan_is_empty_and_third_shows_the_difference(tmp_path: Path) -> None:
    """After apply nothing is left to do; a pool more is one creation, the rest has no change."""
    seen = Seen()
    few = tiny_plan(pools=["bge", "llama-70b"])
    plan(few, tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    apply(few, tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    second = plan(few, tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    assert not second.has_changes
    assert not second.first
    assert ["saved", "saved", "saved"] == [s.state for s in second.stacks]
    more = plan(tiny_plan(pools=["bge", "llama-70b", "llama-8b"]), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    assert [("nodes", "create", "terraform_data.llama-8b-aggregated")] == [(s.stack, c.action, c.address) for s in more.stacks for c in s.changes]


def test_outputs_that_may_change_make_their_readers_wait(tmp_path: Path) -> None:
    """Another address range changes the network's output, so cluster and nodes are shown as of today and wait."""
    seen = Seen()
    one = tiny_plan(pools=["bge"])
    plan(one, tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    apply(one, tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    moved = plan(tiny_plan(pools=["bge"], cidr="10.9.0.0/16"), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    assert [("saved", ()), ("after", ("network",)), ("after", ("cluster",))] == [(s.state, s.waits_for) for s in moved.stacks]
    assert ("update", ("input", "output")) == (moved.stacks[0].changes[0].action, moved.stacks[0].changes[0].attributes)


def test_a_plan_that_is_cut_off_leaves_none_to_apply(tmp_path: Path) -> None:
    """When planning fails half way, the plan before it is gone as well."""
    seen = Seen()
    plan(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())

    class Stop(RuntimeError):
        pass

    def stop(evidence: object) -> list[str]:
        raise Stop

    with pytest.raises(Stop):
        plan(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=Seen(deny=stop).product())
    with pytest.raises(StateError, match="there is no saved plan"):
        apply(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())


def test_same_plan_twice_has_the_same_shape(tmp_path: Path) -> None:
    """Two plans of one spec differ in nothing but the digests of terraform's plan files."""
    seen = Seen()
    both = [plan(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product()).model_dump(mode="json") for _ in range(2)]
    for result in both:
        del result["digest"]
        for stack in result["stacks"]:
            del stack["plan_digest"]
    assert both[0] == both[1]
