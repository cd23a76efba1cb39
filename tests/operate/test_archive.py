"""What was applied goes beside the state and comes back on another machine, whole and in order."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from inferform.errors import InferformError
from inferform.operate import archive, history, record
from inferform.operate.apply import apply
from inferform.operate.archive import CURRENT
from inferform.operate.destroy import destroy
from inferform.operate.drift import drift
from inferform.operate.folder import CONFIG, Folder, write
from inferform.operate.plan import plan
from inferform.operate.rollback import rollback
from inferform.plan import DeploymentPlan
from operate.test_history import keep, saved
from operate.tiny import ACTOR, BACKEND, RULES, Seen, tiny_plan

MOVED = {"cidr": "10.9.0.0/16"}


class Shared:
    """A shelf in memory that can be out of reach."""

    def __init__(self) -> None:
        self.documents: dict[str, bytes] = {}
        self.broken = False

    def _reach(self) -> None:
        if self.broken:
            raise InferformError("the caller may not s3:PutObject")

    def read(self, name: str) -> bytes | None:
        self._reach()
        return self.documents.get(name)

    def write(self, name: str, data: bytes) -> None:
        self._reach()
        self.documents[name] = data

    def names(self) -> list[str]:
        self._reach()
        return sorted(self.documents)


def applied(folder: Folder, source: DeploymentPlan, digest: str) -> None:
    """Applied from a folder, without terraform: one stack."""
    keep(folder, source, digest)
    kept = saved(source, digest).model_copy(update={"dependencies": {"network": ()}})
    record.write_json(folder.applied_record, kept.model_dump(mode="json"))
    write(folder.live("network") / CONFIG, f"{{{digest!r}: 1}}")


def numbers(folder: Folder) -> list[int]:
    return [e.number for e in history.entries(folder)]


def two(tmp_path: Path) -> tuple[Folder, Folder, Shared]:
    """Two machines and what they share."""
    return Folder(tmp_path / "here"), Folder(tmp_path / "there"), Shared()


def test_another_machine_gets_all_that_was_applied(tmp_path: Path) -> None:
    """Every entry with its files, and of the last one record, plan and configurations; fetched once, it is there."""
    here, there, shelf = two(tmp_path)
    for number in range(1, 4):
        applied(here, tiny_plan(cidr=f"10.{number}.0.0/16"), f"{number}" * 64)
        assert [] == archive.push(here, shelf)
    assert ["0001-111111111111.json", "0002-222222222222.json", "0003-333333333333.json", CURRENT] == shelf.names()
    assert [] == archive.pull(there, shelf)
    assert history.entries(here) == history.entries(there)
    assert record.applied_plan(here) == record.applied_plan(there)
    assert record.read_record(here.applied_record) == record.read_record(there.applied_record)
    assert (here.live("network") / CONFIG).read_text() == (there.live("network") / CONFIG).read_text()
    assert "10.2.0.0/16" == history.past(there, 2).steps.size(tiny_plan()).cloud.vpc_cidr
    before = {p: p.stat().st_mtime_ns for p in there.root.rglob("*")}
    assert [] == archive.pull(there, shelf)
    assert before == {p: p.stat().st_mtime_ns for p in there.root.rglob("*")}


def test_the_later_of_two_counts(tmp_path: Path) -> None:
    """What was applied there afterwards replaces what is here; numbers go on from it."""
    here, there, shelf = two(tmp_path)
    applied(here, tiny_plan(), "1" * 64)
    archive.push(here, shelf)
    archive.pull(there, shelf)
    applied(there, tiny_plan(**MOVED), "2" * 64)
    archive.push(there, shelf)
    archive.pull(here, shelf)
    assert [1, 2] == numbers(here)
    assert record.applied_plan(there) == record.applied_plan(here)


def test_what_did_not_get_through_is_sent_by_the_next(tmp_path: Path) -> None:
    """Out of reach is a warning and no failure; nothing here is taken for old, and the next command catches up."""
    here, there, shelf = two(tmp_path)
    applied(here, tiny_plan(), "1" * 64)
    archive.push(here, shelf)
    shelf.broken = True
    applied(here, tiny_plan(**MOVED), "2" * 64)
    said = archive.push(here, shelf)
    assert ["What was applied is kept in this folder only, not beside the state: the caller may not s3:PutObject"] == said
    assert said == archive.pull(here, shelf)
    shelf.broken = False
    assert [] == archive.pull(here, shelf)
    assert 2 == json.loads(shelf.documents[CURRENT])["number"]
    archive.pull(there, shelf)
    assert [1, 2] == numbers(there)


def test_destroyed_elsewhere_is_gone_here_too(tmp_path: Path) -> None:
    """After a destroy on another machine nothing counts as applied here; the history stays, and a destroy that was not told is told."""
    here, there, shelf = two(tmp_path)
    applied(here, tiny_plan(), "1" * 64)
    archive.push(here, shelf)
    archive.pull(there, shelf)
    shelf.broken = True
    record.forget_applied(there)
    archive.push(there, shelf)
    shelf.broken = False
    # Not sent yet: here it still counts as applied, and there it does not come back.
    archive.pull(here, shelf)
    assert here.applied_record.is_file()
    archive.pull(there, shelf)
    assert not there.applied_record.is_file()
    archive.pull(here, shelf)
    assert not here.applied_record.is_file()
    assert [1] == numbers(here)


def test_what_a_folder_lost_comes_back(tmp_path: Path) -> None:
    """A folder whose applied/ was deleted gets it from the shelf; a saved plan in it stays."""
    here, _, shelf = two(tmp_path)
    applied(here, tiny_plan(), "1" * 64)
    archive.push(here, shelf)
    for path in (here.applied_record, here.applied_plan):
        path.unlink()
    write(here.record, "{}")
    assert [] == archive.pull(here, shelf)
    assert here.applied_record.is_file()
    assert here.record.is_file()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (CURRENT, b"<html>"),
        (CURRENT, b"[]"),
        ("0001-111111111111.json", b"{}"),
        ("0001-111111111111.json", b'{"entry": {"number": 1}}'),
    ],
)
def test_what_inferform_did_not_write_is_not_taken(tmp_path: Path, name: str, data: bytes) -> None:
    """A document that is something else is a warning, and nothing of it lands in the folder."""
    here, there, shelf = two(tmp_path)
    applied(here, tiny_plan(), "1" * 64)
    archive.push(here, shelf)
    shelf.documents[name] = data
    assert 1 == len(archive.pull(there, shelf))
    assert [] == list(there.root.rglob("*"))


@pytest.mark.parametrize("name", ["../../evil.json", "entry.json/x", "PLAN.json"])
def test_no_document_writes_outside_its_place(tmp_path: Path, name: str) -> None:
    """File names in a document are plain names of ours."""
    here, there, shelf = two(tmp_path)
    applied(here, tiny_plan(), "1" * 64)
    archive.push(here, shelf)
    document = json.loads(shelf.documents["0001-111111111111.json"])
    document["files"] = {name: "x"}
    shelf.documents["0001-111111111111.json"] = json.dumps(document).encode()
    assert "is no file of an apply" in archive.pull(there, shelf)[0]
    assert [] == list(tmp_path.rglob("evil.json"))


def test_plan_drift_rollback_and_destroy_go_on_elsewhere(tmp_path: Path) -> None:
    """Applied on one machine, the next one plans the difference, finds no drift, goes back and destroys, over the same state."""
    shelf, product = Shared(), Seen().product()
    backend = dataclasses.replace(BACKEND, shelf=lambda sized: shelf)
    first, second = (tmp_path / name for name in ("a", "b"))
    one, two = tiny_plan(pools=["bge"]), tiny_plan(pools=["bge", "llama-8b"])
    for source in (one, two):
        plan(source, first, backend=backend, actor=ACTOR, rules=RULES, steps=product)
        apply(source, first, backend=backend, actor=ACTOR, rules=RULES, steps=product)
    (second).mkdir()
    (second / "state").symlink_to(first / "state")
    shown = plan(one, second, backend=backend, actor=ACTOR, rules=RULES, steps=product)
    assert (False, [("delete", "terraform_data.llama-8b-aggregated")]) == (shown.first, [(c.action, c.address) for s in shown.stacks for c in s.changes])
    assert not drift(two, second, backend=backend, actor=ACTOR, steps=product).drifted
    assert 1 == rollback(Folder(second), backend=backend, actor=ACTOR, rules=RULES, steps=product).rollback_to
    apply(two, second, backend=backend, actor=ACTOR, rules=RULES, steps=product)
    assert [1, 2, 3] == numbers(Folder(second))
    destroy(one, first, backend=backend, actor=ACTOR, steps=product)
    assert [1, 2, 3] == numbers(Folder(first))
    assert not json.loads(shelf.documents[CURRENT])["applied"]
    assert plan(one, second, backend=backend, actor=ACTOR, rules=RULES, steps=product).first
