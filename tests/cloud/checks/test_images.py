"""Node images."""

from __future__ import annotations

from typing import Any

import pytest
from cloud.double import IMAGE, AwsDouble, ready
from cloud.looking import by_subject, look
from inferform.cloud.checks import images
from inferform.cloud.facts import image_parameter
from inferform.plan import DeploymentPlan
from inferform.stacks.aws.groups import IMAGES
from inferform.stacks.aws.groups import image_parameter as launched


def with_nodes(aws: AwsDouble, **nodes: Any) -> DeploymentPlan:
    """The ready plan with other nodes in the 70B pool."""
    data = ready(aws).model_dump(mode="json")
    data["models"]["llama-70b"]["pools"]["aggregated"]["infrastructure"] |= nodes
    return DeploymentPlan.model_validate(data)


def test_every_kind_of_image_is_found_once(aws: AwsDouble) -> None:
    """Pools that share a kind share a finding; the system pool's image is looked up as well."""
    found = by_subject(look(aws, with_nodes(aws, os="bottlerocket", ami_type="BOTTLEROCKET_x86_64_NVIDIA"), *images.CHECKS))
    assert {
        "AL2023_x86_64_NVIDIA for llama-405b/aggregated, llama-8b/aggregated",
        "AL2023_x86_64_STANDARD for bge/aggregated, system",
        "BOTTLEROCKET_x86_64_NVIDIA for llama-70b/aggregated",
    } == set(found)
    assert all(f.severity == "ok" and f.found.startswith("ami-") and f.found.endswith(" for Kubernetes 1.35") for f in found.values())


def test_a_version_without_images_blocks(aws: AwsDouble) -> None:
    """Where EKS has not published an image for the version yet the parameter is named."""
    plan = ready(aws)
    aws.account.images_until = "1.34"
    found = look(aws, plan, *images.CHECKS)
    assert {"blocker"} == {f.severity for f in found}
    path = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/image_id"
    assert f"the parameter {path}" == found[0].needed
    assert f"aws ssm get-parameter --name {path} --region us-east-1" == found[0].command


@pytest.mark.parametrize(
    ("os", "release", "severity"),
    [("al2023", "v20261120", "ok"), ("al2023", "v20200101", "blocker"), ("bottlerocket", "1.51.0", "ok"), ("bottlerocket", "1.0.1", "blocker")],
)
def test_a_release_must_have_been_published(aws: AwsDouble, os: str, release: str, severity: str) -> None:
    """A pinned release is looked up by its own parameter, apart from the newest image of the kind."""
    kind = "AL2023_x86_64_NVIDIA" if os == "al2023" else "BOTTLEROCKET_x86_64_NVIDIA"
    found = by_subject(look(aws, with_nodes(aws, kind="self_managed", os=os, ami_type=kind, ami_release=release), *images.CHECKS))
    finding = found[f"{kind} {release} for llama-70b/aggregated"]
    assert severity == finding.severity
    assert ("set nodes.ami_release to one that EKS published" in finding.fix) == (severity == "blocker")
    assert "ok" == found["AL2023_x86_64_NVIDIA for llama-405b/aggregated, llama-8b/aggregated"].severity


def test_a_kind_that_is_not_known_is_unknown(aws: AwsDouble) -> None:
    """An ami_type of the future is not called wrong."""
    found = by_subject(look(aws, with_nodes(aws, ami_type="AL2031_x86_64_NVIDIA"), *images.CHECKS))
    assert "unknown" == found["AL2031_x86_64_NVIDIA for llama-70b/aggregated"].severity


def test_an_own_image_must_be_there(aws: AwsDouble) -> None:
    """An image id of another region or account blocks, with the command that shows it."""
    found = by_subject(look(aws, with_nodes(aws, ami_id="ami-0123456789abcdef0", ami_type=None), *images.CHECKS))
    blocker = found["ami-0123456789abcdef0 for llama-70b/aggregated"]
    assert ("blocker", "not there, or not shared with this account, in us-east-1") == (blocker.severity, blocker.found)
    assert "aws ec2 describe-images --image-ids ami-0123456789abcdef0 --region us-east-1" == blocker.command


def test_an_own_image_that_is_there_is_ok_if_it_fits(aws: AwsDouble) -> None:
    """p5 runs x86_64; an arm64 image blocks."""
    arm = aws.client("ec2").register_image(Name="own", Architecture="arm64")["ImageId"]
    for image, severity in ((IMAGE, "ok"), (arm, "blocker")):
        found = by_subject(look(aws, with_nodes(aws, ami_id=image, ami_type=None), *images.CHECKS))
        assert severity == found[f"{image} for llama-70b/aggregated"].severity


@pytest.mark.parametrize("kind", sorted(IMAGES))
def test_preflight_looks_where_launch_templates_look(kind: str) -> None:
    """The parameter that is checked is the one self-managed nodes resolve at launch, of the newest image or of a release."""
    release = "1.51.0" if kind.startswith("BOTTLEROCKET") else "v20261120"
    for pinned in (None, release):
        assert launched(kind, "1.35", pinned) == image_parameter(kind, "1.35", pinned)
