"""The nodes family: NodePools and EC2NodeClasses of the pools whose nodes Karpenter starts, and the values of the charts that look after nodes.

Sources: CRDs and documentation of aws/karpenter-provider-aws v1.14.1 (read 2026-12-01).
"""

from __future__ import annotations

import json
import math
from typing import Any

from inferform import labels
from inferform.plan import DeploymentPlan
from inferform.plan_nodes import EfaPlan, NodeClaims
from inferform.quantities import GIB
from inferform.render import naming
from inferform.render.naming import Workload
from inferform.render.templating import fill

_FAMILIES = {"al2023": "AL2023", "bottlerocket": "Bottlerocket"}
# Bottlerocket keeps its system on the first volume and everything else on the second.
_BOTTLEROCKET_SYSTEM_GIB = 4


def render_nodes(plan: DeploymentPlan) -> dict[str, str]:
    """Files of the family by path; none where EKS looks after all nodes."""
    return {**_karpenter(plan), **_termination(plan)}


def _termination(plan: DeploymentPlan) -> dict[str, str]:
    """Values of the chart that drains nodes of self-managed groups."""
    handler = plan.termination
    if handler is None:
        return {}
    values = {
        "version": handler.chart_version,
        "region": plan.cloud.region,
        "tag": handler.tag,
        "drain_s": max(handler.drain_s.values()),
        "service_account": handler.service_account,
        "node_selector": {labels.ROLE_LABEL: labels.SYSTEM_ROLE},
    }
    return {"node-termination-values.yaml": fill("nodes/node-termination-values.yaml.j2", values)}


def _karpenter(plan: DeploymentPlan) -> dict[str, str]:
    karpenter = plan.karpenter
    if karpenter is None:
        return {}
    values = {
        "version": karpenter.version,
        "cluster": plan.cluster_name(),
        "region": plan.cloud.region,
        "queue": karpenter.queue,
        "service_account": karpenter.service_account,
        "memory_overhead": karpenter.memory_overhead,
        "node_selector": {labels.ROLE_LABEL: labels.SYSTEM_ROLE},
    }
    files = {"karpenter-values.yaml": fill("nodes/karpenter-values.yaml.j2", values)}
    for workload in naming.workloads(plan):
        if workload.pool.infrastructure.kind != "karpenter":
            continue
        node_class = fill("nodes/ec2-node-class.yaml.j2", {"class": _node_class(workload, karpenter.instance_profile)})
        files[naming.file_name(workload.name, "class")] = node_class
        files[naming.file_name(workload.name)] = fill("nodes/node-pool.yaml.j2", {"pools": [_node_pool(workload, c) for c in _claims(workload)]})
    return files


def _claims(workload: Workload) -> tuple[NodeClaims, ...]:
    return workload.pool.infrastructure.claims


def _node_pool(workload: Workload, claims: NodeClaims) -> dict[str, Any]:
    nodes = workload.pool.infrastructure
    wanted = {
        "karpenter.sh/capacity-type": [claims.capacity_type],
        "node.kubernetes.io/instance-type": sorted(claims.instance_types),
        "topology.k8s.aws/zone-id": sorted(claims.zones),
    }
    taints = labels.node_taints(gpu_taint=nodes.taint_key if nodes.gpus_per_node else None, tenant=nodes.tenant)
    if claims.reservation_id:
        wanted["karpenter.k8s.aws/capacity-reservation-id"] = [claims.reservation_id]
    return {
        "name": f"{workload.name}-{claims.suffix}" if claims.suffix else workload.name,
        "labels": workload.labels,
        "weight": claims.weight,
        "limits": claims.limits,
        "consolidate_after": f"{max(1, workload.pool.scaling.scale_down_window_s)}s",
        "updated_at_once": "1" if nodes.updates == "rolling" else "0",
        "node_labels": _labels(workload, claims),
        "node_class": workload.name,
        "taints": [{"key": key, "value": value, "effect": labels.TAINT_EFFECT} for key, value in taints.items()],
        "requirements": [{"key": key, "operator": "In", "values": values} for key, values in sorted(wanted.items())],
    }


def _labels(workload: Workload, claims: NodeClaims) -> dict[str, str]:
    pool, nodes = workload.pool, workload.pool.infrastructure
    fabric = claims.reservation_id or (workload.name if nodes.placement_group else None)
    return labels.node_labels(
        model=workload.model_name,
        pool=workload.pool_name,
        role=pool.role,
        os=nodes.os,
        gpu=pool.gpu,
        efa=nodes.efa is not None,
        fabric=fabric,
        tenant=nodes.tenant,
        sharing=nodes.sharing.label if nodes.sharing else None,
    )


def _node_class(workload: Workload, instance_profile: str) -> dict[str, Any]:
    plan, nodes = workload.plan, workload.pool.infrastructure
    prefix = plan.resource_prefix()
    groups = [f"{prefix}-node", *([f"{prefix}-{workload.name}-efa"] if nodes.efa else [])]
    zones = sorted({zone for claims in nodes.claims for zone in claims.zones})
    return {
        "name": workload.name,
        "labels": workload.labels,
        "ami_family": _FAMILIES[nodes.os],
        "images": [{"id": nodes.ami_id} if nodes.ami_id else {"alias": f"{nodes.os}@{nodes.ami_release}"}],
        "instance_profile": instance_profile,
        "subnets": [{"tags": {"Name": f"{prefix}-private-{zone}"}} for zone in zones],
        "security_groups": [{"name": name} for name in groups],
        "reservations": [{"id": claims.reservation_id} for claims in nodes.claims if claims.reservation_id],
        "placement_group": (nodes.placement_group_name or f"{prefix}-{workload.name}") if nodes.placement_group else None,
        "interfaces": _interfaces(nodes.efa) if nodes.efa else [],
        "local_disks": nodes.local_nvme_count > 0,
        "volumes": _volumes(nodes.os, nodes.root_volume_bytes),
        "max_pods": nodes.max_pods,
        "kube_reserved": nodes.kube_reserved,
        "user_data": _bound_cache() if nodes.os == "bottlerocket" and nodes.local_nvme_count else None,
        "tags": {
            "Name": f"{prefix}-{workload.name}",
            "deployment": plan.name,
            "environment": plan.environment,
            "managed-by": "inferform",
            "tenant": plan.tenant,
        },
    }


def _bound_cache() -> str:
    """Puts the weight cache on the local disks: Karpenter moves only the directories of containerd, kubelet and logs there.

    Its own entry, which makes the array, sorts before. Source: aws/karpenter-provider-aws, pkg/providers/amifamily/bootstrap/bottlerocket.go (read 2026-12-01).
    """
    bind = json.dumps([["apiclient", "ephemeral-storage", "bind", "--dirs", labels.node_cache_path(os="bottlerocket", local_disks=True)]])
    return f'[settings.bootstrap-commands.100-weight-cache]\ncommands = {bind}\nessential = true\nmode = "always"\n'


def _interfaces(efa: EfaPlan) -> list[dict[str, Any]]:
    """Card 0 has the node's addresses, and its EFA beside them where the type has one a card; every other card has EFA only.

    Source: aws/karpenter-provider-aws, designs/efa-for-static-capacity.md, and the EC2 user guide on EFA (read 2026-12-01).
    """
    beside = [(0, 1)] if efa.interfaces == efa.network_cards else []
    rows = [*beside, *((card, 0) for card in range(1, efa.network_cards))]
    first = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    return [first, *({"networkCardIndex": card, "deviceIndex": device, "interfaceType": "efa-only"} for card, device in rows)]


def _volumes(os: str, root_bytes: int) -> list[dict[str, Any]]:
    size = math.ceil(root_bytes / GIB)
    sizes = {"/dev/xvda": _BOTTLEROCKET_SYSTEM_GIB, "/dev/xvdb": size} if os == "bottlerocket" else {"/dev/xvda": size}
    return [
        {"deviceName": device, "ebs": {"volumeSize": f"{gib}Gi", "volumeType": "gp3", "encrypted": True, "deleteOnTermination": True}}
        for device, gib in sizes.items()
    ]
