"""Drift as it is read from refresh-only plans; the real thing against a cloud is in tests/sandbox."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from inferform import planner as sizing
from inferform.errors import InputError
from inferform.load import LoadedSpec, load_spec
from inferform.operate.apply import apply
from inferform.operate.drift import _drifted, drift
from inferform.operate.plan import plan
from inferform.operate.progress import silent
from inferform.operate.results import Assumption, DriftedResource
from inferform.operate.stack_run import StackRun
from inferform.plan import DeploymentPlan
from inferform.terraform import find_terraform
from operate.tiny import ACTOR, BACKEND, RULES, Seen, tiny_plan
from specs import MINIMAL, write


def test_nothing_changed_is_no_drift(tmp_path: Path) -> None:
    """Right after apply every stack was looked at and nothing drifted."""
    seen = Seen()
    plan(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    apply(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    result = drift(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, steps=seen.product())
    assert (False, (), ("network", "cluster", "nodes"), ()) == (result.drifted, result.resources, result.stacks, result.warnings)


def test_drift_looks_at_what_was_applied_and_leaves_a_saved_plan_alone(tmp_path: Path) -> None:
    """A plan of a changed spec stays as it was, and drift does not mistake it for what is applied."""
    seen = Seen()
    plan(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    apply(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    more = tiny_plan(cidr="10.9.0.0/16")
    plan(more, tmp_path, backend=BACKEND, actor=ACTOR, rules=RULES, steps=seen.product())
    before = {p: p.read_bytes() for p in (tmp_path / "work").rglob("*.tfplan")}
    assert not drift(more, tmp_path, backend=BACKEND, actor=ACTOR, steps=seen.product()).drifted
    assert before == {p: p.read_bytes() for p in (tmp_path / "work").rglob("*.tfplan")}
    assert 1 == len(before)


def test_without_an_apply_from_here_the_spec_is_compared(tmp_path: Path) -> None:
    """On a machine that never applied, drift works from the spec and says so."""
    result = drift(tiny_plan(), tmp_path, backend=BACKEND, actor=ACTOR, steps=Seen().product())
    assert (False, 1) == (result.drifted, len(result.warnings))
    assert "Nothing was applied from this folder" in result.warnings[0]


def drifted(folder: Path, config: dict[str, Any], *changes: dict[str, Any]) -> list[DriftedResource]:
    """What is read from a refresh-only plan with these changes."""
    run = StackRun("nodes", folder, BACKEND.settings, find_terraform(BACKEND.settings), silent)
    run.write(config)
    return _drifted(run, {"resource_drift": [{"mode": "managed", **c} for c in changes]})


def change(name: str, before: Any, after: Any, actions: str = "update", kind: str = "aws_eks_node_group", **more: Any) -> dict[str, Any]:
    """One entry of resource_drift."""
    return {"address": f"{kind}.{name}", "type": kind, "name": name, "change": {"actions": [actions], "before": before, "after": after, **more}}


def test_the_autoscalers_node_count_is_not_drift(tmp_path: Path) -> None:
    """FC-10: desired_size belongs to the autoscaler where the stack says so; the minimum beside it is drift."""
    config = {"resource": {"aws_eks_node_group": {"a": {"lifecycle": {"ignore_changes": ["scaling_config[0].desired_size"]}}, "b": {}}}}
    old, new = {"scaling_config": [{"desired_size": 3, "min_size": 3}]}, {"scaling_config": [{"desired_size": 4, "min_size": 2}]}
    rows = drifted(tmp_path, config, change("a", old, new), change("b", old, new))
    assert ["scaled", "scaled", "scaled"] == [r.kind for r in rows]
    found = [(r.address.split(".")[1], r.owner, [(a.path, a.before, a.after) for a in r.attributes]) for r in rows]
    desired, low = ("scaling_config[0].desired_size", 3, 4), ("scaling_config[0].min_size", 3, 2)
    assert [("a", "the node autoscaler", [desired]), ("a", None, [low]), ("b", None, [desired, low])] == found


def test_scaling_by_hand_stands_apart(tmp_path: Path) -> None:
    """Without an autoscaler a count that somebody changed is drift, apart from what else changed on the same group."""
    config: dict[str, Any] = {"resource": {"aws_eks_node_group": {"a": {}}}}
    old = {"labels": {"x": "1"}, "scaling_config": [{"desired_size": 3, "min_size": 3}]}
    new = {"labels": {"x": "2"}, "scaling_config": [{"desired_size": 5, "min_size": 3}]}
    rows = drifted(tmp_path, config, change("a", old, new))
    assert [("scaled", ["scaling_config[0].desired_size"]), ("changed", ["labels.x"])] == [(r.kind, [a.path for a in r.attributes]) for r in rows]
    groups = change("g", {"desired_capacity": 1}, {"desired_capacity": 2}, kind="aws_autoscaling_group")
    others = change("r", {"min_size": "1"}, {"min_size": "2"}, kind="aws_elasticache_cluster")
    assert ["scaled", "changed"] == [r.kind for r in drifted(tmp_path, {}, groups, others)]


def test_the_sizing_is_held_against_today(tmp_path: Path) -> None:
    """A spec that changed since, a default that changed, a price and a reservation that the cloud tells: all found, nothing touched."""
    path, out = write(tmp_path, MINIMAL), tmp_path / "out"
    plan(load_spec(path), out, backend=BACKEND, actor=ACTOR, rules=RULES, steps=Seen().product())
    apply(load_spec(path), out, backend=BACKEND, actor=ACTOR, rules=RULES, steps=Seen().product())
    asked: list[str] = []

    def look(applied: DeploymentPlan) -> tuple[list[Assumption], list[str]]:
        asked.append(applied.name)
        return [Assumption(code="RSV001", subject="cr-1", then="active", now="ended", message="Reservations", remedy="buy another")], ["PRC001: not allowed"]

    same = drift(load_spec(path), out, backend=BACKEND, actor=ACTOR, steps=Seen().product())
    assert (False, False, ()) == (same.drifted, same.outdated, same.assumptions)
    write(tmp_path, MINIMAL.replace("peak_rps: 2", "peak_rps: 2.5"))

    def size(source: LoadedSpec | DeploymentPlan) -> DeploymentPlan:
        assert isinstance(source, LoadedSpec)
        # What is sized anew is the spec that was applied, not the one of now.
        assert 2.0 == source.spec.models["llama-8b"].workload.peak_rps
        sized = sizing.size(source.spec)
        return sized.model_copy(update={"cloud": sized.cloud.model_copy(update={"kubernetes_version": "9.99"})})

    steps = dataclasses.replace(Seen().product(), size=size)
    result = drift(load_spec(path), out, backend=BACKEND, actor=ACTOR, steps=steps, look=look)
    assert (False, True, ["demo"]) == (result.drifted, result.outdated, asked)
    assert [("spec-changed", "models.llama-8b.workload.peak_rps"), ("default-changed", "cloud.kubernetes_version"), ("RSV001", "cr-1")] == [
        (a.code, a.subject) for a in result.assumptions
    ]
    assert ("PRC001: not allowed",) == result.warnings


def test_a_spec_that_cannot_be_sized_any_more_is_a_finding(tmp_path: Path) -> None:
    """drift goes on to the end although the catalogue of today refuses the spec; a history that was edited is a warning."""
    path, out = write(tmp_path, MINIMAL), tmp_path / "out"
    plan(load_spec(path), out, backend=BACKEND, actor=ACTOR, rules=RULES, steps=Seen().product())
    apply(load_spec(path), out, backend=BACKEND, actor=ACTOR, rules=RULES, steps=Seen().product())

    def refuse(source: object) -> DeploymentPlan:
        raise InputError("nothing fits")

    result = drift(load_spec(path), out, backend=BACKEND, actor=ACTOR, steps=dataclasses.replace(Seen().product(), size=refuse))
    assert [("sizing-impossible", "nothing fits")] == [(a.code, a.now) for a in result.assumptions]
    (out / "history/0001/plan.json").write_text("{}")
    result = drift(load_spec(path), out, backend=BACKEND, actor=ACTOR, steps=Seen().product())
    assert ((), 1) == (result.assumptions, len(result.warnings))
    assert "so it was not sized anew" in result.warnings[0]


def test_null_and_empty_are_the_same(tmp_path: Path) -> None:
    """A provider that reads back {} where it was given null has not found a change."""
    rows = drifted(tmp_path, {}, change("a", {"tags": None, "timeouts": {"create": None}, "labels": {}}, {"tags": {}, "timeouts": {"create": ""}}))
    assert [] == rows


def test_deleted_and_sensitive_values(tmp_path: Path) -> None:
    """A resource that is gone is told as deleted; a sensitive value is never shown."""
    secret = change(
        "a", {"token": "old-secret", "name": "x"}, {"token": "new-secret", "name": "y"}, before_sensitive={"token": True}, after_sensitive={"token": True}
    )
    rows = drifted(tmp_path, {}, secret, change("b", {"name": "x"}, None, actions="delete"))
    assert [("name", "x", "y"), ("token", "(sensitive)", "(sensitive)")] == [(a.path, a.before, a.after) for a in rows[0].attributes]
    assert ("deleted", ()) == (rows[1].change, rows[1].attributes)
    assert "secret" not in json.dumps([r.model_dump() for r in rows]).replace("(sensitive)", "")


def test_long_values_are_shortened(tmp_path: Path) -> None:
    """User data of a launch template does not flood the report."""
    rows = drifted(tmp_path, {}, change("a", {"user_data": "x" * 5000}, {"user_data": "y" * 5000}))
    assert ("x" * 200 + "...", "y" * 200 + "...") == (rows[0].attributes[0].before, rows[0].attributes[0].after)
