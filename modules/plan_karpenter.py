"""The part of a plan about Karpenter itself: where it runs and what it is given in AWS."""

from __future__ import annotations

from inferform.plan_cost import Part
from pydantic import Field


class KarpenterPlan(Part):
    """The controller and the names by which it finds what Terraform made for it."""

    version: str
    namespace: str
    service_account: str
    queue: str = Field(description="Name of the SQS queue that tells of interruptions.")
    memory_overhead: float = Field(description="Share of a type's memory that its nodes do not have; pods are sized with the same.")
    instance_profile: str = Field(description="Instance profile of the nodes that it starts.")
