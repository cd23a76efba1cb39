"""kill -9 of inferform and of terraform at twenty random points of apply: the next apply completes, or says exactly what to do."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

import pytest
from inferform.errors import MissingToolError
from inferform.operate.folder import Folder
from inferform.operate.history import history
from inferform.sandbox.backend import client, sandbox_backend
from inferform.sandbox.provider import provider_archive
from inferform.sandbox.server import Double
from inferform.terraform import Terraform, find_terraform
from operate.tiny import BACKEND, tiny_plan
from sandbox.crash import STACKS, Life, built_in, fleet, real, synthesized
from sandbox.once import empty_cloud

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SEED = 20261201
KILLS = {"real": 8, "tiny": 12}
# An undisturbed apply tells 112 and 71 steps; one that goes on behind earlier kills tells less.
MOST_LINES = {"real": 80, "tiny": 55}


def killed(life: Life, kills: int, kind: str) -> None:
    """Kill that many applies, every other one by its terraform, and complete what is left."""
    life.plan()
    waiting = life.out / "record.json"
    while waiting.is_file() and len(life.kills) < kills:
        life.kill(("inferform", "terraform")[len(life.kills) % 2], MOST_LINES[kind])
    if waiting.is_file():
        life.complete()
    print(*life.kills, *life.said, *life.warned, sep="\n")


def test_kills_with_the_real_provider(tmp_path: Path) -> None:
    """Fleets that are killed up to four times on their way: in the end everything exists once, the next plan is empty, one apply is kept."""
    if not shutil.which("terraform", path=os.environ.get("PATH")):
        pytest.skip("terraform is not installed")
    try:
        provider_archive()
    except MissingToolError as err:
        pytest.skip(str(err))
    done = 0
    empty_cloud()
    with Double() as double:
        provider = tmp_path / "provider"
        backend = sandbox_backend(double.url, provider, os.environ)
        patient = dataclasses.replace(backend, settings=dataclasses.replace(backend.settings, lock_timeout_s=60))
        text = synthesized("crash-0", tmp_path / "synth")
        for number in range(8):
            name = f"crash-{number}"
            folder = tmp_path / name
            folder.mkdir()
            stacks = folder / "stacks.json"
            stacks.write_text(text.replace("crash-0", name))
            arguments = ("real", str(folder / "out"), name, double.url, str(provider))
            life = Life(folder, fleet(name), patient, real(stacks), arguments, SEED + number)
            killed(life, min(4, KILLS["real"] - done), "real")
            done += len(life.kills)
            _complete(life)
            _exists_once(double.url, name, life)
            if done == KILLS["real"]:
                break
    assert KILLS["real"] == done


def test_kills_with_three_stacks(tmp_path: Path) -> None:
    """The same over three stacks that read each other, with terraform's own resources: every one of them is made once."""
    done = 0
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        patient = dataclasses.replace(BACKEND, settings=dataclasses.replace(BACKEND.settings, lock_timeout_s=60))
        life = Life(folder, tiny_plan(), patient, built_in(), ("tiny", str(folder / "out"), "", ""), SEED + number)
        killed(life, min(4, KILLS["tiny"] - done), "tiny")
        done += len(life.kills)
        _complete(life)
        state = Terraform(life.out / "work/nodes", BACKEND.settings, find_terraform(BACKEND.settings)).resources()
        assert 4 == len(state) == len(set(state))
        if done == KILLS["tiny"]:
            break
    assert KILLS["tiny"] == done


def _complete(life: Life) -> None:
    """Nothing is left to do, and the history has the apply once."""
    kept = history(Folder(life.out))
    assert (1, False) == (len(kept.applied), kept.unfinished)
    assert not life.plan().has_changes


def _exists_once(url: str, name: str, life: Life) -> None:
    """The account has what the stacks hold; only a key, which no name keeps single, may be there twice, and then it was told."""
    s3, iam, kms = (client(url, service, "us-east-1") for service in ("s3", "iam", "kms"))
    assert [f"{name}-models"] == [b["Name"] for b in s3.list_buckets()["Buckets"] if b["Name"].startswith(name)]
    roles = [r["RoleName"] for r in iam.list_roles()["Roles"] if r["RoleName"].startswith(f"{name}-")]
    document = {s: Terraform(life.out / "work" / s, life.backend.settings, find_terraform(life.backend.settings)).state() for s in STACKS}
    rows = [r for state in document.values() for r in state["resources"] if r["mode"] == "managed"]
    assert sorted(i["attributes"]["name"] for r in rows if r["type"] == "aws_iam_role" for i in r["instances"]) == sorted(roles)
    keys = [k["KeyId"] for k in kms.list_keys()["Keys"]]
    own = [k for k in keys if any(t["TagKey"] == "deployment" and t["TagValue"] == name for t in kms.list_resource_tags(KeyId=k)["Tags"])]
    if len(own) > 1:
        assert any("while it made aws_kms_key" in line for line in [*life.said, *life.warned])
