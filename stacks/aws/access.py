"""Who may use the cluster: access entries with EKS access policies, for people and pipelines alike."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Value

# Source: EKS user guide, "Review access policy permissions" (read 2026-12-01).
_POLICIES = {"view": "AmazonEKSViewPolicy", "edit": "AmazonEKSEditPolicy", "admin": "AmazonEKSAdminPolicy", "cluster_admin": "AmazonEKSClusterAdminPolicy"}


def entries(stack: Stack, cluster: Handle) -> None:
    """The administrators by their principals, and the other entries by their names in the spec."""
    cloud = stack.plan.cloud
    for principal in sorted(cloud.admins):
        _entry(stack, cluster, _admin_key(principal), principal=principal, level="cluster_admin", namespaces=())
    for name, access in sorted(cloud.cluster.access.items()):
        _entry(stack, cluster, f"access-{name}", principal=access.principal, level=access.level, namespaces=access.namespaces)


def _admin_key(principal: str) -> str:
    # Two accounts may have roles of one name.
    key = f"admin-{principal.rpartition('/')[2].lower()}-{hashlib.sha256(principal.encode()).hexdigest()[:8]}"
    return "".join(c if c.isalnum() and c.isascii() else "-" for c in key)


def _entry(stack: Stack, cluster: Handle, key: str, *, principal: str, level: str, namespaces: Sequence[str]) -> None:
    entry = stack.resource("aws_eks_access_entry", key, {"cluster_name": cluster.ref("name"), "principal_arn": principal, "type": "STANDARD"})
    partition = principal.split(":")[1]
    scope: dict[str, Value] = {"type": "namespace", "namespaces": list(namespaces)} if namespaces else {"type": "cluster"}
    stack.resource(
        "aws_eks_access_policy_association",
        key,
        {
            "cluster_name": cluster.ref("name"),
            "principal_arn": entry.ref("principal_arn"),
            "policy_arn": f"arn:{partition}:eks::aws:cluster-access-policy/{_POLICIES[level]}",
            "access_scope": scope,
        },
    )
