"""Priority classes: who takes room from whom when it is short. Classes are the cluster's, so every deployment renders the same ones."""

from __future__ import annotations

from typing import NamedTuple

from inferform.plan import DeploymentPlan, ModelPlan


class PriorityClass(NamedTuple):
    """One class; a higher value takes room from lower ones unless `preemption` is Never."""

    name: str
    value: int
    preemption: str
    description: str


ENTERPRISE, SERVING, BATCH, FREE = "inferform-enterprise", "inferform-serving", "inferform-batch", "inferform-free"
CLASSES = (
    PriorityClass(ENTERPRISE, 1_000_000, "PreemptLowerPriority", "Models of the enterprise tier: they take room from all others."),
    PriorityClass(SERVING, 100_000, "PreemptLowerPriority", "Models that people or agents wait for."),
    PriorityClass(BATCH, 1_000, "Never", "Work that may wait for a free GPU."),
    PriorityClass(FREE, 100, "Never", "Models of the free tier: they run on what nobody else needs."),
)
_BY_TIER = {"enterprise": ENTERPRISE, "standard": SERVING, "free": FREE}


def of_deployment(plan: DeploymentPlan) -> str:
    """The class of what serves a tenant."""
    return _BY_TIER[plan.isolation.tier]


def of_model(plan: DeploymentPlan, model: ModelPlan) -> str:
    """Batch work gives way to models that people or agents wait for, and a free tenant's to nothing more."""
    own = of_deployment(plan)
    return BATCH if model.profile == "batch" and own != FREE else own


def foreign(plan: DeploymentPlan) -> tuple[str, ...]:
    """Classes that no pod of the deployment's namespace may name."""
    own = {of_deployment(plan), *(of_model(plan, model) for model in plan.models.values())}
    return (*sorted({c.name for c in CLASSES} - own), "system-cluster-critical", "system-node-critical")
