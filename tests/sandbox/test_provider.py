"""The provider of the sandbox: its mirror, and what it cannot see of the real stacks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from golden import check
from inferform.sandbox.adapt import adapt
from inferform.sandbox.provider import VERSION, lay_mirror, read_schema
from inferform.terraform import Settings
from sandbox.once import need_terraform
from synthesis import one_pool, part, sample_stacks, stacks_of


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the provider laid out for terraform."""
    need_terraform()
    folder = tmp_path_factory.mktemp("provider")
    lay_mirror(folder)
    return folder


def test_mirror_is_laid_once_and_serves_both_registries(mirror: Path) -> None:
    """The binary is unpacked once; Terraform and OpenTofu find it under their own registry's name."""
    binaries = list((mirror / "mirror").glob(f"*/hashicorp/aws/{VERSION}/linux_amd64/terraform-provider-aws_*"))
    assert {"registry.terraform.io", "registry.opentofu.org"} == {b.relative_to(mirror / "mirror").parts[0] for b in binaries}
    assert {True} == {os.access(b, os.X_OK) for b in binaries}
    before = {b: b.stat().st_mtime_ns for b in binaries}
    config = lay_mirror(mirror)
    assert before == {b: b.stat().st_mtime_ns for b in binaries}
    assert f'path = "{mirror}/mirror"' in config.read_text()


@pytest.mark.slow
def test_what_is_removed_from_the_stacks(mirror: Path, golden_write: bool) -> None:
    """The list of what provider 3.39 does not see, for the sample fleet and for a reservation and a capacity block, is the stored one."""
    settings = Settings(os.environ, cli_config=lay_mirror(mirror), isolated=True)
    schema = read_schema(mirror, settings)
    block = part("capacity_block", reservation_id="cr-0123456789abcdef0", zone="use1-az4", ends_at="2026-12-24T11:30:00Z")
    fleets = {
        "sample": sample_stacks(),
        "reserved": stacks_of(one_pool([part("reserved", reservation_id="cr-0123456789abcdef0", zone="use1-az4")])),
        "capacity-block": stacks_of(one_pool([block])),
    }
    found = {}
    for name, stacks in fleets.items():
        done = adapt(stacks, schema, endpoint="http://127.0.0.1", state=Path("/state"), offerings=lambda kinds: ["use1-az4", "use1-az6"])
        lines = [f"{stack}: {line}" for stack, adapted in done.items() for line in adapted.removed]
        found[f"{name}.txt"] = "".join(f"{line}\n" for line in lines)
    print(found["sample.txt"])
    check(found, Path(__file__).parent / "removed", write=golden_write)
