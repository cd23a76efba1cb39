"""What every stack on AWS starts with: the pinned provider with its default tags, the account, names inside length limits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from inferform.plan import DeploymentPlan
from inferform.stacks.resource import Stack
from inferform.stacks.values import Ref, Text, text

# 6.25 is what the shipped schema describes; capacity_reservation_specification on scaling groups came with 6.0 (FC-11).
PROVIDER_VERSION = ">= 6.25, < 7.0"


@dataclass(frozen=True, slots=True)
class Account:
    """The account and partition that the stack is applied in."""

    id: Ref
    partition: Ref

    def arn(self, service: str, resource: str, *, region: str = "") -> Text:
        """ARN of a resource of this account."""
        return text("arn:", self.partition, f":{service}:{region}:", self.id, f":{resource}")

    def managed_policy(self, name: str) -> Text:
        """ARN of a policy that AWS keeps, such as `AmazonEKSClusterPolicy`."""
        return text("arn:", self.partition, f":iam::aws:policy/{name}")


def open_account(stack: Stack) -> Account:
    """Configure the provider and look up the account."""
    plan = stack.plan
    stack.provider("aws", "hashicorp/aws", PROVIDER_VERSION, {"region": plan.cloud.region, "default_tags": [{"tags": tags(plan)}]})
    caller = stack.data("aws_caller_identity", "current", {})
    partition = stack.data("aws_partition", "current", {})
    return Account(caller.ref("account_id"), partition.ref("partition"))


def tags(plan: DeploymentPlan) -> dict[str, str]:
    """Tags of everything that the deployment owns."""
    return {"deployment": plan.name, "environment": plan.environment, "managed-by": "inferform", "tenant": plan.tenant}


def bounded(name: str, limit: int) -> str:
    """The name when it is within the cloud's limit; else cut, with a digest of the whole so that it stays unique and stable."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
