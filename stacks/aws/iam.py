"""Roles with the least they need, and who may take them on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inferform.stacks.aws.account import Account, bounded
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Ref, Text, Value, json_text

_ROLE_NAME_LIMIT = 64
_VERSION = "2012-10-17"


def allow(actions: Sequence[str], resources: Sequence[str | Ref | Text], conditions: Mapping[str, Value] | None = None) -> dict[str, Value]:
    """A policy statement that allows `actions` on `resources`."""
    statement: dict[str, Value] = {"Effect": "Allow", "Action": sorted(actions), "Resource": list(resources)}
    return {**statement, "Condition": dict(conditions)} if conditions else statement


def document(*statements: Mapping[str, Value]) -> Text:
    """A policy document as JSON."""
    return json_text({"Version": _VERSION, "Statement": list(statements)})


def service_trust(service: str, conditions: Mapping[str, Value] | None = None) -> Text:
    """Trust that lets an AWS service take on the role."""
    statement: dict[str, Value] = {"Effect": "Allow", "Principal": {"Service": service}, "Action": ["sts:AssumeRole"]}
    return document({**statement, "Condition": dict(conditions)} if conditions else statement)


def pod_trust(account: Account, *, cluster_name: str, namespace: str, service_account: str) -> Text:
    """Trust that lets EKS Pod Identity hand the role to one service account of one cluster.

    Source: EKS user guide, "Create IAM role with trust policy required by EKS Pod Identity" (read 2026-12-01).
    """
    tag = {"eks-cluster-name": cluster_name, "kubernetes-namespace": namespace, "kubernetes-service-account": service_account}
    condition: dict[str, Value] = {"aws:SourceAccount": account.id, **{f"aws:RequestTag/{k}": v for k, v in tag.items()}}
    return document(
        {
            "Effect": "Allow",
            "Principal": {"Service": "pods.eks.amazonaws.com"},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
            "Condition": {"StringEquals": condition},
        }
    )


def role(
    stack: Stack, account: Account, name: str, trust: Text, *, managed: Sequence[str] = (), inline: Mapping[str, Text] | None = None, description: str = ""
) -> tuple[Handle, list[Handle]]:
    """A role `<deployment>-<environment>-<name>`, and the grants that must exist before it is of use.

    `managed` are names of policies that AWS keeps, `inline` documents by name.
    """
    made = stack.resource(
        "aws_iam_role",
        name,
        {"name": bounded(f"{stack.plan.resource_prefix()}-{name}", _ROLE_NAME_LIMIT), "assume_role_policy": trust, "description": description or None},
    )
    grants = [
        stack.resource(
            "aws_iam_role_policy_attachment",
            f"{name}-{policy.rpartition('/')[2]}",
            {"role": made.ref("name"), "policy_arn": account.managed_policy(policy)},
        )
        for policy in managed
    ]
    grants += [
        stack.resource("aws_iam_role_policy", f"{name}-{key}", {"name": key, "role": made.ref("name"), "policy": body})
        for key, body in sorted((inline or {}).items())
    ]
    return made, grants
