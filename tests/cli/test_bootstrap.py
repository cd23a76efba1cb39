"""`inferform bootstrap` on the command line: options, exit codes, streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.double import AwsDouble
from specs import MINIMAL, write

Run = Callable[..., Any]


@pytest.fixture
def aws() -> Iterator[AwsDouble]:
    """A double of AWS with an empty account."""
    double = AwsDouble().start()
    yield double
    double.stop()


def spec(folder: Path, aws: AwsDouble) -> Path:
    return write(folder, f"{MINIMAL}state: {{bucket: state-{aws.number}}}\n")


def test_first_run_makes_and_second_run_keeps(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """JSON has every property with what was found and done; the second run changes nothing."""
    path = spec(tmp_path, aws)
    first = inferform("bootstrap", path, "--sandbox", aws.url, "--format", "json")
    assert (0, "") == (first.code, first.err)
    assert (True, f"state-{aws.number}", aws.number, "s3") == tuple(first.data[k] for k in ("changed", "bucket", "account", "backend"))
    assert {"name": "versions", "found": "off", "wanted": "Enabled", "action": "created"} in first.data["steps"]
    second = inferform("bootstrap", path, "--sandbox", aws.url, "--format", "json")
    assert (False, {"kept"}) == (second.data["changed"], {s["action"] for s in second.data["steps"]})


def test_dry_run_text(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """A table of at most 100 columns, and no bucket afterwards."""
    ran = inferform("bootstrap", spec(tmp_path, aws), "--sandbox", aws.url, "--dry-run")
    assert 0 == ran.code
    lines = ran.out.splitlines()
    assert f"demo in default: state in bucket state-{aws.number}, us-east-1" == lines[0]
    assert "8 to do; run it without --dry-run." == lines[-1]
    assert 100 >= max(len(line) for line in lines)
    assert [] == aws.client("s3").list_buckets()["Buckets"]


def test_a_refusal_ends_with_1_and_the_reason(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """A bucket that holds other things is an error on standard error, JSON where asked for; nothing on standard output."""
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=f"state-{aws.number}")
    s3.put_object(Bucket=f"state-{aws.number}", Key="photo.jpg", Body=b"")
    ran = inferform("bootstrap", spec(tmp_path, aws), "--sandbox", aws.url, "--format", "json")
    assert (1, "", "StateError") == (ran.code, ran.out, ran.error["kind"])
    assert "photo.jpg" in ran.error["message"]


def test_adopt_completes_a_state_bucket_of_somebody_else(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """--adopt is what the refusal says."""
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=f"state-{aws.number}")
    s3.put_object(Bucket=f"state-{aws.number}", Key="a/network.tfstate", Body=b"{}")
    refused = inferform("bootstrap", spec(tmp_path, aws), "--sandbox", aws.url)
    assert (1, True) == (refused.code, "--adopt" in refused.err)
    assert 0 == inferform("bootstrap", spec(tmp_path, aws), "--sandbox", aws.url, "--adopt").code


def test_local_state_needs_nothing(tmp_path: Path, inferform: Run) -> None:
    """With local state the command says so and ends with 0, without an account."""
    ran = inferform("bootstrap", write(tmp_path, f"{MINIMAL}state: {{backend: local}}\n"))
    assert 0 == ran.code
    assert "demo in default: state in local files" == ran.out.splitlines()[0]


def test_policies_need_no_account(tmp_path: Path, inferform: Run, aws: AwsDouble) -> None:
    """--policies prints documents for operator, CI and bootstrap, from the stacks of this very spec, and calls nothing."""
    ran = inferform("bootstrap", spec(tmp_path, aws), "--policies", "--sandbox", aws.url)
    assert (0, 0) == (ran.code, aws.heard)
    assert {"operator", "ci", "bootstrap"} == set(ran.data)
    assert "put-role-policy" in ran.err
    actions = {a for s in ran.data["operator"]["Statement"] for a in s["Action"]}
    # One managed pool on small GPUs: node groups, no placement group, no scaling group of its own.
    assert {"eks:CreateNodegroup", "s3:CreateBucket"} <= actions
    assert not {"ec2:CreatePlacementGroup", "autoscaling:CreateAutoScalingGroup"} & actions
    assert "" == inferform("bootstrap", spec(tmp_path, aws), "--policies", "--quiet").err


def test_bad_input_ends_with_2(tmp_path: Path, inferform: Run) -> None:
    """A spec that cannot be read is no matter of AWS."""
    assert 2 == inferform("bootstrap", tmp_path / "none.yaml").code
