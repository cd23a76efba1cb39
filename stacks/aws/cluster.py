"""Stack `cluster`: EKS with encrypted secrets, full logs, explicit access, add-ons and the nodes that controllers run on."""

from __future__ import annotations

import ipaddress

from inferform.labels import ROLE_LABEL, SYSTEM_ROLE
from inferform.plan import DeploymentPlan
from inferform.stacks.aws import access, addons, encryption, iam
from inferform.stacks.aws.account import Account, open_account
from inferform.stacks.aws.launch_template import GIB, launch_template
from inferform.stacks.resource import Handle, Lifecycle, Stack
from inferform.stacks.values import Ref, Value, call

OUTPUTS = {
    "cluster_name": "string",
    "cluster_arn": "string",
    "endpoint": "string",
    "certificate_authority": "string",
    "service_cidr": "string",
    "node_security_group_id": "string",
    "node_role_arn": "string",
}

# nodeadm asks EC2 about the node itself and Pod Identity works through the node's role: both are in the worker policy.
NODE_POLICIES = ("AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy")
_SYSTEM_ROOT_BYTES = 100 * GIB
# Needed before the first node is ready; the others run on nodes. Drivers of the model store need its key and stand in `identity`.
_BEFORE_NODES = ("eks-pod-identity-agent", "kube-proxy", "vpc-cni")
_ON_NODES = ("coredns", addons.EBS_CSI)


def build(stack: Stack) -> None:
    """Fill the stack."""
    plan = stack.plan
    account = open_account(stack)
    subnets = call("list(string)", "values", stack.remote("network", "private_subnets"))
    control, node_group, rules = _security_groups(stack)
    cluster = _cluster(stack, account, subnets, control, rules)
    access.entries(stack, cluster)
    early = [addons.addon(stack, account, cluster.ref("name"), name, caller=addons.CALLERS.get(name)) for name in _BEFORE_NODES]
    node_role, grants = iam.role(
        stack, account, "node", iam.service_trust("ec2.amazonaws.com"), managed=NODE_POLICIES, description="Nodes of managed node groups"
    )
    system = _system_nodes(stack, cluster, role=node_role, group=node_group, subnets=subnets, after=[*early, *grants, *rules])
    for name in sorted({*plan.cloud.cluster.addons} & set(_ON_NODES)):
        addons.addon(stack, account, cluster.ref("name"), name, caller=addons.CALLERS.get(name), depends_on=[system])
    stack.output("cluster_name", cluster.ref("name"))
    stack.output("cluster_arn", cluster.ref("arn"))
    stack.output("endpoint", cluster.ref("endpoint"))
    stack.output("certificate_authority", cluster.ref("certificate_authority", 0, "data"))
    stack.output("service_cidr", service_cidr(plan))
    stack.output("node_security_group_id", node_group.ref("id"))
    stack.output("node_role_arn", node_role.ref("arn"))


def service_cidr(plan: DeploymentPlan) -> str:
    """Address range of Kubernetes Services: EKS's usual one unless the VPC lies there."""
    usual = ipaddress.IPv4Network("172.20.0.0/16")
    return "10.100.0.0/16" if usual.overlaps(ipaddress.IPv4Network(plan.cloud.vpc_cidr)) else str(usual)


def _cluster(stack: Stack, account: Account, subnets: Ref, control: Handle, rules: list[Handle]) -> Handle:
    plan = stack.plan
    name = plan.cluster_name()
    log_name = f"/aws/eks/{name}/cluster"
    key = encryption.key(stack, account, "cluster", "Kubernetes secrets and control plane logs", log_groups=[log_name])
    # Made before EKS would make it, so that retention and encryption hold from the first line.
    logs = stack.resource(
        "aws_cloudwatch_log_group",
        "control-plane",
        {"name": log_name, "retention_in_days": plan.cloud.cluster.log_retention_days, "kms_key_id": key.ref("arn")},
    )
    use_key = iam.document(iam.allow(["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:ListGrants"], [key.ref("arn")]))
    role, grants = iam.role(
        stack,
        account,
        "cluster",
        iam.service_trust("eks.amazonaws.com"),
        managed=["AmazonEKSClusterPolicy"],
        inline={"encryption": use_key},
        description="EKS control plane",
    )
    public = sorted(plan.cloud.public_cidrs)
    return stack.resource(
        "aws_eks_cluster",
        "main",
        {
            "name": name,
            "version": plan.cloud.kubernetes_version,
            "role_arn": role.ref("arn"),
            "enabled_cluster_log_types": list(plan.cloud.cluster.log_types),
            # Add-ons below are managed; EKS would install unmanaged ones first.
            "bootstrap_self_managed_addons": False,
            "access_config": {
                "authentication_mode": "API",
                # The creator is whoever ran terraform; an administrator nobody wrote down. Access entries can be added any time
                # through the EKS API, so nobody is locked out, and changing this later would replace the cluster.
                "bootstrap_cluster_creator_admin_permissions": False,
            },
            "encryption_config": {"provider": {"key_arn": key.ref("arn")}, "resources": ["secrets"]},
            "kubernetes_network_config": {"service_ipv4_cidr": service_cidr(plan), "ip_family": "ipv4"},
            # EKS makes no cluster of a version in extended support under the standard policy, and raises a cluster's version by itself where
            # standard support ends. Source: EKS user guide, "View current cluster upgrade policy" (read 2026-12-01).
            "upgrade_policy": {"support_type": plan.cloud.cluster.support.kind.upper()},
            "vpc_config": {
                "subnet_ids": subnets,
                "security_group_ids": [control.ref("id")],
                "endpoint_private_access": True,
                "endpoint_public_access": bool(public),
                "public_access_cidrs": [*public] or None,
            },
        },
        depends_on=[logs, *grants, *rules],
    )


def _security_groups(stack: Stack) -> tuple[Handle, Handle, list[Handle]]:
    """(control plane's group, nodes' group, rules). The old rule resource holds a rule to the group itself and works with every provider version."""
    name = stack.plan.resource_prefix()
    vpc = stack.remote("network", "vpc_id")
    control = stack.resource(
        "aws_security_group",
        "control-plane",
        {"name": f"{name}-control-plane", "description": "EKS control plane", "vpc_id": vpc, "tags": {"Name": f"{name}-control-plane"}},
    )
    # Controllers that open ports for load balancers look for the one group with this tag.
    owned = {"Name": f"{name}-node", f"kubernetes.io/cluster/{stack.plan.cluster_name()}": "owned"}
    nodes = stack.resource("aws_security_group", "node", {"name": f"{name}-node", "description": "EKS nodes", "vpc_id": vpc, "tags": owned})

    def rule(key: str, group: Handle, way: str, ports: tuple[int, int] | None, why: str, **peer: Value) -> Handle:
        first, last = ports or (0, 0)
        shape: dict[str, Value] = {"type": way, "protocol": "tcp" if ports else "-1", "from_port": first, "to_port": last, "description": why}
        return stack.resource("aws_security_group_rule", key, {"security_group_id": group.ref("id"), **shape, **peer})

    from_control, to_nodes = control.ref("id"), nodes.ref("id")
    return (
        control,
        nodes,
        [
            rule("control-plane-from-node", control, "ingress", (443, 443), "Kubernetes API", source_security_group_id=to_nodes),
            rule("control-plane-to-node", control, "egress", (1025, 65535), "kubelets and webhooks", source_security_group_id=to_nodes),
            rule("control-plane-to-node-443", control, "egress", (443, 443), "webhooks", source_security_group_id=to_nodes),
            rule("node-from-node", nodes, "ingress", None, "pods and nodes among themselves", self=True),
            rule("node-from-control-plane", nodes, "ingress", (1025, 65535), "kubelets and webhooks", source_security_group_id=from_control),
            rule("node-from-control-plane-443", nodes, "ingress", (443, 443), "webhooks", source_security_group_id=from_control),
            rule("node-to-all", nodes, "egress", None, "images, weights and AWS APIs", cidr_blocks=["0.0.0.0/0"]),
        ],
    )


def _system_nodes(stack: Stack, cluster: Handle, *, role: Handle, group: Handle, subnets: Ref, after: list[Handle]) -> Handle:
    pool = stack.plan.cloud.system_pool
    template = launch_template(stack, "system", os="al2023", root_volume_bytes=_SYSTEM_ROOT_BYTES, security_groups=[group.ref("id")], user_data=None)
    # A range means that an autoscaler owns the count (FC-10).
    scaled: Lifecycle | None = {"ignore_changes": ["scaling_config[0].desired_size"]} if pool.nodes.min < pool.nodes.max else None
    return stack.resource(
        "aws_eks_node_group",
        "system",
        {
            "cluster_name": cluster.ref("name"),
            "node_group_name": "system",
            "node_role_arn": role.ref("arn"),
            "subnet_ids": subnets,
            "version": stack.plan.cloud.kubernetes_version,
            "ami_type": "AL2023_x86_64_STANDARD",
            "capacity_type": "ON_DEMAND",
            "instance_types": [pool.instance_type],
            "labels": {ROLE_LABEL: SYSTEM_ROLE},
            "launch_template": {"id": template.ref("id"), "version": template.ref("latest_version")},
            "scaling_config": {"min_size": pool.nodes.min, "desired_size": pool.nodes.steady, "max_size": pool.nodes.max},
            "update_config": {"max_unavailable": 1},
        },
        depends_on=after,
        lifecycle=scaled,
    )
