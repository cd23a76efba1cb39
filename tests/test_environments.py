"""Environments of one spec do not touch each other: neither what is planned for one, nor where it keeps its state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.environments import spec
from inferform.errors import InputError
from inferform.load import load_all, load_spec
from inferform.plan import DeploymentPlan
from inferform.planner import size
from inferform.stacks.app import synthesize


def planned(path: Path, names: list[str]) -> dict[str, DeploymentPlan]:
    return {name: size(load_spec(path, name).spec, name) for name in names}


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_three_more_environments_change_nothing_in_the_first_three(tmp_path: Path) -> None:
    """With three or with six overlays, plans are equal and stacks the same bytes; only the load and the network differ between them."""
    three, six = tmp_path / "three.yaml", tmp_path / "six.yaml"
    three.write_text(spec(3))
    six.write_text(spec(6))
    names = [f"env-{n:03d}" for n in range(3)]
    first, second = planned(three, names), planned(six, names)
    assert first == second
    for count, plans in (("three", first), ("six", second)):
        synthesize(plans["env-001"], tmp_path / count)
    assert tree(tmp_path / "three")
    assert tree(tmp_path / "three") == tree(tmp_path / "six")
    assert ["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16"] == [p.cloud.vpc_cidr for p in first.values()]
    # Another network or load in one environment leaves the others as they are.
    six.write_text(spec(6).replace("10.5.0.0/16", "10.99.0.0/16"))
    assert first == planned(six, names)


def test_environments_share_no_name_and_no_state(tmp_path: Path) -> None:
    """Every stack of every environment has a state key of its own, and no two environments a name in AWS in common."""
    path = tmp_path / "spec.yaml"
    path.write_text(spec(3))
    keys: list[str] = []
    for name, plan in planned(path, [f"env-{n:03d}" for n in range(3)]).items():
        for file in synthesize(plan, tmp_path / name).stacks:
            keys.append(json.loads((tmp_path / name / file.path).read_text())["terraform"]["backend"]["s3"]["key"])
        assert plan.resource_prefix() == f"demo-{name}"
        assert name in plan.model_store.bucket
    assert len(keys) == len(set(keys)) > 9


def test_a_hundred_environments_load_at_once_and_have_a_limit(tmp_path: Path) -> None:
    """A hundred overlays are one spec each, with what they say; two hundred and fifty-seven are too many."""
    path = tmp_path / "spec.yaml"
    path.write_text(spec(100))
    loaded = load_all(path)
    assert 101 == len(loaded)
    assert ("env-099", "10.99.0.0/16") == (loaded[-1].environment, loaded[-1].spec.cloud.vpc_cidr)
    path.write_text(spec(100) + "".join(f"  more-{n}: {{}}\n" for n in range(157)))
    with pytest.raises(InputError, match="must have at most 256 entries"):
        load_spec(path)
