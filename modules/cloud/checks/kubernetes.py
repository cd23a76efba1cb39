"""The Kubernetes version in EKS's own calendar, and the cluster where it exists already."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from inferform.cloud.api import CallFailedError
from inferform.cloud.check import Answer, Check, shell
from inferform.cloud.site import Site

_SOON = timedelta(days=60)


def _version(site: Site) -> Iterator[Answer]:
    version, region = site.plan.cloud.kubernetes_version, site.plan.cloud.region
    command = shell("aws", "eks", "describe-cluster-versions", "--region", region)
    rows = {str(r["clusterVersion"]): r for r in site.api.listed("eks", "describe_cluster_versions", "clusterVersions", includeAll=True)}
    standard = sorted((v for v, r in rows.items() if _status(r) == "STANDARD_SUPPORT"), key=_minor)
    row = rows.get(version)
    subject, needed = f"Kubernetes {version}", f"one in standard support: {', '.join(standard) or 'none listed'}"
    newest = standard[-1] if standard else version
    if row is None or _status(row) == "UNSUPPORTED":
        yield Answer("blocker", subject, f"EKS does not offer it in {region}", needed, f"set cloud.kubernetes_version to {newest}", command)
        return
    ends = row.get("endOfStandardSupportDate")
    if _status(row) == "EXTENDED_SUPPORT":
        yield Answer(
            "warning", subject, f"in extended support{f' since {ends:%Y-%m-%d}' if ends else ''}: the control plane costs six times as much, or EKS upgrades a "
            "cluster with standard support by itself", needed, f"set cloud.kubernetes_version to {newest}", command,
        )  # fmt: skip
    elif ends and _aware(ends) - site.now < _SOON:
        yield Answer("warning", subject, f"standard support ends on {ends:%Y-%m-%d}", needed, f"set cloud.kubernetes_version to {newest}", command)
    else:
        yield Answer("ok", subject, f"standard support{f' until {ends:%Y-%m-%d}' if ends else ''}", needed)


def _cluster(site: Site) -> Iterator[Answer]:
    name, wanted = site.plan.cluster_name(), site.plan.cloud.kubernetes_version
    try:
        cluster: dict[str, Any] = site.api.call("eks", "describe_cluster", name=name)["cluster"]
    except CallFailedError as err:
        if err.code != "ResourceNotFoundException":
            raise
        yield Answer("ok", f"cluster {name}", "not there yet", "made by apply")
        return
    subject, has = f"cluster {name}", str(cluster["version"])
    if not site.owns(cluster.get("tags") or {}):
        yield Answer("blocker", subject, "the name is taken by a cluster that this deployment did not make", "a free name",
                     "rename the deployment or the environment, or remove that cluster")  # fmt: skip
    elif _minor(wanted) < _minor(has):
        yield Answer("blocker", subject, f"runs Kubernetes {has}", f"Kubernetes {wanted}", f"EKS never goes back: set cloud.kubernetes_version to {has}")
    elif _minor(wanted)[1] > _minor(has)[1] + 1:
        step = f"{_minor(has)[0]}.{_minor(has)[1] + 1}"
        yield Answer(
            "blocker",
            subject,
            f"runs Kubernetes {has}",
            f"Kubernetes {wanted}",
            f"EKS goes up one version at a time: set cloud.kubernetes_version to {step} and apply first",
        )
    elif cluster["status"] != "ACTIVE":
        yield Answer("warning", subject, f"is {cluster['status']}", "ACTIVE", "wait until the running change is done")
    else:
        yield Answer("ok", subject, f"active, Kubernetes {has}", f"Kubernetes {wanted}")


def _status(row: dict[str, Any]) -> str:
    """STANDARD_SUPPORT, EXTENDED_SUPPORT or UNSUPPORTED; EKS writes the status in two ways."""
    return str(row.get("versionStatus") or row.get("status") or "").upper().replace("-", "_")


def _minor(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


CHECKS = (Check("EKS001", "Kubernetes version", _version), Check("EKS002", "Cluster", _cluster))
