"""What the Cluster Autoscaler cannot see of a group that stands at zero, as tags.

From the instance type it knows CPU, memory, whole GPUs and a count of pods; a pod that asks for anything else would wait for ever. It reads
tags of scaling groups, and those of managed node groups by DescribeNodegroup.
Source: kubernetes/autoscaler, cluster-autoscaler/cloudprovider/aws/aws_manager.go, buildNodeFromTemplate (Apache-2.0; read 2026-12-01).
"""

from __future__ import annotations

from inferform.plan_nodes import EFA_HUGE_PAGES, EFA_RESOURCE, HUGE_PAGE, HUGE_PAGES_RESOURCE
from inferform.plan_quantize import QuantizePlan
from inferform.stacks.aws.groups import Group

TEMPLATE = "k8s.io/cluster-autoscaler/node-template"
_DISK = "ephemeral-storage"


def resource_tags(group: Group) -> dict[str, str]:
    """What a node of the group offers beyond its instance type; empty where no autoscaler owns the count."""
    nodes, tiers = group.infrastructure, group.pool.pod.kv_tiers
    if not nodes.autoscaled:
        return {}
    found: dict[str, str] = {}
    if nodes.efa:
        # Huge pages as many as its pods ask for together.
        found |= {EFA_RESOURCE: str(nodes.efa.interfaces), HUGE_PAGES_RESOURCE: str(EFA_HUGE_PAGES * HUGE_PAGE)}
    if nodes.sharing:
        found[nodes.sharing.resource] = str(nodes.gpus_per_node)
    if tiers and tiers.disk_bytes:
        found[_DISK] = str(nodes.ephemeral_storage_bytes)
    return _tags(found)


def quantize_tags(made: QuantizePlan) -> dict[str, str]:
    """The same for the node of a quantization job: of local disks it holds at least what the job asks for."""
    return _tags({_DISK: str(made.disk_bytes if made.local_disks else made.root_volume_bytes)})


def _tags(resources: dict[str, str]) -> dict[str, str]:
    return {f"{TEMPLATE}/resources/{name}": value for name, value in sorted(resources.items())}
