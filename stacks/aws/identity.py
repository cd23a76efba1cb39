"""Stack `identity`: what pods may do in AWS, by EKS Pod Identity: one role a service account, each with the least it needs."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.labels import AGENTS_NAMESPACE, cache_account, import_account, serving_account, store_prefix
from inferform.plan_quantize import QuantizePlan
from inferform.stacks.aws import addons, controllers, iam
from inferform.stacks.aws.account import Account, open_account
from inferform.stacks.resource import Stack
from inferform.stacks.values import Ref, Text, call, text

# Where Prometheus writes with `aps` signatures; empty without a workspace.
OUTPUTS = {"role_arns": "map(string)", "remote_write_url": "string"}


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
        reads, writes = _read(stack, model), _write(stack, model, plan.models[model].quantize)
        wanted.append(ServiceAccount(plan.namespace, serving_account(model), f"Reads the weights of {model}", "read-weights", reads))
        if plan.model_store.distribution.node_agents and any(p.pod.weights_from != "lustre" for p in plan.models[model].pools.values()):
            wanted.append(ServiceAccount(AGENTS_NAMESPACE, cache_account(model), f"Fetches the weights of {model} onto nodes", "read-weights", reads))
        wanted.append(ServiceAccount(plan.namespace, import_account(model), f"Stores the weights of {model}", "write-weights", writes))
    wanted += _controllers(stack, account)
    stack.output("role_arns", {a.name: _associate(stack, account, a) for a in wanted})
    if addons.S3_CSI in plan.cloud.cluster.addons:
        reads = controllers.read_store(stack.remote("model_store", "bucket_arn"), stack.remote("model_store", "key_arn"))
        caller = addons.Caller("s3-csi-driver-sa", inline={"read-store": reads})
        addons.addon(stack, account, stack.remote("cluster", "cluster_name"), addons.S3_CSI, caller=caller)


def _controllers(stack: Stack, account: Account) -> list[ServiceAccount]:
    """Accounts of the controllers that the plan asks for; no role stands ready for one that is not there."""
    plan = stack.plan
    cluster, found = plan.cloud.cluster, []
    if plan.has_scaled_groups():
        description = "Sets the node count of the deployment's groups"
        found.append(ServiceAccount(addons.NAMESPACE, controllers.AUTOSCALER, description, "scale-groups", controllers.scale_groups(plan)))
    if cluster.load_balancer_controller:
        description = "Makes network load balancers for Services"
        balance = controllers.balance_load(plan, account)
        found.append(ServiceAccount(addons.NAMESPACE, controllers.LOAD_BALANCER_CONTROLLER, description, "balance-load", balance))
    if cluster.external_secrets:
        name, description = controllers.EXTERNAL_SECRETS, "Reads the deployment's secrets"
        found.append(ServiceAccount(name, name, description, "read-secrets", controllers.read_secrets(plan, account)))
    if cluster.remote_write_account:
        workspace = stack.resource("aws_prometheus_workspace", "metrics", {"alias": plan.resource_prefix()})
        write = controllers.write_metrics(workspace.ref("arn"))
        found.append(ServiceAccount(plan.observability.namespace, cluster.remote_write_account, "Writes metrics", "write-metrics", write))
        stack.output("remote_write_url", call("string", "format", "%sapi/v1/remote_write", workspace.ref("prometheus_endpoint")))
    else:
        stack.output("remote_write_url", "")
    return found


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


def _write(stack: Stack, model: str, quantize: QuantizePlan | None) -> Text:
    bucket, key, prefix = stack.remote("model_store", "bucket_arn"), stack.remote("model_store", "key_arn"), store_prefix(model)
    return iam.document(
        iam.allow(["s3:AbortMultipartUpload", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"], [text(bucket, f"/{prefix}*")]),
        iam.allow(["s3:ListBucket"], [bucket], {"StringLike": {"s3:prefix": [f"{prefix}*"]}}),
        # A multipart upload reads back what it has written.
        iam.allow(["kms:Decrypt", "kms:GenerateDataKey"], [key]),
        # Prompts that a quantization job calibrates on: that one object.
        *([iam.allow(["s3:GetObject"], [f"arn:aws:s3:::{quantize.data_uri.removeprefix('s3://')}"])] if quantize and quantize.data_uri else []),
    )
