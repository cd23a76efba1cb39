"""Stack `model_store`: the bucket that holds weights; private, encrypted, versioned, reached over TLS only."""

from __future__ import annotations

from inferform.stacks.aws import encryption
from inferform.stacks.aws.account import open_account
from inferform.stacks.aws.iam import document
from inferform.stacks.resource import Stack
from inferform.stacks.values import Value, text

OUTPUTS = {"bucket_name": "string", "bucket_arn": "string", "key_arn": "string"}

_KEEP_OLD_DAYS = 30
_ABORT_UPLOAD_DAYS = 7


def build(stack: Stack) -> None:
    """Fill the stack."""
    account = open_account(stack)
    plan = stack.plan
    key = encryption.key(stack, account, "model-store", "Weights in the model store")
    # Weights can be fetched again; a protected deployment keeps its bucket until someone empties it.
    bucket = stack.resource("aws_s3_bucket", "models", {"bucket": plan.model_store.bucket, "force_destroy": not plan.protected})
    where: dict[str, Value] = {"bucket": bucket.ref("id")}
    stack.resource("aws_s3_bucket_ownership_controls", "models", {**where, "rule": {"object_ownership": "BucketOwnerEnforced"}})
    stack.resource("aws_s3_bucket_versioning", "models", {**where, "versioning_configuration": {"status": "Enabled"}})
    encrypt: Value = {"sse_algorithm": "aws:kms", "kms_master_key_id": key.ref("arn")}
    stack.resource(
        "aws_s3_bucket_server_side_encryption_configuration",
        "models",
        {**where, "rule": [{"apply_server_side_encryption_by_default": encrypt, "bucket_key_enabled": True}]},
    )
    block = stack.resource(
        "aws_s3_bucket_public_access_block",
        "models",
        {**where, "block_public_acls": True, "block_public_policy": True, "ignore_public_acls": True, "restrict_public_buckets": True},
    )
    rule: dict[str, Value] = {
        "id": "tidy",
        "status": "Enabled",
        "filter": [{"prefix": ""}],
        "noncurrent_version_expiration": [{"noncurrent_days": _KEEP_OLD_DAYS}],
        "abort_incomplete_multipart_upload": [{"days_after_initiation": _ABORT_UPLOAD_DAYS}],
    }
    stack.resource("aws_s3_bucket_lifecycle_configuration", "models", {**where, "rule": [rule]})
    everything: Value = [bucket.ref("arn"), text(bucket.ref("arn"), "/*")]
    deny: dict[str, Value] = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": everything}
    policy = document(
        {"Sid": "TlsOnly", **deny, "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
        {"Sid": "RecentTlsOnly", **deny, "Condition": {"NumericLessThan": {"s3:TlsVersion": "1.2"}}},
    )
    # S3 refuses two changes of one bucket's access at the same time.
    stack.resource("aws_s3_bucket_policy", "models", {**where, "policy": policy}, depends_on=[block])
    stack.output("bucket_name", bucket.ref("id"))
    stack.output("bucket_arn", bucket.ref("arn"))
    stack.output("key_arn", key.ref("arn"))
