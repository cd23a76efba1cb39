"""A bucket for weights: private, encrypted, versioned, reached over TLS only, in any region."""

from __future__ import annotations

from inferform.stacks.aws.iam import document
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Value, text

_ABORT_UPLOAD_DAYS = 7


def bucket(stack: Stack, key: str, name: str, encryption: Handle, *, region: str | None = None) -> tuple[Handle, Handle]:
    """(bucket, its versioning) under the resource name `key`; `region` where that is not the deployment's."""
    plan = stack.plan
    # Weights can be fetched again; a protected deployment keeps its bucket until someone empties it.
    made = stack.resource("aws_s3_bucket", key, {"bucket": name, "force_destroy": not plan.protected, "region": region})
    where: dict[str, Value] = {"bucket": made.ref("id"), "region": region}
    stack.resource("aws_s3_bucket_ownership_controls", key, {**where, "rule": {"object_ownership": "BucketOwnerEnforced"}})
    versioning = stack.resource("aws_s3_bucket_versioning", key, {**where, "versioning_configuration": {"status": "Enabled"}})
    encrypt: Value = {"sse_algorithm": "aws:kms", "kms_master_key_id": encryption.ref("arn")}
    stack.resource(
        "aws_s3_bucket_server_side_encryption_configuration",
        key,
        {**where, "rule": [{"apply_server_side_encryption_by_default": encrypt, "bucket_key_enabled": True}]},
    )
    block = stack.resource(
        "aws_s3_bucket_public_access_block",
        key,
        {**where, "block_public_acls": True, "block_public_policy": True, "ignore_public_acls": True, "restrict_public_buckets": True},
    )
    rule: dict[str, Value] = {
        "id": "tidy",
        "status": "Enabled",
        "filter": [{"prefix": ""}],
        "noncurrent_version_expiration": [{"noncurrent_days": plan.model_store.keep_old_days}],
        "abort_incomplete_multipart_upload": [{"days_after_initiation": _ABORT_UPLOAD_DAYS}],
    }
    stack.resource("aws_s3_bucket_lifecycle_configuration", key, {**where, "rule": [rule]})
    everything: Value = [made.ref("arn"), text(made.ref("arn"), "/*")]
    deny: dict[str, Value] = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": everything}
    policy = document(
        {"Sid": "TlsOnly", **deny, "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
        {"Sid": "RecentTlsOnly", **deny, "Condition": {"NumericLessThan": {"s3:TlsVersion": "1.2"}}},
    )
    # S3 refuses two changes of one bucket's access at the same time.
    stack.resource("aws_s3_bucket_policy", key, {**where, "policy": policy}, depends_on=[block])
    return made, versioning
