"""What is for sale, as fakes that reject what AWS rejects: reservations, capacity blocks, spot scores and prices, the price list.

Placement groups are here too, as what they keep together is bought capacity. Sources: EC2 API reference (DescribeCapacityReservations, DescribeCapacityBlockOfferings, GetSpotPlacementScores,
DescribeSpotPriceHistory) and Price List API reference (GetProducts), read 2026-12-01.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from inferform.sandbox.fakes_wire import Fake, Json, RefusedError
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS

_BLOCK_TYPES = re.compile(r"(p4d|p4de|p5|p5e|p5en|p6-b200|p6-b300|trn1|trn2)\.")
# A score from fewer types than this is low, whatever the capacity.
_FEW_TYPES, _FEW_TYPES_SCORE = 3, 3
_LINUX = {
    "operatingSystem": "Linux", "preInstalledSw": "NA", "tenancy": "Shared", "capacitystatus": "Used", "licenseModel": "No License required",
}  # fmt: skip


@dataclass
class Market:
    """What is on sale. Prices are USD an hour, by (instance type, region) and (instance type, zone id); scores by zone id,
    reserved instances by type, strategies of placement groups by name.
    """

    reservations: dict[str, Json] = field(default_factory=dict)
    blocks: list[Json] = field(default_factory=list)
    scores: dict[str, int] = field(default_factory=dict)
    spot: dict[tuple[str, str], float] = field(default_factory=dict)
    on_demand: dict[tuple[str, str], float] = field(default_factory=dict)
    zones: dict[str, dict[str, str]] = field(default_factory=dict)
    reserved: dict[str, int] = field(default_factory=dict)
    savings_plans: list[Json] = field(default_factory=list)
    placement_groups: dict[str, str] = field(default_factory=dict)

    def fakes(self) -> dict[tuple[str, str], Fake]:
        """By service model and operation."""
        return {
            ("ec2", "DescribeCapacityReservations"): self._reservations,
            ("ec2", "DescribeCapacityBlockOfferings"): self._offerings,
            ("ec2", "GetSpotPlacementScores"): self._scores,
            ("ec2", "DescribeSpotPriceHistory"): self._spot_prices,
            ("pricing", "GetProducts"): self._products,
            ("ec2", "DescribeReservedInstances"): self._reserved,
            ("savingsplans", "DescribeSavingsPlans"): self._savings_plans,
            ("ec2", "DescribePlacementGroups"): self._placement_groups,
        }

    def reserve(self, id: str, *, instance_type: str, zone: str, count: int, free: int | None = None, **changes: object) -> None:
        """Put a reservation on the books: active, targeted, Linux; `changes` replaces any field of the answer."""
        self.reservations[id] = {
            "CapacityReservationId": id, "InstanceType": instance_type, "InstancePlatform": "Linux/UNIX", "AvailabilityZoneId": zone, "Tenancy": "default",
            "TotalInstanceCount": count, "AvailableInstanceCount": count if free is None else free, "State": "active", "InstanceMatchCriteria": "targeted",
            "ReservationType": "default", "EndDateType": "unlimited", **changes,
        }  # fmt: skip

    def _reservations(self, given: Json, region: str) -> Json:
        wanted = given.get("CapacityReservationIds") or sorted(self.reservations)
        for id in wanted:
            if not re.fullmatch(r"cr-[0-9a-f]{8,17}", id):
                raise RefusedError("InvalidCapacityReservationId.Malformed", f"The capacity reservation id '{id}' is malformed.")
            if id not in self.reservations:
                raise RefusedError("InvalidCapacityReservationId.NotFound", f"The capacity reservation id '{id}' does not exist.")
        return {"CapacityReservations": [self.reservations[id] for id in wanted]}

    def _offerings(self, given: Json, region: str) -> Json:
        hours, count, kind = int(given["CapacityDurationHours"]), int(given.get("InstanceCount", 1)), str(given.get("InstanceType", ""))
        days = hours / 24
        if hours % 24 or not (1 <= days <= 14 or (days <= 182 and days % 7 == 0)):
            raise RefusedError("InvalidParameterValue", f"The capacity duration {hours} is not valid: 1 to 14 days, or a multiple of 7 days up to 182.")
        if not _BLOCK_TYPES.match(kind):
            raise RefusedError("InvalidParameterValue", f"The instance type '{kind}' is not supported for Capacity Blocks.")
        if not 1 <= count <= 64:
            raise RefusedError("InvalidParameterValue", f"The instance count {count} is not valid: 1 to 64.")
        return {"CapacityBlockOfferings": [b for b in self.blocks if b["InstanceType"] == kind and b["InstanceCount"] >= count]}

    def _scores(self, given: Json, region: str) -> Json:
        types = given.get("InstanceTypes") or []
        if not types and not given.get("InstanceRequirementsWithMetadata"):
            raise RefusedError("MissingParameter", "Either InstanceTypes or InstanceRequirementsWithMetadata must be specified.")
        known = {o["InstanceType"] for o in INSTANCE_TYPE_OFFERINGS["region"].get(region, [])}
        strange = [t for t in types if t not in known]
        if strange:
            raise RefusedError("InvalidParameterValue", f"The following supplied instance types do not exist: [{', '.join(strange)}]")
        cap = _FEW_TYPES_SCORE if len(types) < _FEW_TYPES else 10
        if given.get("SingleAvailabilityZone"):
            rows = [{"Region": region, "AvailabilityZoneId": zone, "Score": min(score, cap)} for zone, score in sorted(self.scores.items())]
        else:
            rows = [{"Region": region, "Score": min(max(self.scores.values()), cap)}] if self.scores else []
        return {"SpotPlacementScores": rows}

    def _spot_prices(self, given: Json, region: str) -> Json:
        wanted = given.get("InstanceTypes") or []
        now = datetime(2026, 12, 1, 12, tzinfo=UTC)
        names = self.zones.get(region, {})
        rows = [
            {
                "InstanceType": kind, "AvailabilityZoneId": zone, "AvailabilityZone": names.get(zone, f"{region}a"), "ProductDescription": "Linux/UNIX",
                "SpotPrice": f"{usd * factor:.6f}", "Timestamp": now - timedelta(hours=age),
            }
            for (kind, zone), usd in sorted(self.spot.items())
            if kind in wanted
            # The older row must not be taken for today's price.
            for age, factor in ((30, 3.0), (1, 1.0))
        ]  # fmt: skip
        return {"SpotPriceHistory": rows}

    def _reserved(self, given: Json, region: str) -> Json:
        filters = {f["Name"]: f["Values"] for f in given.get("Filters") or ()}
        strange = sorted(set(filters) - {"instance-type", "state"})
        if strange:
            raise RefusedError("InvalidParameterValue", f"The filter '{strange[0]}' is invalid")
        rows = [{"InstanceType": kind, "InstanceCount": count, "State": "active"} for kind, count in sorted(self.reserved.items())]
        return {"ReservedInstances": [r for r in rows if r["InstanceType"] in filters.get("instance-type", [r["InstanceType"]])]}

    def _savings_plans(self, given: Json, region: str) -> Json:
        return {"savingsPlans": [p for p in self.savings_plans if p["state"] in given.get("states", [p["state"]])]}

    def _placement_groups(self, given: Json, region: str) -> Json:
        names = given.get("GroupNames") or sorted(self.placement_groups)
        for name in names:
            if name not in self.placement_groups:
                raise RefusedError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        rows = [{"GroupName": n, "State": "available", "Strategy": self.placement_groups[n]} for n in names]
        return {"PlacementGroups": rows}

    def _products(self, given: Json, region: str) -> Json:
        if given.get("ServiceCode") != "AmazonEC2":
            raise RefusedError("InvalidParameterException", f"Invalid ServiceCode: {given.get('ServiceCode')}")
        filters = {f["Field"]: f["Value"] for f in given.get("Filters") or () if f["Type"] == "TERM_MATCH"}
        found = []
        for (kind, place), usd in sorted(self.on_demand.items()):
            attributes = {**_LINUX, "instanceType": kind, "regionCode": place}
            if all(attributes.get(k) == v for k, v in filters.items()):
                found.append(json.dumps(_product(attributes, usd)))
        return {"FormatVersion": "aws_v1", "PriceList": found}


def _product(attributes: Json, usd: float) -> Json:
    sku = hashlib.sha256(json.dumps(attributes, sort_keys=True).encode()).hexdigest()[:16].upper()
    rate = {"unit": "Hrs", "beginRange": "0", "endRange": "Inf", "pricePerUnit": {"USD": f"{usd:.10f}"}}
    term = {"sku": sku, "priceDimensions": {f"{sku}.JRTCKXETXF.6YS6EN2CT7": rate}}
    return {
        "serviceCode": "AmazonEC2",
        "product": {"productFamily": "Compute Instance", "sku": sku, "attributes": attributes},
        "terms": {"OnDemand": {f"{sku}.JRTCKXETXF": term}},
    }
