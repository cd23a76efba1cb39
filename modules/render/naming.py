"""Names, labels and file paths of rendered objects. A workload's name comes from its model and pool alone, so other edits rename nothing."""

from __future__ import annotations

import hashlib
import urllib.parse
from typing import NamedTuple

from inferform import labels
from inferform.plan import DeploymentPlan, ModelPlan, PoolPlan

SYSTEM_NAMESPACE = labels.AGENTS_NAMESPACE
# Objects of one deployment in the cluster are found by this.
MANAGER = "inferform"
COMPONENT = "app.kubernetes.io/component"
# The container that answers requests; workers of a group have a component of their own, so that nothing routes to them.
ENGINE, WORKER, IMPORT, QUANTIZE = "engine", "engine-worker", "model-import", "model-quantize"
# Chooses a prefill and a decode engine for each request.
ROUTER = "router"


def deployment_labels(plan: DeploymentPlan) -> dict[str, str]:
    """Owner labels of every object."""
    return {
        "app.kubernetes.io/managed-by": MANAGER,
        "app.kubernetes.io/part-of": plan.name,
        labels.DEPLOYMENT_LABEL: plan.name,
        labels.ENVIRONMENT_LABEL: plan.environment,
        labels.TENANT_LABEL: plan.tenant,
    }


def model_labels(plan: DeploymentPlan, name: str) -> dict[str, str]:
    """Labels of objects that belong to one model."""
    return dict(sorted({"app.kubernetes.io/name": name, **deployment_labels(plan), labels.MODEL_LABEL: name}.items()))


class Workload(NamedTuple):
    """One pool as Kubernetes runs it, with the plan and the model that it belongs to."""

    plan: DeploymentPlan
    model_name: str
    model: ModelPlan
    pool_name: str
    pool: PoolPlan

    @property
    def name(self) -> str:
        """Name of the Deployment or LeaderWorkerSet."""
        return f"{self.model_name}-{self.pool_name}"

    @property
    def grouped(self) -> bool:
        """Whether a replica is a group of pods on several nodes."""
        return self.pool.nodes_per_replica > 1

    @property
    def selector(self) -> dict[str, str]:
        """Labels that select the pods; immutable in a workload, so they hold nothing that changes."""
        return {labels.MODEL_LABEL: self.model_name, labels.POOL_LABEL: self.pool_name}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of objects that belong to the pool."""
        own = {"app.kubernetes.io/version": self.model.engine_version, labels.POOL_LABEL: self.pool_name, labels.ROLE_LABEL: self.pool.role}
        return dict(sorted({**model_labels(self.plan, self.model_name), **own}.items()))


def workloads(plan: DeploymentPlan) -> list[Workload]:
    """Every pool of the plan, in name order."""
    return [Workload(plan, *item) for item in plan.pool_items()]


def short_hash(*parts: str) -> str:
    """Eight characters that change when any part does."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def file_name(*parts: str) -> str:
    """One path segment that no name can turn into another path; ordinary names stay as they are."""
    text = urllib.parse.quote("-".join(parts), safe="", errors="surrogatepass")
    text = text if not text.startswith(".") else f"%2E{text[1:]}"
    # File systems stop at 255 bytes.
    return f"{text if len(text) <= 120 else f'{text[:100]}-{short_hash(text)}'}.yaml"
