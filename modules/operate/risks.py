"""What a plan puts at risk against what was applied last: nodes that go, data that goes, sizes that the cloud refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inferform.operate.node_groups import NODE_TYPES, Resize
from inferform.operate.results import Change, Risk
from inferform.plan import DeploymentPlan, ModelPlan, PoolPlan

# Resources whose loss takes data, or everything that stands on them, along.
_PRECIOUS = {
    "aws_eks_cluster": "the whole cluster and everything that runs in it",
    "aws_fsx_lustre_file_system": "the files on it",
    "aws_kms_key": "everything that is encrypted with it",
    "aws_s3_bucket": "the objects in it",
    "aws_vpc": "the whole network",
}
# What makes every replica of a pool start anew when it changes, as a person would name it.
_SERVING = ("engine", "engine_version", "image", "source", "weights", "kv_cache", "extra_args")
_SHAPE = ("instance_type", "tp", "pp", "dp", "ep", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization")
_ORDER = ("block", "red", "notice")


@dataclass(frozen=True, slots=True)
class _Pool:
    model: ModelPlan
    body: PoolPlan

    @property
    def like(self) -> tuple[object, ...]:
        """What two pools have alike that differ in nothing but their names."""
        return (self.model.source, self.body.role, self.body.instance_type, self.body.tp, self.body.pp)


def risks(
    changes: Mapping[str, Iterable[Change]], before: DeploymentPlan | None, after: DeploymentPlan, sizes: Mapping[str, Iterable[Resize]]
) -> tuple[Risk, ...]:
    """What a person should weigh, the worst first.

    `changes` by stack; `sizes` by stack holds the node groups that terraform resizes, as the cloud has them now.
    """
    found = [r for stack, rows in changes.items() for c in rows for r in _of_change(stack, c, before)]
    found += [r for stack, rows in sizes.items() for s in rows for r in _out_of_range(stack, s, after.cloud.region)]
    if before:
        found += [*_renamed(before, after), *_without_groups(before, after), *_serving(before, after)]
    return tuple(sorted(found, key=lambda r: (_ORDER.index(r.level), r.code, r.address)))


def _of_change(stack: str, change: Change, before: DeploymentPlan | None) -> Iterable[Risk]:
    address = f"{stack}/{change.address}"
    nodes = change.nodes or 0
    name = f"pool {change.model}/{change.pool}" if change.pool else change.address
    if change.type in NODE_TYPES and change.action in ("replace", "delete"):
        why = f" because of {', '.join(change.attributes)}" if change.attributes else ""
        what = "replaced" if change.action == "replace" else "removed"
        yield Risk(
            level="red", code=f"pool-{what}", address=address, nodes=nodes,
            message=f"{name} is {what}{why}: {counted(nodes)} and the replicas on them go",
            remedy="Drain the pool first, or add a pool under a new name and move the traffic before this one goes.",
        )  # fmt: skip
    elif change.renews and nodes:
        full = _no_room(change, before)
        yield Risk(
            level="red" if full else "notice", code="pool-renewed", address=address, nodes=nodes,
            message=f"{name} gets new nodes one after another because of {', '.join(change.renews)}: {counted(nodes)}, and each replica loads its model anew"
            + ("; all of its reserved capacity is in use, so the first new node has no place to start" if full else ""),
            remedy="Enlarge the reservation by a node for the time of the update, or set the pool down by one node first." if full else "",
        )  # fmt: skip
    elif change.type in _PRECIOUS and change.action in ("replace", "delete"):
        yield Risk(level="red", code="data-removed", address=address, message=f"{change.action} takes {_PRECIOUS[change.type]} along")


def _no_room(change: Change, before: DeploymentPlan | None) -> bool:
    """Every node of the pool comes out of reservations that are used to the last."""
    pool = next((body for model, _, name, body in before.pool_items() if (model, name) == (change.model, change.pool)), None) if before else None
    return pool is not None and all(p.reservation_id for p in pool.purchase) and (change.nodes or 0) >= pool.nodes.max


def _pools(plan: DeploymentPlan) -> dict[tuple[str, str], _Pool]:
    return {(name, pool): _Pool(model, body) for name, model, pool, body in plan.pool_items()}


def _twins(before: DeploymentPlan, after: DeploymentPlan) -> dict[tuple[str, str], tuple[str, str]]:
    """Pools that are gone, each with a new one that is the same but for its name."""
    old, new = _pools(before), _pools(after)
    added = {name: new[name] for name in sorted(new) if name not in old}
    found = {}
    for name in sorted(n for n in old if n not in new):
        twin = next((n for n, p in added.items() if p.like == old[name].like), None)
        if twin is not None:
            del added[twin]
            found[name] = twin
    return found


def _renamed(before: DeploymentPlan, after: DeploymentPlan) -> Iterable[Risk]:
    """A pool under another name is another pool (FC-38)."""
    old, new = _pools(before), _pools(after)
    for name, twin in _twins(before, after).items():
        lost, made = old[name].body.nodes.steady, new[twin].body.nodes.steady
        yield Risk(
            level="red", code="pool-renamed", address=f"plan/{'/'.join(name)}", nodes=lost,
            message=f"pool {'/'.join(name)} is now called {'/'.join(twin)}: that is destroy ({counted(lost)}) and create ({counted(made)}), not a new name",
            remedy=f"Keep the name {name[0]}, or expect the model to load anew on {made} new node{'' if made == 1 else 's'}.",
        )  # fmt: skip


def _without_groups(before: DeploymentPlan, after: DeploymentPlan) -> Iterable[Risk]:
    """Pools whose nodes Karpenter starts are in no stack, so terraform shows nothing of what becomes of them."""
    old, new = _pools(before), _pools(after)
    for name in sorted(old):
        was, now = old[name].body, new[name].body if name in new else None
        if was.infrastructure.kind != "karpenter" or (now is not None and now.instance_type == was.instance_type):
            continue
        nodes, shown = was.nodes.steady, "/".join(name)
        message = (
            f"pool {shown} is removed: Karpenter ends its {counted(nodes)}, and the replicas on them go"
            if now is None
            else f"pool {shown} goes from {was.instance_type} to {now.instance_type}: Karpenter replaces its {counted(nodes)}"
        )
        yield Risk(level="red", code=f"pool-{'removed' if now is None else 'replaced'}", address=f"plan/{shown}", nodes=nodes, message=message)


def _serving(before: DeploymentPlan, after: DeploymentPlan) -> Iterable[Risk]:
    """Replicas that are rolled although their nodes may stay."""
    old, new = _pools(before), _pools(after)
    for name in sorted(n for n in old if n in new):
        was, now = old[name], new[name]
        told = [*_differences(was.model, now.model, _SERVING), *_differences(was.body, now.body, _SHAPE)]
        if told:
            replicas = was.body.replicas.steady
            yield Risk(
                level="notice", code="serving-changed", address=f"plan/{'/'.join(name)}", nodes=was.body.nodes.steady,
                message=f"pool {'/'.join(name)}: {', '.join(told)}; its {replicas} replica{'' if replicas == 1 else 's'} start anew and load the model again",
            )  # fmt: skip


def _differences(was: ModelPlan | PoolPlan, now: ModelPlan | PoolPlan, names: tuple[str, ...]) -> Iterable[str]:
    for name in names:
        old, new = getattr(was, name), getattr(now, name)
        if old != new:
            yield f"{name} {_shown(old)} becomes {_shown(new)}"


def _shown(value: object) -> str:
    text = (" ".join(map(str, value)) or "nothing") if isinstance(value, tuple) else str(value)
    return text if len(text) <= 60 else text[:60] + "..."


def _out_of_range(stack: str, size: Resize, region: str) -> Iterable[Risk]:
    """A minimum above the nodes that are desired now, or a maximum below them: EKS refuses it, for the count is the autoscaler's (FC-10)."""
    low, most, now, desired = size.after.min, size.after.max, size.now.desired, size.after.desired
    if low is None or most is None or now is None or desired is None:
        return
    # Where terraform owns the count it moves desired in the same call.
    if low > desired and low > (size.now.min or 0):
        code, wanted, told = "min-above-desired", low, f"min rises to {low}, above the {counted(now)} desired now"
        follows = f"{counted(low - now)} start{'s' if low - now == 1 else ''} at once"
    elif most < desired:
        code, wanted, told = "max-below-desired", most, f"max falls to {most}, below the {counted(now)} desired now"
        follows = f"{counted(now - most)} end{'s' if now - most == 1 else ''} at once"
    else:
        return
    managed = size.type == "aws_eks_node_group"
    now_low, now_most = min(size.now.min or 0, wanted), max(size.now.max or 0, wanted)
    command = (
        f"aws eks update-nodegroup-config --region {region} --cluster-name {size.cluster} --nodegroup-name {size.name}"
        f" --scaling-config minSize={now_low},desiredSize={wanted},maxSize={now_most}"
    )
    # A scaling group moves its own count into the new range; a managed node group refuses.
    yield Risk(
        level="block" if managed else "notice", code=code, address=f"{stack}/{size.address}", nodes=wanted,
        message=f"{size.name}: {told}; {'EKS refuses that and apply will not try' if managed else follows}",
        remedy=f"Set desired first: {command}; then plan again." if managed else "",
    )  # fmt: skip


def counted(nodes: int) -> str:
    """`1 node`, `4 nodes`."""
    return f"{nodes} node{'' if nodes == 1 else 's'}"
