"""The bucket of weights."""

from __future__ import annotations

import json
from typing import Any

import pytest
from synthesis import changed, sample_stacks, stacks_of


def resources() -> dict[str, Any]:
    """Resources of the stack `model_store`."""
    return dict(sample_stacks()["model_store"]["resource"])


def test_weights_are_encrypted_versioned_and_private() -> None:
    """The bucket has the plan's name, a rotated key, versions, no access lists and no way to be public."""
    found = resources()
    assert "contract-qa-prod-models-0a1b2c3d" == found["aws_s3_bucket"]["models"]["bucket"]
    (rule,) = found["aws_s3_bucket_server_side_encryption_configuration"]["models"]["rule"]
    assert {"sse_algorithm": "aws:kms", "kms_master_key_id": "${aws_kms_key.model-store.arn}"} == rule["apply_server_side_encryption_by_default"]
    assert found["aws_kms_key"]["model-store"]["enable_key_rotation"] is True
    assert {"status": "Enabled"} == found["aws_s3_bucket_versioning"]["models"]["versioning_configuration"]
    assert {"object_ownership": "BucketOwnerEnforced"} == found["aws_s3_bucket_ownership_controls"]["models"]["rule"]
    block = found["aws_s3_bucket_public_access_block"]["models"]
    assert [True] * 4 == [block[n] for n in ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets")]


def test_plain_http_is_denied() -> None:
    """The policy denies everything without TLS and everything below TLS 1.2, on the bucket and on its objects."""
    policy = json.loads(resources()["aws_s3_bucket_policy"]["models"]["policy"])
    arn = "${aws_s3_bucket.models.arn}"
    for statement in policy["Statement"]:
        assert ("Deny", "*", "s3:*", [arn, f"{arn}/*"]) == tuple(statement[k] for k in ("Effect", "Principal", "Action", "Resource"))
    assert [{"Bool": {"aws:SecureTransport": "false"}}, {"NumericLessThan": {"s3:TlsVersion": "1.2"}}] == [s["Condition"] for s in policy["Statement"]]


def test_old_versions_do_not_pile_up() -> None:
    """Replaced weights go after 30 days, or what the plan says, and broken uploads after 7."""
    (rule,) = resources()["aws_s3_bucket_lifecycle_configuration"]["models"]["rule"]
    assert [{"noncurrent_days": 30}] == rule["noncurrent_version_expiration"]
    assert [{"days_after_initiation": 7}] == rule["abort_incomplete_multipart_upload"]
    longer = stacks_of(changed(lambda d: d["model_store"].update(keep_old_days=90)))["model_store"]["resource"]
    assert [{"noncurrent_days": 90}] == longer["aws_s3_bucket_lifecycle_configuration"]["models"]["rule"][0]["noncurrent_version_expiration"]


@pytest.mark.parametrize("protected", [True, False])
def test_a_protected_store_is_not_emptied(protected: bool) -> None:
    """Destroy empties the bucket only of a deployment that is not protected."""
    stacks = stacks_of(changed(lambda d: d.update(protected=protected)))
    assert (not protected) is stacks["model_store"]["resource"]["aws_s3_bucket"]["models"]["force_destroy"]
