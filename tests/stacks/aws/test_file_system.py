"""FSx for Lustre: what it is made of, who reaches it, and how it reads the store."""

from __future__ import annotations

import json
from typing import Any

from inferform.stacks.app import stack_kinds
from samples import sample_plan
from synthesis import changed, stacks_of

LUSTRE = {"storage_gib": 2400, "mb_per_s_per_tib": 500, "zone": "use1-az4"}


def stacks() -> dict[str, Any]:
    return stacks_of(changed(lambda d: d["model_store"].update(lustre=LUSTRE)))


def test_it_is_a_stack_only_where_it_is_asked_for() -> None:
    """It reads network, cluster and store, so destroy takes it before them; other deployments do not have it."""
    plan = changed(lambda d: d["model_store"].update(lustre=LUSTRE))
    assert {"network", "cluster", "model_store"} == set({k.name: k for k in stack_kinds(plan)}["file_system"].reads)
    assert "file_system" not in {k.name for k in stack_kinds(sample_plan())}


def test_the_file_system_is_persistent_ssd_and_encrypted() -> None:
    """PERSISTENT_2 on SSD in the plan's zone, with a rotated key of its own, and no backups of what the bucket holds anyway."""
    found = stacks()["file_system"]["resource"]
    made = found["aws_fsx_lustre_file_system"]["models"]
    assert ("PERSISTENT_2", "SSD", 2400, 500) == tuple(made[k] for k in ("deployment_type", "storage_type", "storage_capacity", "per_unit_storage_throughput"))
    assert ['${data.terraform_remote_state.network.outputs.private_subnets["use1-az4"]}'] == made["subnet_ids"]
    assert found["aws_kms_key"]["file-system"]["enable_key_rotation"] is True
    assert ("${aws_kms_key.file-system.arn}", 0) == (made["kms_key_id"], made["automatic_backup_retention_days"])


def test_it_shows_the_store_and_writes_nothing_back() -> None:
    """All models of the bucket appear as files, also those to come; there is no export."""
    link = stacks()["file_system"]["resource"]["aws_fsx_data_repository_association"]["models"]
    assert ("s3://${data.terraform_remote_state.model_store.outputs.bucket_name}/models/", "/models") == (
        link["data_repository_path"],
        link["file_system_path"],
    )
    assert {"auto_import_policy": {"events": ["NEW", "CHANGED", "DELETED"]}} == link["s3"]


def test_only_nodes_reach_it_on_lustres_ports() -> None:
    """988 and 1018 to 1023, from nodes and among its servers, both ways; no address range."""
    found = stacks()["file_system"]["resource"]
    rules = found["aws_security_group_rule"].values()
    assert {(988, 988), (1018, 1023)} == {(r["from_port"], r["to_port"]) for r in rules}
    assert not [r for r in rules if "cidr_blocks" in r]
    nodes = "${data.terraform_remote_state.cluster.outputs.node_security_group_id}"
    assert {nodes, None, "${aws_security_group.file-system.id}"} == {r.get("source_security_group_id") for r in rules}
    assert {f"aws_security_group_rule.{name}" for name in found["aws_security_group_rule"]} == set(found["aws_fsx_lustre_file_system"]["models"]["depends_on"])


def test_fsx_may_decrypt_the_store_and_nobody_else_more() -> None:
    """The role that FSx takes on is named by pattern, through S3 of this region only; without a file system the key says nothing of it."""
    key = stacks()["model_store"]["resource"]["aws_kms_key"]["model-store"]
    (statement,) = [s for s in json.loads(key["policy"])["Statement"] if s["Sid"] == "FileSystem"]
    assert ["kms:Decrypt", "kms:DescribeKey"] == statement["Action"]
    assert statement["Condition"]["ArnLike"]["aws:PrincipalArn"].endswith("/AWSServiceRoleForFSxS3Access_fs-*")
    assert "s3.us-east-1.amazonaws.com" == statement["Condition"]["StringEquals"]["kms:ViaService"]
    plain = stacks_of(sample_plan())["model_store"]["resource"]["aws_kms_key"]["model-store"]
    assert ["Account"] == [s["Sid"] for s in json.loads(plain["policy"])["Statement"]]


def test_the_driver_only_looks() -> None:
    """Volumes are static, so the driver's controller may neither make nor delete a file system."""
    found = stacks()["file_system"]["resource"]
    addon = found["aws_eks_addon"]["aws-fsx-csi-driver"]
    assert "fsx-csi-controller-sa" == addon["pod_identity_association"][0]["service_account"]
    (statement,) = json.loads(found["aws_iam_role_policy"]["aws-fsx-csi-driver-look"]["policy"])["Statement"]
    assert ["fsx:DescribeFileSystems"] == statement["Action"]


def test_what_pods_need_to_mount_it_is_given_out() -> None:
    """Id, DNS name and mount name are outputs, to be written into the spec."""
    assert {"file_system_id", "file_system_dns_name", "file_system_mount_name"} == set(stacks()["file_system"]["output"])
