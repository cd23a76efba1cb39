"""Values of the Cluster Autoscaler's chart: it finds the groups by their tags and sets the count that Terraform leaves to it (FC-10)."""

from __future__ import annotations

from typing import Any

from inferform import labels
from inferform.plan import DeploymentPlan
from inferform.render.templating import fill

AUTOSCALER_VALUES = "cluster-autoscaler-values.yaml"
# A release is for one minor version of Kubernetes. Source: kubernetes/kops, pkg/model/components/clusterautoscaler.go, and for 1.33 and 1.36 the
# release notes of kubernetes/autoscaler (read 2026-12-01). Another minor gets the chart's own image.
RELEASES = {"1.32": "v1.32.7", "1.33": "v1.33.6", "1.34": "v1.34.4", "1.35": "v1.35.1", "1.36": "v1.36.1"}


def autoscaler_values(plan: DeploymentPlan) -> str:
    """The chart's values. Its pods cannot ask the instance metadata (hop limit 1), so the region is told; the service account has its role.

    Source: charts/cluster-autoscaler/values.yaml of kubernetes/autoscaler (Apache-2.0; read 2026-12-01).
    """
    release = RELEASES.get(plan.cloud.kubernetes_version)
    values: dict[str, Any] = {
        "autoDiscovery": {"clusterName": plan.cluster_name()},
        "awsRegion": plan.cloud.region,
        "cloudProvider": "aws",
        **({"image": {"tag": release}} if release else {}),
        "nodeSelector": {labels.ROLE_LABEL: labels.SYSTEM_ROLE},
        "rbac": {"serviceAccount": {"create": True, "name": "cluster-autoscaler"}},
    }
    return fill("platform/cluster-autoscaler-values.yaml.j2", {"values": values})
