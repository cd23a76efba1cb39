"""What was applied is kept, held to its digests, and planned again as it was; without terraform."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError, StateError
from inferform.load import LoadedSpec, load_spec
from inferform.operate import history, record
from inferform.operate.folder import Folder, write_json
from inferform.operate.record import Record, deployment_digest
from inferform.operate.results import CostDifference, Counts, PlanResult
from inferform.operate.steps import Steps
from inferform.plan import DeploymentPlan
from inferform.planner import size
from operate.tiny import ACTOR, tiny_plan, verdict
from specs import MINIMAL, write


def saved(sized: DeploymentPlan, digest: str, **more: Any) -> Record:
    """A saved plan of a deployment."""
    cost = CostDifference(before_usd_per_month=None, after_usd_per_month=1.0, difference_usd_per_month=1.0, budget_usd_per_month=None, by_pool_usd_per_month={})
    result = PlanResult(
        name=sized.name, environment=sized.environment, folder="f", digest=digest, first=True, stacks=(), counts=Counts(), cost=cost, risks=(), allowed=True,
        verdict=verdict(), **more,
    )  # fmt: skip
    return Record(backend="aws", deployment_digest=deployment_digest(sized), dependencies={}, result=result)


def keep(folder: Folder, source: LoadedSpec | DeploymentPlan, digest: str, *, created: int = 1, **more: Any) -> None:
    """Applied, and kept."""
    sized = source if isinstance(source, DeploymentPlan) else size(source.spec, source.environment)
    kept = saved(sized, digest, **more)
    record.keep_applied(folder, sized, kept)
    history.keep(folder, source, sized, kept, actor=ACTOR, counts=Counts(create=created))


def test_every_apply_is_kept_with_what_it_was_made_from(tmp_path: Path) -> None:
    """Spec as written and as merged, plan, digests, who and when; numbers go up."""
    text = MINIMAL + "environments: {prod: {tenant: acme}}\n"
    loaded = load_spec(write(tmp_path, text), "prod")
    folder = Folder(tmp_path / "out")
    keep(folder, loaded, "d1")
    keep(folder, tiny_plan(), "d2")
    first, second = history.entries(folder)
    assert (1, "demo", "prod", "d1", loaded.path, ACTOR.who, ACTOR.when) == (
        first.number, first.name, first.environment, first.digest, first.spec_file, first.who, first.when,
    )  # fmt: skip
    assert (2, None, {"bge/aggregated": 1, "llama-405b/aggregated": 2, "llama-70b/aggregated": 1, "llama-8b/aggregated": 3}) == (
        second.number,
        second.spec_file,
        second.nodes,
    )
    assert text == (folder.history / "0001/spec.yaml").read_text()
    assert "acme" == json.loads((folder.history / "0001/spec.json").read_text())["tenant"]
    assert ["plan.json", "spec.json", "spec.yaml"] == sorted(first.files)
    assert ["plan.json"] == sorted(second.files)


def test_a_past_deployment_is_planned_as_it_was(tmp_path: Path) -> None:
    """The kept spec is the source, and it is not sized anew: the kept plan is what comes out."""
    loaded = load_spec(write(tmp_path, MINIMAL))
    folder = Folder(tmp_path / "out")
    keep(folder, loaded, "d1")
    Path(loaded.path).unlink()
    past = history.past(folder, 1)
    assert not isinstance(past.source, DeploymentPlan)
    assert loaded.spec == past.source.spec
    assert (loaded.environment, loaded.path, MINIMAL) == (past.source.environment, past.source.path, past.source.text)
    assert size(loaded.spec) == past.steps.size(past.source)
    never = Steps(size=lambda source: pytest.fail("sized anew"))
    assert loaded.spec.name == history.past(folder, 1, never).steps.size(past.source).name


def test_nothing_new_adds_nothing(tmp_path: Path) -> None:
    """The same saved plan (an apply that was cut off at its very end), or the same deployment without a change, is one entry."""
    folder = Folder(tmp_path)
    keep(folder, tiny_plan(), "d1")
    keep(folder, tiny_plan(), "d1")
    keep(folder, tiny_plan(), "d2", created=0)
    assert ["d1"] == [e.digest for e in history.entries(folder)]
    # Drift was mended: that changed something.
    keep(folder, tiny_plan(), "d3")
    assert ["d1", "d3"] == [e.digest for e in history.entries(folder)]


def test_the_oldest_entries_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is applied every night does not grow without end."""
    monkeypatch.setattr(history, "_KEPT", 3)
    folder = Folder(tmp_path)
    for number in range(1, 6):
        keep(folder, tiny_plan(), f"d{number}")
    assert [3, 4, 5] == [e.number for e in history.entries(folder)]
    with pytest.raises(InputError, match=r"to: no such apply is kept \(found 1\); legal: 3, 4, 5"):
        history.past(folder, 1)


@pytest.mark.parametrize("name", ["plan.json", "spec.json", "spec.yaml"])
def test_an_entry_that_was_edited_is_refused(tmp_path: Path, name: str) -> None:
    """What is brought back is what was applied, not what somebody made of it."""
    folder = Folder(tmp_path / "out")
    keep(folder, load_spec(write(tmp_path, MINIMAL)), "d1")
    path = folder.history / "0001" / name
    path.write_text(path.read_text() + " ")
    with pytest.raises(StateError, match=rf"{name} is not what was applied; choose another number with --to"):
        history.past(folder, 1)


def test_a_plan_in_another_form_is_sized_anew_from_its_spec(tmp_path: Path) -> None:
    """An entry of another version whose plan cannot be read still brings back its spec, and says so; without a spec it says what to do."""
    folder = Folder(tmp_path / "out")
    keep(folder, load_spec(write(tmp_path, MINIMAL)), "d1")
    keep(folder, tiny_plan(), "d2")
    for number in (1, 2):
        place = folder.history / f"000{number}"
        other = json.loads((place / "plan.json").read_text()) | {"a_field_of_the_future": 1}
        write_json(place / "plan.json", other)
        entry = json.loads((place / "entry.json").read_text())
        entry["files"]["plan.json"] = history.file_digest(place / "plan.json")
        write_json(place / "entry.json", entry | {"inferform_version": "9.0"})
    past = history.past(folder, 1)
    assert ("Apply 1 was kept by inferform 9.0 in another form, so its spec is sized anew.",) == past.warnings
    assert "demo" == past.steps.size(past.source).name
    with pytest.raises(StateError, match=r"inferform 9\.0 kept apply 2 in a form that this version cannot read; use that version"):
        history.past(folder, 2)


def test_the_apply_before_is_the_last_that_differs(tmp_path: Path) -> None:
    """Applies of the same deployment in between do not count; after one that did not end, the last that did is the one before."""
    folder = Folder(tmp_path)
    keep(folder, tiny_plan(), "d1")
    assert history.before(history.entries(folder), unfinished=False) is None
    for digest in ("d2", "d3"):
        keep(folder, tiny_plan(cidr="10.9.0.0/16"), digest)
    found = history.entries(folder)
    assert [1, 3] == [e.number for unfinished in (False, True) if (e := history.before(found, unfinished=unfinished))]
    assert history.before((), unfinished=True) is None


def test_a_folder_is_found_by_the_file_that_was_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the spec is gone, its path or the deployment's name finds the folder; two that came from one file have to be told apart."""
    monkeypatch.chdir(tmp_path)
    loaded = load_spec(write(tmp_path, MINIMAL))
    folder = history.of(loaded, None)
    assert not folder.root.exists()
    keep(folder, loaded, "d1")
    Path(loaded.path).unlink()
    assert [folder, folder, None, None] == [
        history.locate(loaded.path, "default", None),
        history.locate("demo", "default", None),
        history.locate("demo", "prod", None),
        history.locate("other.yaml", "default", None),
    ]
    assert folder == history.locate("anything", "default", folder.root)
    write(tmp_path, MINIMAL.replace("name: demo", "name: other"))
    keep(Folder(tmp_path / ".inferform/other/default"), load_spec(loaded.path), "d1")
    with pytest.raises(InputError, match="several deployments were applied from this file"):
        history.locate(loaded.path, "default", None)
