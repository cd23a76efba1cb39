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


def test_a_version_in_extended_support_is_made_under_that_policy() -> None:
    """EKS refuses the standard policy for 1.33 in its extended support; a newer version keeps the standard one."""
    assert {"support_type": "EXTENDED"} == resources()["aws_eks_cluster"]["main"]["upgrade_policy"]
    plan = changed(lambda d: d["cloud"]["cluster"].pop("support"))
    assert {"support_type": "STANDARD"} == stacks_of(plan)["cluster"]["resource"]["aws_eks_cluster"]["main"]["upgrade_policy"]


def test_network_policies_are_enforced() -> None:
    """The CNI add-on runs the agent without which rendered NetworkPolicies hold nothing back."""
    assert {"enableNetworkPolicy": "true"} == json.loads(resources()["aws_eks_addon"]["vpc-cni"]["configuration_values"])


def test_a_pinned_addon_takes_its_version_and_looks_up_none() -> None:
    """A version in the plan is written as it is; the others ask EKS for the newest."""
    stack = stacks_of(changed(lambda d: d["cloud"]["cluster"].update(addons={"coredns": "v1.12.4-eksbuild.1", "vpc-cni": None})))["cluster"]
    assert "v1.12.4-eksbuild.1" == stack["resource"]["aws_eks_addon"]["coredns"]["addon_version"]
    assert {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"} == set(stack["data"]["aws_eks_addon_version"])
    assert "aws-ebs-csi-driver" not in stack["resource"]["aws_eks_addon"]
    assert "aws-ebs-csi-driver" not in stack["resource"]["aws_iam_role"]


def test_access_is_held_to_namespaces() -> None:
    """A principal that may only view one namespace gets the view policy there; the administrators stay as they were."""
    on_call = {"principal": "arn:aws:iam::111122223333:role/on-call", "level": "view", "namespaces": ["acme-contract-qa"]}
    found = stacks_of(changed(lambda d: d["cloud"]["cluster"].update(access={"on-call": on_call})))["cluster"]["resource"]
    association = found["aws_eks_access_policy_association"]["access-on-call"]
    assert association["policy_arn"].endswith("AmazonEKSViewPolicy")
    assert {"type": "namespace", "namespaces": ["acme-contract-qa"]} == association["access_scope"]
    assert set(resources()["aws_eks_access_entry"]) < set(found["aws_eks_access_entry"])


def test_fewer_logs_and_another_retention_when_asked() -> None:
    """Log types and days come from the plan, for the control plane and the flow logs."""
    stacks = stacks_of(changed(lambda d: d["cloud"]["cluster"].update(log_types=["api", "audit"], log_retention_days=400)))
    assert ["api", "audit"] == stacks["cluster"]["resource"]["aws_eks_cluster"]["main"]["enabled_cluster_log_types"]
    groups = [g for name in ("cluster", "network") for g in stacks[name]["resource"]["aws_cloudwatch_log_group"].values()]
    assert [400, 400] == [g["retention_in_days"] for g in groups]
