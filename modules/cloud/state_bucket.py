"""The bucket that holds Terraform state: what it must be like, how it is, and how the difference is made up.

The default encryption is SSE-S3: Terraform's S3 backend with `encrypt` and no key of its own asks for AES256 on every object it
writes, whatever the bucket's default, so a KMS default would protect nothing and would be one more thing that can be lost. A
bucket whose default is KMS already keeps it. Locks are objects beside the state (`use_lockfile`), so there is no table.
Source: hashicorp/terraform, internal/backend/remote-state/s3/client.go (read 2026-12-01).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from inferform.cloud.api import Api, CallFailedError

Json = dict[str, Any]

MARK = {"managed-by": "inferform", "purpose": "terraform-state"}
_RULE = "inferform-old-versions"
_OLD_DAYS, _OLD_KEPT, _UPLOAD_DAYS = 90, 20, 7
_BLOCK = {"BlockPublicAcls": True, "BlockPublicPolicy": True, "IgnorePublicAcls": True, "RestrictPublicBuckets": True}
_STATE_ENDS = (".tfstate", ".tfstate.tflock")
# What inferform keeps beside the state; see shelf.py.
_APPLIED = re.compile(r"/applied/(current|\d{4,}-[0-9a-f]{12})\.json$")


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket name as seen by one account. `exists` None: it is another account's."""

    api: Api
    account: str
    name: str
    exists: bool | None
    region: str

    def call(self, operation: str, **parameters: Any) -> Json:
        """A call that S3 only answers when the bucket is this account's."""
        return self.api.call("s3", operation, Bucket=self.name, ExpectedBucketOwner=self.account, **parameters)

    def read(self, operation: str, none: str, **parameters: Any) -> Json:
        """The answer; empty when S3 says with the code `none` that nothing is set."""
        try:
            return self.call(operation, **parameters)
        except CallFailedError as err:
            if err.code != none:
                raise
            return {}

    @property
    def arn(self) -> str:
        """ARN of the bucket."""
        partition = "aws-cn" if self.region.startswith("cn-") else "aws-us-gov" if self.region.startswith("us-gov-") else "aws"
        return f"arn:{partition}:s3:::{self.name}"


@dataclass(frozen=True, slots=True)
class Look:
    """How one property is. `conflict` says why it may not be changed, `keep` is what must stay beside our own."""

    found: str
    right: bool
    conflict: str = ""
    keep: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Property:
    """One property of the bucket: how to see it and how to set it."""

    name: str
    wanted: str
    look: Callable[[Bucket], Look]
    put: Callable[[Bucket, Look], Any]


def find(api: Api, account: str, name: str) -> Bucket:
    """The bucket in the account that asks.

    Raises: CallFailedError when S3 cannot be asked, or when the bucket is the account's own and may not be seen.
    """
    try:
        answer = api.call("s3", "head_bucket", Bucket=name, ExpectedBucketOwner=account)
    except CallFailedError as err:
        if err.code in ("404", "NoSuchBucket"):
            return Bucket(api, account, name, False, api.region)
        # S3 says 403 for another account's bucket and for a missing permission alike; the account's own list tells them apart.
        if err.kind != "denied" or name in {b["Name"] for b in api.listed("s3", "list_buckets", "Buckets", Prefix=name)}:
            raise
        return Bucket(api, account, name, None, api.region)
    return Bucket(api, account, name, True, str(answer.get("BucketRegion") or api.region))


def create(bucket: Bucket) -> None:
    """Make the bucket. Raises: CallFailedError; a bucket that this account just made is no failure."""
    where: Json = {} if bucket.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": bucket.region}}
    try:
        bucket.api.call("s3", "create_bucket", Bucket=bucket.name, ObjectOwnership="BucketOwnerEnforced", **where)
    except CallFailedError as err:
        # Two runs at once: the other one was faster.
        if err.code != "BucketAlreadyOwnedByYou":
            raise


def marked(bucket: Bucket) -> bool:
    """True for a bucket that bootstrap made or was told to adopt."""
    return MARK.items() <= _tags(bucket).items()


def strangers(bucket: Bucket) -> tuple[int, tuple[str, ...]]:
    """(objects seen, up to three of them that are not Terraform state), from the first thousand objects."""
    keys = [str(o["Key"]) for o in bucket.call("list_objects_v2", MaxKeys=1000).get("Contents") or ()]
    return len(keys), tuple(sorted(k for k in keys if not k.endswith(_STATE_ENDS) and not _APPLIED.search(k)))[:3]


def _tags(bucket: Bucket) -> dict[str, str]:
    return {t["Key"]: t["Value"] for t in bucket.read("get_bucket_tagging", "NoSuchTagSet").get("TagSet") or ()}


def _look_tags(bucket: Bucket) -> Look:
    tags = _tags(bucket)
    named = ", ".join(f"{k}={tags[k]}" for k in sorted(MARK) if k in tags)
    return Look(named or "none of ours", MARK.items() <= tags.items(), keep=tuple(sorted((k, v) for k, v in tags.items() if k not in MARK)))


def _put_tags(bucket: Bucket, look: Look) -> Any:
    tags = {**dict(look.keep), **MARK}
    return bucket.call("put_bucket_tagging", Tagging={"TagSet": [{"Key": k, "Value": v} for k, v in sorted(tags.items())]})


def _look_public(bucket: Bucket) -> Look:
    block = bucket.read("get_public_access_block", "NoSuchPublicAccessBlockConfiguration").get("PublicAccessBlockConfiguration", {})
    on = [k for k in _BLOCK if block.get(k)]
    return Look("all public access blocked" if len(on) == len(_BLOCK) else f"blocked: {', '.join(on) or 'nothing'}", len(on) == len(_BLOCK))


def _look_ownership(bucket: Bucket) -> Look:
    controls = bucket.read("get_bucket_ownership_controls", "OwnershipControlsNotFoundError").get("OwnershipControls", {})
    found = next((str(r["ObjectOwnership"]) for r in controls.get("Rules", ())), "not set")
    return Look(found, found == "BucketOwnerEnforced")


def _look_encryption(bucket: Bucket) -> Look:
    document = bucket.read("get_bucket_encryption", "ServerSideEncryptionConfigurationNotFoundError").get("ServerSideEncryptionConfiguration", {})
    rules = [r.get("ApplyServerSideEncryptionByDefault", {}).get("SSEAlgorithm") for r in document.get("Rules", ())]
    found = next((str(r) for r in rules if r), "not set")
    return Look(found, found != "not set")


def _put_encryption(bucket: Bucket, look: Look) -> Any:
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    return bucket.call("put_bucket_encryption", ServerSideEncryptionConfiguration={"Rules": [rule]})


def _look_versions(bucket: Bucket) -> Look:
    found = str(bucket.call("get_bucket_versioning").get("Status") or "off")
    return Look(found, found == "Enabled")


def policy_statements(bucket: Bucket) -> tuple[Json, ...]:
    """What the bucket policy must hold: no request without TLS 1.2 or newer."""
    deny: Json = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": [bucket.arn, f"{bucket.arn}/*"]}
    return (
        {"Sid": "InferformTlsOnly", **deny, "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
        {"Sid": "InferformRecentTls", **deny, "Condition": {"NumericLessThan": {"s3:TlsVersion": "1.2"}}},
    )


def _look_policy(bucket: Bucket) -> Look:
    text = bucket.read("get_bucket_policy", "NoSuchBucketPolicy").get("Policy")
    try:
        statements = _listed(json.loads(text).get("Statement", [])) if text else []
    except (ValueError, AttributeError):
        return Look("unreadable", False, "its bucket policy is not JSON that can be read")
    wanted = [_plain(s) for s in policy_statements(bucket)]
    there = [_plain(s) for s in statements]
    sids = {s.get("Sid") for s in policy_statements(bucket)}
    missing = [w for w in wanted if w not in there]
    changed = sorted(str(s["Sid"]) for s, p in zip(statements, there, strict=True) if s.get("Sid") in sids and p not in wanted)
    open_to_all = [s for s in statements if s.get("Effect") == "Allow" and s.get("Principal") in ("*", {"AWS": "*"}) and not s.get("Condition")]
    conflict = ""
    if open_to_all:
        conflict = f"its bucket policy opens it to everybody (statement {open_to_all[0].get('Sid', 'without Sid')!r})"
    elif changed:
        conflict = f"its bucket policy has the statement {changed[0]!r} with other content"
    found = f"{len(statements)} statements, TLS {'required' if not missing else 'not required'}" if statements else "none"
    return Look(found, not missing, conflict, tuple(statements))


def _put_policy(bucket: Bucket, look: Look) -> Any:
    there = [_plain(s) for s in look.keep]
    statements = [*look.keep, *(s for s in policy_statements(bucket) if _plain(s) not in there)]
    return bucket.call("put_bucket_policy", Policy=json.dumps({"Version": "2012-10-17", "Statement": statements}, sort_keys=True))


def _plain(statement: Json) -> Json:
    """A statement without its name, in the one spelling that compares."""
    same = {k: sorted(_listed(v)) if k in ("Action", "Resource") else v for k, v in statement.items() if k != "Sid"}
    if same.get("Principal") == {"AWS": "*"}:
        same["Principal"] = "*"
    return same


def _look_lifecycle(bucket: Bucket) -> Look:
    rules = list(bucket.read("get_bucket_lifecycle_configuration", "NoSuchLifecycleConfiguration").get("Rules") or ())
    enabled = [r for r in rules if r.get("Status") == "Enabled"]
    # A delete marker that stands alone may go; a date or an age takes the state itself away.
    deadly = [r for r in enabled if r.get("Transitions") or {"Days", "Date"} & set(r.get("Expiration") or {})]
    conflict = f"its lifecycle rule {deadly[0].get('ID', 'without id')!r} expires or moves away current objects, which would take the state" if deadly else ""
    tidy = any("NoncurrentVersionExpiration" in r for r in enabled)
    found = f"{len(rules)} rules, old versions {'expire' if tidy else 'stay for ever'}" if rules else "none"
    return Look(found, tidy, conflict, tuple(rules))


def _put_lifecycle(bucket: Bucket, look: Look) -> Any:
    rule = {
        "ID": _RULE,
        "Status": "Enabled",
        "Filter": {"Prefix": ""},
        # Every run leaves a version of the lock file, so old ones have to go; the newest stay whatever their age.
        "NoncurrentVersionExpiration": {"NoncurrentDays": _OLD_DAYS, "NewerNoncurrentVersions": _OLD_KEPT},
        "Expiration": {"ExpiredObjectDeleteMarker": True},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": _UPLOAD_DAYS},
    }
    rules = [*(r for r in look.keep if r.get("ID") != _RULE), rule]
    return bucket.call("put_bucket_lifecycle_configuration", LifecycleConfiguration={"Rules": rules})


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# The mark comes first, so that a run that was cut off is known as ours by the next.
PROPERTIES = (
    Property("tags", ", ".join(f"{k}={v}" for k, v in sorted(MARK.items())), _look_tags, _put_tags),
    Property("public access", "all public access blocked", _look_public, lambda b, look: b.call("put_public_access_block", PublicAccessBlockConfiguration=_BLOCK)),
    Property(
        "ownership", "BucketOwnerEnforced", _look_ownership,
        lambda b, look: b.call("put_bucket_ownership_controls", OwnershipControls={"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}),
    ),
    Property("encryption", "AES256 or KMS", _look_encryption, _put_encryption),
    Property("versions", "Enabled", _look_versions, lambda b, look: b.call("put_bucket_versioning", VersioningConfiguration={"Status": "Enabled"})),
    Property("policy", "TLS 1.2 or newer required", _look_policy, _put_policy),
    Property("lifecycle", f"old versions expire after {_OLD_DAYS} days, the newest {_OLD_KEPT} stay", _look_lifecycle, _put_lifecycle),
)  # fmt: skip
