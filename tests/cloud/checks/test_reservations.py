"""Capacity reservations and capacity blocks (FC-08, FC-11)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cloud.double import NOW, AwsDouble, ready
from cloud.looking import look
from inferform.cloud.api import Api
from inferform.cloud.checks import reservations
from inferform.cloud.results import Finding
from inferform.cloud.site import Node, Site
from inferform.plan import DeploymentPlan

CR = "cr-0123456789abcdef0"
ENDS = NOW + timedelta(days=13, hours=23, minutes=30)


def planned(aws: AwsDouble, kind: str = "reserved", most: int = 2, steady: int = 1, **part: Any) -> DeploymentPlan:
    """The ready plan with the 70B pool bought by a reservation in use1-az4."""
    data = ready(aws).model_dump(mode="json")
    pool = data["models"]["llama-70b"]["pools"]["aggregated"]
    pool["purchase"][0] |= {"kind": kind, "reservation_id": CR, "zone": "use1-az4", "nodes": {"min": steady, "steady": steady, "max": most}, **part}
    pool["infrastructure"]["zones"] = ["use1-az4"]
    return DeploymentPlan.model_validate(data)


def block(aws: AwsDouble, **part: Any) -> DeploymentPlan:
    """The same with a capacity block that ends at ENDS."""
    return planned(aws, "capacity_block", ends_at="2026-12-15T11:30:00Z", **part)


def reserve(aws: AwsDouble, **changes: Any) -> None:
    """Two p5.48xlarge in use1-az4, with `changes`."""
    given = {"instance_type": "p5.48xlarge", "zone": "use1-az4", "count": 2, **changes}
    aws.market.reserve(CR, **given)


def found(aws: AwsDouble, plan: DeploymentPlan) -> list[Finding]:
    return look(aws, plan, *reservations.CHECKS)


def test_a_reservation_that_fits_is_ok(aws: AwsDouble) -> None:
    """State, type, zone and free places are told."""
    reserve(aws)
    assert [("ok", f"{CR} of llama-70b/aggregated", "active, p5.48xlarge in use1-az4, 2 of 2 free")] == [
        (f.severity, f.subject, f.found) for f in found(aws, planned(aws))
    ]


def test_a_plan_without_reservations_asks_nothing(aws: AwsDouble) -> None:
    """No call is made for what the plan does not name."""
    assert [] == found(aws, ready(aws))
    assert "ec2:DescribeCapacityReservations" not in aws.called


def test_a_reservation_that_is_not_there_blocks(aws: AwsDouble) -> None:
    """An id that EC2 does not know names the field that holds it."""
    answer = found(aws, planned(aws))
    assert [("blocker", "correct reservation_id in models.llama-70b.capacity.purchase")] == [(f.severity, f.fix) for f in answer]
    assert f"aws ec2 describe-capacity-reservations --capacity-reservation-ids {CR} --region us-east-1" == answer[0].command


@pytest.mark.parametrize("state", ["expired", "cancelled", "failed", "payment-failed", "unavailable", "unsupported", "cancelling"])
def test_a_reservation_that_is_over_blocks(aws: AwsDouble, state: str) -> None:
    """Whatever will never be active again is a blocker."""
    reserve(aws, State=state)
    assert [("blocker", f"is {state}")] == [(f.severity, f.found) for f in found(aws, planned(aws))]


@pytest.mark.parametrize("state", ["pending", "scheduled", "assessing", "payment-pending"])
def test_a_reservation_to_come_is_a_warning(aws: AwsDouble, state: str) -> None:
    """A block that starts later is told with its start."""
    reserve(aws, State=state, free=0, StartDate=NOW + timedelta(hours=30), ReservationType="capacity-block", EndDate=ENDS)
    assert [("warning", f"{state}, starts 2026-12-02 18:00 UTC")] == [(f.severity, f.found) for f in found(aws, block(aws))]


@pytest.mark.parametrize(
    ("changes", "words", "fix"),
    [
        ({"instance_type": "p4d.24xlarge"}, "holds p4d.24xlarge", "set hardware.instance_types of llama-70b to p4d.24xlarge, or take another reservation"),
        ({"zone": "use1-az6"}, "is in use1-az6", "set zone to use1-az6 in models.llama-70b.capacity.purchase (and list it in cloud.zones)"),
        ({"ReservationType": "capacity-block"}, "is a capacity-block reservation", "set kind to capacity_block in models.llama-70b.capacity.purchase"),
        ({"InstancePlatform": "Windows"}, "is for Windows", "take a reservation for Linux/UNIX"),
        ({"Tenancy": "dedicated"}, "has dedicated tenancy", "take a reservation with default tenancy"),
        ({"count": 1}, "holds 1 instances", "set max_nodes to 1 in models.llama-70b.capacity.purchase, or enlarge the reservation"),
    ],
)
def test_what_does_not_fit_blocks(aws: AwsDouble, changes: dict[str, Any], words: str, fix: str) -> None:
    """Type, zone, kind, platform, tenancy and size are compared with the plan, each with its own fix."""
    reserve(aws, **changes)
    assert [("blocker", words, fix)] == [(f.severity, f.found, f.fix) for f in found(aws, planned(aws))]


def test_an_older_answer_without_zone_id_is_read_by_the_zone_name(aws: AwsDouble) -> None:
    """The name is looked up in the account's own zones."""
    names = {z["ZoneId"]: z["ZoneName"] for z in aws.client("ec2").describe_availability_zones()["AvailabilityZones"]}
    reserve(aws, AvailabilityZoneId="", AvailabilityZone=names["use1-az4"])
    assert ["ok"] == [f.severity for f in found(aws, planned(aws))]


def test_an_open_reservation_is_a_warning_with_the_command_that_closes_it(aws: AwsDouble) -> None:
    """Other instances of the account could take the places of an open reservation."""
    reserve(aws, InstanceMatchCriteria="open")
    answer = found(aws, planned(aws))
    assert ["warning"] == [f.severity for f in answer]
    assert f"aws ec2 modify-capacity-reservation --capacity-reservation-id {CR} --instance-match-criteria targeted --region us-east-1" == answer[0].command


@pytest.mark.parametrize(("free", "severity"), [(0, "blocker"), (1, "warning"), (2, "ok")])
def test_places_that_others_hold(aws: AwsDouble, free: int, severity: str) -> None:
    """Fewer free places than the steady node block; fewer than the maximum of two warn."""
    reserve(aws, free=free)
    assert [severity] == [f.severity for f in found(aws, planned(aws))]


def test_fc08_a_block_that_fits_is_ok(aws: AwsDouble) -> None:
    """An active block with the end that the plan knows."""
    reserve(aws, ReservationType="capacity-block", EndDate=ENDS)
    assert ["ok"] == [f.severity for f in found(aws, block(aws))]


def test_fc08_an_end_that_the_plan_has_too_late_blocks(aws: AwsDouble) -> None:
    """Nodes drained by the plan's later date would be ended by EC2 before; an earlier date only wastes time."""
    reserve(aws, ReservationType="capacity-block", EndDate=ENDS - timedelta(days=1))
    assert [("blocker", "set ends_at to 2026-12-14T11:30:00Z in models.llama-70b.capacity.purchase")] == [(f.severity, f.fix) for f in found(aws, block(aws))]
    reserve(aws, ReservationType="capacity-block", EndDate=ENDS + timedelta(days=1))
    assert ["warning"] == [f.severity for f in found(aws, block(aws))]


def test_fc08_no_end_in_the_plan_is_a_warning(aws: AwsDouble) -> None:
    """Without ends_at nothing drains the nodes before EC2 takes them."""
    reserve(aws, ReservationType="capacity-block", EndDate=ENDS)
    assert [("warning", "set ends_at to 2026-12-15T11:30:00Z in models.llama-70b.capacity.purchase")] == [
        (f.severity, f.fix) for f in found(aws, planned(aws, "capacity_block"))
    ]


def test_fc08_a_block_that_ends_is_told_with_the_next_on_offer(aws: AwsDouble) -> None:
    """Within the drain time it blocks, within two days it warns, each time with the block that can be bought."""
    aws.market.blocks = [
        {
            "CapacityBlockOfferingId": f"cbr-{n}", "InstanceType": "p5.48xlarge", "AvailabilityZone": "us-east-1d", "InstanceCount": 2,
            "StartDate": datetime(2026, 12, 10 - n, 11, 30, tzinfo=UTC), "UpfrontFee": "1510.00", "CurrencyCode": "USD",
        }
        for n in (1, 2)
    ]  # fmt: skip
    ends = NOW + timedelta(minutes=40)
    reserve(aws, ReservationType="capacity-block", EndDate=ends)
    answer = found(aws, planned(aws, "capacity_block", ends_at="2026-12-01T12:40:00Z"))
    assert ["blocker"] == [f.severity for f in answer]
    buy = "aws ec2 purchase-capacity-block --capacity-block-offering-id cbr-2 --instance-platform Linux/UNIX --region us-east-1"
    assert answer[0].fix.endswith(f"on offer: 2 x p5.48xlarge in us-east-1d from 2026-12-08 11:30 UTC for 1510.00 USD: {buy}")
    reserve(aws, ReservationType="capacity-block", EndDate=NOW + timedelta(hours=20))
    answer = found(aws, planned(aws, "capacity_block", ends_at="2026-12-02T08:00:00Z"))
    assert [("warning", "ends 2026-12-02 08:00 UTC, in 20 hours")] == [(f.severity, f.found) for f in answer]


def test_no_block_on_offer_is_said(aws: AwsDouble) -> None:
    """Where nothing can be bought the fix says so."""
    answer = found(aws, block(aws))
    assert answer[0].fix.endswith("; no block of 2 x p5.48xlarge is on offer now")


def test_an_unusable_offer_query_leaves_the_finding(aws: AwsDouble) -> None:
    """Without the permission to see offers the finding stands without one."""
    aws.fails["ec2:DescribeCapacityBlockOfferings"] = ("denied", 9)
    answer = found(aws, block(aws))
    assert [("blocker", "correct reservation_id in models.llama-70b.capacity.purchase")] == [(f.severity, f.fix) for f in answer]


def test_own_nodes_in_the_reservation_are_no_strangers(aws: AwsDouble) -> None:
    """A reservation that is full because the deployment runs in it is as it should be."""
    reserve(aws, free=0)
    own = Node("p5.48xlarge", "on_demand", True, "contract-qa-prod-llama-70b-aggregated", "subnet-1", CR)
    site = Site(planned(aws), Api(aws.sessions(), "us-east-1"), NOW, _known={"running": (own, own)})
    assert ["ok"] == [a.severity for check in reservations.CHECKS for a in check.look(site)]
