"""What becomes of objects that a killed terraform was just making."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inferform.operate.recovery import _ALWAYS_THERE, _IDENTITY, _LOOK_UP, _REFUSED_TWICE, adopt, advice
from inferform.stacks import schema
from inferform.terraform import Terraform
from operate.tiny import BACKEND


class Recording(Terraform):
    """Terraform that adopts what the cloud has, and keeps what it was asked."""

    def __init__(self, folder: Path, cloud: set[str]):
        super().__init__(folder, BACKEND.settings, None)  # type: ignore[arg-type]
        self.cloud = cloud
        self.asked: list[tuple[str, str]] = []

    def adopt(self, address: str, identity: str) -> bool:
        self.asked.append((address, identity))
        return identity in self.cloud


def planned(**resources: dict[str, Any]) -> dict[str, Any]:
    """A plan that creates resources; `type__name` stands for `type.name`."""
    rows = [(name.replace("__", "."), after) for name, after in resources.items()]
    return {"resource_changes": [{"address": address, "change": {"actions": ["create"], "after": after}} for address, after in rows]}


@pytest.mark.parametrize(
    ("kind", "after", "identity"),
    [
        ("aws_iam_role", {"name": "r"}, "r"),
        ("aws_eks_node_group", {"cluster_name": "c", "node_group_name": "g"}, "c:g"),
        ("aws_s3_bucket", {"bucket": "b"}, "b"),
        ("aws_autoscaling_lifecycle_hook", {"autoscaling_group_name": "g", "name": "drain"}, "g/drain"),
        ("aws_autoscaling_schedule", {"autoscaling_group_name": "g", "scheduled_action_name": "at-0750-2"}, "g/at-0750-2"),
        ("aws_cloudwatch_event_target", {"rule": "r", "target_id": "t"}, "r/t"),
        ("aws_route_table_association", {"subnet_id": "subnet-1", "route_table_id": "rtb-1"}, "subnet-1/rtb-1"),
        (
            "aws_security_group_rule",
            {"security_group_id": "sg-1", "type": "ingress", "protocol": "-1", "from_port": 0, "to_port": 0, "self": True, "cidr_blocks": None},
            "sg-1_ingress_-1_0_0_self",
        ),
        (
            "aws_security_group_rule",
            {
                "security_group_id": "sg-1",
                "type": "egress",
                "protocol": "tcp",
                "from_port": 1,
                "to_port": 2,
                "self": False,
                "cidr_blocks": ["10.0.0.0/8", "::/0"],
            },
            "sg-1_egress_tcp_1_2_10.0.0.0/8_::/0",
        ),
    ],
)
def test_objects_are_adopted_by_the_name_the_cloud_knows(tmp_path: Path, kind: str, after: dict[str, Any], identity: str) -> None:
    """Each kind is imported under its own form of id; one that the cloud does not have is not adopted."""
    terraform = Recording(tmp_path, {identity})
    assert [f"{kind}.x"] == adopt(terraform, [f"{kind}.x"], planned(**{f"{kind}__x": after}))
    assert [(f"{kind}.x", identity)] == terraform.asked
    assert [] == adopt(Recording(tmp_path, set()), [f"{kind}.x"], planned(**{f"{kind}__x": after}))


def test_what_is_not_known_yet_is_not_guessed(tmp_path: Path) -> None:
    """An object whose id hangs on another one that is not there is left for the next round."""
    terraform = Recording(tmp_path, set())
    rows = planned(aws_eks_addon__a={"addon_name": "vpc-cni"}, aws_security_group__g={"name": "g"})
    assert [] == adopt(terraform, ["aws_eks_addon.a", "aws_security_group.g", "aws_iam_role.gone"], rows)
    assert [] == terraform.asked


def test_advice_names_both_commands(tmp_path: Path) -> None:
    """For an object without a name of its own a person gets what finds it and what adopts it; for others there is nothing to say."""
    rows = planned(aws_kms_key__k={"tags_all": {"deployment": "contract-qa", "environment": "prod"}}, aws_vpc__v={}, aws_iam_role__r={"name": "r"})
    terraform = Recording(tmp_path, set())
    said = advice(terraform, "aws_kms_key.k", rows)
    assert said is not None
    assert f'terraform -chdir={tmp_path} import "aws_kms_key.k" ID' in said
    assert "aws resourcegroupstaggingapi get-resources --tag-filters Key=deployment,Values=contract-qa Key=environment,Values=prod" in said
    assert "this finds its ID" not in str(advice(terraform, "aws_vpc.v", rows))
    assert None is advice(terraform, "aws_iam_role.r", rows)
    assert None is advice(terraform, "aws_kms_key.in-the-state", rows)


def test_what_the_cloud_takes_once_is_told_so(tmp_path: Path) -> None:
    """EKS refuses a second association of one service account, so the advice is to adopt it, with the command that finds it; settings need none."""
    known = {"cluster_name": "c", "namespace": "acme", "service_account": "bge", "tags": {"deployment": "contract-qa", "environment": "prod"}}
    rows = planned(
        aws_eks_pod_identity_association__bge=known, aws_default_security_group__main={"vpc_id": "vpc-1"}, aws_s3_bucket_versioning__m={"bucket": "b"}
    )
    terraform = Recording(tmp_path, {"b"})
    said = str(advice(terraform, "aws_eks_pod_identity_association.bge", rows))
    assert "and it refuses a second one: adopt it with" in said
    assert 'import "aws_eks_pod_identity_association.bge" c,ID; this finds its ID: aws eks list-pod-identity-associations --cluster-name c' in said
    assert "--namespace acme --service-account bge" in said
    assert None is advice(terraform, "aws_default_security_group.main", rows)
    assert ["aws_s3_bucket_versioning.m"] == adopt(terraform, ["aws_s3_bucket_versioning.m"], rows)


def test_every_type_of_the_stacks_has_a_way_back() -> None:
    """A type that the stacks make is adopted, is there anyway, or carries the tags that find it; a new type has to choose."""
    kinds = schema.document("aws")["resource"]
    found_by_tag = {k for k, body in kinds.items() if "tags" in body}
    assert [] == sorted(set(kinds) - set(_IDENTITY) - set(_LOOK_UP) - set(_REFUSED_TWICE) - _ALWAYS_THERE - found_by_tag)
