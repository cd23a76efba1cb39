"""The copy of the model store in a second region: its own bucket and key there, filled by S3 as objects arrive.

Each resource names its region, as provider 6 allows; no second provider is configured, so the stack stays one apply.
"""

from __future__ import annotations

from inferform.labels import STORE_ROOT
from inferform.plan_store import ReplicaPlan
from inferform.stacks.aws import encryption, iam
from inferform.stacks.aws.account import Account
from inferform.stacks.aws.bucket import bucket
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Text, Value, text


def copy(stack: Stack, account: Account, replica: ReplicaPlan, *, source: Handle, source_key: Handle, versioning: Handle) -> None:
    """Bucket, key and role of the copy, and the rule that fills it."""
    key = encryption.key(stack, account, "model-store-copy", "Weights in the copy of the model store", region=replica.region)
    target, target_versioning = bucket(stack, "models-copy", replica.bucket, key, region=replica.region)
    role, grants = iam.role(
        stack,
        account,
        "model-store-copy",
        iam.service_trust("s3.amazonaws.com", {"StringEquals": {"aws:SourceAccount": account.id}}),
        inline={"copy": _policy(stack, replica, source=source, source_key=source_key, target=target, target_key=key)},
        description="Copies weights to the second region",
    )
    stack.resource(
        "aws_s3_bucket_replication_configuration",
        "models",
        {
            "bucket": source.ref("id"),
            "role": role.ref("arn"),
            "rule": [
                {
                    "id": "weights",
                    "status": "Enabled",
                    "priority": 0,
                    "filter": {"prefix": STORE_ROOT},
                    # What is deleted here by mistake stays there.
                    "delete_marker_replication": {"status": "Disabled"},
                    "source_selection_criteria": {"sse_kms_encrypted_objects": {"status": "Enabled"}},
                    "destination": {
                        "bucket": target.ref("arn"),
                        "storage_class": "STANDARD",
                        "encryption_configuration": {"replica_kms_key_id": key.ref("arn")},
                    },
                }
            ],
        },
        depends_on=[versioning, target_versioning, *grants],
    )


def _policy(stack: Stack, replica: ReplicaPlan, *, source: Handle, source_key: Handle, target: Handle, target_key: Handle) -> Text:
    """What S3 needs to copy encrypted objects. Source: S3 user guide, "Replicating encrypted objects" (read 2026-12-01)."""

    def via(region: str) -> dict[str, Value]:
        return {"StringLike": {"kms:ViaService": f"s3.{region}.amazonaws.com"}}

    return iam.document(
        iam.allow(["s3:GetReplicationConfiguration", "s3:ListBucket"], [source.ref("arn")]),
        iam.allow(["s3:GetObjectVersionAcl", "s3:GetObjectVersionForReplication", "s3:GetObjectVersionTagging"], [text(source.ref("arn"), f"/{STORE_ROOT}*")]),
        iam.allow(["s3:ReplicateObject", "s3:ReplicateTags"], [text(target.ref("arn"), f"/{STORE_ROOT}*")]),
        iam.allow(["kms:Decrypt"], [source_key.ref("arn")], via(stack.plan.cloud.region)),
        iam.allow(["kms:Encrypt"], [target_key.ref("arn")], via(replica.region)),
    )
