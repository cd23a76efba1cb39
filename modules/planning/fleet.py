"""Counts of replicas and nodes after the user's own limits."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.plan_nodes import Count
from inferform.sizing.search import Fleet
from inferform.spec_nodes import Capacity
from inferform.spec_scaling import Scaling


@dataclass(frozen=True, slots=True)
class Limits:
    """Explicit counts of one model: nodes from `capacity`, replicas from `scaling`. `spare` keeps room for one more replica at rollouts."""

    capacity: Capacity
    scaling: Scaling
    spare: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """Replicas and nodes of a pool, and what was cut to an explicit limit."""

    replicas: Count
    nodes: Count
    notes: tuple[str, ...]


def count(fleet: Fleet, limits: Limits, *, nodes_per_replica: int, replicas_per_node: int) -> Counted | str:
    """The fleet inside the explicit limits, or the limit that it does not fit: steady need is never cut, the burst is."""
    fewest, steady, most = fleet.replicas
    capacity, scaling = limits.capacity, limits.scaling
    notes: list[str] = []
    if scaling.max is not None:
        if scaling.max < steady:
            return f"scaling.max is {scaling.max} replicas and the busiest hour needs {steady}"
        if scaling.max < most:
            notes.append(f"scaling.max cuts the burst fleet from {most} to {scaling.max} replicas")
        most = scaling.max
    if scaling.min is not None:
        fewest = scaling.min
        steady, most = max(steady, fewest), max(most, fewest)
    if scaling.fixed:
        fewest, most = steady, steady

    def nodes_for(replicas: int) -> int:
        return -(-replicas // replicas_per_node) * nodes_per_replica

    def replicas_on(nodes: int) -> int:
        return nodes // nodes_per_replica * replicas_per_node

    low, middle, high = nodes_for(fewest), nodes_for(steady), nodes_for(most)
    if limits.spare and capacity.max_nodes is None and (high - middle) < nodes_per_replica:
        high = middle + nodes_per_replica
    if capacity.max_nodes is not None:
        if capacity.max_nodes < middle:
            return f"capacity.max_nodes is {capacity.max_nodes} and the busiest hour needs {middle} nodes"
        if replicas_on(capacity.max_nodes) < most:
            held = max(steady, replicas_on(capacity.max_nodes))
            notes.append(f"capacity.max_nodes cuts the burst fleet from {most} to {held} replicas")
            most = held
        high = capacity.max_nodes
    if capacity.desired_nodes is not None:
        if capacity.desired_nodes < middle:
            return f"capacity.desired_nodes is {capacity.desired_nodes} and the busiest hour needs {middle} nodes"
        middle = capacity.desired_nodes
        steady = most if replicas_on(middle) >= most else max(steady, replicas_on(middle))
        high = max(high, middle)
    if capacity.min_nodes is not None:
        low = capacity.min_nodes
        middle, high = max(middle, low), max(high, low)
    low = min(low, middle)
    return Counted(Count(min=min(fewest, steady), steady=steady, max=max(most, steady)), Count(min=low, steady=middle, max=high), tuple(notes))
