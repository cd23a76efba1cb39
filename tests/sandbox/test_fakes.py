"""What the fakes in front of moto reject, and that they leave everything else alone."""

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


def test_quotas_refuse_what_service_quotas_refuses(aws: AwsDouble) -> None:
    """Unknown quotas, requests for no more than there is, and a second open request."""
    aws.account.quotas[("ec2", "L-417A185B")] = 96
    quotas = aws.client("service-quotas")
    p = {"ServiceCode": "ec2", "QuotaCode": "L-417A185B"}
    assert "NoSuchResourceException" == refused(quotas.get_service_quota, ServiceCode="ec2", QuotaCode="L-00000000")
    assert "IllegalArgumentException" == refused(quotas.request_service_quota_increase, **p, DesiredValue=96.0)
    quotas.request_service_quota_increase(**p, DesiredValue=192.0)
    assert "ResourceAlreadyExistsException" == refused(quotas.request_service_quota_increase, **p, DesiredValue=384.0)


def test_parameters_take_ten_names(aws: AwsDouble) -> None:
    """One more is refused; unknown names come back as such; names that are not ours go to moto."""
    ssm = aws.client("ssm")
    names = [f"/aws/service/eks/optimized-ami/1.{n}/amazon-linux-2023/x86_64/nvidia/recommended/image_id" for n in range(30, 41)]
    assert "ValidationException" == refused(ssm.get_parameters, Names=names)
    answer = ssm.get_parameters(Names=names[:10])
    assert ["1.31", "1.32", "1.33", "1.34", "1.35", "1.36"] == [p["Name"].split("/")[5] for p in answer["Parameters"]]
    assert 4 == len(answer["InvalidParameters"])
    ssm.put_parameter(Name="/own", Value="x", Type="String")
    assert ["x"] == [p["Value"] for p in ssm.get_parameters(Names=["/own"])["Parameters"]]


def test_the_price_list_knows_one_service_here(aws: AwsDouble) -> None:
    """Another service code is refused."""
    assert "InvalidParameterException" == refused(aws.client("pricing").get_products, ServiceCode="AmazonWishes")


def test_another_owner_than_expected_is_refused(aws: AwsDouble) -> None:
    """S3 answers 403 where the bucket is not the expected account's, and answers where it is."""
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=f"owned-{aws.number}")
    assert "403" == refused(s3.head_bucket, Bucket=f"owned-{aws.number}", ExpectedBucketOwner="111122223333")
    assert "AccessDenied" == refused(s3.get_bucket_tagging, Bucket=f"owned-{aws.number}", ExpectedBucketOwner="111122223333")
    assert 200 == s3.head_bucket(Bucket=f"owned-{aws.number}", ExpectedBucketOwner=aws.number)["ResponseMetadata"]["HTTPStatusCode"]


def test_what_is_not_faked_is_moto(aws: AwsDouble) -> None:
    """Other calls of the same services go on untouched, bodies included."""
    ec2 = aws.client("ec2")
    made = ec2.create_vpc(CidrBlock="10.7.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": [{"Key": "a", "Value": "b & c"}]}])["Vpc"]
    assert [{"Key": "a", "Value": "b & c"}] == ec2.describe_vpcs(VpcIds=[made["VpcId"]])["Vpcs"][0]["Tags"]
    assert [] == aws.client("eks").list_clusters()["clusters"]
