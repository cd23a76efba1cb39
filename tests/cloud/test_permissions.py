"""IAM policies: every action exists, every resource type is covered, nothing is wider than it must be."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
import pytest
from cloud.double import IMAGE, NOW, AwsDouble, ready
from fleets import Way, fleet, planned
from inferform.cloud.api import S3_ACTIONS
from inferform.cloud.bootstrap import bootstrap
from inferform.cloud.permissions import INLINE_LIMIT, MANAGED_LIMIT, Scope, actions, policies, size, table, used
from inferform.cloud.preflight import preflight
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.plan_store import ReplicaPlan
from inferform.stacks import schema
from samples import sample_plan
from synthesis import sample_stacks, stacks_of

Json = dict[str, Any]
OWN_TAGS = {"deployment": "contract-qa", "environment": "prod", "tenant": "acme"}
# IAM prefix -> the service models that hold its operations.
SERVICES = {
    "aps": ["amp"], "autoscaling": ["autoscaling"], "ec2": ["ec2"], "elasticloadbalancing": ["elbv2", "elb"], "eks": ["eks"], "events": ["events"], "fsx": ["fsx"], "iam": ["iam"], "kms": ["kms"], "logs": ["logs"],
    "pricing": ["pricing"], "savingsplans": ["savingsplans"], "s3": ["s3", "s3control"], "servicequotas": ["service-quotas"], "sqs": ["sqs"], "ssm": ["ssm"], "sts": ["sts"],
}  # fmt: skip
# Permissions that belong to no operation of their own. Source: service authorization reference (read 2026-12-01).
NO_OPERATION = {"iam:PassRole", "s3:DeleteObjectVersion"}
# Actions that several operations need under a name of their own. Source: service authorization reference, S3 and load balancing (read 2026-12-01).
OWN_NAMES = {"s3:ListMultipartUploadParts"}
# S3 actions by the operation that needs them, where the names differ.
S3_OPERATIONS = {action: operation for operation, action in S3_ACTIONS.items()} | {
    "GetBucketNotification": "GetBucketNotificationConfiguration", "PutBucketNotification": "PutBucketNotificationConfiguration",
}  # fmt: skip


@cache
def operations(prefix: str) -> frozenset[str]:
    session = botocore.session.Session()
    return frozenset(name for service in SERVICES[prefix] for name in session.get_service_model(service).operation_names)


def every_action() -> list[str]:
    """All actions that the table knows."""
    known = table()
    found = {a for section in ("resource", "data") for steps in known[section].values() for listed in steps.values() for a in listed}
    return sorted(found | {a for key in ("preflight", "bootstrap", "provider", "global") for a in known[key]})


def listed(document: Json) -> list[str]:
    """Actions of a policy, in order."""
    return [a for s in document["Statement"] for a in s["Action"]]


def documents(kinds: list[str] | None = None) -> dict[str, Json]:
    return policies(kinds or synthesized_types(), Scope.of(sample_plan()))


def synthesized_types() -> list[str]:
    """Types that the stacks of the sample plan use."""
    return sorted(used(sample_stacks().values()))


@pytest.mark.parametrize("prefix", sorted({a.split(":")[0] for a in every_action()}))
def test_every_action_exists(prefix: str) -> None:
    """Each action is an operation of its service's own model, but for the known ones that are none."""
    unknown = []
    for action in every_action():
        service, name = action.split(":")
        operation = S3_OPERATIONS.get(name, name) if service == "s3" else name
        if service == prefix and action not in NO_OPERATION and operation not in operations(service):
            unknown.append(action)
    assert [] == unknown


def test_every_resource_type_of_the_stacks_has_its_permissions() -> None:
    """A type that the shipped schema knows can be created, read and deleted by the operator."""
    document = schema.document("aws")
    assert set(document["resource"]) <= set(table()["resource"])
    assert set(document["data"]) <= set(table()["data"])
    for kind in document["resource"]:
        steps = table()["resource"][kind]
        assert steps["create"], kind
        assert steps["read"], kind
        # The default group of a VPC goes with the VPC.
        assert steps.get("delete") or kind == "aws_default_security_group", kind


def test_a_type_that_is_not_known_is_an_error() -> None:
    """A policy that silently lacks something would fail in the middle of an apply."""
    with pytest.raises(InputError) as err:
        actions(["aws_vpc", "aws_no_such", "data.aws_nothing"])
    assert ["aws_no_such", "data.aws_nothing"] == [p.value for p in err.value.problems]


def test_only_what_is_used_is_allowed() -> None:
    """A deployment without a scaling group or bucket may touch neither."""
    operator = listed(documents(["aws_vpc", "aws_subnet"])["operator"])
    assert "ec2:CreateVpc" in operator
    assert [] == [a for a in operator if a.startswith(("autoscaling:", "kms:", "iam:", "logs:"))]


def test_ci_only_reads_but_for_the_lock() -> None:
    """Plan-only: Get, List and Describe, and write access to lock files alone."""
    statements = documents()["ci"]["Statement"]
    writing = [(s["Action"], s["Resource"]) for s in statements if any(not a.split(":")[1].startswith(("Get", "List", "Describe")) for a in s["Action"])]
    assert [(["s3:DeleteObject", "s3:PutObject"], ["arn:aws:s3:::inferform-acme-state/acme/contract-qa/prod/*.tflock"])] == writing


def test_ci_may_do_nothing_that_the_operator_may_not() -> None:
    """The operator plans as well."""
    both = documents()
    assert set(listed(both["ci"])) <= set(listed(both["operator"]))


def test_state_is_held_to_the_deployments_own_keys() -> None:
    """The operator writes state, lock and what was applied below its own prefix, and reads nothing else of the bucket."""
    objects = [r for s in documents()["operator"]["Statement"] for r in s["Resource"] if r.startswith("arn:aws:s3:::inferform-acme-state/")]
    prefix = "arn:aws:s3:::inferform-acme-state/acme/contract-qa/prod/"
    assert {f"{prefix}*", f"{prefix}*.tflock", f"{prefix}*.tfstate", f"{prefix}applied/*.json"} == set(objects)


def test_local_state_needs_no_bucket() -> None:
    """Without a state bucket there is nothing to allow on one, and nothing to bootstrap."""
    plan = sample_plan()
    local = plan.model_copy(update={"state": plan.state.model_copy(update={"backend": "local"})})
    found = policies(["aws_vpc"], Scope.of(local))
    assert [] == found["bootstrap"]["Statement"]
    assert "inferform-acme-state" not in json.dumps(found)


def test_every_statement_is_held_to_something() -> None:
    """No statement allows a change everywhere: each names resources, a region, or only looks."""
    for name, document in documents().items():
        for statement in document["Statement"]:
            looks = all(a.split(":")[1].startswith(("Get", "List", "Describe")) for a in statement["Action"])
            region = statement.get("Condition", {}).get("StringEquals", {}).get("aws:RequestedRegion")
            assert looks or region == "us-east-1" or "*" not in statement["Resource"], (name, statement["Sid"])


def test_no_action_is_a_pattern_and_none_is_listed_twice() -> None:
    """Actions are named one by one."""
    for document in documents().values():
        found = [a for s in document["Statement"] for a in s["Action"] if not s["Sid"].startswith("State")]
        assert [] == [a for a in found if "*" in a]
        assert len(found) == len(set(found))


def test_deleting_needs_the_deployments_tags() -> None:
    """VPCs, subnets and groups of others cannot be deleted: their tags are not ours."""
    own = next(s for s in documents()["operator"]["Statement"] if s["Sid"] == "OwnOnly")
    assert {"aws:ResourceTag/deployment": "contract-qa", "aws:ResourceTag/environment": "prod"} == own["Condition"]["StringEquals"]
    assert {"ec2:DeleteVpc", "ec2:DeleteSubnet", "ec2:DeleteSecurityGroup", "ec2:DeleteNatGateway"} <= set(own["Action"])


def test_roles_are_passed_to_known_services_only() -> None:
    """PassRole is held to the deployment's own roles and to services that take them on."""
    statement = next(s for s in documents()["operator"]["Statement"] if s["Sid"] == "PassRole")
    assert ["arn:aws:iam::*:role/contract-qa-prod-*"] == statement["Resource"]
    assert {"ec2.amazonaws.com", "eks.amazonaws.com"} <= set(statement["Condition"]["StringEquals"]["iam:PassedToService"])


def names(config: Json, kind: str, key: str) -> Iterator[str]:
    """Names that the stacks give to resources of a type."""
    for body in config.get("resource", {}).get(kind, {}).values():
        yield body[key]


@pytest.mark.parametrize(
    ("kind", "key", "arn"),
    [
        ("aws_iam_role", "name", "arn:aws:iam::123456789012:role/{}"),
        ("aws_iam_instance_profile", "name", "arn:aws:iam::123456789012:instance-profile/{}"),
        ("aws_eks_cluster", "name", "arn:aws:eks:us-east-1:123456789012:cluster/{}"),
        ("aws_cloudwatch_log_group", "name", "arn:aws:logs:us-east-1:123456789012:log-group:{}:*"),
        ("aws_kms_alias", "name", "arn:aws:kms:us-east-1:123456789012:{}"),
        ("aws_s3_bucket", "bucket", "arn:aws:s3:::{}"),
        ("aws_autoscaling_group", "name", "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:uuid:autoScalingGroupName/{}"),
    ],
)
@pytest.mark.parametrize("long", [False, True])
def test_the_scopes_fit_the_names_that_the_stacks_give(kind: str, key: str, arn: str, long: bool) -> None:
    """What the stacks really name is inside the resources that the operator may change, with short and with the longest names."""
    plan = sample_plan()
    if long:
        plan = plan.model_copy(update={"name": "n" * 30, "environment": "e" * 30})
    stacks = stacks_of(plan) if long else sample_stacks()
    found = [n for config in stacks.values() for n in names(config, kind, key)]
    assert found
    operator = policies(used(stacks.values()), Scope.of(plan))["operator"]
    create = next(a for a in table()["resource"][kind]["create"] if a.split(":")[1].startswith("Create"))
    statement = next(s for s in operator["Statement"] if create in s["Action"])
    for name in found:
        assert "*" in statement["Resource"] or any(fnmatch.fnmatchcase(arn.format(name), r) for r in statement["Resource"]), name


def test_the_policies_fit_into_iam() -> None:
    """The operator of the sample fits a role's inline policies; that of every known type comes as managed policies that lose nothing."""
    everything = [*table()["resource"], *(f"data.{k}" for k in table()["data"])]
    plan = sample_plan().model_copy(update={"name": "n" * 30, "environment": "e" * 30})
    assert size(policies(synthesized_types(), Scope.of(plan))["operator"]) <= INLINE_LIMIT
    found = policies(everything, Scope.of(plan))
    assert {name: size(d) for name, d in found.items() if size(d) > MANAGED_LIMIT} == {}
    assert ["bootstrap", "ci", "operator", "operator-2"] == sorted(found)
    allowed = {a for name, d in found.items() if name.startswith("operator") for a in listed(d)}
    assert set(actions(everything)) <= allowed


def test_other_partitions_have_their_own_arns() -> None:
    """In China and GovCloud every ARN says so."""
    plan = sample_plan()
    for region, partition in (("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")):
        moved = plan.model_copy(update={"cloud": plan.cloud.model_copy(update={"region": region})})
        text = json.dumps(policies(synthesized_types(), Scope.of(moved)))
        assert f"arn:{partition}:" in text
        assert "arn:aws:" not in text


def test_preflight_needs_exactly_what_the_policy_says(aws: AwsDouble) -> None:
    """Every call of a whole run, with everything in it that makes calls, is allowed, and nothing is allowed for nothing."""
    data = ready(aws).model_dump(mode="json")
    pool = data["models"]["llama-70b"]["pools"]["aggregated"]
    pool["purchase"][0] |= {"kind": "capacity_block", "reservation_id": "cr-0123456789abcdef0", "zone": "use1-az4"}
    data["models"]["bge"]["pools"]["aggregated"]["infrastructure"] |= {"ami_id": "ami-0123456789abcdef0", "ami_type": None}
    data["models"]["llama-405b"]["pools"]["aggregated"]["purchase"][0] |= {"kind": "reserved", "reservation_id": "cr-0123456789abcdef1", "zone": "use1-az4"}
    data["models"]["llama-405b"]["pools"]["aggregated"]["infrastructure"] |= {"placement_group": True, "placement_group_name": "racks"}
    aws.market.reserve("cr-0123456789abcdef1", instance_type="p5.48xlarge", zone="use1-az4", count=4, free=0)
    data["models"]["bge"]["pools"]["aggregated"]["purchase"][0]["kind"] = "reserved"
    plan = DeploymentPlan.model_validate(data)
    ec2 = aws.client("ec2")
    ec2.create_vpc(
        CidrBlock="10.0.0.0/16",
        TagSpecifications=[{"ResourceType": "vpc", "Tags": [{"Key": k, "Value": v} for k, v in OWN_TAGS.items()]}],
    )
    ec2.run_instances(ImageId=IMAGE, InstanceType="g4dn.xlarge", MinCount=4, MaxCount=4)
    aws.client("s3").create_bucket(Bucket=plan.model_store.bucket)
    bootstrap(plan, aws.sessions())
    aws.client("s3", number="999988887777").create_bucket(Bucket=f"other-{aws.number}")
    taken = plan.model_copy(update={"model_store": plan.model_store.model_copy(update={"bucket": f"other-{aws.number}"})})
    aws.called.clear()
    for one in (plan, taken):
        preflight(one, aws.sessions(), now=NOW)
    allowed = set(listed(policies(["aws_vpc"], Scope.of(plan))["ci"]))
    assert set() == set(aws.called) - allowed
    assert set(table()["preflight"]) <= set(aws.called)


def test_bootstrap_needs_exactly_what_the_policy_says(aws: AwsDouble) -> None:
    """A first run and a completing run together call all of it and nothing more."""
    plan = ready(aws)
    aws.client("s3").create_bucket(Bucket=plan.state.bucket)
    aws.client("s3").delete_public_access_block(Bucket=plan.state.bucket)
    aws.client("s3").delete_bucket_ownership_controls(Bucket=plan.state.bucket)
    aws.client("s3").delete_bucket_encryption(Bucket=plan.state.bucket)
    aws.called.clear()
    bootstrap(plan, aws.sessions())
    bootstrap(plan.model_copy(update={"state": plan.state.model_copy(update={"bucket": f"{plan.state.bucket}-two"})}), aws.sessions())
    assert set(aws.called) == set(listed(policies(["aws_vpc"], Scope.of(plan))["bootstrap"])) - {"s3:ListAllMyBuckets"}


def test_the_copy_of_the_store_is_inside_the_scope() -> None:
    """With a copy in a second region the operator may change its bucket and keys there, and nothing else there by name."""
    plan = sample_plan()
    replica = ReplicaPlan(region="us-west-2", bucket="contract-qa-prod-models-copy-1a2b3c4d")
    copied = plan.model_copy(update={"model_store": plan.model_store.model_copy(update={"replica": replica})})
    operator = {s["Sid"]: s for s in policies(used(stacks_of(copied).values()), Scope.of(copied))["operator"]["Statement"]}
    assert "arn:aws:s3:::contract-qa-prod-models-copy-1a2b3c4d/*" in operator["ModelStore"]["Resource"]
    assert "arn:aws:kms:us-west-2:*:alias/contract-qa-prod-*" in operator["Keys"]["Resource"]
    assert ["us-east-1", "us-west-2"] == operator["Region"]["Condition"]["StringEquals"]["aws:RequestedRegion"]
    elsewhere = {sid for sid, s in operator.items() if any("us-west-2" in r for r in s["Resource"])}
    assert {"Keys"} == elsewhere


def test_pools_of_karpenter_and_scaling_groups_are_covered() -> None:
    """The operator may make queues, rules, hooks and schedules of a fleet with every kind of pool, within what IAM takes for one role."""
    ways = [Way("g6", kind, "on-demand", efa=False) for kind in ("managed", "self_managed", "karpenter")]
    plan = fleet((way, *found) for way in ways if not isinstance(found := planned(way), list))
    operator = policies(used(stacks_of(plan).values()), Scope.of(plan))["operator"]
    assert {"autoscaling:PutLifecycleHook", "events:PutRule", "events:PutTargets", "sqs:CreateQueue"} <= set(listed(operator))
    rules = next(s for s in operator["Statement"] if "events:PutRule" in s["Action"])
    assert ["arn:aws:events:us-east-1:*:rule/contract-qa-prod-*"] == rules["Resource"]


def test_every_action_of_the_controllers_exists() -> None:
    """What the stacks allow pods and controllers are operations of AWS, not words: Karpenter, who drains nodes, the autoscaler, model pods."""
    ways = [Way("g6", kind, "on-demand", efa=False) for kind in ("self_managed", "karpenter")]
    plan = fleet((way, *found) for way in ways if not isinstance(found := planned(way), list))
    found = set()
    for name in ("nodes", "identity"):
        for body in stacks_of(plan)[name]["resource"]["aws_iam_role_policy"].values():
            document = json.loads(re.sub(r"\$\{[^}]*\}", "REF", body["policy"]))
            found |= {action for statement in document["Statement"] for action in statement["Action"]}
    assert {"ec2:CreateFleet", "autoscaling:CompleteLifecycleAction"} <= found
    named = {action: S3_OPERATIONS.get(action.split(":")[1], action.split(":")[1]) for action in found if action not in NO_OPERATION | OWN_NAMES}
    assert [] == sorted(action for action, operation in named.items() if operation not in operations(action.split(":")[0]))
