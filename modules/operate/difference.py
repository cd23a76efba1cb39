"""Cost and risk of a plan against what was applied last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from inferform.operate.changes import NODE_TYPES
from inferform.operate.results import Change, CostDifference, Risk
from inferform.plan import DeploymentPlan, PoolPlan

# Resources whose loss takes data, or everything that stands on them, along.
_PRECIOUS = {
    "aws_eks_cluster": "the whole cluster and everything that runs in it",
    "aws_fsx_lustre_file_system": "the files on it",
    "aws_kms_key": "everything that is encrypted with it",
    "aws_s3_bucket": "the objects in it",
    "aws_vpc": "the whole network",
}


def cost_difference(before: DeploymentPlan | None, after: DeploymentPlan) -> CostDifference:
    """Steady cost of both plans, and of each pool where it differs."""
    hours = after.cost.hours_per_month
    old, new = before.cost.by_pool if before else {}, after.cost.by_pool
    rows = {name: (round(old.get(name, 0.0) * hours, 2), round(new.get(name, 0.0) * hours, 2)) for name in sorted({*old, *new})}
    was = before.cost.usd_per_month if before else None
    return CostDifference(
        before_usd_per_month=was,
        after_usd_per_month=after.cost.usd_per_month,
        difference_usd_per_month=round(after.cost.usd_per_month - (was or 0.0), 2),
        budget_usd_per_month=after.cost.budget_usd_per_month,
        by_pool_usd_per_month={name: pair for name, pair in rows.items() if pair[0] != pair[1]},
    )


def risks(changes: Mapping[str, Iterable[Change]], before: DeploymentPlan | None, after: DeploymentPlan, live: Mapping[str, int]) -> tuple[Risk, ...]:
    """What a person should weigh, the worst first.

    `changes` by stack; `live` holds the node count that each node group has now, by address.
    """
    found = [r for stack, rows in changes.items() for c in rows for r in _of_change(stack, c)]
    if before:
        found += [*_renamed(before, after), *_minimum_raised(before, after, live)]
    order = ("block", "red", "notice")
    return tuple(sorted(found, key=lambda r: (order.index(r.level), r.code, r.address)))


def live_nodes(document: Mapping[str, Any]) -> dict[str, int]:
    """Desired node counts as the cloud has them, by address, from the refreshed state in a terraform plan."""
    rows = document.get("prior_state", {}).get("values", {}).get("root_module", {}).get("resources", [])
    found = {}
    for row in rows:
        values = row.get("values", {})
        if row["type"] == "aws_eks_node_group":
            found[row["address"]] = int((values.get("scaling_config") or [{}])[0].get("desired_size", 0))
        elif row["type"] == "aws_autoscaling_group":
            found[row["address"]] = int(values.get("desired_capacity") or 0)
    return found


def _of_change(stack: str, change: Change) -> Iterable[Risk]:
    address = f"{stack}/{change.address}"
    if change.type in NODE_TYPES and change.action in ("replace", "delete"):
        nodes = change.nodes or 0
        why = f" because of {', '.join(change.attributes)}" if change.attributes else ""
        what = "replaced" if change.action == "replace" else "removed"
        name = f"pool {change.model}/{change.pool}" if change.pool else change.address
        yield Risk(
            level="red",
            code=f"pool-{what}",
            address=address,
            nodes=nodes,
            message=f"{name} is {what}{why}: {nodes} node{'' if nodes == 1 else 's'} and the replicas on them go",
            remedy="Drain the pool first, or add a pool under a new name and move the traffic before this one goes.",
        )
    elif change.type in _PRECIOUS and change.action in ("replace", "delete"):
        yield Risk(level="red", code="data-removed", address=address, message=f"{change.action} takes {_PRECIOUS[change.type]} along")


def _pools(plan: DeploymentPlan) -> dict[tuple[str, str], tuple[str, PoolPlan]]:
    return {(model, pool): (planned.source, body) for model, planned, pool, body in plan.pool_items()}


def _renamed(before: DeploymentPlan, after: DeploymentPlan) -> Iterable[Risk]:
    """A pool that is gone and a new one that is the same but for its name (FC-38)."""
    old, new = _pools(before), _pools(after)
    added = {name: new[name] for name in sorted(new) if name not in old}
    for name in sorted(n for n in old if n not in new):
        source, pool = old[name]
        twin = next(
            (n for n, (s, p) in added.items() if (s, p.role, p.instance_type, p.tp, p.pp) == (source, pool.role, pool.instance_type, pool.tp, pool.pp)), None
        )
        if twin is None:
            continue
        made = added.pop(twin)[1].nodes.steady
        lost = pool.nodes.steady
        yield Risk(
            level="red",
            code="pool-renamed",
            address=f"plan/{name[0]}/{name[1]}",
            nodes=lost,
            message=f"pool {'/'.join(name)} is now called {'/'.join(twin)}: that is destroy ({lost} nodes) and create ({made} nodes), not a new name",
            remedy=f"Keep the name {name[0]}, or expect the model to load anew on {made} new nodes.",
        )


def _minimum_raised(before: DeploymentPlan, after: DeploymentPlan, live: Mapping[str, int]) -> Iterable[Risk]:
    """A minimum above the nodes that are desired now: EKS refuses it, for the count belongs to the autoscaler (FC-10)."""
    old = _pools(before)
    for name, (_, pool) in sorted(_pools(after).items()):
        if name not in old or not pool.infrastructure.autoscaled:
            continue
        key = "-".join(name)
        managed = pool.infrastructure.kind == "managed"
        address = f"{'aws_eks_node_group' if managed else 'aws_autoscaling_group'}.{key}"
        desired = live.get(address, old[name][1].nodes.steady)
        if pool.nodes.min <= desired or pool.nodes.min <= old[name][1].nodes.min:
            continue
        # A scaling group raises its own count to the minimum; a managed node group refuses.
        yield Risk(
            level="block" if managed else "notice",
            code="min-above-desired",
            address=f"nodes/{address}",
            nodes=pool.nodes.min,
            message=f"pool {'/'.join(name)}: min rises to {pool.nodes.min}, above the {desired} nodes desired now"
            + ("; EKS refuses that and apply will not try" if managed else f"; {pool.nodes.min - desired} nodes start at once"),
            remedy=(
                f"Raise desired first: aws eks update-nodegroup-config --region {after.cloud.region} --cluster-name {after.cluster_name()} --nodegroup-name {key}"
                f" --scaling-config desiredSize={pool.nodes.min},maxSize={max(pool.nodes.max, pool.nodes.min)}; then plan again."
            )
            if managed
            else "",
        )
