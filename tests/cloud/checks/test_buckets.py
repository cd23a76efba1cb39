"""The state bucket and the name of the model store, as preflight sees them."""

from __future__ import annotations

import pytest
from cloud.double import AwsDouble, ready
from cloud.looking import look
from inferform.cloud.bootstrap import bootstrap
from inferform.cloud.checks import buckets

STATE, MODELS = buckets.CHECKS
STRANGER = "999988887777"


def test_a_missing_state_bucket_blocks_with_the_command(aws: AwsDouble) -> None:
    """Without the bucket terraform init fails; bootstrap makes it."""
    assert [("blocker", "not there", "inferform bootstrap SPEC --env prod")] == [(f.severity, f.found, f.command) for f in look(aws, ready(aws), STATE)]


def test_a_bucket_that_bootstrap_made_is_ok(aws: AwsDouble) -> None:
    """One finding, nothing to do."""
    plan = ready(aws)
    bootstrap(plan, aws.sessions())
    assert [("ok", "there, versioned, encrypted, private, TLS only")] == [(f.severity, f.found) for f in look(aws, plan, STATE)]


def test_a_property_that_is_missing_warns(aws: AwsDouble) -> None:
    """Each property that somebody took away is named."""
    plan = ready(aws)
    bootstrap(plan, aws.sessions())
    aws.client("s3").put_bucket_versioning(Bucket=plan.state.bucket, VersioningConfiguration={"Status": "Suspended"})
    assert [("warning", f"bucket {plan.state.bucket} versions", "Suspended")] == [(f.severity, f.subject, f.found) for f in look(aws, plan, STATE)]


def test_a_stranger_under_the_name_of_the_state_bucket_blocks(aws: AwsDouble) -> None:
    """Neither another account's bucket nor one with other things in it will do."""
    plan = ready(aws)
    s3 = aws.client("s3", number=STRANGER)
    s3.create_bucket(Bucket=plan.state.bucket)
    (found,) = look(aws, plan, STATE)
    assert ("blocker", True) == (found.severity, found.found.startswith("it belongs to another account"))
    s3.delete_bucket(Bucket=plan.state.bucket)
    aws.client("s3").create_bucket(Bucket=plan.state.bucket)
    aws.client("s3").put_object(Bucket=plan.state.bucket, Key="photo.jpg", Body=b"")
    (found,) = look(aws, plan, STATE)
    assert ("blocker", True) == (found.severity, "photo.jpg" in found.found)


def test_local_state_wants_no_bucket(aws: AwsDouble) -> None:
    """Nothing is asked of S3 then."""
    plan = ready(aws)
    local = plan.model_copy(update={"state": plan.state.model_copy(update={"backend": "local"})})
    assert [("ok", "local files")] == [(f.severity, f.found) for f in look(aws, local, STATE)]


@pytest.mark.parametrize(
    ("owner", "tags", "severity", "words"),
    [
        (None, {}, "ok", "not there yet"),
        ("own", {"deployment": "contract-qa", "environment": "prod", "tenant": "acme"}, "ok", "there, made by this deployment"),
        ("own", {"deployment": "other"}, "blocker", "made by something else in this account"),
        (STRANGER, {}, "blocker", "belongs to another account"),
    ],
)
def test_the_name_of_the_model_store_must_be_free_or_ours(aws: AwsDouble, owner: str | None, tags: dict[str, str], severity: str, words: str) -> None:
    """Bucket names are shared by everybody, so apply may find one taken."""
    plan = ready(aws)
    if owner:
        s3 = aws.client("s3", number=None if owner == "own" else owner)
        s3.create_bucket(Bucket=plan.model_store.bucket)
        if tags:
            s3.put_bucket_tagging(Bucket=plan.model_store.bucket, Tagging={"TagSet": [{"Key": k, "Value": v} for k, v in tags.items()]})
    assert [(severity, words)] == [(f.severity, f.found) for f in look(aws, plan, MODELS)]
