"""The parts of a plan about the cluster itself."""

from __future__ import annotations

from typing import Literal

from inferform.plan_cost import Part
from pydantic import Field


class AccessPlan(Part):
    """One access entry beside the administrators."""

    principal: str
    level: Literal["view", "edit", "admin", "cluster_admin"]
    namespaces: tuple[str, ...] = ()


class SupportPlan(Part):
    """How long EKS supports the cluster's Kubernetes version (ISO days; None: not known)."""

    kind: Literal["standard", "extended"] = "standard"
    standard_until: str | None = None
    extended_until: str | None = None


class ClusterPlan(Part):
    """What the cluster logs, runs and lets in; the defaults are those of a spec that says nothing."""

    support: SupportPlan = SupportPlan()
    log_types: tuple[str, ...] = ("api", "audit", "authenticator", "controllerManager", "scheduler")
    log_retention_days: int = 90
    addons: dict[str, str | None] = Field(
        {"aws-ebs-csi-driver": None, "coredns": None, "eks-pod-identity-agent": None, "kube-proxy": None, "vpc-cni": None},
        description="Add-ons with their pinned version; None: the newest that EKS has for the cluster's version.",
    )
    access: dict[str, AccessPlan] = Field({}, description="By the name in the spec.")
    load_balancer_controller: bool = False
    external_secrets: bool = False
    remote_write_account: str | None = Field(None, description="Service account of the Prometheus that writes to the managed workspace.")
    interface_endpoints: tuple[str, ...] = Field((), description="AWS services with an interface endpoint in every zone, sorted.")
