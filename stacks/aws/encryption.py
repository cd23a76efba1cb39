"""Customer managed keys, rotated, each for one purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inferform.stacks.aws.account import Account
from inferform.stacks.aws.iam import document
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Text, Value

_WAIT_DAYS = 30


def key(
    stack: Stack,
    account: Account,
    name: str,
    purpose: str,
    *,
    log_groups: Sequence[str] = (),
    more: Sequence[Mapping[str, Value]] = (),
    region: str | None = None,
) -> Handle:
    """A key with the alias `<deployment>-<environment>-<name>`; CloudWatch Logs may use it for the named log groups only.

    `more` are further statements of its policy; `region` is where it lives, when that is not the deployment's.
    """
    statements: list[Mapping[str, Value]] = [
        {
            "Sid": "Account",
            "Effect": "Allow",
            "Principal": {"AWS": account.arn("iam", "root")},
            "Action": "kms:*",
            "Resource": "*",
        }
    ]
    if log_groups:
        home = stack.plan.cloud.region
        arns: list[Text] = [account.arn("logs", f"log-group:{g}", region=home) for g in log_groups]
        statements.append(
            {
                "Sid": "Logs",
                "Effect": "Allow",
                "Principal": {"Service": f"logs.{home}.amazonaws.com"},
                "Action": ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
                "Resource": "*",
                "Condition": {"ArnEquals": {"kms:EncryptionContext:aws:logs:arn": arns}},
            }
        )
    statements += more
    made = stack.resource(
        "aws_kms_key",
        name,
        {"description": purpose, "enable_key_rotation": True, "deletion_window_in_days": _WAIT_DAYS, "policy": document(*statements), "region": region},
    )
    stack.resource("aws_kms_alias", name, {"name": f"alias/{stack.plan.resource_prefix()}-{name}", "target_key_id": made.ref("key_id"), "region": region})
    return made
