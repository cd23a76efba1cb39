"""Objects that a killed terraform was just making: the cloud may have them and the state not.

Terraform writes the state as each object is done, so at most the few that were under way are in doubt; its event log names
them. An object whose name is its identity is adopted: imported into the state, which fails harmlessly where the cloud does
not have it. For the others a person gets the command that finds them and the one that adopts them.
"""

from __future__ import annotations

import json
from typing import Any

from inferform.terraform import Terraform

Json = dict[str, Any]
# How terraform import names an object, from attributes that are known before it is made.
_IDENTITY = {
    "aws_autoscaling_group": "{name}",
    "aws_cloudwatch_log_group": "{name}",
    "aws_eks_access_entry": "{cluster_name}:{principal_arn}",
    "aws_eks_addon": "{cluster_name}:{addon_name}",
    "aws_eks_cluster": "{name}",
    "aws_eks_node_group": "{cluster_name}:{node_group_name}",
    "aws_iam_instance_profile": "{name}",
    "aws_iam_role": "{name}",
    "aws_iam_role_policy": "{role}:{name}",
    "aws_iam_role_policy_attachment": "{role}/{policy_arn}",
    "aws_kms_alias": "{name}",
    "aws_placement_group": "{name}",
    "aws_s3_bucket": "{bucket}",
    "aws_s3_bucket_policy": "{bucket}",
    "aws_s3_bucket_public_access_block": "{bucket}",
}
# The command that finds the id of an object that has none of its own choosing.
_FIND = {
    "aws_launch_template": "aws ec2 describe-launch-templates --launch-template-names {name} --query 'LaunchTemplates[].LaunchTemplateId'",
    "aws_security_group": "aws ec2 describe-security-groups --filters Name=group-name,Values={name} --query 'SecurityGroups[].GroupId'",
}
_FIND_BY_TAG = "aws resourcegroupstaggingapi get-resources --tag-filters Key=deployment,Values={deployment} Key=environment,Values={environment}"


def adopt(terraform: Terraform, planned: Json) -> tuple[list[str], list[str]]:
    """(adopted addresses, advice for those that a person has to look for) after a killed terraform; empty when none was.

    `planned` is the terraform plan (JSON) that was being applied.
    """
    doubtful = terraform.unfinished()
    if not doubtful:
        return [], []
    there = set(terraform.resources())
    values = {c["address"]: c["change"].get("after") or {} for c in planned.get("resource_changes", [])}
    adopted, advice = [], []
    for address in (a for a in doubtful if a not in there):
        identity = _filled(_IDENTITY.get(_type(address)), values.get(address, {}))
        if identity is None:
            advice.append(_advice(terraform, address, values.get(address, {})))
        elif terraform.adopt(address, identity):
            adopted.append(address)
    terraform.forget_unfinished()
    return adopted, advice


def _type(address: str) -> str:
    return address.split(".")[-2]


def _filled(pattern: str | None, values: Json) -> str | None:
    """The pattern with the attributes in it; None where one is not known."""
    known = {k: v for k, v in values.items() if isinstance(v, str)}
    try:
        return pattern.format_map(known) if pattern else None
    except KeyError:
        return None


def _advice(terraform: Terraform, address: str, values: Json) -> str:
    find = _filled(_FIND.get(_type(address)), values) or _filled(_FIND_BY_TAG, values.get("tags_all") or values.get("tags") or {})
    return (
        f"terraform was killed while it made {address}. The cloud may have it while the state does not: then delete it there, or adopt it with "
        f"terraform -chdir={terraform.folder} import {json.dumps(address)} ID" + (f"; its ID is what this finds: {find}" if find else "")
    )
