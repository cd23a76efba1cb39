"""Answers of searches that are kept for specs with the same needs."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.planning import candidates
from inferform.planning.candidates import find
from inferform.planning.prepare import prepare

from tests.planning.specs import model, plan, spec


def asked(model_changes: dict[str, Any] | None = None, **changes: Any) -> Any:
    made = spec({"chat": model(**(model_changes or {}))}, **changes)
    one = prepare("chat", made.models["chat"], made)
    return find(one, one.demand, one.tiers[0])


def test_tenants_with_the_same_needs_share_the_answer() -> None:
    """Another tenant, with nodes of its own, has the very same candidates, and its plan is the one it would have alone."""
    alone = plan({"chat": model()}, tenant="beta", isolation={"dedicated": True})
    candidates._found.clear()
    first = asked()
    assert asked(tenant="beta", isolation={"dedicated": True}) is first
    assert alone == plan({"chat": model()}, tenant="beta", isolation={"dedicated": True})


@pytest.mark.parametrize(
    ("model_changes", "changes"),
    [
        ({"workload": {"peak_rps": 3}}, {}),
        ({"slo": {"ttft_p95": "2s"}}, {}),
        ({"nodes": {"root_size": "300Gi"}}, {}),
        ({}, {"capacity": {"warm_standby": 1}}),
        ({}, {"capacity": {"purchase": [{"kind": "on_demand", "min_nodes": 1}, {"kind": "spot"}]}}),
        ({}, {"scaling": {"min": 3}}),
        ({}, {"cloud": {"provider": "aws", "region": "us-west-2"}}),
    ],
)
def test_other_needs_are_searched_for_anew(model_changes: dict[str, Any], changes: dict[str, Any]) -> None:
    """Load, objective, disks, standby, purchase, counts and region each ask again."""
    assert asked(model_changes, **changes) is not asked()
