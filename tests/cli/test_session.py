"""What the commands take from their surroundings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from inferform.cli.session import actor, backend, rules
from inferform.errors import InputError


def test_the_actor_is_who_started_the_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that the pipeline gives goes before the account that runs the command; the time is UTC."""
    for name in ("GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BUILD_USER_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("INFERFORM_ACTOR", raising=False)
    assert "@" in actor().who
    monkeypatch.setenv("GITHUB_ACTOR", "ada")
    assert "ada" == actor().who
    monkeypatch.setenv("INFERFORM_ACTOR", "grace")
    assert "grace" == actor().who
    assert datetime.fromisoformat(actor().when).tzinfo == UTC


def test_the_real_cloud_shares_one_provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Stacks share a plugin cache of ours, unless the user has one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TF_PLUGIN_CACHE_DIR", raising=False)
    real = backend(None)
    assert ("aws", tmp_path / "inferform" / "terraform-plugins", None) == (real.name, real.settings.plugin_cache, real.adapt)
    monkeypatch.setenv("TF_PLUGIN_CACHE_DIR", str(tmp_path))
    assert backend(None).settings.plugin_cache is None


def test_waivers_are_read_for_the_rules_there_are(tmp_path: Path) -> None:
    """A waiver of an unknown rule is an input error; without a file there are none."""
    assert () == rules(None, strict=False, folders=None).waivers
    path = tmp_path / "waivers.yaml"
    path.write_text("waivers:\n  - {rule: SEC999, address: '*', owner: a@b.example, reason: because of tests, expires: 2027-01-01}\n")
    with pytest.raises(InputError) as caught:
        rules(path, strict=True, folders=None)
    assert "SEC999" in str(caught.value)
