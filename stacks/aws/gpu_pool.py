"""Stack `nodes`: the nodes of every pool, as EKS managed node groups or self-managed scaling groups."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.labels import TAINT_EFFECT, TAINT_EFFECT_EKS
from inferform.plan import DeploymentPlan
from inferform.stacks.aws import iam, karpenter, quantize_nodes, scaling_group, termination
from inferform.stacks.aws.account import Account, bounded, open_account
from inferform.stacks.aws.cluster import NODE_POLICIES
from inferform.stacks.aws.groups import Group, groups, image_parameter
from inferform.stacks.aws.launch_template import launch_template
from inferform.stacks.aws.node_config import ClusterCoordinates, user_data
from inferform.stacks.aws.node_template import resource_tags
from inferform.stacks.resource import Handle, Lifecycle, Precondition, Stack
from inferform.stacks.values import Ref, Value, call

OUTPUTS = {"groups": "map(string)", "termination_queue_url": "string"}

_NODE_GROUP_NAME_LIMIT = 63


@dataclass(frozen=True, slots=True)
class Place:
    """Where a group's nodes run: subnets of the zones that offer its types, and the check that there are any."""

    subnets: Ref
    offered: Precondition


def build(stack: Stack) -> None:
    """Fill the stack."""
    account = open_account(stack)
    found = groups(stack.plan)
    own_role = _self_managed_role(stack, account) if any(g.infrastructure.kind == "self_managed" for g in found) else None
    made = {}
    handler = stack.plan.termination
    queue = termination.build(stack, account, handler) if handler else None
    if stack.plan.karpenter:
        karpenter.build(stack, account, stack.plan.karpenter)
    for group in found:
        if group.infrastructure.kind == "karpenter":
            # Nodes are started from objects of the cluster; what those name is made here.
            _security_groups(stack, group)
            _placement_group(stack, group)
            continue
        place = _place(stack, group)
        security_groups, rules = _security_groups(stack, group)
        template = _template(stack, group, security_groups, own_role)
        if group.infrastructure.kind == "managed":
            made[group.key] = _managed(stack, group, template, place, rules).ref("id")
        elif own_role:
            made[group.key] = scaling_group.build(stack, group, template, subnets=place.subnets, offered=place.offered, depends_on=[*rules, own_role.entry])
    quantize_nodes.build(stack)
    stack.output("groups", made)
    stack.output("termination_queue_url", queue.ref("url") if queue else "")


@dataclass(frozen=True, slots=True)
class NodeRole:
    """The role of self-managed nodes: its instance profile, and the access entry that lets them join."""

    profile: Handle
    entry: Handle


def _self_managed_role(stack: Stack, account: Account) -> NodeRole:
    # EKS makes the access entry of a managed group's role itself, so self-managed nodes have a role of their own.
    name = "self-managed-node"
    trust = iam.service_trust("ec2.amazonaws.com")
    role, grants = iam.role(stack, account, name, trust, managed=NODE_POLICIES, description="Nodes of self-managed groups")
    profile = stack.resource(
        "aws_iam_instance_profile", name, {"name": bounded(f"{stack.plan.resource_prefix()}-{name}", 128), "role": role.ref("name")}, depends_on=grants
    )
    cluster = stack.remote("cluster", "cluster_name")
    entry = stack.resource("aws_eks_access_entry", name, {"cluster_name": cluster, "principal_arn": role.ref("arn"), "type": "EC2_LINUX"})
    return NodeRole(profile, entry)


def _place(stack: Stack, group: Group) -> Place:
    """Subnets of the plan's zones that offer the types (FC-06): all types for a managed group, any for a scaling group."""
    offers: list[Value] = []
    for kind in group.instance_types:
        name = f"{group.key}-{kind.replace('.', '-')}"
        filters: Value = [{"name": "instance-type", "values": [kind]}]
        found = stack.data("aws_ec2_instance_type_offerings", name, {"location_type": "availability-zone-id", "filter": filters})
        offers.append(found.ref("locations"))
    if group.infrastructure.kind != "managed" and len(offers) > 1:
        offers = [call("list(string)", "setunion", *offers)]
    # sort() makes the list that the set functions do not give, in the same order on every run.
    zones = stack.local(f"zones-{group.key}", call("list(string)", "sort", call("list(string)", "setintersection", sorted(group.zones), *offers)))
    subnets = stack.remote("network", "private_subnets")
    names, ids = call("list(string)", "keys", subnets), call("list(string)", "values", subnets)
    types = " or ".join(group.instance_types)
    return Place(
        call("list(string)", "matchkeys", ids, names, zones),
        {
            "condition": call("boolean", "anytrue", [call("boolean", "contains", zones, zone) for zone in sorted(group.zones)]),
            "error_message": f"{group.key}: {types} is not offered in {', '.join(sorted(group.zones))}. Choose other zones in {group.field}.zones or another type.",
        },
    )


def _security_groups(stack: Stack, group: Group) -> tuple[list[Ref], list[Handle]]:
    """The groups of a node's interfaces; with EFA one more, open to itself both ways.

    EFA packets are neither IPv4 nor IPv6, so no rule with an address range lets them pass (FC-13).
    """
    node = stack.remote("cluster", "node_security_group_id")
    if not group.infrastructure.efa:
        return [node], []
    name = f"{stack.plan.resource_prefix()}-{group.key}-efa"
    made = stack.resource(
        "aws_security_group",
        f"{group.key}-efa",
        {"name": name, "description": f"EFA of {group.key}", "vpc_id": stack.remote("network", "vpc_id"), "tags": {"Name": name}},
    )
    rules = [
        stack.resource(
            "aws_security_group_rule",
            f"{group.key}-efa-{way}",
            {
                "type": way,
                "protocol": "-1",
                "from_port": 0,
                "to_port": 0,
                "self": True,
                "security_group_id": made.ref("id"),
                "description": "EFA between nodes of the pool",
            },
        )
        for way in ("ingress", "egress")
    ]
    return [node, made.ref("id")], rules


def _template(stack: Stack, group: Group, security_groups: list[Ref], own_role: NodeRole | None) -> Handle:
    nodes = group.infrastructure
    managed = nodes.kind == "managed"
    more: dict[str, Value] = {}
    if nodes.ami_id:
        more["image_id"] = nodes.ami_id
    elif not managed:
        # Resolved at launch, so a new image is no difference in a plan; nodes take it as they are replaced.
        more["image_id"] = f"resolve:ssm:{image_parameter(group.image_type, stack.plan.cloud.kubernetes_version, nodes.ami_release)}"
    if not managed and own_role:
        more["iam_instance_profile"] = {"arn": own_role.profile.ref("arn")}
    target = group.block.reservation_id if group.block else group.reservations[0] if managed and group.reservations else None
    if target:
        more["capacity_reservation_specification"] = {"capacity_reservation_target": {"capacity_reservation_id": target}}
    if group.block:
        more["instance_market_options"] = {"market_type": "capacity-block"}
    if group.block or nodes.warm_pool:
        more["instance_type"] = group.instance_types[0]
    if nodes.warm_pool and nodes.warm_pool.state == "Hibernated":
        more["hibernation_options"] = {"configured": True}
    return launch_template(
        stack,
        group.key,
        os=nodes.os,
        root_volume_bytes=nodes.root_volume_bytes,
        security_groups=security_groups,
        user_data=user_data(
            os=nodes.os,
            max_pods=nodes.max_pods,
            kube_reserved=nodes.kube_reserved,
            local_disks=nodes.local_nvme_count > 0,
            warm=nodes.warm_pool is not None,
            mirror=stack.plan.model_store.distribution.image_peers,
            cluster=_coordinates(stack, group) if nodes.ami_id or not managed else None,
        ),
        efa=nodes.efa,
        placement_group=_placement_group(stack, group),
        more=more,
    )


def _placement_group(stack: Stack, group: Group) -> Ref | str | None:
    """The name of the group's cluster placement group: the user's own, or one of its own (FC-07)."""
    nodes = group.infrastructure
    if not nodes.placement_group or nodes.placement_group_name:
        return nodes.placement_group_name
    return stack.resource("aws_placement_group", group.key, {"name": _name(stack.plan, group), "strategy": "cluster"}).ref("name")


def _coordinates(stack: Stack, group: Group) -> ClusterCoordinates:
    return ClusterCoordinates(
        name=stack.plan.cluster_name(),
        endpoint=stack.remote("cluster", "endpoint"),
        certificate_authority=stack.remote("cluster", "certificate_authority"),
        service_cidr=stack.remote("cluster", "service_cidr"),
        labels=group.labels,
        taints={key: f"{value}:{TAINT_EFFECT}" for key, value in group.taints.items()},
    )


def _managed(stack: Stack, group: Group, template: Handle, place: Place, rules: list[Handle]) -> Handle:
    nodes = group.infrastructure
    lifecycle: Lifecycle = {"precondition": [place.offered]}
    if nodes.autoscaled:
        lifecycle["ignore_changes"] = ["scaling_config[0].desired_size"]
    made = stack.resource(
        "aws_eks_node_group",
        group.key,
        {
            "cluster_name": stack.remote("cluster", "cluster_name"),
            "node_group_name": bounded(group.key, _NODE_GROUP_NAME_LIMIT),
            "node_role_arn": stack.remote("cluster", "node_role_arn"),
            "subnet_ids": place.subnets,
            # EKS reads image and version from an own image, and the type of a block from the template.
            "ami_type": None if nodes.ami_id else group.image_type,
            "version": None if nodes.ami_id else stack.plan.cloud.kubernetes_version,
            "instance_types": None if group.block else list(group.instance_types),
            "capacity_type": "CAPACITY_BLOCK" if group.block else "SPOT" if group.spot else "ON_DEMAND",
            "labels": group.labels,
            "taint": [{"key": key, "value": value, "effect": TAINT_EFFECT_EKS} for key, value in group.taints.items()] or None,
            "launch_template": {"id": template.ref("id"), "version": template.ref("latest_version")},
            "scaling_config": {"min_size": group.nodes.min, "desired_size": group.nodes.steady, "max_size": group.nodes.max},
            "update_config": {"max_unavailable": 1},
            "tags": resource_tags(group) or None,
        },
        depends_on=rules,
        lifecycle=lifecycle,
    )
    if group.block:
        scaling_group.drain(stack, group, made.ref("resources", 0, "autoscaling_groups", 0, "name"))
    return made


def _name(plan: DeploymentPlan, group: Group) -> str:
    return bounded(f"{plan.resource_prefix()}-{group.key}", 255)
