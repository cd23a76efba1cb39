"""Stack `identity`: what pods may do in AWS, by EKS Pod Identity: one role a service account, each with the least it needs."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.labels import import_account, serving_account, store_prefix
from inferform.stacks.aws import iam
from inferform.stacks.aws.account import Account, open_account
from inferform.stacks.resource import Stack
from inferform.stacks.values import Ref, Text, text

OUTPUTS = {"role_arns": "map(string)"}

_SYSTEM_NAMESPACE = "kube-system"
_AUTOSCALER = "cluster-autoscaler"


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A Kubernetes service account and what its pods may do in AWS."""

    namespace: str
    name: str
    description: str
    grant: str
    policy: Text


def build(stack: Stack) -> None:
    """Fill the stack."""
    account = open_account(stack)
    plan = stack.plan
    wanted = []
    for model in sorted(plan.models):
        reads, writes = _read(stack, model), _write(stack, model)
        wanted.append(ServiceAccount(plan.namespace, serving_account(model), f"Reads the weights of {model}", "read-weights", reads))
        wanted.append(ServiceAccount(plan.namespace, import_account(model), f"Stores the weights of {model}", "write-weights", writes))
    if any(pool.infrastructure.autoscaled for _, _, _, pool in plan.pool_items()):
        description = "Sets the node count of the deployment's groups"
        wanted.append(ServiceAccount(_SYSTEM_NAMESPACE, _AUTOSCALER, description, "scale-groups", _scale(stack)))
    stack.output("role_arns", {a.name: _associate(stack, account, a) for a in wanted})


def _associate(stack: Stack, account: Account, wanted: ServiceAccount) -> Ref:
    trust = iam.pod_trust(account, cluster_name=stack.plan.cluster_name(), namespace=wanted.namespace, service_account=wanted.name)
    role, grants = iam.role(stack, account, wanted.name, trust, inline={wanted.grant: wanted.policy}, description=wanted.description)
    stack.resource(
        "aws_eks_pod_identity_association",
        wanted.name,
        {
            "cluster_name": stack.remote("cluster", "cluster_name"),
            "namespace": wanted.namespace,
            "service_account": wanted.name,
            "role_arn": role.ref("arn"),
        },
        depends_on=grants,
    )
    return role.ref("arn")


def _read(stack: Stack, model: str) -> Text:
    bucket, key, prefix = stack.remote("model_store", "bucket_arn"), stack.remote("model_store", "key_arn"), store_prefix(model)
    return iam.document(
        iam.allow(["s3:GetObject"], [text(bucket, f"/{prefix}*")]),
        iam.allow(["s3:ListBucket"], [bucket], {"StringLike": {"s3:prefix": [f"{prefix}*"]}}),
        iam.allow(["kms:Decrypt"], [key]),
    )


def _write(stack: Stack, model: str) -> Text:
    bucket, key, prefix = stack.remote("model_store", "bucket_arn"), stack.remote("model_store", "key_arn"), store_prefix(model)
    return iam.document(
        iam.allow(["s3:AbortMultipartUpload", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"], [text(bucket, f"/{prefix}*")]),
        iam.allow(["s3:ListBucket"], [bucket], {"StringLike": {"s3:prefix": [f"{prefix}*"]}}),
        # A multipart upload reads back what it has written.
        iam.allow(["kms:Decrypt", "kms:GenerateDataKey"], [key]),
    )


def _scale(stack: Stack) -> Text:
    """What the cluster autoscaler needs: look at everything, change only the groups of this cluster."""
    look = [
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeScalingActivities",
        "autoscaling:DescribeTags",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements",
        "eks:DescribeNodegroup",
    ]
    tag = f"aws:ResourceTag/k8s.io/cluster-autoscaler/{stack.plan.cluster_name()}"
    change = ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"]
    return iam.document(iam.allow(look, ["*"]), iam.allow(change, ["*"], {"StringEquals": {tag: "owned"}}))
