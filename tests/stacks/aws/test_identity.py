"""Pod Identity: which service account may do what."""

from __future__ import annotations

import json
from typing import Any

import pytest
from inferform.labels import cache_account, import_account, serving_account
from synthesis import changed, sample_stacks, stacks_of

BUCKET = "${data.terraform_remote_state.model_store.outputs.bucket_arn}"
KEY = "${data.terraform_remote_state.model_store.outputs.key_arn}"


def resources() -> dict[str, Any]:
    """Resources of the stack `identity`."""
    return dict(sample_stacks()["identity"]["resource"])


def policy(name: str) -> list[dict[str, Any]]:
    """Statements of one inline policy."""
    return list(json.loads(resources()["aws_iam_role_policy"][name]["policy"])["Statement"])


def test_a_model_reads_only_its_own_weights() -> None:
    """Serving pods may get and list below their model's prefix and decrypt with the store's key; nothing else."""
    account = serving_account("llama-70b")
    get, list_, decrypt = policy(f"{account}-read-weights")
    assert (["s3:GetObject"], [f"{BUCKET}/models/llama-70b/*"]) == (get["Action"], get["Resource"])
    assert (["s3:ListBucket"], [BUCKET]) == (list_["Action"], list_["Resource"])
    assert {"StringLike": {"s3:prefix": ["models/llama-70b/*"]}} == list_["Condition"]
    assert (["kms:Decrypt"], [KEY]) == (decrypt["Action"], decrypt["Resource"])


def test_the_import_job_writes_and_never_deletes() -> None:
    """The import job may put objects below its model's prefix and encrypt; it cannot delete."""
    statements = policy(f"{import_account('llama-70b')}-write-weights")
    actions = {a for s in statements for a in s["Action"]}
    assert {"s3:PutObject", "kms:GenerateDataKey"} <= actions
    assert not [a for a in actions if "Delete" in a or a.endswith("*")]
    assert [f"{BUCKET}/models/llama-70b/*"] == statements[0]["Resource"]


@pytest.mark.parametrize("account", [serving_account("bge"), import_account("bge")])
def test_a_role_serves_one_account_of_one_cluster(account: str) -> None:
    """Pod Identity may take on the role, with session tags, for exactly the associated namespace and account."""
    trust = json.loads(resources()["aws_iam_role"][account]["assume_role_policy"])["Statement"][0]
    assert {"Service": "pods.eks.amazonaws.com"} == trust["Principal"]
    assert ["sts:AssumeRole", "sts:TagSession"] == trust["Action"]
    association = resources()["aws_eks_pod_identity_association"][account]
    assert ("acme-contract-qa", account) == (association["namespace"], association["service_account"])
    assert {
        "aws:SourceAccount": "${data.aws_caller_identity.current.account_id}",
        "aws:RequestTag/eks-cluster-name": "contract-qa-prod",
        "aws:RequestTag/kubernetes-namespace": "acme-contract-qa",
        "aws:RequestTag/kubernetes-service-account": account,
    } == trust["Condition"]["StringEquals"]


def test_the_autoscaler_changes_only_its_cluster() -> None:
    """The autoscaler's changes are tied to groups that carry this cluster's tag."""
    look, change = policy("cluster-autoscaler-scale-groups")
    assert not [a for a in look["Action"] if not a.split(":")[1].startswith(("Describe", "Get"))]
    tag = "aws:ResourceTag/k8s.io/cluster-autoscaler/contract-qa-prod"
    assert {"StringEquals": {tag: "owned"}} == change["Condition"]


def test_without_autoscaled_pools_there_is_no_autoscaler_role() -> None:
    """Pools of fixed size leave the autoscaler without a role."""

    def fix(data: dict[str, Any]) -> None:
        for model in data["models"].values():
            for pool in model["pools"].values():
                pool["infrastructure"]["autoscaled"] = False

    assert "cluster-autoscaler" not in stacks_of(changed(fix))["identity"]["resource"]["aws_iam_role"]


def asked(**cluster: Any) -> dict[str, Any]:
    """Resources of the stack for a cluster with these controllers."""
    return dict(stacks_of(changed(lambda d: d["cloud"]["cluster"].update(cluster)))["identity"]["resource"])


def statements(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Statements of one inline policy of other resources."""
    return list(json.loads(found["aws_iam_role_policy"][name]["policy"])["Statement"])


def test_no_controller_has_a_role_unless_it_is_there() -> None:
    """Without a load balancer controller, External Secrets and remote write there are only the models' roles and the autoscaler's."""
    names = set(asked(load_balancer_controller=False)["aws_iam_role"])
    models = {account(m) for m in ("bge", "llama-405b", "llama-70b", "llama-8b") for account in (cache_account, serving_account, import_account)}
    assert models | {"cluster-autoscaler"} == names
    assert "aws_prometheus_workspace" not in asked()


def test_the_load_balancer_controller_changes_only_what_is_its_own() -> None:
    """Each change is tied to the cluster's own tag; it opens the nodes' security group and no other, and makes no other kind of balancer."""
    owner = "elbv2.k8s.aws/cluster"
    found = statements(asked(), "aws-load-balancer-controller-balance-load")
    untied = []
    for statement in found:
        equal = statement.get("Condition", {}).get("StringEquals", {})
        tied = {f"aws:RequestTag/{owner}": "contract-qa-prod", f"aws:ResourceTag/{owner}": "contract-qa-prod"}.items() & equal.items()
        looks = all(a.split(":")[1].startswith(("Describe", "Get")) for a in statement["Action"])
        if not tied and not looks:
            untied.append((statement["Action"], equal))
    assert [
        (["iam:CreateServiceLinkedRole"], {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}),
        (["ec2:CreateSecurityGroup"], {}),
        (["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"], {"aws:ResourceTag/kubernetes.io/cluster/contract-qa-prod": "owned"}),
    ] == untied
    balancers = {r for s in found for r in s["Resource"] if "loadbalancer/" in r}
    assert {True} == {":loadbalancer/net/k8s-*" in r for r in balancers}
    actions = {a.split(":")[0] for s in found for a in s["Action"]}
    assert {"ec2", "elasticloadbalancing", "iam"} == actions


def test_external_secrets_reads_the_deployments_own_path() -> None:
    """Values of secrets below tenant/deployment/environment, and nothing else."""
    found = asked(external_secrets=True)
    (statement,) = statements(found, "external-secrets-read-secrets")
    assert ["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"] == statement["Action"]
    (arn,) = statement["Resource"]
    assert arn.endswith(":secret:acme/contract-qa/prod/*")
    assert "external-secrets" == found["aws_eks_pod_identity_association"]["external-secrets"]["namespace"]


def test_remote_write_only_writes_to_its_workspace() -> None:
    """Prometheus may write to the deployment's workspace; the address to write to is an output."""
    stack = stacks_of(changed(lambda d: d["cloud"]["cluster"].update(remote_write_account="prometheus-k8s")))["identity"]
    (statement,) = statements(stack["resource"], "prometheus-k8s-write-metrics")
    assert (["aps:RemoteWrite"], ["${aws_prometheus_workspace.metrics.arn}"]) == (statement["Action"], statement["Resource"])
    association = stack["resource"]["aws_eks_pod_identity_association"]["prometheus-k8s"]
    assert ("monitoring", "prometheus-k8s") == (association["namespace"], association["service_account"])
    assert (
        '${format("%%sapi/v1/remote_write", aws_prometheus_workspace.metrics.prometheus_endpoint)}'.replace("%%", "%")
        == stack["output"]["remote_write_url"]["value"]
    )


def test_the_s3_driver_reads_the_store_by_a_role_of_its_own() -> None:
    """The add-on stands where the store's key is known, tolerates tainted nodes and cannot write."""
    found = asked(addons={"coredns": None, "aws-mountpoint-s3-csi-driver": "v2.1.0-eksbuild.1"})
    addon = found["aws_eks_addon"]["aws-mountpoint-s3-csi-driver"]
    assert ("v2.1.0-eksbuild.1", {"node": {"tolerateAllTaints": True}}) == (addon["addon_version"], json.loads(addon["configuration_values"]))
    assert "s3-csi-driver-sa" == addon["pod_identity_association"][0]["service_account"]
    actions = {a for s in statements(found, "aws-mountpoint-s3-csi-driver-read-store") for a in s["Action"]}
    assert {"s3:GetObject", "s3:ListBucket", "kms:Decrypt"} == actions


def test_node_agents_read_only_their_models_weights() -> None:
    """The agent that fills caches has an account in the agents' namespace with the serving pods' rights; without agents or node caches it has none."""
    account = cache_account("llama-70b")
    assert policy(f"{serving_account('llama-70b')}-read-weights") == policy(f"{account}-read-weights")
    association = resources()["aws_eks_pod_identity_association"][account]
    assert ("inferform-system", account) == (association["namespace"], association["service_account"])
    without = stacks_of(changed(lambda d: d["model_store"].update(distribution={"node_agents": False})))["identity"]["resource"]["aws_iam_role"]
    assert account not in without

    def shared(data: dict[str, Any]) -> None:
        data["models"]["llama-70b"]["pools"]["aggregated"]["pod"]["weights_from"] = "lustre"

    assert account not in stacks_of(changed(shared))["identity"]["resource"]["aws_iam_role"]
