"""The way to AWS: what a refusal means, and the names of IAM actions."""

from __future__ import annotations

import threading

import boto3
import pytest
from botocore import exceptions
from botocore.exceptions import ParamValidationError
from cloud.double import AwsDouble
from inferform.cloud.api import _CREDENTIAL_ERRORS, Api, CallFailedError, EndpointSession, sessions
from inferform.sandbox.server import _Quiet
from werkzeug.serving import make_server
from werkzeug.wrappers import Response


def api(aws: AwsDouble) -> Api:
    return Api(aws.sessions(), "us-east-1")


@pytest.mark.parametrize(
    ("service", "operation", "given", "action"),
    [
        ("ec2", "describe_vpcs", {}, "ec2:DescribeVpcs"),
        ("sts", "get_caller_identity", {}, "sts:GetCallerIdentity"),
        ("service-quotas", "get_service_quota", {"ServiceCode": "ec2", "QuotaCode": "L-1"}, "servicequotas:GetServiceQuota"),
        ("s3", "list_buckets", {}, "s3:ListAllMyBuckets"),
        ("s3", "get_bucket_encryption", {"Bucket": "some-bucket"}, "s3:GetEncryptionConfiguration"),
        ("eks", "list_clusters", {}, "eks:ListClusters"),
    ],
)
def test_a_refusal_names_the_iam_action(aws: AwsDouble, service: str, operation: str, given: dict[str, str], action: str) -> None:
    """IAM's own name of the action is told, which for some services and S3 is not the operation's."""
    aws.fails[action] = ("denied", 9)
    with pytest.raises(CallFailedError) as err:
        api(aws).call(service, operation, **given)
    assert ("denied", action, "not today") == (err.value.kind, err.value.action, err.value.words)


@pytest.mark.parametrize(("how", "kind"), [("denied", "denied"), ("expired", "credentials")])
def test_kinds_of_refusal(aws: AwsDouble, how: str, kind: str) -> None:
    """What AWS says by its codes is one of a few kinds here."""
    aws.fails["ec2:DescribeVpcs"] = (how, 99)
    with pytest.raises(CallFailedError) as err:
        list(api(aws).listed("ec2", "describe_vpcs", "Vpcs"))
    assert kind == err.value.kind


def test_nobody_answers() -> None:
    """A closed port is unreachable, with the action that was tried."""
    closed = Api(lambda: EndpointSession(boto3.Session("x", "y"), "http://127.0.0.1:9"), "us-east-1")
    with pytest.raises(CallFailedError) as err:
        closed.call("eks", "list_clusters")
    assert ("unreachable", "eks:ListClusters", "us-east-1") == (err.value.kind, err.value.action, err.value.region)


def test_an_answer_that_is_not_from_aws_is_unreachable() -> None:
    """A proxy's web page in the place of an answer is told as such."""
    page = make_server("127.0.0.1", 0, Response("<html><p>Please sign in</html>", content_type="text/html"), threaded=True, request_handler=_Quiet)
    threading.Thread(target=page.serve_forever, args=(0.02,), daemon=True).start()
    try:
        strange = Api(lambda: EndpointSession(boto3.Session("x", "y"), f"http://127.0.0.1:{page.server_port}"), "us-east-1")
        with pytest.raises(CallFailedError) as err:
            strange.call("sts", "get_caller_identity")
    finally:
        page.shutdown()
        page.server_close()
    assert ("unreachable", "the answer is not from AWS; does a proxy stand between?") == (err.value.kind, err.value.words)


def test_wrong_parameters_are_a_fault_of_ours(aws: AwsDouble) -> None:
    """A call that botocore refuses to send is not taken for an answer of AWS."""
    with pytest.raises(ParamValidationError):
        api(aws).call("ec2", "describe_vpcs", NoSuch=1)


def test_every_page_is_read(aws: AwsDouble) -> None:
    """More items than one page holds come back as one list."""
    ec2 = aws.client("ec2")
    for n in range(7):
        ec2.create_vpc(CidrBlock=f"10.{n}.0.0/16")
    # One more is the account's default.
    assert 8 == len(list(api(aws).listed("ec2", "describe_vpcs", "Vpcs", PaginationConfig={"PageSize": 5})))


def test_clients_are_shared(aws: AwsDouble) -> None:
    """A service and region has one client, however often it is asked."""
    one = api(aws)
    assert one._client("ec2", "us-east-1") is one._client("ec2", "us-east-1")
    assert one._client("ec2", "us-east-1") is not one._client("ec2", "us-west-2")


def test_sessions_of_a_sandbox_talk_to_it(aws: AwsDouble) -> None:
    """With an address, clients go there with credentials that only have to be there."""
    assert aws.number == Api(sessions(aws.url), "us-east-1").call("sts", "get_caller_identity")["Account"]


def test_the_errors_that_mean_no_credentials_are_botocores_own() -> None:
    """Each name is an exception of the installed botocore, so a renamed one is noticed."""
    assert [] == [n for n in sorted(_CREDENTIAL_ERRORS) if not issubclass(getattr(exceptions, n, int), exceptions.BotoCoreError)]
