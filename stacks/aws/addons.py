"""EKS add-ons: pinned or newest version, configuration, and a role by Pod Identity where the add-on calls AWS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inferform.labels import ROLE_LABEL, SYSTEM_ROLE
from inferform.stacks.aws import iam
from inferform.stacks.aws.account import Account
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Ref, Text, Value, json_text

NAMESPACE = "kube-system"
EBS_CSI, S3_CSI = "aws-ebs-csi-driver", "aws-mountpoint-s3-csi-driver"


@dataclass(frozen=True, slots=True)
class Caller:
    """The add-on's service account that calls AWS, and what it may do: names of policies that AWS keeps, or documents by name."""

    service_account: str
    managed: tuple[str, ...] = ()
    inline: Mapping[str, Text] | None = None


# Add-ons of every cluster that need nothing of the deployment's own.
CALLERS = {
    "vpc-cni": Caller("aws-node", ("AmazonEKS_CNI_Policy",)),
    EBS_CSI: Caller("ebs-csi-controller-sa", ("service-role/AmazonEBSCSIDriverPolicy",)),
}


def addon(stack: Stack, account: Account, cluster: Ref, name: str, *, caller: Caller | None = None, depends_on: Sequence[Handle] = ()) -> Handle:
    """The add-on in the plan's version, else in the newest that EKS has for the cluster's."""
    after = list(depends_on)
    attributes: dict[str, Value] = {
        "cluster_name": cluster,
        "addon_name": name,
        "addon_version": _version(stack, name),
        "resolve_conflicts_on_create": "OVERWRITE",
        "resolve_conflicts_on_update": "OVERWRITE",
        "configuration_values": _configuration(name),
    }
    if caller:
        trust = iam.pod_trust(account, cluster_name=stack.plan.cluster_name(), namespace=NAMESPACE, service_account=caller.service_account)
        role, grants = iam.role(stack, account, name, trust, managed=caller.managed, inline=caller.inline, description=f"Add-on {name}")
        attributes["pod_identity_association"] = [{"role_arn": role.ref("arn"), "service_account": caller.service_account}]
        after += grants
    return stack.resource("aws_eks_addon", name, attributes, depends_on=after)


def _version(stack: Stack, name: str) -> Ref | str:
    pinned = stack.plan.cloud.cluster.addons.get(name)
    if pinned:
        return pinned
    newest = stack.data("aws_eks_addon_version", name, {"addon_name": name, "kubernetes_version": stack.plan.cloud.kubernetes_version, "most_recent": True})
    return newest.ref("version")


def _configuration(name: str) -> Text | None:
    """Controllers keep to the system nodes; the node part of a CSI driver runs everywhere, tainted nodes included (FC-14)."""
    system: dict[str, Value] = {"nodeSelector": {ROLE_LABEL: SYSTEM_ROLE}}
    driver: dict[str, Value] = {"controller": system, "node": {"tolerateAllTaints": True}}
    values: dict[str, dict[str, Value]] = {
        "coredns": system,
        # Without its agent the rendered NetworkPolicies would hold nothing back.
        # Source: EKS user guide, "Restrict Pod network traffic with Kubernetes network policies" (read 2026-12-01).
        "vpc-cni": {"enableNetworkPolicy": "true"},
        EBS_CSI: driver,
        S3_CSI: {"node": {"tolerateAllTaints": True}},
    }
    return json_text(values[name]) if name in values else None
