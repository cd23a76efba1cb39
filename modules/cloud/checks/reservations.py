"""Capacity reservations and capacity blocks that the plan names: state, dates, zone, type, count (FC-08, FC-11)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from inferform.cloud.api import CallFailedError
from inferform.cloud.check import Answer, Check, shell
from inferform.cloud.site import Group, Site
from inferform.plan_nodes import PurchasePart

_KINDS = {"capacity_block": "capacity-block", "reserved": "default"}
_COMING = ("pending", "scheduled", "assessing", "delayed", "payment-pending")
# Nodes are drained before EC2 ends them, 30 minutes before the end of a block (FC-08).
_DRAIN = timedelta(minutes=40)
_SOON = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Use:
    """One reservation and the part of a pool that launches into it."""

    group: Group
    part: PurchasePart
    id: str

    @property
    def subject(self) -> str:
        """What the findings are about."""
        return f"{self.id} of {self.group.subject}"

    @property
    def field(self) -> str:
        """Where the spec says so."""
        return f"models.{self.group.model}.capacity.purchase"


def _reservations(site: Site) -> Iterator[Answer]:
    for group in site.groups():
        for part in group.parts:
            if part.reservation_id:
                yield from _one(site, Use(group, part, part.reservation_id))


def _one(site: Site, use: Use) -> Iterator[Answer]:
    region = site.plan.cloud.region
    command = shell("aws", "ec2", "describe-capacity-reservations", "--capacity-reservation-ids", use.id, "--region", region)
    try:
        rows = site.api.call("ec2", "describe_capacity_reservations", CapacityReservationIds=[use.id])["CapacityReservations"]
    except CallFailedError as err:
        if not err.code.startswith("InvalidCapacityReservationId"):
            raise
        rows = []
    if not rows:
        yield Answer("blocker", use.subject, f"not there in {region}, or not shared with this account", "a reservation of this account",
                     f"correct reservation_id in {use.field}{_offer(site, use)}", command)  # fmt: skip
        return
    row = rows[0]
    answers = [*_state(site, use, row), *_shape(site, use, row), *_count(site, use, row), *_dates(site, use, row)]
    if not answers:
        total, free = row["TotalInstanceCount"], row["AvailableInstanceCount"]
        yield Answer("ok", use.subject, f"{row['State']}, {row['InstanceType']} in {_zone(site, row)}, {free} of {total} free", f"{use.part.nodes.max} nodes")
    for answer in answers:
        yield answer if answer.command else Answer(answer.severity, answer.subject, answer.found, answer.needed, answer.fix, command)


def _state(site: Site, use: Use, row: dict[str, Any]) -> Iterator[Answer]:
    state = str(row["State"])
    if state == "active":
        return
    if state in _COMING:
        start = row.get("StartDate")
        when = f", starts {_day(start)}" if start else ""
        yield Answer(
            "warning", use.subject, f"{state}{when}", "active", "apply makes the group now; its nodes come when the reservation starts, so apply then or wait"
        )
        return
    yield Answer("blocker", use.subject, f"is {state}", "active", f"get another and put its id in {use.field}{_offer(site, use)}")


def _shape(site: Site, use: Use, row: dict[str, Any]) -> Iterator[Answer]:
    kind = str(row.get("ReservationType", "default"))
    if kind != _KINDS.get(use.part.kind, kind):
        right = next(k for k, v in _KINDS.items() if v == kind)
        yield Answer("blocker", use.subject, f"is a {kind} reservation", f"one for kind {use.part.kind}", f"set kind to {right} in {use.field}")
    if row["InstanceType"] not in use.group.instance_types:
        wanted = " or ".join(use.group.instance_types)
        yield Answer(
            "blocker",
            use.subject,
            f"holds {row['InstanceType']}",
            wanted,
            f"set hardware.instance_types of {use.group.model} to {row['InstanceType']}, or take another reservation",
        )
    zone = _zone(site, row)
    if zone not in use.group.zones:
        yield Answer(
            "blocker", use.subject, f"is in {zone}", f"in {' or '.join(use.group.zones)}", f"set zone to {zone} in {use.field} (and list it in cloud.zones)"
        )
    if row.get("InstancePlatform", "Linux/UNIX") != "Linux/UNIX":
        yield Answer("blocker", use.subject, f"is for {row['InstancePlatform']}", "Linux/UNIX", "take a reservation for Linux/UNIX")
    if row.get("Tenancy", "default") != "default":
        yield Answer("blocker", use.subject, f"has {row['Tenancy']} tenancy", "default tenancy", "take a reservation with default tenancy")
    if kind == "default" and row.get("InstanceMatchCriteria") == "open":
        yield Answer(
            "warning", use.subject, "is open: any matching instance of the account may take its places", "targeted", "make it targeted, so that only this pool uses it",
            shell("aws", "ec2", "modify-capacity-reservation", "--capacity-reservation-id", use.id, "--instance-match-criteria", "targeted", "--region", site.plan.cloud.region),
        )  # fmt: skip


def _count(site: Site, use: Use, row: dict[str, Any]) -> Iterator[Answer]:
    total, free, most = int(row["TotalInstanceCount"]), int(row["AvailableInstanceCount"]), use.part.nodes.max
    if total < most:
        yield Answer(
            "blocker",
            use.subject,
            f"holds {total} instances",
            f"{most} nodes at the maximum",
            f"set max_nodes to {total} in {use.field}, or enlarge the reservation",
        )
        return
    if free >= most or str(row["State"]) != "active":
        return
    own = sum(n.own and n.reservation_id == use.id for n in site.running())
    if free + own < most:
        steady = use.part.nodes.steady
        yield Answer("blocker" if free + own < steady else "warning", use.subject, f"{free} of {total} free, {own} used by this deployment",
                     f"{steady} nodes steady, {most} at the maximum", "stop the other instances in it, or set max_nodes lower")  # fmt: skip


def _dates(site: Site, use: Use, row: dict[str, Any]) -> Iterator[Answer]:
    ends = row.get("EndDate")
    if ends is None:
        return
    ends = _utc(ends)
    if use.part.ends_at and _utc(datetime.fromisoformat(use.part.ends_at.replace("Z", "+00:00"))) != ends:
        # A late drain is cut off by EC2; an early one only wastes minutes.
        late = _utc(datetime.fromisoformat(use.part.ends_at.replace("Z", "+00:00"))) > ends
        yield Answer(
            "blocker" if late else "warning",
            use.subject,
            f"ends {_day(ends)}",
            f"ends_at {use.part.ends_at}",
            f"set ends_at to {ends:%Y-%m-%dT%H:%M:%SZ} in {use.field}",
        )
    elif use.part.kind == "capacity_block" and not use.part.ends_at:
        yield Answer(
            "warning", use.subject, f"ends {_day(ends)}", "ends_at, so that nodes drain before", f"set ends_at to {ends:%Y-%m-%dT%H:%M:%SZ} in {use.field}"
        )
    if str(row["State"]) != "active":
        return
    left = ends - site.now
    if left <= _DRAIN:
        yield Answer("blocker", use.subject, f"ends {_day(ends)}: no time is left before the drain", "time to serve", f"get another block{_offer(site, use)}")
    elif left <= _SOON:
        yield Answer(
            "warning",
            use.subject,
            f"ends {_day(ends)}, in {left.total_seconds() / 3600:.0f} hours",
            "capacity after that",
            f"get the next block in time{_offer(site, use)}",
        )


def _offer(site: Site, use: Use) -> str:
    """The nearest capacity block on offer, as the end of a sentence; empty where there is none or it cannot be told."""
    if use.part.kind != "capacity_block":
        return ""
    kind, count = use.group.instance_types[0], use.part.nodes.max
    try:
        rows = site.api.listed(
            "ec2", "describe_capacity_block_offerings", "CapacityBlockOfferings", InstanceType=kind, InstanceCount=count, CapacityDurationHours=24
        )
        offers = sorted(rows, key=lambda o: (o["StartDate"], o["CapacityBlockOfferingId"]))
    except CallFailedError:
        return ""
    if not offers:
        return f"; no block of {count} x {kind} is on offer now"
    first = offers[0]
    buy = shell(
        "aws", "ec2", "purchase-capacity-block", "--capacity-block-offering-id", first["CapacityBlockOfferingId"], "--instance-platform", "Linux/UNIX",
        "--region", site.plan.cloud.region,
    )  # fmt: skip
    return (
        f"; on offer: {count} x {kind} in {first['AvailabilityZone']} from {_day(first['StartDate'])} for {first['UpfrontFee']} {first['CurrencyCode']}: {buy}"
    )


def _zone(site: Site, row: dict[str, Any]) -> str:
    """Zone id of a reservation; older answers name the zone only."""
    if row.get("AvailabilityZoneId"):
        return str(row["AvailabilityZoneId"])
    return next((i for i, z in site.zones().items() if z["ZoneName"] == row.get("AvailabilityZone")), "an unknown zone")


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _day(moment: datetime) -> str:
    return f"{_utc(moment):%Y-%m-%d %H:%M} UTC"


CHECKS = (Check("RSV001", "Reservations", _reservations),)
