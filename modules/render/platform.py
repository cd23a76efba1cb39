"""The platform family: node agents and priority classes. Agents run only where they are needed, and tolerate every taint there (FC-14)."""

from __future__ import annotations

from typing import Any

from inferform import labels
from inferform.plan import DeploymentPlan, PoolPlan
from inferform.render import autoscaler, gpu_sharing, images, naming, node_agents, priorities, queues
from inferform.render.pods import tolerations
from inferform.render.templating import fill

# What the exporter reads and the alerts use; name and type from NVIDIA/dcgm-exporter 4.5.3-4.8.2 (Apache-2.0), ECC counters are off by default there.
COUNTERS: tuple[tuple[str, str, str], ...] = (
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "share of time with a kernel running, percent"),
    ("DCGM_FI_DEV_FB_USED", "gauge", "device memory in use, MiB"),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "device memory free, MiB"),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "temperature, C"),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "power draw, W"),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "last XID error"),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe retries"),
    ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "NVLink traffic"),
    ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "corrected memory errors since boot"),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "uncorrected memory errors since boot"),
    ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "memory rows remapped after uncorrected errors"),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "1 when a memory row could not be remapped"),
    ("DCGM_FI_DEV_POWER_VIOLATION", "counter", "time throttled by the power limit, ns"),
    ("DCGM_FI_DEV_THERMAL_VIOLATION", "counter", "time throttled by temperature, ns"),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "share of time the graphics engine is active"),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "share of cycles the tensor cores are active"),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "share of cycles device memory moves data"),
)


def render_platform(plan: DeploymentPlan) -> dict[str, str]:
    """Files of the family by path."""
    workloads = naming.workloads(plan)
    gpu = [w.pool for w in workloads if w.pool.infrastructure.gpus_per_node]
    # Bottlerocket's NVIDIA images bring a device plugin of their own, and two of them would fight (FC-15).
    plugin = [pool for pool in gpu if pool.infrastructure.os != "bottlerocket" and not pool.infrastructure.sharing]
    efa = [pool for pool in gpu if pool.infrastructure.efa]
    common = {"namespace": naming.SYSTEM_NAMESPACE, "labels": naming.deployment_labels(plan)}
    files = {
        "namespace.yaml": fill("platform/namespace.yaml.j2", common),
        "priority-classes.yaml": fill(
            "platform/priority-classes.yaml.j2",
            {**common, "classes": [one._asdict() for one in priorities.CLASSES]},
        ),
        "model-cache.yaml": node_agents.model_cache(plan),
    }
    if plan.cloud.cluster.load_balancer_controller:
        files["aws-load-balancer-controller-values.yaml"] = fill("platform/aws-load-balancer-controller-values.yaml.j2", {"values": _balancer_values(plan)})
    if plan.has_scaled_groups():
        files[autoscaler.AUTOSCALER_VALUES] = autoscaler.autoscaler_values(plan)
    if plan.model_store.distribution.image_peers:
        files[node_agents.SPEGEL_VALUES] = node_agents.image_peers(plan)
    if plugin:
        agent = _agent(plan, "nvidia-device-plugin", images.NVIDIA_DEVICE_PLUGIN, plugin, {labels.NODE_OS_LABEL: sorted({p.infrastructure.os for p in plugin})})
        if any(pool.infrastructure.sharing for pool in gpu):
            # Nodes with divided GPUs have a plugin of their own (FC-15).
            agent["expressions"].append({"key": labels.SHARING_LABEL, "operator": "DoesNotExist"})
        files["nvidia-device-plugin.yaml"] = fill("platform/nvidia-device-plugin.yaml.j2", {**common, "agent": agent})
    queued = queues.queues(plan)
    if queued:
        files["queues.yaml"] = queued
    sharing = gpu_sharing.sharing_agents(workloads)
    if sharing:
        files["gpu-sharing.yaml"] = sharing
    if gpu and plan.observability.enabled:
        counters = "\n".join(f"{name}, {kind}, {text}" for name, kind, text in COUNTERS) + "\n"
        agent = _agent(plan, "dcgm-exporter", images.DCGM_EXPORTER, gpu, {})
        files["dcgm-exporter.yaml"] = fill("platform/dcgm-exporter.yaml.j2", {**common, "agent": agent, "counters": {"counters.csv": counters}})
    if efa:
        agent = _agent(plan, "efa-device-plugin", images.EFA_DEVICE_PLUGIN, efa, {labels.EFA_LABEL: ["true"]})
        files["efa-device-plugin.yaml"] = fill("platform/efa-device-plugin.yaml.j2", {**common, "agent": agent})
    return files


def _agent(plan: DeploymentPlan, name: str, image: str, pools: list[PoolPlan], nodes: dict[str, list[str]]) -> dict[str, Any]:
    """An agent of GPU nodes; `nodes` narrows them further, label by label."""
    own = {"app.kubernetes.io/name": name}
    wanted = {labels.ACCELERATOR_LABEL: ["nvidia"], **nodes}
    return {
        "name": name,
        "image": image,
        "selector": own,
        "labels": dict(sorted({**own, **naming.deployment_labels(plan)}.items())),
        "expressions": [{"key": key, "operator": "In", "values": values} for key, values in sorted(wanted.items())],
        "tolerations": tolerations(pools),
    }


def _balancer_values(plan: DeploymentPlan) -> dict[str, Any]:
    """Settings of the AWS Load Balancer Controller: its pods cannot ask the instance metadata (hop limit 1), so region and VPC are told.

    Source: helm/aws-load-balancer-controller/values.yaml of kubernetes-sigs/aws-load-balancer-controller (Apache-2.0; read 2026-12-01).
    """
    return {
        "clusterName": plan.cluster_name(),
        # What its role has no permission for.
        "enableShield": False,
        "enableWaf": False,
        "enableWafv2": False,
        "nodeSelector": {labels.ROLE_LABEL: labels.SYSTEM_ROLE},
        "region": plan.cloud.region,
        "serviceAccount": {"create": True, "name": "aws-load-balancer-controller"},
        "vpcTags": {"Name": plan.resource_prefix()},
    }
