"""Every example and every way to buy nodes, through the real terraform and provider: planned, applied, unchanged, drifted, destroyed.

All tests read the findings of one life, as those of `test_life.py` do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import golden
import pytest
from fleets import PURCHASES
from inferform.load import load_spec
from sandbox.every_way import EFA, EXAMPLES, run, ways
from sandbox.once import lived_once

# Unloaded it lives about three minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
Json = dict[str, Any]


@pytest.fixture(scope="session")
def life(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """What was found in one life of all of them."""
    return lived_once(tmp_path_factory, "every-way", run)


def states(result: Json) -> set[str]:
    return {s["state"] for s in result["stacks"]}


def test_every_example_and_purchase_is_in_it(life: Json) -> None:
    """Pools of each model of each example, and a pool for each list of purchases, each kind of group and EFA."""
    models = {f"{path.stem}-{name}" for path in EXAMPLES for name in load_spec(path).spec.models}
    assert models | {"ways"} == {pool.split("/")[0] for pool in life["pools"]}
    assert {way.name for way in ways()} == {pool.split("/")[1] for pool in life["pools"] if pool.startswith("ways/")}
    # What no kind of group can hold is refused, and `tests/stacks/test_fleets.py` says why.
    assert set(PURCHASES) - {"block-spot"} == {way.purchase for way in ways()}


def test_it_is_allowed_and_applied(life: Json) -> None:
    """The policy allows the plan, and one apply makes every stack."""
    assert life["plan"]["allowed"], [f for f in life["plan"]["verdict"]["findings"] if f["severity"] == "deny"]
    assert {"applied"} == states(life["apply"])
    made = {*life["cloud"]["node_groups"], *life["cloud"]["scaling_groups"]}
    for way in ways():
        assert way.kind == "karpenter" or any(way.name in name for name in made), way.name


def test_a_second_plan_is_empty(life: Json) -> None:
    """Right after apply terraform finds nothing to do for any of them."""
    assert [] == [c["address"] for s in life["second_plan"]["stacks"] for c in s["changes"]]


def test_a_change_behind_its_back_is_drift(life: Json) -> None:
    """A tag on the security group of one pool is found, and nothing else is."""
    rows = [(r["address"], [a["path"] for a in r["attributes"]]) for r in life["drift"]["resources"]]
    assert [(f"aws_security_group.ways-{EFA}-efa", ["tags.owner", "tags_all.owner"])] == rows


def test_destroy_leaves_nothing(life: Json) -> None:
    """Backwards through the stacks until the cloud has nothing left."""
    assert {"destroyed"} == states(life["destroy"])
    assert {} == {kind: things for kind, things in life["left"].items() if things}


def test_what_the_old_provider_could_not_see_is_listed(life: Json, golden_write: bool) -> None:
    """Each kind of line that the sandbox takes out, once, is the stored one: what this life is no proof of."""
    lines = {_kind(line) for line in life["plan"]["adapted"]}
    golden.check({"every-way.txt": "".join(f"{line}\n" for line in sorted(lines))}, Path(__file__).parent / "unseen", write=golden_write)


def _kind(line: str) -> str:
    """The line without the name of the one resource it speaks of."""
    stack, _, rest = line.partition(": ")
    address, _, what = rest.partition(": ")
    parts = address.split(".")
    return f"{stack}: {'.'.join(parts[: 2 if parts[0] in ('data', 'provider') else 1])}: {what}"
