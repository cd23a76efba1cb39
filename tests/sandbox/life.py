"""The life of one fleet on the sandbox, with the real terraform and provider: run once, its findings kept as data.

Planned; an apply whose process is killed; an apply whose terraform is killed; the apply that completes; a second plan; changes
behind its back and the drift they make; destroy. Run as a program it is the apply that gets killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from inferform.errors import InferformError
from inferform.operate.apply import apply
from inferform.operate.audit import Actor
from inferform.operate.destroy import destroy
from inferform.operate.drift import drift
from inferform.operate.plan import plan
from inferform.operate.progress import Step
from inferform.operate.steps import Rules
from inferform.plan import DeploymentPlan
from inferform.sandbox.backend import client, sandbox_backend
from inferform.sandbox.server import Double
from samples import plan_data

ACTOR = Actor("ada@acme.example", "2026-12-01T08:00:00Z")
RULES = Rules(date(2026, 12, 1))
REGION = "us-east-1"
Json = dict[str, Any]


def fleet() -> DeploymentPlan:
    """The sample plan, with a line of cost for each pool and no budget in the way of its made-up prices."""
    data = plan_data()
    data["cost"] |= {"budget_usd_per_month": None, "by_pool": {f"{model}/aggregated": 30.0 for model in data["models"]}}
    return DeploymentPlan.model_validate(data)


def run(folder: Path) -> Json:
    """Live through everything below `folder`; what was found, as plain data."""
    found: Json = {"seconds": {}}
    source, out = fleet(), folder / "out"
    with Double() as double:
        backend = sandbox_backend(double.url, folder / "provider", os.environ)

        def timed(name: str, work: Callable[[], Any]) -> Any:
            began = time.monotonic()
            result = work()
            found[name] = result.model_dump(mode="json")
            found["seconds"][name] = round(time.monotonic() - began, 1)
            return result

        timed("plan", lambda: plan(source, out, backend=backend, actor=ACTOR, rules=RULES))
        killed(double.url, folder, at="apply progress network apply_start", whom="inferform")
        found["after_kill"] = journal(out)
        found["killed_terraform"] = killed(double.url, folder, at="apply progress cluster apply_complete", whom="terraform")
        timed("apply", lambda: apply(source, out, backend=backend, actor=ACTOR, rules=RULES))
        found["cloud"] = inventory(double.url)
        timed("second_plan", lambda: plan(source, out, backend=backend, actor=ACTOR, rules=RULES))
        behind_its_back(double.url)
        timed("drift", lambda: drift(source, out, backend=backend, actor=ACTOR))
        timed("destroy", lambda: destroy(source, out, backend=backend, actor=ACTOR))
        found["left"] = inventory(double.url)
    return found


def journal(out: Path) -> Json:
    """How far the apply came."""
    document: Json = json.loads((out / "journal.json").read_text())
    return document


def killed(url: str, folder: Path, *, at: str, whom: str) -> str:
    """Apply in a process of its own and kill -9 it, or the terraform it runs, where it tells `at`; what it said at the end."""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    child = subprocess.Popen([sys.executable, __file__, url, str(folder)], stdout=subprocess.PIPE, text=True, env=environ)
    assert child.stdout
    line = ""
    for line in child.stdout:
        if line.startswith(at):
            break
    else:
        raise AssertionError(f"{at} never came, but: {line}")
    if whom == "inferform":
        child.kill()
    else:
        marker = folder / "out/work" / at.split()[2] / "terraform.running"
        os.killpg(json.loads(marker.read_text())["pid"], signal.SIGKILL)
    said = child.communicate(timeout=120)[0]
    return said.strip().splitlines()[-1] if said.strip() else ""


def behind_its_back(url: str) -> None:
    """What people and controllers do: an open door, a deleted policy, a node more."""
    ec2, s3, eks = (client(url, service, REGION) for service in ("ec2", "s3", "eks"))
    group = next(g for g in ec2.describe_security_groups()["SecurityGroups"] if g["GroupName"].endswith("-efa"))
    ec2.create_tags(Resources=[group["GroupId"]], Tags=[{"Key": "owner", "Value": "mallory"}])
    bucket = s3.list_buckets()["Buckets"][0]["Name"]
    s3.delete_bucket_policy(Bucket=bucket)
    eks.update_nodegroup_config(clusterName="contract-qa-prod", nodegroupName="llama-70b-aggregated", scalingConfig={"desiredSize": 2})


def inventory(url: str) -> Json:
    """What the cloud has, by kind; the account's own default network is left out."""
    ec2, eks, iam, s3, scaling, kms, logs = (client(url, s, REGION) for s in ("ec2", "eks", "iam", "s3", "autoscaling", "kms", "logs"))
    own = [v["VpcId"] for v in ec2.describe_vpcs()["Vpcs"] if not v["IsDefault"]]
    clusters = eks.list_clusters()["clusters"]
    keys = [kms.describe_key(KeyId=k["KeyId"])["KeyMetadata"] for k in kms.list_keys()["Keys"]]
    nats = ec2.describe_nat_gateways()["NatGateways"]
    return {
        "vpcs": len(own),
        "subnets": sum(s["VpcId"] in own for s in ec2.describe_subnets()["Subnets"]),
        "nat_gateways": sum(n["State"] == "available" for n in nats),
        "addresses": len(ec2.describe_addresses()["Addresses"]),
        "security_groups": sorted(
            g["GroupName"] for g in ec2.describe_security_groups()["SecurityGroups"] if g["VpcId"] in own and g["GroupName"] != "default"
        ),
        "launch_templates": sorted(t["LaunchTemplateName"] for t in ec2.describe_launch_templates()["LaunchTemplates"]),
        "placement_groups": sorted(g["GroupName"] for g in ec2.describe_placement_groups()["PlacementGroups"]),
        "clusters": clusters,
        "node_groups": sorted(n for c in clusters for n in eks.list_nodegroups(clusterName=c)["nodegroups"]),
        "addons": sorted(n for c in clusters for n in eks.list_addons(clusterName=c)["addons"]),
        "scaling_groups": sorted(g["AutoScalingGroupName"] for g in scaling.describe_auto_scaling_groups()["AutoScalingGroups"]),
        "instances": sum(i["State"]["Name"] == "running" for r in ec2.describe_instances()["Reservations"] for i in r["Instances"]),
        "roles": sorted(r["RoleName"] for r in iam.list_roles()["Roles"]),
        "buckets": sorted(b["Name"] for b in s3.list_buckets()["Buckets"]),
        "keys": sorted(k["Description"] for k in keys if k["KeyState"] == "Enabled" and "Default master key" not in k["Description"]),
        "log_groups": sorted(g["logGroupName"] for g in logs.describe_log_groups()["logGroups"]),
    }


def tell(step: Step) -> None:
    """One line a step."""
    print(step.phase, step.state, step.stack, step.text, flush=True)


if __name__ == "__main__":
    place = Path(sys.argv[2])
    try:
        apply(fleet(), place / "out", tell, backend=sandbox_backend(sys.argv[1], place / "provider", os.environ), actor=ACTOR, rules=RULES)
    except InferformError as err:
        print(" ".join(str(err).split()), flush=True)
