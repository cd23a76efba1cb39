"""Pod Identity: which service account may do what."""

from __future__ import annotations

import json
from typing import Any

import pytest
from inferform.labels import import_account, serving_account
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
