"""What the parts around the GPU nodes cost: control plane, NAT gateways, addresses, load balancer, disks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from inferform.catalog.tables import rows

Item = Literal[
    "eks-standard",
    "eks-extended",
    "nat-gateway",
    "public-ipv4",
    "load-balancer",
    "gp3",
    "interface-endpoint",
    "lustre-125",
    "lustre-250",
    "lustre-500",
    "lustre-1000",
]
# Persistent SSD file systems by MB/s a TiB.
LUSTRE_ITEMS: dict[int, Item] = {125: "lustre-125", 250: "lustre-250", 500: "lustre-500", 1000: "lustre-1000"}
# A part without a price of the region takes this one's, or that of the first region that has any, and its source says so.
_FALLBACK_REGION, _ANY = "us-east-1", "any"


@dataclass(frozen=True, slots=True)
class PlatformPrice:
    """USD for one `unit` of a part: an hour, or a GB-month."""

    item: str
    unit: str
    usd: float
    as_of: str
    source: str


@dataclass(frozen=True, slots=True)
class KubernetesSupport:
    """Last days (ISO) of a Kubernetes version's standard and extended support on EKS."""

    version: str
    standard_until: str
    extended_until: str
    source: str


@cache
def _prices() -> dict[tuple[str, str], PlatformPrice]:
    return {
        (row["item"], row["region"]): PlatformPrice(row["item"], row["unit"], float(row["usd"]), row["as_of"], row["source"])
        for row in rows("platform_prices.csv")
    }


def platform_price(item: Item, region: str) -> PlatformPrice:
    """Price of a part in a region; the us-east-1 list price, named as such, where no other is known."""
    table = _prices()
    for name in (region, _ANY):
        if (item, name) in table:
            return table[item, name]
    name = _FALLBACK_REGION if (item, _FALLBACK_REGION) in table else min(known for listed, known in table if listed == item)
    found = table[item, name]
    return PlatformPrice(found.item, found.unit, found.usd, found.as_of, f"{name} list price; {found.source}")


@cache
def kubernetes_versions() -> tuple[KubernetesSupport, ...]:
    """Versions whose support dates are known, oldest first."""
    return tuple(KubernetesSupport(row["version"], row["standard_until"], row["extended_until"], row["source"]) for row in rows("eks_versions.csv"))


def in_extended_support(version: str, day: str) -> bool:
    """Whether EKS charges extended support on that day (ISO); a version whose dates are not known is taken to be newer than all that are."""
    return any(known.version == version and day >= known.standard_until for known in kubernetes_versions())
