"""Starters are a first spec that works as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from inferform.load import load_all
from inferform.schema import spec_schema
from inferform.spec import Profile
from inferform.starters import STARTERS, starter
from jsonschema import Draft202012Validator


@pytest.mark.parametrize("profile", sorted(STARTERS))
def test_a_starter_validates_as_written(profile: str, tmp_path: Path) -> None:
    """Each starter loads in every environment and fits the published schema."""
    path = tmp_path / "spec.yaml"
    path.write_text(starter(profile), encoding="utf-8")
    assert ["default", "dev", "prod"] == [loaded.environment for loaded in load_all(path)]
    assert [] == [e.message for e in Draft202012Validator(spec_schema()).iter_errors(yaml.safe_load(starter(profile)))]


@pytest.mark.parametrize("profile", sorted(STARTERS))
def test_a_starter_explains_its_fields(profile: str) -> None:
    """The comments are the descriptions of the fields, once each, in lines that fit a screen."""
    text = starter(profile)
    assert 1 == text.count("# Requests a second in the busiest hour")
    assert 100 >= max(len(line) for line in text.splitlines())


@pytest.mark.parametrize("line", ["budget: {usd_per_month: 5000}", "capacity: {warm_standby: 1}", "scaling: {min: 1, max: 8}"])
def test_what_is_commented_out_works_when_it_is_not(line: str, tmp_path: Path) -> None:
    """The optional fields of a starter load once their comment mark is taken off."""
    path = tmp_path / "spec.yaml"
    assert f"# {line}" in starter("interactive")
    path.write_text(starter("interactive").replace(f"# {line}", line), encoding="utf-8")
    assert 3 == len(load_all(path))


def test_every_profile_has_a_starter() -> None:
    """Each workload profile of the spec has a starter that uses it, and mixed has several models."""
    for profile in Profile:
        models = yaml.safe_load(starter(profile.value))["models"]
        assert [profile.value] == [m["workload"]["profile"] for m in models.values()]
    assert 2 == len(yaml.safe_load(starter("mixed"))["models"])
