"""The market of the double: what it rejects, as AWS does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError
from cloud.double import AwsDouble


@pytest.fixture
def aws() -> Iterator[AwsDouble]:
    """moto behind the fakes."""
    double = AwsDouble().start()
    yield double
    double.stop()


def refused(call: Any, **given: Any) -> str:
    """The error code of a call that AWS refuses."""
    with pytest.raises(ClientError) as err:
        call(**given)
    return str(err.value.response["Error"]["Code"])


def test_reservations_refuse_what_ec2_refuses(aws: AwsDouble) -> None:
    """Unknown and malformed ids are errors of their own kind."""
    ec2 = aws.client("ec2")
    assert "InvalidCapacityReservationId.NotFound" == refused(ec2.describe_capacity_reservations, CapacityReservationIds=["cr-0123456789abcdef0"])
    assert "InvalidCapacityReservationId.Malformed" == refused(ec2.describe_capacity_reservations, CapacityReservationIds=["cr-?"])


def test_reservations_come_back_as_ec2_writes_them(aws: AwsDouble) -> None:
    """Dates are dates and counts are numbers on the client's side."""
    aws.market.reserve("cr-0123456789abcdef0", instance_type="p5.48xlarge", zone="use1-az4", count=2, EndDate=datetime(2026, 12, 15, tzinfo=UTC))
    (row,) = aws.client("ec2").describe_capacity_reservations()["CapacityReservations"]
    assert (2, datetime(2026, 12, 15, tzinfo=UTC)) == (row["TotalInstanceCount"], row["EndDate"])


@pytest.mark.parametrize("given", [{"CapacityDurationHours": 25}, {"InstanceType": "g6.xlarge"}, {"InstanceCount": 65}, {"CapacityDurationHours": 24 * 15}])
def test_block_offers_refuse_what_ec2_refuses(aws: AwsDouble, given: dict[str, Any]) -> None:
    """Odd durations, types without blocks and too many instances."""
    usual = {"InstanceType": "p5.48xlarge", "InstanceCount": 2, "CapacityDurationHours": 24}
    assert "InvalidParameterValue" == refused(aws.client("ec2").describe_capacity_block_offerings, **{**usual, **given})
    assert [] == aws.client("ec2").describe_capacity_block_offerings(**usual)["CapacityBlockOfferings"]


def test_scores_refuse_what_ec2_refuses(aws: AwsDouble) -> None:
    """Types that do not exist, and a request without types."""
    ec2 = aws.client("ec2")
    assert "InvalidParameterValue" == refused(ec2.get_spot_placement_scores, InstanceTypes=["zz9.large"], TargetCapacity=1)
    assert "MissingParameter" == refused(ec2.get_spot_placement_scores, TargetCapacity=1)


def test_fewer_than_three_types_score_low(aws: AwsDouble) -> None:
    """As AWS does it, whatever the capacity."""
    aws.market.scores = {"use1-az4": 10}
    ec2 = aws.client("ec2")
    few = ec2.get_spot_placement_scores(InstanceTypes=["g6.xlarge"], TargetCapacity=1)
    many = ec2.get_spot_placement_scores(InstanceTypes=["g6.xlarge", "g6.2xlarge", "g6.4xlarge"], TargetCapacity=1)
    assert (3, 10) == (few["SpotPlacementScores"][0]["Score"], many["SpotPlacementScores"][0]["Score"])


def test_the_price_list_knows_one_service_here(aws: AwsDouble) -> None:
    """Another service code is refused."""
    assert "InvalidParameterException" == refused(aws.client("pricing").get_products, ServiceCode="AmazonWishes")
