"""Nodes for quantization jobs: a group a model that stands at zero and costs nothing until its job waits for a node."""

from __future__ import annotations

from inferform.labels import QUANTIZE_POOL, TAINT_EFFECT_EKS, node_labels, node_taints
from inferform.plan_quantize import QuantizePlan
from inferform.stacks.aws.account import bounded
from inferform.stacks.aws.launch_template import launch_template
from inferform.stacks.aws.node_config import user_data
from inferform.stacks.aws.node_template import quantize_tags
from inferform.stacks.resource import Stack
from inferform.stacks.values import call

_NODE_GROUP_NAME_LIMIT = 63
# Agents and one job.
_MAX_PODS = 58


def build(stack: Stack) -> None:
    """The group of every model whose checkpoint is quantized by a job; a node autoscaler starts its one node and takes it away again."""
    for name, model in sorted(stack.plan.models.items()):
        if model.quantize is not None:
            _group(stack, name, model.quantize)


def _group(stack: Stack, model: str, made: QuantizePlan) -> None:
    key = f"{model}-{QUANTIZE_POOL}"
    image = "BOTTLEROCKET_x86_64_NVIDIA" if made.os == "bottlerocket" else "AL2023_x86_64_NVIDIA"
    template = launch_template(
        stack, key, os=made.os, root_volume_bytes=made.root_volume_bytes, security_groups=[stack.remote("cluster", "node_security_group_id")],
        user_data=user_data(os=made.os, max_pods=_MAX_PODS, local_disks=made.local_disks, warm=False, cluster=None),
    )  # fmt: skip
    subnets = stack.remote("network", "private_subnets")
    labels = node_labels(model=model, pool=QUANTIZE_POOL, role=QUANTIZE_POOL, os=made.os, gpu=made.gpu, efa=False, fabric=None, tenant=made.tenant)
    taints = node_taints(gpu_taint=made.taint_key, tenant=made.tenant)
    stack.resource(
        "aws_eks_node_group",
        key,
        {
            "cluster_name": stack.remote("cluster", "cluster_name"),
            "node_group_name": bounded(key, _NODE_GROUP_NAME_LIMIT),
            "node_role_arn": stack.remote("cluster", "node_role_arn"),
            "subnet_ids": call("list(string)", "matchkeys", call("list(string)", "values", subnets), call("list(string)", "keys", subnets), sorted(made.zones)),
            "ami_type": image,
            "version": stack.plan.cloud.kubernetes_version,
            "instance_types": [made.instance_type],
            "capacity_type": "ON_DEMAND",
            "labels": labels,
            "taint": [{"key": taint, "value": value, "effect": TAINT_EFFECT_EKS} for taint, value in taints.items()],
            "launch_template": {"id": template.ref("id"), "version": template.ref("latest_version")},
            "scaling_config": {"min_size": 0, "desired_size": 0, "max_size": 1},
            "update_config": {"max_unavailable": 1},
            "tags": quantize_tags(made),
        },
        lifecycle={"ignore_changes": ["scaling_config[0].desired_size"]},
    )
