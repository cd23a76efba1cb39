"""Agents of pools whose GPUs are divided: cards are cut into MIG instances or offered several times, by a device plugin of the pool's own.

Sources: NVIDIA/k8s-device-plugin (configuration file, and what its chart sets for MIG), NVIDIA/mig-parted (configuration file and
`nvidia-mig-parted apply`), read 2026-12-01. An A100 resets when MIG is switched on, which needs a card that nothing uses: new nodes
are cut before their other agents have GPUs.
"""

from __future__ import annotations

from typing import Any

from inferform.plan_isolation import SharingPlan
from inferform.render import images, naming
from inferform.render.naming import Workload
from inferform.render.pods import tolerations
from inferform.render.quoting import block
from inferform.render.templating import fill


def sharing_agents(workloads: list[Workload]) -> str:
    """The objects for every pool with divided GPUs; empty where there is none."""
    shared = [w for w in workloads if w.pool.infrastructure.sharing]
    if not shared:
        return ""
    return fill("platform/gpu-sharing.yaml.j2", {"namespace": naming.SYSTEM_NAMESPACE, "agents": [_agent(w) for w in shared]})


def _agent(workload: Workload) -> dict[str, Any]:
    sharing = workload.pool.infrastructure.sharing
    assert sharing is not None
    files = {"plugin.yaml": f"{block(plugin_config(sharing), 0)}\n"}
    partition = None
    if sharing.mode == "mig":
        files["mig.yaml"] = f"{block(mig_config(sharing), 0)}\n"
        partition = {"image": images.MIG_MANAGER, "command": ["nvidia-mig-parted", "apply", "-f", "/config/mig.yaml", "-c", _layout(sharing)]}
    own = {"app.kubernetes.io/name": "nvidia-device-plugin", **workload.selector}
    # The list of instances is only readable for a process that may administer the system.
    security: dict[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    if partition:
        security = {"runAsUser": 0, "runAsNonRoot": False, "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}
    return {
        "name": f"nvidia-device-plugin-{workload.name}",
        "config": f"gpu-sharing-{workload.name}-{naming.short_hash(*files.values())}",
        "files": files,
        "image": images.NVIDIA_DEVICE_PLUGIN,
        "partition": partition,
        "security": security,
        "selector": own,
        "labels": dict(sorted({**naming.deployment_labels(workload.plan), **own}.items())),
        "node_selector": workload.selector,
        "tolerations": tolerations([workload.pool]),
    }


def _layout(sharing: SharingPlan) -> str:
    return f"all-{sharing.profile}"


def mig_config(sharing: SharingPlan) -> dict[str, Any]:
    """Every card of a node cut into as many instances of the profile as it holds."""
    return {"version": "v1", "mig-configs": {_layout(sharing): [{"devices": "all", "mig-enabled": True, "mig-devices": {sharing.profile: sharing.parts}}]}}


def plugin_config(sharing: SharingPlan) -> dict[str, Any]:
    """What the plugin offers: each instance by its profile (mixed strategy), or a card several times, never more than one to a container (FC-31)."""
    if sharing.mode == "mig":
        return {"version": "v1", "flags": {"migStrategy": "mixed"}}
    turns = {"renameByDefault": False, "failRequestsGreaterThanOne": True, "resources": [{"name": sharing.resource, "replicas": sharing.parts}]}
    return {"version": "v1", "flags": {"migStrategy": "none"}, "sharing": {"timeSlicing": turns}}
