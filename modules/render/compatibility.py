"""Which component, at which version, each rendered kind is for. Read 2026-12-01 from the components' published schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from inferform.engines import dynamo, engine_names, find_engine
from inferform.render import images


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
    "karpenter.k8s.aws": Target("karpenter", "1.14.1"),
    "karpenter.sh": Target("karpenter", "1.14.1"),
    "keda.sh": Target("keda", "2.20.2"),
    "kueue.x-k8s.io": Target("kueue", "0.19.2"),
    "leaderworkerset.x-k8s.io": Target("lws", "0.10.0"),
    "nvidia.com": Target("dynamo-operator", "1.6.1"),
    "monitoring.coreos.com": Target("prometheus-operator", "0.93.0"),
}


# Versions of each group that are rendered; another one is an error, because its schema was not read.
_VERSIONS: dict[str, tuple[str, ...]] = {
    "": ("v1",),
    "apps": ("v1",),
    "autoscaling": ("v2",),
    "batch": ("v1",),
    "networking.k8s.io": ("v1",),
    "policy": ("v1",),
    "rbac.authorization.k8s.io": ("v1",),
    "scheduling.k8s.io": ("v1",),
    "aigateway.envoyproxy.io": ("v1beta1",),
    "gateway.envoyproxy.io": ("v1alpha1",),
    "gateway.networking.k8s.io": ("v1",),
    "karpenter.k8s.aws": ("v1",),
    "karpenter.sh": ("v1",),
    "keda.sh": ("v1alpha1",),
    "kueue.x-k8s.io": ("v1beta2",),
    "leaderworkerset.x-k8s.io": ("v1",),
    "nvidia.com": ("v1beta1",),
    "monitoring.coreos.com": ("v1",),
}


class Row(NamedTuple):
    """One line of the compatibility table; `versions` as a person reads them."""

    component: str
    versions: str
    provides: str


def target(api_version: str) -> Target:
    """The component that serves an apiVersion. Raises KeyError for a group or version that nothing here is rendered for."""
    group, slash, version = api_version.rpartition("/")
    if version not in _VERSIONS[group if slash else ""]:
        raise KeyError(api_version)
    return _GROUPS[group if slash else ""]


def needed(api_versions: Iterable[str]) -> dict[str, str]:
    """Component -> version that a cluster needs for these objects."""
    return dict(sorted({target(version) for version in api_versions}))


def table() -> tuple[Row, ...]:
    """What each output is for: the cluster and its controllers by the kinds they serve, engines, and images."""
    served: dict[Target, list[str]] = {}
    for group, found in sorted(_GROUPS.items()):
        served.setdefault(found, []).extend(f"{group}/{version}" if group else version for version in _VERSIONS[group])
    cluster = [
        Row(found.component, f"{found.version} and later" if found.component == "kubernetes" else found.version, ", ".join(names))
        for found, names in served.items()
    ]
    engines = [
        Row(name, f"{engine.oldest_version} to {engine.newest_version}, {engine.default_version} by default", "command line, metrics")
        for name, engine in ((name, find_engine(name)) for name in engine_names())
    ]
    parts = [
        Row("dynamo", f"{dynamo.VERSION} with vllm {dynamo.VLLM_VERSION}", "workers and frontends of a DynamoGraphDeployment"),
        *(Row(name, tag, "image") for name, tag in sorted(images.pinned().items())),
    ]
    return (*sorted(cluster), *engines, *parts)
