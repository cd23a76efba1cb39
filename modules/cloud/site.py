"""What the checks of one preflight share: the plan, the way to AWS, the time, and look-ups that several of them need."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from inferform.cloud.api import Api
from inferform.plan import DeploymentPlan, PoolPlan
from inferform.plan_nodes import PurchasePart

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes of one pool that are bought alike and stand in the same zones: what becomes one group of nodes.

    `key` is the group's name in AWS; `max_nodes` and `zones` are its own.
    """

    subject: str
    key: str
    model: str
    pool: PoolPlan
    parts: tuple[PurchasePart, ...]
    zones: tuple[str, ...]
    max_nodes: int

    @property
    def instance_types(self) -> tuple[str, ...]:
        """Types in order of preference."""
        return tuple(dict.fromkeys(t for p in self.parts for t in p.instance_types))


@dataclass(frozen=True, slots=True)
class Node:
    """A running instance of the account."""

    instance_type: str
    market: str
    own: bool
    name: str
    subnet_id: str
    reservation_id: str


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet of the deployment's own VPC."""

    id: str
    zone: str
    private: bool
    free: int


@dataclass
class Site:
    """One plan before one account and region."""

    plan: DeploymentPlan
    api: Api
    now: datetime
    spec: str = "SPEC"
    account: str | None = None
    _known: dict[str, Any] = field(default_factory=dict)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def own_tags(self) -> dict[str, str]:
        """Tags by which the deployment's own resources are known."""
        return {"deployment": self.plan.name, "environment": self.plan.environment, "tenant": self.plan.tenant}

    def owns(self, tags: dict[str, str]) -> bool:
        """True when all of our tags are there."""
        return self.own_tags.items() <= tags.items()

    def groups(self) -> list[Group]:
        """Every group of nodes of every pool; a capacity block is one of its own."""
        found = []
        for model, _, name, pool in self.plan.pool_items():
            subject, key = f"{model}/{name}", f"{self.plan.resource_prefix()}-{model}-{name}"
            rest = tuple(p for p in pool.purchase if p.kind != "capacity_block")
            if rest:
                most = pool.nodes.max if len(rest) == len(pool.purchase) else sum(p.nodes.max for p in rest)
                found.append(Group(subject, key, model, pool, rest, pool.infrastructure.zones, most))
            for part in pool.purchase:
                if part.kind == "capacity_block":
                    zones = (part.zone,) if part.zone else pool.infrastructure.zones
                    found.append(Group(subject, f"{key}-{part.reservation_id}", model, pool, (part,), zones, part.nodes.max))
        return found

    def zones(self) -> dict[str, dict[str, Any]]:
        """The region's zones that the account may use, by zone id."""
        return self._once("zones", lambda: {z["ZoneId"]: z for z in self.api.call("ec2", "describe_availability_zones")["AvailabilityZones"]})

    def vpc_id(self) -> str | None:
        """The deployment's VPC where it exists already."""
        return self._once("vpc", self._vpc)

    def subnets(self) -> tuple[Subnet, ...]:
        """Subnets of the deployment's VPC; none before it exists."""
        return self._once("subnets", self._subnets)

    def running(self) -> tuple[Node, ...]:
        """All pending and running instances of the account in the region."""
        return self._once("running", self._running)

    def _once(self, key: str, look: Callable[[], T]) -> T:
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        # A look-up that failed is tried again by the next check that needs it: each then says so itself.
        with lock:
            if key not in self._known:
                self._known[key] = look()
            found: T = self._known[key]
            return found

    def _vpc(self) -> str | None:
        filters = [{"Name": f"tag:{k}", "Values": [v]} for k, v in sorted(self.own_tags.items())]
        found = sorted(v["VpcId"] for v in self.api.listed("ec2", "describe_vpcs", "Vpcs", Filters=filters))
        return found[0] if found else None

    def _subnets(self) -> tuple[Subnet, ...]:
        vpc = self.vpc_id()
        if vpc is None:
            return ()
        listed = self.api.listed("ec2", "describe_subnets", "Subnets", Filters=[{"Name": "vpc-id", "Values": [vpc]}])
        prefix = f"{self.plan.resource_prefix()}-private-"
        return tuple(
            Subnet(s["SubnetId"], s["AvailabilityZoneId"], tags_of(s).get("Name", "").startswith(prefix), int(s["AvailableIpAddressCount"]))
            for s in sorted(listed, key=lambda s: str(s["SubnetId"]))
        )

    def _running(self) -> tuple[Node, ...]:
        filters = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
        return tuple(
            Node(
                instance_type=i["InstanceType"], market=i.get("InstanceLifecycle", "on_demand"), own=self.owns(tags_of(i)), name=tags_of(i).get("Name", ""),
                subnet_id=i.get("SubnetId", ""), reservation_id=i.get("CapacityReservationId", ""),
            )
            for r in self.api.listed("ec2", "describe_instances", "Reservations", Filters=filters)
            for i in r["Instances"]
        )  # fmt: skip


def tags_of(item: dict[str, Any]) -> dict[str, str]:
    """Tags of an item as EC2 lists them."""
    return {t["Key"]: t.get("Value", "") for t in item.get("Tags") or ()}
