"""How close the nodes of a replica stand, by the layers of the network that AWS tells for each type of instance."""

from __future__ import annotations

from inferform.catalog.types import Instance
from inferform.errors import Problem
from inferform.plan_placement import ClosenessPlan
from inferform.spec_placement import Closeness

_LAYER = "topology.k8s.aws/network-node-layer-"
# Network nodes that DescribeInstanceTopology returns, by family; the cloud's controller labels nodes with them, layer 1 the farthest.
# Source: EC2 user guide, prerequisites for Amazon EC2 topology (read 2026-12-01).
_DEPTH = {"g6e": 3, "g7e": 3, "p4d": 3, "p4de": 3, "p5": 3, "p5e": 3, "p5en": 3, "p6-b200": 4, "p6-b300": 4}
# Of p5 only the whole node is listed.
_UNLISTED = frozenset({"p5.4xlarge"})
_STEPS = {"leaf": 0, "aggregation": 1, "spine": 2}


def layers(instance_type: str) -> tuple[str, ...]:
    """Labels of the network's layers on such nodes, the widest first; empty where AWS tells none."""
    depth = 0 if instance_type in _UNLISTED else _DEPTH.get(instance_type.partition(".")[0], 0)
    return tuple(f"{_LAYER}{number}" for number in range(1, depth + 1))


def plan_closeness(field: str, asked: Closeness | None, instance: Instance, *, nodes_per_replica: int, problems: list[Problem]) -> ClosenessPlan | None:
    """Where a replica's pods go; None where it is one pod, or where nothing is known and nothing is asked."""
    if nodes_per_replica == 1:
        return None
    found = layers(instance.name)
    wanted = asked or Closeness()
    if not found:
        if asked is not None:
            problems.append(
                Problem(
                    f"AWS tells no network layers of {instance.name}",
                    f"{field}.level",
                    value=wanted.level,
                    fix="leave closeness out; a cluster placement group (placement: cluster) keeps its nodes close",
                )
            )
        return None
    within = found[0] if wanted.level == "spine" else found[-1 - _STEPS[wanted.level]]
    return ClosenessPlan(levels=found, within=within, required=wanted.required, scheduler=wanted.scheduler)


def closeness_warning(asked: Closeness | None, *, nodes_per_replica: int) -> str | None:
    """What a user should know who asks for what has no effect."""
    if asked is None or nodes_per_replica > 1:
        return None
    return "nodes.closeness has no effect: each replica fits one node"
