"""Which component, at which version, each rendered kind is for. Read 2026-12-01 from the components' published schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Target(NamedTuple):
    """A component and the version its schema was read at; `core` kinds come with Kubernetes itself."""

    component: str
    version: str


_GROUPS: dict[str, Target] = {
    "": Target("kubernetes", "1.33"),
    "apps": Target("kubernetes", "1.33"),
    "autoscaling": Target("kubernetes", "1.33"),
    "batch": Target("kubernetes", "1.33"),
    "networking.k8s.io": Target("kubernetes", "1.33"),
    "policy": Target("kubernetes", "1.33"),
    "rbac.authorization.k8s.io": Target("kubernetes", "1.33"),
    "scheduling.k8s.io": Target("kubernetes", "1.33"),
    "aigateway.envoyproxy.io": Target("envoy-ai-gateway", "1.1.0"),
    "gateway.envoyproxy.io": Target("envoy-gateway", "1.9.0"),
    "gateway.networking.k8s.io": Target("gateway-api", "1.6.1"),
    "keda.sh": Target("keda", "2.20.2"),
    "leaderworkerset.x-k8s.io": Target("lws", "0.10.0"),
    "nvidia.com": Target("dynamo-operator", "1.6.1"),
    "monitoring.coreos.com": Target("prometheus-operator", "0.93.0"),
}


def target(api_version: str) -> Target:
    """The component that serves an apiVersion. Raises KeyError for a group that nothing here is rendered for."""
    group, slash, _ = api_version.partition("/")
    return _GROUPS[group if slash else ""]


def needed(api_versions: Iterable[str]) -> dict[str, str]:
    """Component -> version that a cluster needs for these objects."""
    return dict(sorted({target(version) for version in api_versions}))
