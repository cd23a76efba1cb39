"""Self-managed scaling groups: reserved, on-demand and spot nodes in one group."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from inferform.labels import TAINT_EFFECT
from inferform.plan_nodes import WarmPoolPlan
from inferform.stacks.aws import termination
from inferform.stacks.aws.account import bounded, tags
from inferform.stacks.aws.groups import Group
from inferform.stacks.aws.node_template import TEMPLATE, resource_tags
from inferform.stacks.resource import Handle, Lifecycle, Precondition, Stack
from inferform.stacks.values import Ref, Value

_NAME_LIMIT = 255
# Long enough for a GPU node to boot; then terraform says that the capacity is not there.
_WAIT = "15m"
# EC2 starts to end instances 30 minutes before a block does (FC-08).
_DRAIN_BEFORE_END = timedelta(minutes=40)


def build(stack: Stack, group: Group, template: Handle, *, subnets: Ref, offered: Precondition, depends_on: Sequence[Handle]) -> Ref:
    """The group's scaling group; its name."""
    plan, nodes = stack.plan, group.infrastructure
    lifecycle: Lifecycle = {"precondition": [offered]}
    # The autoscaler owns the count after creation (FC-10), the schedule the floor: an edit of it holds from the schedule's next step.
    scheduled = group.pool.schedule is not None
    owned = [*(["desired_capacity"] if nodes.autoscaled or scheduled else []), *(["min_size"] if scheduled else [])]
    if owned:
        lifecycle["ignore_changes"] = owned
    version: dict[str, Value] = {"version": template.ref("latest_version")}
    attributes: dict[str, Value] = {
        "name": bounded(f"{plan.resource_prefix()}-{group.key}", _NAME_LIMIT),
        "min_size": group.nodes.min,
        "desired_capacity": group.nodes.steady,
        "max_size": group.nodes.max,
        "vpc_zone_identifier": subnets,
        "health_check_type": "EC2",
        "capacity_rebalance": group.spot,
        "wait_for_capacity_timeout": _WAIT,
        # Evening out the zones would end nodes that hold a loaded model.
        "suspended_processes": ["AZRebalance"],
        "tag": [{"key": k, "value": v, "propagate_at_launch": True} for k, v in sorted(_tags(stack, group).items())],
    }
    if nodes.updates == "rolling":
        attributes["instance_refresh"] = _refresh(group)
    if nodes.warm_pool and not group.block:
        attributes["warm_pool"] = _warm_pool(nodes.warm_pool)
    if group.block or nodes.warm_pool:
        attributes["launch_template"] = {"id": template.ref("id"), **version}
    else:
        attributes["mixed_instances_policy"] = {
            "instances_distribution": _distribution(group),
            "launch_template": {
                "launch_template_specification": {"launch_template_id": template.ref("id"), **version},
                "override": [{"instance_type": t} for t in group.instance_types],
            },
        }
    if group.reservations:
        # In a mixed group the reservation belongs to the group, not to the template (FC-11).
        only = all(p.kind == "reserved" and p.reservation_id for p in group.parts)
        attributes["capacity_reservation_specification"] = {
            "capacity_reservation_preference": "capacity-reservations-only" if only else "capacity-reservations-first",
            "capacity_reservation_target": {"capacity_reservation_ids": sorted(group.reservations)},
        }
    made = stack.resource("aws_autoscaling_group", group.key, attributes, depends_on=depends_on, lifecycle=lifecycle)
    if group.block:
        drain(stack, group, made.ref("name"))
    if plan.termination:
        termination.hook(stack, group, made.ref("name"), plan.termination)
    _schedule(stack, group, made.ref("name"))
    return made.ref("name")


def _distribution(group: Group) -> dict[str, Value]:
    """The steady nodes that are not spot come first; what is above them is spot, or on-demand where there is none.

    Spot follows capacity, not price: an interrupted node costs a model load.
    """
    base = sum(p.nodes.steady for p in group.parts if p.kind != "spot")
    return {
        "on_demand_allocation_strategy": "prioritized",
        "on_demand_base_capacity": base if group.spot else 0,
        "on_demand_percentage_above_base_capacity": 0 if group.spot else 100,
        "spot_allocation_strategy": "capacity-optimized-prioritized" if len(group.instance_types) > 1 else "capacity-optimized",
    }


def _refresh(group: Group) -> dict[str, Value]:
    """Replace nodes a few at a time when the template changes. Where capacity can be had, the new node comes first; a reservation is full."""
    life = group.pool.lifecycle
    fixed = group.block is not None or all(p.kind == "reserved" and p.reservation_id for p in group.parts)
    return {
        "strategy": "Rolling",
        "preferences": {
            "min_healthy_percentage": 90 if fixed else 100,
            "max_healthy_percentage": 100 if fixed else 110,
            # A node counts once its replica had time to load.
            "instance_warmup": str(life.startup_failure_threshold * life.startup_period_s),
            "skip_matching": True,
        },
    }


def _warm_pool(pool: WarmPoolPlan) -> dict[str, Value]:
    """Nodes that are made ahead: they boot in seconds, and with `reuse` come back after use."""
    return {"min_size": pool.size, "pool_state": pool.state, "instance_reuse_policy": {"reuse_on_scale_in": pool.reuse}}


def _schedule(stack: Stack, group: Group, name: Ref) -> None:
    """Raise and lower the floor for known traffic. Nodes of the pool's other groups count first; the autoscaler adds what is above."""
    schedule = group.pool.schedule
    if schedule is None or group.block:
        return
    elsewhere = group.pool.nodes.max - group.nodes.max
    for step in schedule.steps:
        floor = min(max(step.nodes - elsewhere, group.nodes.min), group.nodes.max)
        stack.resource(
            "aws_autoscaling_schedule",
            f"{group.key}-{step.name}",
            {
                "scheduled_action_name": step.name,
                "autoscaling_group_name": name,
                "recurrence": step.cron,
                "time_zone": schedule.timezone,
                "min_size": floor,
                # -1 leaves it as it is; a floor above the desired count raises that too. Without an autoscaler nobody else would lower it again.
                "max_size": -1,
                "desired_capacity": -1 if group.infrastructure.autoscaled else floor,
            },
        )


def _tags(stack: Stack, group: Group) -> dict[str, str]:
    """Tags of the group and its nodes; the provider's default tags do not reach scaling groups."""
    cluster = stack.plan.cluster_name()
    found = {**tags(stack.plan), "Name": f"{stack.plan.resource_prefix()}-{group.key}", f"kubernetes.io/cluster/{cluster}": "owned"}
    if stack.plan.termination:
        found[stack.plan.termination.tag] = "owned"
    if group.infrastructure.autoscaled:
        found |= {"k8s.io/cluster-autoscaler/enabled": "true", f"k8s.io/cluster-autoscaler/{cluster}": "owned"}
        # What the autoscaler cannot see of a group that stands at zero.
        found |= {f"{TEMPLATE}/label/{key}": value for key, value in group.labels.items()}
        found |= {f"{TEMPLATE}/taint/{key}": f"{value}:{TAINT_EFFECT}" for key, value in group.taints.items()}
        found |= resource_tags(group)
    return found


def drain(stack: Stack, group: Group, name: Ref) -> None:
    """Empty the scaling group `name` of a capacity block in time, where the plan knows when the block ends."""
    ends_at = group.block.ends_at if group.block else None
    if not ends_at:
        return
    start = datetime.fromisoformat(ends_at.replace("Z", "+00:00")) - _DRAIN_BEFORE_END
    stack.resource(
        "aws_autoscaling_schedule",
        f"{group.key}-drain",
        {
            "scheduled_action_name": "drain",
            "autoscaling_group_name": name,
            "start_time": start.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "min_size": 0,
            # -1 leaves it as it is.
            "max_size": -1,
            "desired_capacity": 0,
        },
    )
