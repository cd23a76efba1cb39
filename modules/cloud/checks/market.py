"""What the market says now: how likely spot capacity is, and prices against those of the plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from inferform.cloud.check import Answer, Check, listed
from inferform.cloud.facts import PRICE_LIST_REGION
from inferform.cloud.site import Site
from inferform.plan_cost import HOURS_PER_MONTH

# AWS scores the chance from 1 to 10; it gives low scores to fewer than three types. Source: EC2 user guide, "Spot placement score"
# (read 2026-12-01).
_GOOD_SCORE, _LOW_SCORE, _FEW_TYPES = 7, 3, 3
# List prices move rarely and in steps; spot prices move every hour.
_ON_DEMAND_TOLERANCE, _SPOT_TOLERANCE = 0.01, 0.2


def _scores(site: Site) -> Iterator[Answer]:
    region = site.plan.cloud.region
    for group in site.groups():
        spot = [p for p in group.parts if p.kind == "spot" and p.nodes.max]
        if not spot:
            continue
        types, nodes = list(group.instance_types), sum(p.nodes.max for p in spot)
        # With one zone only that zone's score counts, else the region's as a whole.
        single = len(group.zones) == 1
        rows = list(
            site.api.listed(
                "ec2", "get_spot_placement_scores", "SpotPlacementScores", InstanceTypes=types, TargetCapacity=nodes, TargetCapacityUnitType="units",
                SingleAvailabilityZone=single, RegionNames=[region],
            )
        )  # fmt: skip
        scores = [int(r["Score"]) for r in rows if not single or r.get("AvailabilityZoneId") in group.zones]
        subject, needed = f"{group.subject} spot", f"{nodes} x {' or '.join(types)} in {listed(group.zones)}"
        if not scores:
            yield Answer("warning", subject, "no score: AWS sees no such spot capacity here", needed, "add instance types or zones, or buy on-demand")
            continue
        found = f"placement score {max(scores)} of 10"
        if max(scores) >= _GOOD_SCORE:
            yield Answer("ok", subject, found, needed)
        elif len(types) < _FEW_TYPES:
            yield Answer("warning", subject, found, needed, "AWS scores fewer than three instance types low; allow more types (hardware.instance_types)")
        elif max(scores) > _LOW_SCORE:
            yield Answer("warning", subject, found, needed, "expect waits and interruptions; more instance types or zones raise the score")
        else:
            yield Answer("warning", subject, found, needed, "hardly to be had: add instance types or zones, take another hour, or buy on-demand first")


def _list_prices(site: Site) -> Iterator[Answer]:
    plan = site.plan
    system = plan.cloud.system_pool
    planned: dict[str, tuple[float, float]] = {}
    for group in site.groups():
        for part in group.parts:
            if part.kind == "on_demand":
                kind = part.instance_types[0]
                planned[kind] = (part.usd_per_hour, planned.get(kind, (0.0, 0.0))[1] + part.nodes.steady)
    planned[system.instance_type] = (system.usd_per_hour, planned.get(system.instance_type, (0.0, 0.0))[1] + system.nodes.steady)
    more_usd, unknown = 0.0, False
    for kind, (usd, nodes) in sorted(planned.items()):
        live = _list_price(site, kind)
        if live is None:
            unknown = True
            yield Answer(
                "unknown",
                f"{kind} on-demand",
                "the price list has no Linux price",
                f"${usd:,.4f} an hour in the plan",
                "ask AWS; p5e and some others are sold in blocks only",
            )
            continue
        more_usd += (live - usd) * nodes * HOURS_PER_MONTH
        yield _compared(f"{kind} on-demand", live, usd, tolerance=_ON_DEMAND_TOLERANCE, row=_row(site, kind, "on_demand", live))
    budget = plan.cost.budget_usd_per_month
    if budget is not None and not unknown:
        month = plan.cost.usd_per_month + more_usd
        found, needed = f"${month:,.0f} a month at live prices", f"budget ${budget:,.0f}, plan ${plan.cost.usd_per_month:,.0f}"
        over = month > budget
        yield Answer("warning" if over else "ok", "monthly cost", found, needed, "raise budget.usd_per_month, or relax an objective" if over else "")


def _list_price(site: Site, instance_type: str) -> float | None:
    """USD an hour of a Linux instance with shared tenancy, from the price list; None when it has none."""
    wanted = {
        "instanceType": instance_type, "regionCode": site.plan.cloud.region, "operatingSystem": "Linux", "preInstalledSw": "NA", "tenancy": "Shared",
        "capacitystatus": "Used",
    }  # fmt: skip
    filters = [{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in wanted.items()]
    prices = []
    for item in site.api.listed("pricing", "get_products", "PriceList", region=PRICE_LIST_REGION, ServiceCode="AmazonEC2", Filters=filters):
        product: dict[str, Any] = json.loads(item) if isinstance(item, str) else item
        for term in product.get("terms", {}).get("OnDemand", {}).values():
            for dimension in term["priceDimensions"].values():
                if dimension["unit"] == "Hrs" and float(dimension["pricePerUnit"].get("USD", 0)) > 0:
                    prices.append(float(dimension["pricePerUnit"]["USD"]))
    return min(prices, default=None)


def _spot_prices(site: Site) -> Iterator[Answer]:
    for group in site.groups():
        for part in group.parts:
            if part.kind != "spot":
                continue
            kind = part.instance_types[0]
            rows = site.api.listed(
                "ec2", "describe_spot_price_history", "SpotPriceHistory", InstanceTypes=[kind], ProductDescriptions=["Linux/UNIX"], StartTime=site.now
            )
            newest: dict[str, tuple[Any, float]] = {}
            for row in rows:
                zone = row.get("AvailabilityZoneId") or _zone_id(site, row["AvailabilityZone"])
                if zone in group.zones and (zone not in newest or row["Timestamp"] > newest[zone][0]):
                    newest[zone] = (row["Timestamp"], float(row["SpotPrice"]))
            subject = f"{group.subject} {kind} spot"
            if not newest:
                yield Answer(
                    "warning",
                    subject,
                    f"no spot price in {listed(group.zones)}",
                    f"${part.usd_per_hour:,.4f} an hour in the plan",
                    "choose zones or types that are sold as spot",
                )
                continue
            # The group spreads by capacity, not by price, so the dearest of its zones is what to expect.
            live = max(price for _, price in newest.values())
            yield _compared(subject, live, part.usd_per_hour, tolerance=_SPOT_TOLERANCE, row=_row(site, kind, "spot", live))


def _compared(subject: str, live: float, planned: float, *, tolerance: float, row: str) -> Answer:
    found, needed = f"${live:,.4f} an hour", f"${planned:,.4f} in the plan"
    share = (live - planned) / planned if planned else float(live > 0)
    if abs(share) <= tolerance:
        return Answer("ok", subject, found, needed)
    if share < 0:
        return Answer("ok", subject, f"{found}, {-share:.0%} cheaper", needed)
    fix = f"plan with the live price, which may choose otherwise: --prices FILE with the row {row}"
    return Answer("warning", subject, f"{found}, {share:.0%} dearer", needed, fix)


def _row(site: Site, kind: str, purchase: str, usd: float) -> str:
    """A row of a price file as `--prices` reads it."""
    return f"{kind},{site.plan.cloud.region},{purchase},{usd:g},{site.now:%Y-%m-%d}"


def _zone_id(site: Site, name: str) -> str:
    return next((i for i, z in site.zones().items() if z["ZoneName"] == name), "")


CHECKS = (Check("SPT001", "Spot placement score", _scores), Check("PRC001", "On-demand prices", _list_prices), Check("PRC002", "Spot prices", _spot_prices))
