"""Counts inside the user's limits."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.plan_nodes import Count
from inferform.planning.fleet import Counted, Limits, count
from inferform.sizing.search import Fleet
from inferform.spec_nodes import Capacity
from inferform.spec_scaling import Scaling

FLEET = Fleet((2, 4, 8), (2, 4, 8))


def counted(fleet: Fleet = FLEET, *, spare: bool = False, capacity: dict[str, Any] | None = None, scaling: dict[str, Any] | None = None) -> Counted | str:
    limits = Limits(Capacity(**(capacity or {})), Scaling(**(scaling or {})), spare=spare)
    return count(fleet, limits, nodes_per_replica=fleet.nodes_per_replica, replicas_per_node=fleet.replicas_per_node)


def nodes(found: Counted | str) -> Count:
    assert not isinstance(found, str), found
    return found.nodes


def test_without_limits_the_need_stands() -> None:
    """Nodes follow the replicas."""
    assert Count(min=2, steady=4, max=8) == nodes(counted())


def test_room_for_a_rollout_is_one_replica() -> None:
    """A fleet that does not grow otherwise may grow by one replica of two nodes."""
    assert Count(min=4, steady=8, max=10) == nodes(counted(Fleet((2, 4, 4), (4, 8, 8), 2, 1), spare=True))


@pytest.mark.parametrize(
    ("capacity", "scaling", "text"),
    [
        ({"max_nodes": 3}, {}, "capacity.max_nodes is 3 and the busiest hour needs 4 nodes"),
        ({"desired_nodes": 2}, {}, "capacity.desired_nodes is 2 and the busiest hour needs 4 nodes"),
        ({}, {"max": 3}, "scaling.max is 3 replicas and the busiest hour needs 4"),
    ],
)
def test_a_limit_below_the_need_is_named(capacity: dict[str, Any], scaling: dict[str, Any], text: str) -> None:
    """The steady need is never cut."""
    assert text == counted(capacity=capacity, scaling=scaling)


def test_the_burst_is_cut_and_said() -> None:
    """A maximum between steady and burst keeps the steady fleet and says what was cut."""
    found = counted(capacity={"max_nodes": 6})
    assert Count(min=2, steady=4, max=6) == nodes(found)
    assert not isinstance(found, str)
    assert ("capacity.max_nodes cuts the burst fleet from 8 to 6 replicas",) == found.notes


def test_explicit_counts_are_kept() -> None:
    """min, desired and max nodes come out as they went in."""
    assert Count(min=3, steady=5, max=9) == nodes(counted(capacity={"min_nodes": 3, "desired_nodes": 5, "max_nodes": 9}))


def test_replica_limits_move_the_nodes() -> None:
    """scaling.min 6 raises the steady fleet, scaling.max 10 the largest."""
    assert Count(min=6, steady=6, max=10) == nodes(counted(scaling={"min": 6, "max": 10}))


def test_a_fixed_fleet_has_one_size() -> None:
    """fixed: true holds the steady count."""
    found = counted(scaling={"fixed": True})
    assert not isinstance(found, str)
    assert Count(min=4, steady=4, max=4) == found.replicas
