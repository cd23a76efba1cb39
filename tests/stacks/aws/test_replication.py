"""The copy of the model store in a second region."""

from __future__ import annotations

import json
from typing import Any

from synthesis import changed, sample_stacks, stacks_of

REPLICA = {"region": "us-west-2", "bucket": "contract-qa-prod-models-copy-1a2b3c4d"}


def resources() -> dict[str, Any]:
    return dict(stacks_of(changed(lambda d: d["model_store"].update(replica=REPLICA)))["model_store"]["resource"])


def test_the_copy_is_as_safe_as_the_original() -> None:
    """Everything that guards the bucket guards its copy, in the other region, under a key of that region."""
    found = resources()
    guards = [kind for kind, named in found.items() if "models" in named and kind.startswith("aws_s3_bucket") and "replication" not in kind]
    assert 7 == len(guards)
    for kind in guards:
        original, copy = (
            {k: v for k, v in found[kind][name].items() if k not in ("bucket", "rule", "policy", "depends_on")} for name in ("models", "models-copy")
        )
        assert {**original, "region": "us-west-2"} == copy, kind
    assert "us-west-2" == found["aws_kms_key"]["model-store-copy"]["region"] == found["aws_kms_alias"]["model-store-copy"]["region"]
    (rule,) = found["aws_s3_bucket_server_side_encryption_configuration"]["models-copy"]["rule"]
    assert "${aws_kms_key.model-store-copy.arn}" == rule["apply_server_side_encryption_by_default"]["kms_master_key_id"]
    assert found["aws_kms_key"]["model-store-copy"]["enable_key_rotation"] is True


def test_encrypted_weights_are_copied_and_deletions_are_not() -> None:
    """The rule takes objects under the store's key, encrypts them anew, and leaves the copy alone when one is deleted."""
    found = resources()
    made = found["aws_s3_bucket_replication_configuration"]["models"]
    (rule,) = made["rule"]
    assert ({"prefix": "models/"}, {"status": "Disabled"}) == (rule["filter"], rule["delete_marker_replication"])
    assert {"sse_kms_encrypted_objects": {"status": "Enabled"}} == rule["source_selection_criteria"]
    assert {"replica_kms_key_id": "${aws_kms_key.model-store-copy.arn}"} == rule["destination"]["encryption_configuration"]
    # S3 refuses replication before both buckets keep versions.
    assert {"aws_s3_bucket_versioning.models", "aws_s3_bucket_versioning.models-copy"} <= set(made["depends_on"])


def test_the_role_reads_here_and_writes_there() -> None:
    """S3 takes on the role for this account alone; it decrypts with the store's key and encrypts with the copy's, and deletes nothing."""
    found = resources()
    trust = json.loads(found["aws_iam_role"]["model-store-copy"]["assume_role_policy"])["Statement"][0]
    assert ({"Service": "s3.amazonaws.com"}, {"aws:SourceAccount": "${data.aws_caller_identity.current.account_id}"}) == (
        trust["Principal"], trust["Condition"]["StringEquals"],
    )  # fmt: skip
    statements = json.loads(found["aws_iam_role_policy"]["model-store-copy-copy"]["policy"])["Statement"]
    where = {a: s["Resource"] for s in statements for a in s["Action"]}
    assert ["${aws_s3_bucket.models-copy.arn}/models/*"] == where["s3:ReplicateObject"]
    assert (["${aws_kms_key.model-store.arn}"], ["${aws_kms_key.model-store-copy.arn}"]) == (where["kms:Decrypt"], where["kms:Encrypt"])
    assert not [a for a in where if "Delete" in a or a.endswith("*")]


def test_without_a_second_region_there_is_nothing_of_it() -> None:
    """The sample's store stands alone, and no resource of any stack names a region."""
    stacks = sample_stacks()
    assert "aws_s3_bucket_replication_configuration" not in stacks["model_store"]["resource"]
    assert not [name for stack in stacks.values() for named in stack["resource"].values() for name, body in named.items() if "region" in body]
