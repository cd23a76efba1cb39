"""Objects that a killed terraform was just making: the cloud may have them and the state not.

Terraform writes the state as each object is done, so at most the few that were under way are in doubt; its event log names
them. An object whose name is its identity is adopted: imported into the state, which fails harmlessly where the cloud does
not have it. For the others a person gets the command that finds them and the one that adopts them.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from inferform.operate.folder import CONFIG
from inferform.terraform import Terraform, TerraformError

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
# Objects whose id the cloud chooses, though their name is unique: the data source that finds the id by the name.
_LOOK_UP: dict[str, tuple[str, Json, str]] = {
    "aws_launch_template": ("aws_launch_template", {"name": "{name}"}, "id"),
    "aws_security_group": (
        "aws_security_groups",
        {"filter": [{"name": "group-name", "values": ["{name}"]}, {"name": "vpc-id", "values": ["{vpc_id}"]}]},
        "ids[0]",
    ),
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
        kind, known = address.split(".")[-2], {k: v for k, v in values.get(address, {}).items() if isinstance(v, str)}
        identity = _filled(_IDENTITY.get(kind), known)
        if identity is None and kind not in _LOOK_UP:
            advice.append(_advice(terraform, address, values.get(address, {})))
            continue
        identity = identity or _look_up(terraform, *_LOOK_UP[kind], known)
        if identity and terraform.adopt(address, identity):
            adopted.append(address)
    terraform.forget_unfinished()
    return adopted, advice


def _filled(pattern: str | None, values: Json) -> str | None:
    """The pattern with the attributes in it; None where one is not known."""
    try:
        return pattern.format_map(values) if pattern else None
    except KeyError:
        return None


def _look_up(terraform: Terraform, kind: str, query: Json, field: str, values: Json) -> str | None:
    """The id that a data source finds with the stack's own provider; None where the cloud has no such object."""
    text = json.dumps(query)
    for name, value in values.items():
        text = text.replace("{" + name + "}", json.dumps(value)[1:-1])
    given = json.loads((terraform.folder / CONFIG).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(dir=terraform.folder) as scratch:
        config = {
            "terraform": {"required_providers": given.get("terraform", {}).get("required_providers", {})},
            "provider": given.get("provider", {}),
            "data": {kind: {"found": json.loads(text)}},
            "output": {"id": {"value": f"${{try(data.{kind}.found.{field}, null)}}"}},
        }
        (Path(scratch) / CONFIG).write_text(json.dumps(config), encoding="utf-8")
        finder = Terraform(Path(scratch), terraform.settings, terraform.tool)
        try:
            finder.init()
            finder.plan("found.tfplan")
            value = finder.show("found.tfplan").get("planned_values", {}).get("outputs", {}).get("id", {}).get("value")
        except TerraformError:
            return None
    return str(value) if value else None


def _advice(terraform: Terraform, address: str, values: Json) -> str:
    find = _filled(_FIND_BY_TAG, values.get("tags_all") or values.get("tags") or {})
    return (
        f"terraform was killed while it made {address}. The cloud may have it while the state does not, and then it is made a second time: "
        f"delete the one without use, or before that adopt it with terraform -chdir={terraform.folder} import {json.dumps(address)} ID"
        + (f"; this finds its ID: {find}" if find else "")
    )
