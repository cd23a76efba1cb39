"""Facts about AWS that no API tells, from `data/`: service quotas and where images are listed."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

# Where a region can be asked about before it is enabled, and where the price list and savings plans answer. Source: AWS general reference,
# "Partitions" and "Price List endpoints" (read 2026-12-01).
_BASE_REGIONS = (("cn-", "cn-north-1"), ("us-gov-", "us-gov-west-1"))
PRICE_LIST_REGION = COMMITMENTS_REGION = "us-east-1"

# SSM public parameters with the id of the newest image for a Kubernetes version. Source: EKS user guide, "Retrieve recommended
# Amazon Linux AMI IDs" and "Retrieve recommended Bottlerocket AMI IDs" (read 2026-12-01).
_AL2023 = "/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/"
_BOTTLEROCKET = "/aws/service/bottlerocket/aws-k8s-{version}"
_IMAGES = {
    "AL2023_ARM_64_NVIDIA": f"{_AL2023}arm64/nvidia/recommended/image_id",
    "AL2023_ARM_64_STANDARD": f"{_AL2023}arm64/standard/recommended/image_id",
    "AL2023_x86_64_NVIDIA": f"{_AL2023}x86_64/nvidia/recommended/image_id",
    "AL2023_x86_64_STANDARD": f"{_AL2023}x86_64/standard/recommended/image_id",
    "BOTTLEROCKET_ARM_64": f"{_BOTTLEROCKET}/arm64/latest/image_id",
    "BOTTLEROCKET_ARM_64_NVIDIA": f"{_BOTTLEROCKET}-nvidia/arm64/latest/image_id",
    "BOTTLEROCKET_x86_64": f"{_BOTTLEROCKET}/x86_64/latest/image_id",
    "BOTTLEROCKET_x86_64_NVIDIA": f"{_BOTTLEROCKET}-nvidia/x86_64/latest/image_id",
}
# EC2 counts vCPUs by the letters that open a type's name; what is not here is counted elsewhere (Inf, Trn, F, X, ...).
_STANDARD = frozenset("acdhimrtz")
_COUNTED_APART = frozenset({"dl", "hpc", "inf", "mac", "trn"})


@dataclass(frozen=True, slots=True)
class Quota:
    """A service quota: the names under which Service Quotas knows it, and what a new account has."""

    key: str
    service: str
    code: str
    name: str
    default: float


@cache
def quotas() -> dict[str, Quota]:
    """Quotas by key: `P/on_demand`, `vpcs`, ..."""
    text = resources.files("inferform.cloud.data").joinpath("quotas.csv").read_text(encoding="utf-8")
    return {r["key"]: Quota(r["key"], r["service"], r["code"], r["name"], float(r["default"])) for r in csv.DictReader(text.splitlines())}


def quota_family(instance_type: str) -> str:
    """The vCPU quota that counts a type: P, G and VT, Standard; empty for those we do not know."""
    letters = re.match("[a-z]*", instance_type)
    name = letters.group() if letters else ""
    if name == "p":
        return "P"
    if name in ("g", "gr", "vt"):
        return "G and VT"
    return "Standard" if name[:1] in _STANDARD and name not in _COUNTED_APART else ""


def image_parameter(ami_type: str, kubernetes_version: str, release: str | None = None) -> str | None:
    """The SSM parameter that names an image of a kind, the newest or that of a release; None for kinds that are not listed.

    Source: as above, and the releases of awslabs/amazon-eks-ami (read 2026-12-01).
    """
    path = _IMAGES.get(ami_type)
    if path is None:
        return None
    newest = path.format(version=kubernetes_version)
    if release is None:
        return newest
    if ami_type.startswith("BOTTLEROCKET"):
        return newest.replace("/latest/", f"/{release.removeprefix('v')}/")
    arch, variant = newest.split("/")[-4:-2]
    return newest.replace("/recommended/", f"/amazon-eks-node-al2023-{arch}-{variant}-{kubernetes_version}-{release}/")


def base_region(region: str) -> str:
    """A region of the same partition that every account has."""
    return next((base for start, base in _BASE_REGIONS if region.startswith(start)), "us-east-1")
