"""IAM policies for who applies, who only plans and who makes the state bucket, from the resource types that are really used.

What each type needs is data (`data/permissions.json`); here it is put together and held to the deployment: by the names of its
resources where they have names, by its tags where it deletes, and by its region.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from inferform.errors import InputError, Problem
from inferform.plan import DeploymentPlan

Json = dict[str, Any]
STEPS = ("create", "read", "update", "delete", "tag")
# Managed policies end at 6,144 characters, the inline policies of a role at 10,240. Source: IAM quotas (read 2026-12-01).
MANAGED_LIMIT, INLINE_LIMIT = 6_144, 10_240
_VERSION = "2012-10-17"
_ROLE_START = 55


@dataclass(frozen=True, slots=True)
class Scope:
    """What the policies are held to. `account` may be `*`: a resource ARN then fits any account, as the caller's own decides."""

    region: str
    prefix: str
    cluster: str
    state_bucket: str
    state_prefix: str
    model_bucket: str
    tags: Mapping[str, str]
    account: str = "*"
    copy_region: str = ""
    copy_bucket: str = ""

    @classmethod
    def of(cls, plan: DeploymentPlan, account: str = "*") -> Scope:
        """The scope of one deployment in one environment."""
        tags = {"deployment": plan.name, "environment": plan.environment}
        replica = plan.model_store.replica
        copy = {"copy_region": replica.region, "copy_bucket": replica.bucket} if replica else {}
        state = plan.state.bucket if plan.state.backend == "s3" else ""
        return cls(plan.cloud.region, plan.resource_prefix(), plan.cluster_name(), state, plan.state.key_prefix, plan.model_store.bucket, tags, account, **copy)

    @property
    def partition(self) -> str:
        """AWS partition of the region."""
        return "aws-cn" if self.region.startswith("cn-") else "aws-us-gov" if self.region.startswith("us-gov-") else "aws"


@cache
def table() -> Json:
    """The data: `resource` and `data` types to actions by step, `preflight` and `bootstrap` actions, `scopes` of actions."""
    found: Json = json.loads(resources.files("inferform.cloud.data").joinpath("permissions.json").read_text(encoding="utf-8"))
    return found


def used(stacks: Iterable[Json]) -> set[str]:
    """Types in Terraform JSON configurations, as `policies` takes them."""
    return {kind for stack in stacks for kind in (*stack.get("resource", {}), *(f"data.{k}" for k in stack.get("data", {})))}


def size(document: Json) -> int:
    """Characters of a policy as IAM counts them: without blanks."""
    return len(json.dumps(document, separators=(",", ":")))


def actions(kinds: Iterable[str], steps: Sequence[str] = STEPS) -> tuple[str, ...]:
    """Sorted IAM actions of resource types (`aws_vpc`) and data sources (`data.aws_partition`).

    Raises: InputError naming every type that the table lacks.
    """
    known, found, missing = table(), set[str](), []
    for kind in sorted(set(kinds)):
        section, _, name = ("data", "", kind[5:]) if kind.startswith("data.") else ("resource", "", kind)
        if name not in known[section]:
            missing.append(Problem("the permissions of this resource type are not known", value=kind, fix="add it to cloud/data/permissions.json"))
            continue
        found |= {a for step, listed in known[section][name].items() if step in steps for a in listed}
    if missing:
        raise InputError(missing)
    return tuple(sorted(found))


def policies(kinds: Iterable[str], scope: Scope) -> dict[str, Json]:
    """Policy documents: `operator` (plan, apply, destroy), `ci` (plan only) and `bootstrap` (the state bucket).

    An operator policy that is too long for a role's inline policies comes as managed ones: `operator`, `operator-2` and so on.
    """
    used = sorted(set(kinds))
    look = {*table()["provider"], *table()["preflight"], *actions(used, ("read",))}
    return {
        **_operator([*_statements({*look, *actions(used)}, scope), *_state(scope, write=True)]),
        "ci": _document([*_statements(look, scope), *_state(scope, write=False)]),
        "bootstrap": _document(_bootstrap(scope)),
    }


def _operator(statements: Sequence[Json]) -> dict[str, Json]:
    if size(whole := _document(statements)) <= INLINE_LIMIT:
        return {"operator": whole}
    parts: list[list[Json]] = [[]]
    for statement in statements:
        if size(_document([*parts[-1], statement])) > MANAGED_LIMIT:
            parts.append([])
        parts[-1].append(statement)
    return {"operator" if n == 1 else f"operator-{n}": _document(part) for n, part in enumerate(parts, 1)}


def _document(statements: Sequence[Json]) -> Json:
    return {"Version": _VERSION, "Statement": list(statements)}


def _statements(wanted: set[str], scope: Scope) -> list[Json]:
    """The actions by the narrowest scope that AWS supports for them; what no scope takes is held to the region."""
    found, left = [], set(wanted)
    for row in table()["scopes"]:
        mine = sorted(left & set(row["actions"]))
        if mine:
            left -= set(mine)
            where = [_filled(r, one) for one in _places(row["sid"], scope) for r in row["resources"]]
            found.append(_statement(row["sid"], mine, where, _conditions(row, scope)))
    # IAM, STS, prices and savings plans answer in one region for all.
    everywhere = sorted(a for a in left if a.split(":")[0] in ("iam", "pricing", "savingsplans", "sts") or a in table()["global"])
    if everywhere:
        found.append(_statement("Everywhere", everywhere, ["*"], {}))
    rest = sorted(left - set(everywhere))
    if rest:
        regions: Any = sorted([scope.region, scope.copy_region]) if scope.copy_region else scope.region
        found.append(_statement("Region", rest, ["*"], {"StringEquals": {"aws:RequestedRegion": regions}}))
    return found


def _places(sid: str, scope: Scope) -> tuple[Scope, ...]:
    """The deployment's own place, and for buckets and keys that of the store's copy."""
    if not scope.copy_region or sid not in ("ModelStore", "Keys"):
        return (scope,)
    return scope, replace(scope, region=scope.copy_region, model_bucket=scope.copy_bucket)


def _conditions(row: Json, scope: Scope) -> Json:
    found: Json = {}
    if row.get("owned"):
        found["StringEquals"] = {f"aws:ResourceTag/{k}": v for k, v in sorted(scope.tags.items())}
    if row.get("conditions"):
        found |= row["conditions"]
    return found


def _statement(sid: str, listed: Sequence[str], where: Sequence[str], conditions: Json) -> Json:
    statement: Json = {"Sid": sid, "Effect": "Allow", "Action": list(listed), "Resource": sorted(where)}
    return {**statement, "Condition": conditions} if conditions else statement


def _filled(pattern: str, scope: Scope) -> str:
    """An ARN with the scope's names in the places of `{...}`."""
    # A role name ends at 64 characters; a longer one is cut before its digest.
    role = f"{scope.prefix[:_ROLE_START].rstrip('-')}-"
    names = {
        "partition": scope.partition, "region": scope.region, "account": scope.account, "prefix": scope.prefix, "cluster": scope.cluster, "role": role,
        "model_bucket": scope.model_bucket,
    }  # fmt: skip
    return pattern.format(**names)


def _state(scope: Scope, *, write: bool) -> list[Json]:
    """Read the deployment's state and hold its lock; write the state too."""
    if not scope.state_bucket:
        return []
    bucket = f"arn:{scope.partition}:s3:::{scope.state_bucket}"
    own = f"{bucket}/{scope.state_prefix}"
    looks = ["s3:GetBucketVersioning", "s3:GetEncryptionConfiguration", "s3:GetBucketPolicy", "s3:GetLifecycleConfiguration"]
    looks += ["s3:GetBucketOwnershipControls", "s3:GetBucketPublicAccessBlock", "s3:GetBucketTagging", "s3:ListBucket"]
    found = [
        _statement("StateBucket", sorted(looks), [bucket], {}),
        _statement("StateRead", ["s3:GetObject"], [f"{own}/*"], {}),
        # A plan holds the lock as well.
        _statement("StateLock", ["s3:DeleteObject", "s3:PutObject"], [f"{own}/*.tflock"], {}),
    ]
    # What was applied is kept beside the state.
    return [*found, _statement("StateWrite", ["s3:PutObject"], [f"{own}/*.tfstate", f"{own}/applied/*.json"], {})] if write else found


def _bootstrap(scope: Scope) -> list[Json]:
    if not scope.state_bucket:
        return []
    made = [_statement("Caller", ["s3:ListAllMyBuckets", "sts:GetCallerIdentity"], ["*"], {})]
    return [*made, _statement("StateBucket", sorted(table()["bootstrap"]), [f"arn:{scope.partition}:s3:::{scope.state_bucket}"], {})]
