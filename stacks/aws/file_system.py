"""Stack `file_system`: FSx for Lustre linked to the model store, and the driver by which pods mount it.

It is a stack of its own, because it reads network, cluster and store, and none of them reads it. Volumes are static: the file
system lives as long as the deployment, not as long as a claim.
"""

from __future__ import annotations

from inferform.labels import STORE_ROOT
from inferform.plan import DeploymentPlan
from inferform.stacks.aws import addons, encryption, iam
from inferform.stacks.aws.account import Account, open_account
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Value, text

OUTPUTS = {"file_system_id": "string", "file_system_dns_name": "string", "file_system_mount_name": "string"}

FSX_CSI = "aws-fsx-csi-driver"
# Lustre's own port, and those that its servers and clients choose. Source: FSx for Lustre user guide, "File system access control
# with Amazon VPC" (read 2026-12-01).
_PORTS = ((988, 988), (1018, 1023))
_SLR_PATH = "role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_fs-*"


def build(stack: Stack) -> None:
    """Fill the stack."""
    account = open_account(stack)
    plan = stack.plan
    lustre = plan.model_store.lustre
    assert lustre is not None
    prefix = plan.resource_prefix()
    group, rules = _security_group(stack)
    key = encryption.key(stack, account, "file-system", "Weights on the file system")
    made = stack.resource(
        "aws_fsx_lustre_file_system",
        "models",
        {
            "deployment_type": "PERSISTENT_2",
            "storage_type": "SSD",
            "storage_capacity": lustre.storage_gib,
            "per_unit_storage_throughput": lustre.mb_per_s_per_tib,
            # Recommended for all new file systems. Source: FSx API reference, CreateFileSystem (read 2026-12-01).
            "file_system_type_version": "2.15",
            "subnet_ids": [stack.remote("network", "private_subnets").key(lustre.zone)],
            "security_group_ids": [group.ref("id")],
            "kms_key_id": key.ref("arn"),
            # Everything on it is in the bucket as well.
            "automatic_backup_retention_days": 0,
            "skip_final_backup": True,
            "tags": {"Name": f"{prefix}-models"},
        },
        depends_on=rules,
    )
    stack.resource(
        "aws_fsx_data_repository_association",
        "models",
        {
            "file_system_id": made.ref("id"),
            "data_repository_path": text("s3://", stack.remote("model_store", "bucket_name"), f"/{STORE_ROOT}"),
            "file_system_path": f"/{STORE_ROOT}".rstrip("/"),
            "batch_import_meta_data_on_create": True,
            # The bucket is the truth: what changes there appears here, and nothing is written back.
            "s3": {"auto_import_policy": {"events": ["NEW", "CHANGED", "DELETED"]}},
            "tags": {"Name": f"{prefix}-models"},
        },
    )
    addons.addon(stack, account, stack.remote("cluster", "cluster_name"), FSX_CSI, caller=_caller(stack, account))
    stack.output("file_system_id", made.ref("id"))
    stack.output("file_system_dns_name", made.ref("dns_name"))
    stack.output("file_system_mount_name", made.ref("mount_name"))


def key_statement(plan: DeploymentPlan, account: Account) -> dict[str, Value]:
    """Lets the role that FSx takes on read the store's objects; that role is made with the file system, so its name is a pattern.

    Source: FSx for Lustre user guide, "Working with server-side encrypted Amazon S3 buckets" (read 2026-12-01).
    """
    return {
        "Sid": "FileSystem",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": ["kms:Decrypt", "kms:DescribeKey"],
        "Resource": "*",
        "Condition": {
            "ArnLike": {"aws:PrincipalArn": account.arn("iam", _SLR_PATH)},
            "StringEquals": {"kms:CallerAccount": account.id, "kms:ViaService": f"s3.{plan.cloud.region}.amazonaws.com"},
        },
    }


def _caller(stack: Stack, account: Account) -> addons.Caller:
    """The driver's controller only looks: volumes are static, so it makes and deletes none."""
    systems = account.arn("fsx", "file-system/*", region=stack.plan.cloud.region)
    look = iam.document(iam.allow(["fsx:DescribeFileSystems"], [systems]))
    return addons.Caller("fsx-csi-controller-sa", inline={"look": look})


def _security_group(stack: Stack) -> tuple[Handle, list[Handle]]:
    """Nodes reach the file system on Lustre's ports, and its servers each other; nobody else does."""
    name = f"{stack.plan.resource_prefix()}-file-system"
    group = stack.resource(
        "aws_security_group",
        "file-system",
        {"name": name, "description": "FSx for Lustre of the model store", "vpc_id": stack.remote("network", "vpc_id"), "tags": {"Name": name}},
    )
    nodes = stack.remote("cluster", "node_security_group_id")
    rules = []
    for first, last in _PORTS:
        for way, why in (("ingress", "Lustre from"), ("egress", "Lustre to")):
            for peer, of in (("nodes", {"source_security_group_id": nodes}), ("itself", {"self": True})):
                shape: dict[str, Value] = {"type": way, "protocol": "tcp", "from_port": first, "to_port": last, "description": f"{why} {peer}", **of}
                rules.append(stack.resource("aws_security_group_rule", f"file-system-{way}-{first}-{peer}", {"security_group_id": group.ref("id"), **shape}))
    # Servers call the nodes back; the nodes' own group lets in only nodes and the control plane.
    for first, last in _PORTS:
        rules.append(
            stack.resource(
                "aws_security_group_rule",
                f"node-from-file-system-{first}",
                {
                    "security_group_id": nodes,
                    "type": "ingress",
                    "protocol": "tcp",
                    "from_port": first,
                    "to_port": last,
                    "source_security_group_id": group.ref("id"),
                    "description": "Lustre servers",
                },
            )
        )
    return group, rules
