"""The parts of a plan about where weights are kept and how they and the images reach a node."""

from __future__ import annotations

from inferform.plan_cost import Part
from pydantic import Field


class ReplicaPlan(Part):
    """The copy of the model store in a second region."""

    region: str
    bucket: str


class LustrePlan(Part):
    """FSx for Lustre linked to the model store; `file_system_id` and `mount_name` are None until an apply has made it and the spec names them."""

    storage_gib: int
    mb_per_s_per_tib: int
    zone: str
    file_system_id: str | None = None
    mount_name: str | None = None

    def bytes_per_s(self) -> float:
        """Baseline throughput of its disks, shared by all that read."""
        return self.storage_gib / 1024 * self.mb_per_s_per_tib * 1e6


class DistributionPlan(Part):
    """What brings image and weights to nodes before pods ask for them."""

    node_agents: bool = Field(True, description="An agent on every node fetches weights and pulls the engine's image.")
    image_peers: bool = Field(False, description="Nodes pull images from each other first.")


class ModelStorePlan(Part):
    """The bucket that holds weights; each model under `models/<model name>/`."""

    bucket: str
    keep_old_days: int = 30
    replica: ReplicaPlan | None = None
    lustre: LustrePlan | None = None
    distribution: DistributionPlan = DistributionPlan()
