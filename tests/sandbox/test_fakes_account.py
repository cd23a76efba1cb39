"""The account of the double: what it rejects, as AWS does."""

from __future__ import annotations

from collections.abc import Iterator
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


def test_another_owner_than_expected_is_refused(aws: AwsDouble) -> None:
    """S3 answers 403 where the bucket is not the expected account's, and answers where it is."""
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=f"owned-{aws.number}")
    assert "403" == refused(s3.head_bucket, Bucket=f"owned-{aws.number}", ExpectedBucketOwner="111122223333")
    assert "AccessDenied" == refused(s3.get_bucket_tagging, Bucket=f"owned-{aws.number}", ExpectedBucketOwner="111122223333")
    assert 200 == s3.head_bucket(Bucket=f"owned-{aws.number}", ExpectedBucketOwner=aws.number)["ResponseMetadata"]["HTTPStatusCode"]
