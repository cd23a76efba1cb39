"""The fakes in front of moto leave everything else alone."""

from __future__ import annotations

import io

from cloud.double import AwsDouble
from inferform.sandbox.fakes_wire import read_operation


def test_what_is_not_faked_is_moto() -> None:
    """Other calls of the same services go on untouched, bodies included."""
    aws = AwsDouble().start()
    ec2 = aws.client("ec2")
    made = ec2.create_vpc(CidrBlock="10.7.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": [{"Key": "a", "Value": "b & c"}]}])["Vpc"]
    assert [{"Key": "a", "Value": "b & c"}] == ec2.describe_vpcs(VpcIds=[made["VpcId"]])["Vpcs"][0]["Tags"]
    assert [] == aws.client("eks").list_clusters()["clusters"]
    aws.stop()


def test_calls_of_others_are_left_unread() -> None:
    """A call that is not signed, to another service, large or streamed keeps its body for whoever answers it."""
    signed = "AWS4-HMAC-SHA256 Credential=AKID/20261201/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0"
    usual = {"HTTP_AUTHORIZATION": signed, "REQUEST_METHOD": "POST", "PATH_INFO": "/", "SERVER_NAME": "x", "SERVER_PORT": "80", "wsgi.url_scheme": "http"}
    body = b"Action=DescribeVpcs&Version=2016-11-15"
    for change in (
        {"HTTP_AUTHORIZATION": ""},
        {"HTTP_AUTHORIZATION": signed.replace("ec2", "iam")},
        {"HTTP_TRANSFER_ENCODING": "chunked"},
        {"CONTENT_LENGTH": str(2**21)},
    ):
        stream = io.BytesIO(body)
        assert read_operation({**usual, "CONTENT_LENGTH": str(len(body)), "wsgi.input": stream, **change}, {"ec2"}) is None
        assert body == stream.read()


def test_a_call_is_known_by_its_operation_and_parameters() -> None:
    """Service, operation, region and parameters are read, and the body can be read again."""
    signed = "AWS4-HMAC-SHA256 Credential=AKID/20261201/us-west-2/ec2/aws4_request, SignedHeaders=host, Signature=0"
    body = b"Action=DescribeVpcs&Version=2016-11-15&VpcId.1=vpc-1&VpcId.2=vpc-2"
    environ = {
        "HTTP_AUTHORIZATION": signed, "REQUEST_METHOD": "POST", "PATH_INFO": "/", "SERVER_NAME": "x", "SERVER_PORT": "80", "wsgi.url_scheme": "http",
        "CONTENT_TYPE": "application/x-www-form-urlencoded", "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body),
    }  # fmt: skip
    found = read_operation(environ, {"ec2"})
    assert found is not None
    assert ("ec2", "DescribeVpcs", "us-west-2", {"VpcIds": ["vpc-1", "vpc-2"]}) == (*found[:3], found[3]())
    assert body == environ["wsgi.input"].read()
