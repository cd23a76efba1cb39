"""The EKS cluster: who reaches it, what is encrypted and logged, and in which order it comes and goes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from inferform.stacks.aws.cluster import service_cidr
from synthesis import changed, sample_stacks, stacks_of


def resources() -> dict[str, Any]:
    """Resources of the stack `cluster`."""
    return dict(sample_stacks()["cluster"]["resource"])


def test_the_endpoint_is_private_unless_ranges_are_named() -> None:
    """Without public ranges only the VPC reaches the API; with them exactly those ranges do."""
    private = resources()["aws_eks_cluster"]["main"]["vpc_config"]
    assert (True, False) == (private["endpoint_private_access"], private["endpoint_public_access"])
    assert "public_access_cidrs" not in private
    plan = changed(lambda d: d["cloud"].update(public_cidrs=["203.0.113.0/24", "198.51.100.0/24"]))
    public = stacks_of(plan)["cluster"]["resource"]["aws_eks_cluster"]["main"]["vpc_config"]
    assert (True, ["198.51.100.0/24", "203.0.113.0/24"]) == (public["endpoint_public_access"], public["public_access_cidrs"])


def test_secrets_are_encrypted_and_every_log_is_kept() -> None:
    """Envelope encryption uses a rotated key; all five log types go to a group that exists first, with retention and encryption."""
    found = resources()
    cluster = found["aws_eks_cluster"]["main"]
    assert {"provider": {"key_arn": "${aws_kms_key.cluster.arn}"}, "resources": ["secrets"]} == cluster["encryption_config"]
    assert found["aws_kms_key"]["cluster"]["enable_key_rotation"] is True
    assert ["api", "audit", "authenticator", "controllerManager", "scheduler"] == cluster["enabled_cluster_log_types"]
    group = found["aws_cloudwatch_log_group"]["control-plane"]
    assert ("/aws/eks/contract-qa-prod/cluster", 90) == (group["name"], group["retention_in_days"])
    assert "aws_cloudwatch_log_group.control-plane" in cluster["depends_on"]


def test_only_named_principals_administer() -> None:
    """Access comes from entries alone: the creator gets none, each admin gets the cluster administrator policy."""
    found = resources()
    assert {"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": False} == found["aws_eks_cluster"]["main"]["access_config"]
    ((name, entry),) = found["aws_eks_access_entry"].items()
    assert "arn:aws:iam::111122223333:role/platform" == entry["principal_arn"]
    association = found["aws_eks_access_policy_association"][name]
    assert "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy" == association["policy_arn"]
    assert {"type": "cluster"} == association["access_scope"]


def test_two_admins_of_one_name_stay_apart() -> None:
    """Roles of the same name in two accounts get different entries, keyed by the principal and not by position."""
    arns = [f"arn:aws:iam::{n}:role/platform" for n in ("111122223333", "444455556666")]
    entries = stacks_of(changed(lambda d: d["cloud"].update(admins=arns)))["cluster"]["resource"]["aws_eks_access_entry"]
    assert sorted(arns) == sorted(e["principal_arn"] for e in entries.values())
    assert set(resources()["aws_eks_access_entry"]) < set(entries)


def test_addons_come_in_the_version_for_the_cluster() -> None:
    """Each add-on takes the newest version that EKS has for 1.33."""
    stack = sample_stacks()["cluster"]
    names = {"vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns", "aws-ebs-csi-driver"}
    assert names == set(stack["resource"]["aws_eks_addon"])
    for name in names:
        assert {"addon_name": name, "kubernetes_version": "1.33", "most_recent": True} == stack["data"]["aws_eks_addon_version"][name]
        assert f"${{data.aws_eks_addon_version.{name}.version}}" == stack["resource"]["aws_eks_addon"][name]["addon_version"]


def test_fc14_the_csi_driver_reaches_tainted_nodes() -> None:
    """The node part of the EBS driver tolerates every taint, its controller and CoreDNS keep to the system nodes."""
    addons = resources()["aws_eks_addon"]
    values = json.loads(addons["aws-ebs-csi-driver"]["configuration_values"])
    assert {"controller": {"nodeSelector": {"inferform.dev/role": "system"}}, "node": {"tolerateAllTaints": True}} == values
    assert {"nodeSelector": {"inferform.dev/role": "system"}} == json.loads(addons["coredns"]["configuration_values"])


def test_fc37_network_rules_and_cni_outlive_the_nodes() -> None:
    """Nodes depend on the CNI, on their security group rules and on their role's policies, so destroy takes the nodes first."""
    needs = resources()["aws_eks_node_group"]["system"]["depends_on"]
    assert {"aws_eks_addon.vpc-cni", "aws_eks_addon.kube-proxy", "aws_eks_addon.eks-pod-identity-agent"} <= set(needs)
    rules = {f"aws_security_group_rule.{name}" for name in resources()["aws_security_group_rule"]}
    assert rules <= set(needs)
    assert "aws_iam_role_policy_attachment.node-AmazonEKSWorkerNodePolicy" in needs
    assert "aws_eks_node_group.system" in resources()["aws_eks_addon"]["coredns"]["depends_on"]


def test_pods_do_not_inherit_network_powers_from_the_node() -> None:
    """The CNI has a role of its own by Pod Identity; the node's role may only join, and pull images."""
    found = resources()
    attached = {v["role"]: set() for v in found["aws_iam_role_policy_attachment"].values()}
    for row in found["aws_iam_role_policy_attachment"].values():
        attached[row["role"]].add(row["policy_arn"].rpartition("/")[2])
    assert {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"} == attached["${aws_iam_role.node.name}"]
    assert {"AmazonEKS_CNI_Policy"} == attached["${aws_iam_role.vpc-cni.name}"]
    assert "aws-node" == found["aws_eks_addon"]["vpc-cni"]["pod_identity_association"][0]["service_account"]


@pytest.mark.parametrize(("vpc", "services"), [("10.0.0.0/16", "172.20.0.0/16"), ("172.20.0.0/16", "10.100.0.0/16"), ("172.20.128.0/20", "10.100.0.0/16")])
def test_services_never_share_addresses_with_the_vpc(vpc: str, services: str) -> None:
    """The Service range moves out of the way of a VPC that lies in EKS's usual one."""
    assert services == service_cidr(changed(lambda d: d["cloud"].update(vpc_cidr=vpc)))


def test_fc10_system_nodes_follow_their_range() -> None:
    """System nodes with a range ignore their desired size; with a fixed count they keep it."""
    assert ["scaling_config[0].desired_size"] == resources()["aws_eks_node_group"]["system"]["lifecycle"]["ignore_changes"]
    plan = changed(lambda d: d["cloud"]["system_pool"].update(nodes={"min": 2, "steady": 2, "max": 2}))
    assert "lifecycle" not in stacks_of(plan)["cluster"]["resource"]["aws_eks_node_group"]["system"]
