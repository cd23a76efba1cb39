"""The state bucket: made, completed, left alone."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from cloud.double import AwsDouble, ready
from inferform.cloud.bootstrap import bootstrap
from inferform.cloud.results import BootstrapResult
from inferform.cloud.state_bucket import PROPERTIES, Bucket, policy_statements
from inferform.errors import InferformError, StateError

STRANGER = "999988887777"


def run(aws: AwsDouble, **options: Any) -> BootstrapResult:
    return bootstrap(ready(aws), aws.sessions(), **options)


def name(aws: AwsDouble) -> str:
    return f"state-{aws.number}"


def settings(aws: AwsDouble) -> dict[str, Any]:
    """Everything that bootstrap sets, as S3 has it."""
    s3, bucket = aws.client("s3"), name(aws)
    return {
        "tags": {t["Key"]: t["Value"] for t in s3.get_bucket_tagging(Bucket=bucket)["TagSet"]},
        "public": s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"],
        "ownership": s3.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]["Rules"][0]["ObjectOwnership"],
        "encryption": s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"][0]["ApplyServerSideEncryptionByDefault"],
        "versioning": s3.get_bucket_versioning(Bucket=bucket)["Status"],
        "policy": json.loads(s3.get_bucket_policy(Bucket=bucket)["Policy"])["Statement"],
        "lifecycle": s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"],
    }


def made_by_hand(aws: AwsDouble, keys: tuple[str, ...] = (), number: str | None = None) -> Any:
    """A bucket with the plan's name that bootstrap did not make; its client."""
    s3 = aws.client("s3", number=number)
    s3.create_bucket(Bucket=name(aws))
    for key in keys:
        s3.put_object(Bucket=name(aws), Key=key, Body=b"{}")
    return s3


def test_a_new_bucket_is_as_it_must_be(aws: AwsDouble) -> None:
    """Versioned, encrypted, private, owned by the bucket owner, TLS only, old versions expire, the newest stay."""
    result = run(aws)
    assert result.changed
    # S3 makes a bucket with the owner that is asked for, so that one needs no second call.
    assert {"bucket": "created", "tags": "created", "ownership": "kept"} == {
        s.name: s.action for s in result.steps if s.name in ("bucket", "tags", "ownership")
    }
    assert ["bucket", *(p.name for p in PROPERTIES)] == [s.name for s in result.steps]
    found = settings(aws)
    assert {"managed-by": "inferform", "purpose": "terraform-state"} == found["tags"]
    assert {"BlockPublicAcls": True, "BlockPublicPolicy": True, "IgnorePublicAcls": True, "RestrictPublicBuckets": True} == found["public"]
    assert ("BucketOwnerEnforced", {"SSEAlgorithm": "AES256"}, "Enabled") == (found["ownership"], found["encryption"], found["versioning"])
    everything = [f"arn:aws:s3:::{name(aws)}", f"arn:aws:s3:::{name(aws)}/*"]
    assert [{"Bool": {"aws:SecureTransport": "false"}}, {"NumericLessThan": {"s3:TlsVersion": "1.2"}}] == [s["Condition"] for s in found["policy"]]
    assert all(("Deny", "*", "s3:*", everything) == (s["Effect"], s["Principal"], s["Action"], s["Resource"]) for s in found["policy"])
    (rule,) = found["lifecycle"]
    assert 90 == rule["NoncurrentVersionExpiration"]["NoncurrentDays"]
    # The double forgets this one, so it is read from the request.
    assert b"<NewerNoncurrentVersions>20</NewerNoncurrentVersions>" in aws.sent["s3:PutLifecycleConfiguration"]
    assert {"ExpiredObjectDeleteMarker": True} == rule["Expiration"]


def test_no_lock_table_is_made(aws: AwsDouble) -> None:
    """Locks are objects beside the state, so nothing but STS and S3 is called."""
    run(aws)
    assert {"s3", "sts"} == {action.split(":")[0] for action in aws.called}


def test_a_second_run_changes_nothing(aws: AwsDouble) -> None:
    """Idempotent: every step is kept, and only reading calls are made."""
    run(aws)
    before = settings(aws)
    aws.called.clear()
    again = run(aws)
    assert (False, {"kept"}) == (again.changed, {s.action for s in again.steps})
    assert [] == [a for a in aws.called if not a.split(":")[1].startswith(("Get", "List", "Head"))]
    assert before == settings(aws)


def test_a_dry_run_changes_nothing_and_tells_all(aws: AwsDouble) -> None:
    """What would be made is listed; afterwards there is still no bucket."""
    result = run(aws, dry_run=True)
    assert (False, {"would create"}) == (result.changed, {s.action for s in result.steps})
    assert [] == aws.client("s3").list_buckets()["Buckets"]
    run(aws)
    aws.client("s3").put_bucket_versioning(Bucket=name(aws), VersioningConfiguration={"Status": "Suspended"})
    result = run(aws, dry_run=True)
    assert [("versions", "Suspended", "would change")] == [(s.name, s.found, s.action) for s in result.steps if s.action != "kept"]


@pytest.mark.parametrize(
    "action",
    [
        "s3:PutBucketTagging", "s3:PutBucketPublicAccessBlock", "s3:PutEncryptionConfiguration", "s3:PutBucketVersioning",
        "s3:PutBucketPolicy", "s3:PutLifecycleConfiguration",
    ],
)  # fmt: skip
def test_a_run_that_was_cut_off_is_completed_by_the_next(aws: AwsDouble, action: str) -> None:
    """Whichever step fails, the next run finishes and changes only what was missing."""
    aws.fails[action] = ("denied", 1)
    with pytest.raises(InferformError, match="what is done stays, so run bootstrap again"):
        run(aws)
    result = run(aws)
    assert result.changed
    assert result.steps[0].action == "kept"
    assert {"kept"} == {s.action for s in run(aws).steps}


@pytest.mark.parametrize(
    ("undo", "step"),
    [
        (lambda s3, b: s3.delete_public_access_block(Bucket=b), "public access"),
        (lambda s3, b: s3.delete_bucket_ownership_controls(Bucket=b), "ownership"),
        (lambda s3, b: s3.delete_bucket_encryption(Bucket=b), "encryption"),
        (lambda s3, b: s3.put_bucket_versioning(Bucket=b, VersioningConfiguration={"Status": "Suspended"}), "versions"),
        (lambda s3, b: s3.delete_bucket_policy(Bucket=b), "policy"),
        (lambda s3, b: s3.delete_bucket_lifecycle(Bucket=b), "lifecycle"),
    ],
)
def test_only_what_is_missing_is_changed(aws: AwsDouble, undo: Any, step: str) -> None:
    """One property that somebody took away is put back; no other is written."""
    run(aws)
    undo(aws.client("s3"), name(aws))
    aws.called.clear()
    result = run(aws)
    assert [step] == [s.name for s in result.steps if s.action == "changed"]
    assert 1 == sum(a.split(":")[1].startswith("Put") for a in aws.called)


def test_another_accounts_bucket_is_left_alone(aws: AwsDouble) -> None:
    """A name that belongs to another account is refused, and nothing is written there."""
    s3 = made_by_hand(aws, number=STRANGER)
    with pytest.raises(StateError, match=r"belongs to another account; set state\.bucket to another name"):
        run(aws)
    assert "Status" not in s3.get_bucket_versioning(Bucket=name(aws))


def test_a_bucket_that_holds_other_things_is_left_alone(aws: AwsDouble) -> None:
    """Objects that are no state are named, up to three; --adopt does not change that."""
    made_by_hand(aws, ("a/prod/network.tfstate", "logs/1", "logs/2", "logs/3", "logs/4"))
    for adopt in (False, True):
        with pytest.raises(StateError, match=r"holds other things than Terraform state \(logs/1, logs/2, logs/3\)"):
            run(aws, adopt=adopt)


def test_a_state_bucket_of_somebody_else_needs_a_word(aws: AwsDouble) -> None:
    """A bucket with state in it that bootstrap did not make is completed only with --adopt, and its objects stay."""
    s3 = made_by_hand(aws, ("a/prod/network.tfstate", "a/prod/network.tfstate.tflock"))
    with pytest.raises(StateError, match="--adopt"):
        run(aws)
    assert "Status" not in s3.get_bucket_versioning(Bucket=name(aws))
    assert run(aws, adopt=True).changed
    # The double speaks plain HTTP, so the policy that is now in force hides what is in the objects.
    assert ["a/prod/network.tfstate", "a/prod/network.tfstate.tflock"] == [o["Key"] for o in s3.list_objects_v2(Bucket=name(aws))["Contents"]]
    assert not run(aws).changed


def test_an_empty_bucket_of_the_account_is_completed(aws: AwsDouble) -> None:
    """A run that was cut off right after the bucket was made leaves exactly this."""
    made_by_hand(aws)
    assert {"kept", "changed"} == {s.action for s in run(aws).steps}


def test_a_bucket_in_another_region_is_left_alone(aws: AwsDouble) -> None:
    """The backend of the plan would not find it."""
    s3 = aws.client("s3", "eu-west-1")
    s3.create_bucket(Bucket=name(aws), CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    with pytest.raises(StateError, match="it is in eu-west-1 and the plan reads it in us-east-1"):
        run(aws)


def test_a_bucket_outside_us_east_1_is_made_where_the_plan_is(aws: AwsDouble) -> None:
    """The region is told to S3 as the location."""
    plan = ready(aws)
    moved = plan.model_copy(update={"cloud": plan.cloud.model_copy(update={"region": "eu-central-1"})})
    bootstrap(moved, aws.sessions())
    assert "eu-central-1" == aws.client("s3").get_bucket_location(Bucket=name(aws))["LocationConstraint"]
    assert {"kept"} == {s.action for s in bootstrap(moved, aws.sessions()).steps}


def put_policy(s3: Any, bucket: str, *statements: dict[str, Any]) -> None:
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": list(statements)}))


def test_statements_of_others_stay_beside_ours(aws: AwsDouble) -> None:
    """A policy that grants something else is kept and completed."""
    s3 = made_by_hand(aws)
    audit = {
        "Sid": "Audit", "Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:role/audit"}, "Action": "s3:ListBucket",
        "Resource": f"arn:aws:s3:::{name(aws)}",
    }  # fmt: skip
    put_policy(s3, name(aws), audit)
    run(aws)
    assert ["Audit", "InferformTlsOnly", "InferformRecentTls"] == [s["Sid"] for s in settings(aws)["policy"]]


def test_the_same_rule_under_another_name_is_enough(aws: AwsDouble) -> None:
    """Statements that say the same in another spelling are not written a second time."""
    s3 = made_by_hand(aws)
    mine = policy_statements(Bucket(None, aws.number, name(aws), True, "us-east-1"))  # type: ignore[arg-type]
    put_policy(s3, name(aws), *({**s, "Sid": f"Own{n}", "Action": ["s3:*"], "Principal": {"AWS": "*"}} for n, s in enumerate(mine)))
    assert "kept" == next(s.action for s in run(aws).steps if s.name == "policy")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ({"Sid": "Open", "Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}, "opens it to everybody \\(statement 'Open'\\)"),
        ({"Sid": "Open", "Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "s3:GetObject"}, "opens it to everybody"),
        ({"Sid": "InferformTlsOnly", "Effect": "Deny", "Principal": "*", "Action": "s3:PutObject"}, "has the statement 'InferformTlsOnly' with other content"),
    ],
)
def test_a_policy_that_conflicts_is_left_alone(aws: AwsDouble, statement: dict[str, Any], words: str) -> None:
    """A policy that opens the bucket, or says something else under our name, is for a person to look at."""
    s3 = made_by_hand(aws)
    put_policy(s3, name(aws), {**statement, "Resource": f"arn:aws:s3:::{name(aws)}/*"})
    with pytest.raises(StateError, match=words):
        run(aws, adopt=True)
    assert 1 == len(json.loads(s3.get_bucket_policy(Bucket=name(aws))["Policy"])["Statement"])


@pytest.mark.parametrize(
    "rule",
    [
        {"Expiration": {"Days": 30}},
        {"Transitions": [{"Days": 30, "StorageClass": "GLACIER"}]},
    ],
)
def test_a_lifecycle_that_would_take_the_state_is_left_alone(aws: AwsDouble, rule: dict[str, Any]) -> None:
    """Rules that expire or freeze current objects are refused by name."""
    s3 = made_by_hand(aws)
    rules = [{"ID": "clean", "Status": "Enabled", "Filter": {"Prefix": ""}, **rule}]
    s3.put_bucket_lifecycle_configuration(Bucket=name(aws), LifecycleConfiguration={"Rules": rules})
    with pytest.raises(StateError, match="lifecycle rule 'clean' expires or moves away current objects"):
        run(aws)


def test_harmless_lifecycle_rules_stay(aws: AwsDouble) -> None:
    """A disabled rule and one about uploads are kept beside ours; own numbers for old versions are kept instead of ours."""
    s3 = made_by_hand(aws)
    off = {"ID": "off", "Status": "Disabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}
    uploads = {"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": ""}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 3}}
    s3.put_bucket_lifecycle_configuration(Bucket=name(aws), LifecycleConfiguration={"Rules": [off, uploads]})
    run(aws)
    assert ["off", "uploads", "inferform-old-versions"] == [r["ID"] for r in settings(aws)["lifecycle"]]
    own = {"ID": "own", "Status": "Enabled", "Filter": {"Prefix": ""}, "NoncurrentVersionExpiration": {"NoncurrentDays": 365}}
    s3.put_bucket_lifecycle_configuration(Bucket=name(aws), LifecycleConfiguration={"Rules": [own]})
    assert not run(aws).changed


def test_a_stronger_encryption_stays(aws: AwsDouble) -> None:
    """A default of KMS is kept as it is."""
    s3 = made_by_hand(aws)
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}
    s3.put_bucket_encryption(Bucket=name(aws), ServerSideEncryptionConfiguration={"Rules": [rule]})
    assert ("aws:kms", "kept") == next((s.found, s.action) for s in run(aws).steps if s.name == "encryption")
    assert "aws:kms" == settings(aws)["encryption"]["SSEAlgorithm"]


def test_tags_of_others_stay(aws: AwsDouble) -> None:
    """Our mark is added to the tags that are there."""
    s3 = made_by_hand(aws)
    s3.put_bucket_tagging(Bucket=name(aws), Tagging={"TagSet": [{"Key": "cost-centre", "Value": "42"}]})
    run(aws)
    assert {"cost-centre": "42", "managed-by": "inferform", "purpose": "terraform-state"} == settings(aws)["tags"]


def test_every_reason_is_told_at_once(aws: AwsDouble) -> None:
    """A bucket with several things against it is refused once, with all of them."""
    s3 = made_by_hand(aws, ("photo.jpg",))
    put_policy(s3, name(aws), {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{name(aws)}/*"})
    with pytest.raises(StateError) as refused:
        run(aws)
    assert "opens it to everybody" in str(refused.value)
    assert "photo.jpg" in str(refused.value)


def test_two_runs_at_once_end_in_one_bucket(aws: AwsDouble) -> None:
    """Whoever comes second finds the bucket there and completes it."""
    faults: list[BaseException] = []

    def go() -> None:
        try:
            run(aws)
        except InferformError as err:
            faults.append(err)

    threads = [threading.Thread(target=go) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == faults
    assert not run(aws).changed


def test_local_state_needs_no_bucket_and_no_account() -> None:
    """With local state nothing is called, not even STS."""
    plan = ready(AwsDouble())
    local = plan.model_copy(update={"state": plan.state.model_copy(update={"backend": "local"})})

    def nothing() -> None:
        raise AssertionError("no session is needed")

    result = bootstrap(local, nothing)
    assert (None, (), False) == (result.bucket, result.steps, result.changed)
    assert "needs no bucket" in result.notes[0]


@pytest.mark.parametrize(
    ("action", "how", "words"),
    [
        ("s3:CreateBucket", "denied", "AWS does not let the caller s3:CreateBucket on bucket state-.*--policies prints the policy"),
        ("sts:GetCallerIdentity", "expired", "no valid AWS credentials: not today"),
        ("s3:PutBucketPolicy", "busy", "S3 is busy with another change of it; run bootstrap again in a minute"),
    ],
)
def test_what_aws_refuses_is_said_with_what_to_do(aws: AwsDouble, action: str, how: str, words: str) -> None:
    """Failed calls end as one sentence that names the action."""
    aws.fails[action] = (how, 99)
    with pytest.raises(InferformError, match=words):
        run(aws)
