"""The report of drift tells its kinds apart, in 100 columns."""

from __future__ import annotations

from typing import Any

from inferform.cli.formats.drift_text import drift_text
from inferform.operate.results import Assumption, AttributeDrift, DriftedResource, DriftResult

RESOURCE = DriftedResource(
    stack="network", address="aws_vpc.main", type="aws_vpc", change="updated", attributes=(AttributeDrift(path="tags.owner", before="a", after="b"),)
)
SCALED = DriftedResource(
    stack="nodes", address="aws_eks_node_group.x", type="aws_eks_node_group", change="updated", kind="scaled",
    attributes=(AttributeDrift(path="scaling_config[0].desired_size", before=2, after=5),),
)  # fmt: skip
OWNED = DriftedResource(
    stack="nodes", address="asg.x", type="asg", change="updated", owner="the node autoscaler",
    attributes=(AttributeDrift(path="desired_capacity", before=None, after=3),),
)  # fmt: skip


def assumption(code: str, subject: str = "m/p", then: str = "a", now: str = "b", remedy: str = "plan again") -> Assumption:
    return Assumption(code=code, subject=subject, then=then, now=now, message="it changed", remedy=remedy)


def found(**values: Any) -> DriftResult:
    return DriftResult(**{"name": "a", "environment": "dev", "folder": "f", "drifted": False, "resources": (), "stacks": ("network", "nodes"), **values})


def test_each_kind_stands_apart() -> None:
    """Changes with both values, hand scaling, what an owner changed rightly, and the sizing: each under its own title."""
    text = drift_text(
        found(drifted=True, outdated=True, resources=(RESOURCE, SCALED), expected=(OWNED,), assumptions=(assumption("spec-changed"),), warnings=("w",))
    )
    assert "a in dev: drift and outdated sizing in 2 stacks" in text
    assert "Changed in the cloud\nnetwork/aws_vpc.main updated\n  - tags.owner: a became b" in text
    assert "Scaled by hand, where no autoscaler owns the count\nnodes/aws_eks_node_group.x updated\n  - scaling_config[0].desired_size: 2 became 5" in text
    assert "Changed by their owners\n  - nodes/asg.x: desired_capacity: nothing became 3, by the node autoscaler" in text
    assert "The sizing rested on what no longer holds\n  - spec-changed: m/p: it changed: it was a and is b; plan again" in text
    assert text.endswith("Warnings\n  - w")
    assert 100 >= max(len(line) for line in text.splitlines())


def test_nothing_found_is_one_line() -> None:
    """No drift needs no report."""
    assert "a in dev: no drift in 2 stacks" == drift_text(found())
    assert "a in dev: outdated sizing in 2 stacks" == drift_text(found(outdated=True, assumptions=(assumption("x"),))).splitlines()[0]


def test_a_shared_remedy_is_said_once_and_long_lists_are_cut() -> None:
    """Forty findings with one remedy say it once, after the last that is shown; the rest is counted."""
    text = drift_text(found(outdated=True, assumptions=tuple(assumption("price-changed", f"p{n}") for n in range(40))))
    assert 1 == text.count("plan again")
    assert "p29: it changed" in text
    assert "p30" not in text
    assert "and 10 more; --format json lists them all" in text
    assert "price-old: it changed" in drift_text(found(outdated=True, assumptions=(assumption("price-old", then="", now="", remedy=""),)))
