"""What a node is told when it boots: a nodeadm NodeConfig (AL2023) or Bottlerocket settings.

A managed node group on one of EKS's own images gets the cluster's coordinates, labels and taints from EKS; everywhere else
they are written here (FC-09). Local disks become one RAID0 that holds images, pods and the model cache (FC-16).
Sources: awslabs/amazon-eks-ami nodeadm/doc/api.md; bottlerocket.dev, "Bootstrap commands" (read 2026-12-01).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from inferform.labels import node_cache_path
from inferform.stacks.values import Ref, Text, Value, call, text

# Directories that Bottlerocket binds to the local disks: those that nodeadm moves, and the model cache.
_MOVED = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods", node_cache_path(os="bottlerocket", local_disks=True))
_BOUNDARY = "NODECONFIG"
# EKS's images throw layers away once they are unpacked and know no mirrors. Source: spegel.dev, "Getting Started", EKS AL2023 (read 2026-12-01).
_MIRRORED = """[plugins."io.containerd.cri.v1.images".registry]
config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.images"]
discard_unpacked_layers = false
"""
# The kubelet starts after the scripts of user data (nodeadm-run.service stands after cloud-final.service), so a node of a warm pool that waits
# here is prepared but not part of the cluster. Once stopped it does not run the script again: it is started only to serve.
# Sources: awslabs/amazon-eks-ami, templates/al2023; EC2 Auto Scaling user guide, "Retrieve the target lifecycle state" (read 2026-12-01).
_UNTIL_IN_SERVICE = """#!/bin/sh
imds=http://169.254.169.254/latest
while :; do
  token=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$imds/api/token")
  state=$(curl -sf -H "X-aws-ec2-metadata-token: $token" "$imds/meta-data/autoscaling/target-lifecycle-state")
  [ "$state" = InService ] && break
  sleep 5
done
"""
_PLAIN_SCALAR = re.compile(r"[A-Za-z/][A-Za-z0-9/._-]*|[0-9]+(\.[0-9]+){3}/[0-9]+")


@dataclass(frozen=True, slots=True)
class ClusterCoordinates:
    """How a node finds the cluster and what it says about itself."""

    name: str
    endpoint: Ref
    certificate_authority: Ref
    service_cidr: Ref
    labels: Mapping[str, str]
    taints: Mapping[str, str]  # key -> value:effect


def user_data(
    *,
    os: str,
    max_pods: int,
    local_disks: bool,
    cluster: ClusterCoordinates | None,
    kube_reserved: Mapping[str, str] | None = None,
    warm: bool = False,
    mirror: bool = False,
) -> Ref | str:
    """The base64 text of the launch template; `cluster` only where EKS does not tell the node itself.

    `kube_reserved` is what the kubelet of AL2023 keeps, which nodeadm would else work out from the pods that the type could hold.
    A `warm` node joins when it is taken into service. With `mirror` containerd keeps layers and asks mirrors, so that nodes can pull from each other.
    """
    if os == "bottlerocket":
        config = _bottlerocket(max_pods, local_disks, cluster, warm=warm)
    else:
        config = _multipart(_node_config(max_pods, local_disks, cluster, kube_reserved=kube_reserved or {}, mirror=mirror), warm=warm)
    if any(isinstance(p, Ref) for p in config.parts):
        return call("string", "base64encode", config)
    return base64.b64encode("".join(str(p) for p in config.parts).encode()).decode()


def _node_config(max_pods: int, local_disks: bool, cluster: ClusterCoordinates | None, *, kube_reserved: Mapping[str, str], mirror: bool) -> Text:
    config: dict[str, Value] = {"maxPods": max_pods}
    if kube_reserved:
        config["kubeReserved"] = dict(sorted(kube_reserved.items()))
    kubelet: dict[str, Value] = {"config": config}
    spec: dict[str, Value] = {"kubelet": kubelet}
    if cluster:
        spec["cluster"] = {
            "name": cluster.name,
            "apiServerEndpoint": cluster.endpoint,
            "certificateAuthority": cluster.certificate_authority,
            "cidr": cluster.service_cidr,
        }
        flags = ["--node-labels=" + ",".join(f"{k}={v}" for k, v in sorted(cluster.labels.items()))]
        if cluster.taints:
            flags.append("--register-with-taints=" + ",".join(f"{k}={v}" for k, v in sorted(cluster.taints.items())))
        kubelet["flags"] = [*flags]
    if local_disks:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    if mirror:
        spec["containerd"] = {"config": _MIRRORED}
    return text("---\n", *_yaml({"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}, 0))


def _multipart(part: Text, *, warm: bool) -> Text:
    wait = f"\n--{_BOUNDARY}\nContent-Type: text/x-shellscript\n\n{_UNTIL_IN_SERVICE}" if warm else ""
    head = f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="{_BOUNDARY}"\n\n--{_BOUNDARY}\nContent-Type: application/node.eks.aws\n\n'
    return text(head, part, wait, f"\n--{_BOUNDARY}--\n")


def _bottlerocket(max_pods: int, local_disks: bool, cluster: ClusterCoordinates | None, *, warm: bool) -> Text:
    parts: list[str | Ref] = [f"[settings.kubernetes]\nmax-pods = {max_pods}\n"]
    if cluster:
        parts += [f"cluster-name = {json.dumps(cluster.name)}\n", 'api-server = "', cluster.endpoint, '"\n']
        parts += ['cluster-certificate = "', cluster.certificate_authority, '"\n']
        parts.append("\n[settings.kubernetes.node-labels]\n" + "".join(f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in sorted(cluster.labels.items())))
        if cluster.taints:
            parts.append("\n[settings.kubernetes.node-taints]\n" + "".join(f"{json.dumps(k)} = [{json.dumps(v)}]\n" for k, v in sorted(cluster.taints.items())))
    if warm:
        parts.append("\n[settings.autoscaling]\nshould-wait = true\n")
    if local_disks:
        init, bind = ["apiclient", "ephemeral-storage", "init"], ["apiclient", "ephemeral-storage", "bind", "--dirs", *_MOVED]
        rows = f'commands = [{json.dumps(init)}, {json.dumps(bind)}]\nessential = true\nmode = "always"\n'
        parts.append(f"\n[settings.bootstrap-commands.k8s-ephemeral-storage]\n{rows}")
    return text(*parts)


def _yaml(value: Mapping[str, Value], depth: int) -> list[str | Ref]:
    """The mapping as block-style YAML; references stand for addresses and certificates, which need no quotes."""
    out: list[str | Ref] = []
    for key, item in value.items():
        lead = f"{'  ' * depth}{key}:"
        if isinstance(item, Mapping):
            out += [f"{lead}\n", *_yaml(item, depth + 1)]
        elif isinstance(item, list | tuple):
            out += [f"{lead}\n", *(f"{'  ' * (depth + 1)}- {_scalar(row)}\n" for row in item)]
        elif isinstance(item, Ref):
            out += [f"{lead} ", item, "\n"]
        else:
            out.append(f"{lead} {_scalar(item)}\n")
    return out


def _scalar(value: Value) -> str:
    if isinstance(value, str) and _PLAIN_SCALAR.fullmatch(value) and value not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n"):
        return value
    return json.dumps(value)
