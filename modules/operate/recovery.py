"""Objects that a killed terraform was just making: the cloud may have them and the state not.

Terraform writes the state as each object is done, so at most the few that were under way are in doubt; its event log names
them. An object whose name is its identity is adopted: imported into the state, which fails harmlessly where the cloud does
not have it. For the others a person gets the command that finds them and the one that adopts them.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from inferform.operate.folder import CONFIG
from inferform.terraform import Terraform, TerraformError

Json = dict[str, Any]
# How terraform import names an object, from attributes of its plan.
_IDENTITY = {
    "aws_autoscaling_group": "{name}",
    "aws_autoscaling_lifecycle_hook": "{autoscaling_group_name}/{name}",
    "aws_autoscaling_schedule": "{autoscaling_group_name}/{scheduled_action_name}",
    "aws_cloudwatch_event_rule": "{name}",
    "aws_cloudwatch_event_target": "{rule}/{target_id}",
    "aws_cloudwatch_log_group": "{name}",
    "aws_eks_access_entry": "{cluster_name}:{principal_arn}",
    "aws_eks_access_policy_association": "{cluster_name}#{principal_arn}#{policy_arn}",
    "aws_eks_addon": "{cluster_name}:{addon_name}",
    "aws_eks_cluster": "{name}",
    "aws_eks_node_group": "{cluster_name}:{node_group_name}",
    "aws_iam_instance_profile": "{name}",
    "aws_iam_role": "{name}",
    "aws_iam_role_policy": "{role}:{name}",
    "aws_iam_role_policy_attachment": "{role}/{policy_arn}",
    "aws_kms_alias": "{name}",
    "aws_placement_group": "{name}",
    "aws_route": "{route_table_id}_{destination_cidr_block}",
    "aws_route_table_association": "{subnet_id}/{route_table_id}",
    "aws_s3_bucket": "{bucket}",
    "aws_s3_bucket_lifecycle_configuration": "{bucket}",
    "aws_s3_bucket_ownership_controls": "{bucket}",
    "aws_s3_bucket_policy": "{bucket}",
    "aws_s3_bucket_public_access_block": "{bucket}",
    "aws_s3_bucket_replication_configuration": "{bucket}",
    "aws_s3_bucket_server_side_encryption_configuration": "{bucket}",
    "aws_s3_bucket_versioning": "{bucket}",
    "aws_security_group_rule": "{security_group_id}_{type}_{protocol}_{from_port}_{to_port}_{source}",
    "aws_sqs_queue_policy": "{queue_url}",
}
# Objects whose id the cloud chooses, though there is only one of its kind: the data source that finds it, and the id in it.
_LOOK_UP: dict[str, tuple[str, Json, str]] = {
    "aws_internet_gateway": ("aws_internet_gateway", {"filter": [{"name": "attachment.vpc-id", "values": ["{vpc_id}"]}]}, "id"),
    "aws_launch_template": ("aws_launch_template", {"name": "{name}"}, "id"),
    "aws_nat_gateway": ("aws_nat_gateway", {"subnet_id": "{subnet_id}", "state": "available"}, "id"),
    "aws_security_group": (
        "aws_security_groups",
        {"filter": [{"name": "group-name", "values": ["{name}"]}, {"name": "vpc-id", "values": ["{vpc_id}"]}]},
        "ids[0]",
    ),
    "aws_sqs_queue": ("aws_sqs_queue", {"name": "{name}"}, "url"),
    "aws_subnet": ("aws_subnet", {"vpc_id": "{vpc_id}", "cidr_block": "{cidr_block}"}, "id"),
    "aws_vpc_endpoint": ("aws_vpc_endpoint", {"vpc_id": "{vpc_id}", "service_name": "{service_name}"}, "id"),
}
# Not made but taken over: once more does nothing new.
_ALWAYS_THERE = frozenset({"aws_default_security_group"})
# Of these the cloud takes only one and refuses the second; what finds the id, and the form of it for terraform import.
_REFUSED_TWICE = {
    "aws_eks_pod_identity_association": (
        "aws eks list-pod-identity-associations --cluster-name {cluster_name} --namespace {namespace} --service-account {service_account}",
        "{cluster_name},ID",
    ),
}
_FIND_BY_TAG = "aws resourcegroupstaggingapi get-resources --tag-filters Key=deployment,Values={deployment} Key=environment,Values={environment}"


def adopt(terraform: Terraform, doubtful: list[str], planned: Json) -> list[str]:
    """Addresses among `doubtful` that were taken into the state.

    `planned` is a fresh terraform plan (JSON): it knows the ids of everything that the state has.
    """
    values = _values(planned)
    adopted = []
    for address in doubtful:
        kind, known = address.split(".")[-2], values.get(address, {})
        identity = _filled(_IDENTITY.get(kind), known)
        if identity is None and kind in _LOOK_UP:
            identity = _look_up(terraform, *_LOOK_UP[kind], known)
        if identity and terraform.adopt(address, identity):
            adopted.append(address)
    return adopted


def advice(terraform: Terraform, address: str, planned: Json) -> str | None:
    """What a person has to do about an object that may exist twice now; None for one that its name keeps single."""
    kind, known = address.split(".")[-2], _values(planned).get(address)
    # No creation is planned: it is in the state, or no longer wanted.
    if known is None or kind in _IDENTITY or kind in _LOOK_UP or kind in _ALWAYS_THERE:
        return None
    find, identity = (_filled(p, known) for p in _REFUSED_TWICE.get(kind, (_FIND_BY_TAG, "ID")))
    after = "and it refuses a second one:" if kind in _REFUSED_TWICE else "and then it is made a second time: delete the one without use, or before that"
    return (
        f"terraform was killed while it made {address}. The cloud may have it while the state does not, {after} "
        f"adopt it with terraform -chdir={terraform.folder} import {json.dumps(address)} {identity or 'ID'}" + (f"; this finds its ID: {find}" if find else "")
    )


def _values(planned: Json) -> dict[str, dict[str, str]]:
    """Plain attributes of everything that a plan creates, by address; tags and the source of a rule's traffic among them."""
    found = {}
    for change in planned.get("resource_changes", []):
        if change["change"]["actions"] != ["create"]:
            continue
        after = change["change"].get("after") or {}
        tags = after.get("tags_all") or after.get("tags") or {}
        known = {k: str(v) for k, v in {**tags, **after}.items() if isinstance(v, str | int) and not isinstance(v, bool)}
        sources = [after.get("source_security_group_id"), "self" if after.get("self") else None, *(after.get("cidr_blocks") or [])]
        plain = [s for s in sources if s]
        if plain:
            known["source"] = "_".join(plain)
        found[change["address"]] = known
    return found


def _filled(pattern: str | None, values: dict[str, str]) -> str | None:
    """The pattern with the attributes in it; None where one is not known."""
    try:
        return pattern.format_map(values) if pattern else None
    except KeyError:
        return None


def _look_up(terraform: Terraform, kind: str, query: Json, field: str, values: dict[str, str]) -> str | None:
    """The id that a data source finds with the stack's own provider; None where the cloud has no such object."""
    text = json.dumps(query)
    for name, value in values.items():
        text = text.replace("{" + name + "}", json.dumps(value)[1:-1])
    if re.search(r"\{\w+\}", text):
        return None  # it hangs on an object that is not there yet, so it was not made either
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
