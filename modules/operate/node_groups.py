"""Groups of nodes as terraform's plan JSON has them: how large they are now, and how large the plan makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The resources that hold nodes.
NODE_TYPES = ("aws_eks_node_group", "aws_autoscaling_group")
# Their attributes that say how many.
COUNTS = ("desired_capacity", "desired_size", "max_size", "min_size")


@dataclass(frozen=True, slots=True)
class Size:
    """Node counts of one group; None where terraform does not know them yet."""

    min: int | None
    desired: int | None
    max: int | None


@dataclass(frozen=True, slots=True)
class Resize:
    """A group that is there and changes: its names in AWS, its size now and after."""

    address: str
    type: str
    cluster: str
    name: str
    now: Size
    after: Size


def size_of(kind: str, values: Mapping[str, Any] | None) -> Size | None:
    """The size in the attributes of a node group; None for other resources and for one without attributes."""
    if kind not in NODE_TYPES or not values:
        return None
    if kind == "aws_eks_node_group":
        body = next(iter(values.get("scaling_config") or ()), None) or {}
        found = (body.get("min_size"), body.get("desired_size"), body.get("max_size"))
    else:
        found = (values.get("min_size"), values.get("desired_capacity"), values.get("max_size"))
    return Size(*(None if n is None else int(n) for n in found)) if any(n is not None for n in found) else None


def live_values(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Attributes of node groups as the cloud has them now, by address: the state as the plan refreshed it.

    The `before` of a group that is only deleted is older: terraform writes there what it had applied.
    """
    rows = document.get("prior_state", {}).get("values", {}).get("root_module", {}).get("resources", [])
    return {r["address"]: r.get("values", {}) for r in rows if r.get("type") in NODE_TYPES}


def resizes(document: Mapping[str, Any]) -> tuple[Resize, ...]:
    """Groups that a terraform plan updates in place, by address. What the plan leaves to an autoscaler stays as it is now."""
    found, live = [], live_values(document)
    for row in document.get("resource_changes", []):
        change = row["change"]
        now, after = size_of(row["type"], live.get(row["address"], change.get("before"))), size_of(row["type"], change.get("after"))
        if row.get("mode") == "managed" and change["actions"] == ["update"] and now and after:
            old = change["before"]
            found.append(
                Resize(row["address"], row["type"], str(old.get("cluster_name") or ""), str(old.get("node_group_name") or old.get("name") or ""), now, after)
            )
    return tuple(sorted(found, key=lambda r: r.address))


def renewed(row: Mapping[str, Any], attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Attributes of an update that make AWS replace the running nodes of a group one after another; empty when none does."""
    if row["type"] == "aws_eks_node_group":
        return tuple(a for a in attributes if a in ("launch_template", "release_version", "version"))
    if row["type"] == "aws_autoscaling_group" and (row["change"].get("after") or {}).get("instance_refresh"):
        # Source: hashicorp/aws, aws_autoscaling_group, instance_refresh: what always starts one (read 2026-12-01).
        return tuple(a for a in attributes if a in ("launch_configuration", "launch_template", "mixed_instances_policy"))
    return ()
