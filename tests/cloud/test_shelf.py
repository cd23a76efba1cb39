"""Documents beside the state in S3."""

from __future__ import annotations

import boto3
import pytest
from botocore.exceptions import ResponseStreamingError
from cloud.double import AwsDouble, ready
from inferform.cloud.api import Api
from inferform.cloud.bootstrap import bootstrap
from inferform.cloud.permissions import Scope, policies
from inferform.cloud.shelf import S3Shelf
from inferform.errors import InferformError
from inferform.plan import DeploymentPlan


def shelf(aws: AwsDouble, plan: DeploymentPlan) -> S3Shelf:
    found = S3Shelf.of(plan, aws.sessions())
    assert found is not None
    return found


def opened(aws: AwsDouble, plan: DeploymentPlan) -> None:
    """The state bucket as bootstrap makes it, but open to plain HTTP, which its policy denies and the double speaks."""
    bootstrap(plan, aws.sessions())
    with pytest.raises(InferformError):
        shelf(aws, plan).write("current.json", b"{}")
    aws.client("s3").delete_bucket_policy(Bucket=plan.state.bucket)


def test_documents_lie_beside_the_state(aws: AwsDouble) -> None:
    """Written and read back under the deployment's own prefix; what is not there is None, before there is a bucket too."""
    plan = ready(aws)
    own = shelf(aws, plan)
    assert None is own.read("current.json")
    opened(aws, plan)
    assert ([], None) == (own.names(), own.read("current.json"))
    own.write("current.json", b'{"number": 1}')
    assert (["current.json"], b'{"number": 1}') == (own.names(), own.read("current.json"))
    keys = [o["Key"] for o in aws.client("s3").list_objects_v2(Bucket=plan.state.bucket)["Contents"]]
    assert [f"{plan.state.key_prefix}/applied/current.json"] == keys


def test_local_state_has_no_shelf(aws: AwsDouble) -> None:
    """Where the state lies in the folder, what was applied lies there alone as well."""
    plan = ready(aws)
    assert None is S3Shelf.of(plan.model_copy(update={"state": plan.state.model_copy(update={"backend": "local"})}), aws.sessions())


def test_a_missing_permission_is_named(aws: AwsDouble) -> None:
    """Each call that AWS refuses says which action the caller lacks."""
    plan = ready(aws)
    bootstrap(plan, aws.sessions())
    own = shelf(aws, plan)
    for action, call in (("s3:PutObject", lambda: own.write("a", b"")), ("s3:GetObject", lambda: own.read("a")), ("s3:ListBucket", own.names)):
        aws.fails[action] = ("denied", 9)
        with pytest.raises(InferformError, match=f"^the caller may not {action}$"):
            call()


def test_the_operator_may_write_it_and_ci_may_read_it(aws: AwsDouble) -> None:
    """The generated policies allow what the shelf calls: reading for both, writing for the operator."""
    plan = ready(aws)
    opened(aws, plan)
    aws.called.clear()
    own = shelf(aws, plan)
    own.write("current.json", b"{}")
    own.read("current.json")
    own.names()
    assert {"s3:GetObject", "s3:ListBucket", "s3:PutObject"} == set(aws.called)
    place = f"arn:aws:s3:::{plan.state.bucket}/{plan.state.key_prefix}/applied/*.json"
    documents = policies(["aws_vpc"], Scope.of(plan))
    writing = {name: [s for s in documents[name]["Statement"] if "s3:PutObject" in s["Action"] and place in s["Resource"]] for name in ("operator", "ci")}
    assert (1, 0) == (len(writing["operator"]), len(writing["ci"]))


def test_the_bucket_stays_one_of_terraform_state(aws: AwsDouble) -> None:
    """A state bucket without our mark that holds these documents can still be adopted; another document there is another thing."""
    plan = ready(aws)
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=plan.state.bucket)
    prefix = plan.state.key_prefix
    for key in ("network.tfstate", "applied/current.json", "applied/0001-0123456789ab.json"):
        s3.put_object(Bucket=plan.state.bucket, Key=f"{prefix}/{key}", Body=b"{}")
    assert bootstrap(plan, aws.sessions(), adopt=True).changed
    s3.delete_bucket_tagging(Bucket=plan.state.bucket)
    s3.delete_bucket_policy(Bucket=plan.state.bucket)
    s3.put_object(Bucket=plan.state.bucket, Key=f"{prefix}/applied/holiday.json", Body=b"{}")
    with pytest.raises(InferformError, match=r"holds other things than Terraform state \(.*holiday\.json\)"):
        bootstrap(plan, aws.sessions(), adopt=True)


def test_an_answer_that_breaks_off_is_told() -> None:
    """A connection that is lost while a document comes in is an error of ours, not a crash."""

    class Broken:
        def read(self) -> bytes:
            raise ResponseStreamingError(error="connection lost")

    class Client:
        meta = boto3.client("s3", region_name="us-east-1").meta

        def get_object(self, **given: object) -> dict[str, object]:
            return {"Body": Broken()}

    class Session:
        def client(self, service: str, **options: object) -> Client:
            return Client()

    own = S3Shelf(Api(Session, "us-east-1"), "state", "a/")
    with pytest.raises(InferformError, match=r"s3:GetObject: the answer broke off: .*connection lost"):
        own.read("current.json")
