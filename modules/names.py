"""What spec fields are made of: names and addresses, one type each with its pattern and the words for it, and the frozen base.

Patterns use ASCII classes only ([0-9], never the Unicode digit class), so that a name is safe in every file it lands in.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

# What each pattern below asks for, in words; error messages and the published schema use them.
WANTS: dict[str, str] = {}


def _text(pattern: str, wants: str, max_length: int = 253) -> StringConstraints:
    # Lengths are limits of their own: counted repetitions make a pattern slow to compile.
    WANTS[pattern] = wants
    return StringConstraints(pattern=pattern, max_length=max_length)


# A Kubernetes namespace is a DNS label (63); AWS role names stop at 64: name + environment + pool + suffix must fit.
Name = Annotated[str, _text(r"^[a-z]([-a-z0-9]*[a-z0-9])?$", "lower-case letters, digits and dashes, a letter first, at most 30 characters", 30)]
SecretName = Annotated[str, _text(r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "the name of a Kubernetes Secret: lower-case letters, digits, dashes and dots")]
SecretField = Annotated[str, _text(r"^[-._a-zA-Z0-9]+$", "the key of a Kubernetes Secret: letters, digits, dashes, dots and underscores")]
Region = Annotated[str, _text(r"^[a-z]{2}(-[a-z]+)+-[0-9]$", "a region name such as us-east-1", 32)]
ZoneId = Annotated[
    str, _text(r"^[a-z]+[0-9]-([a-z]{3}[0-9]-)?az[0-9]{1,2}$", "an Availability Zone id such as use1-az4 (not a zone name such as us-east-1a)", 24)
]
KubernetesVersion = Annotated[str, _text(r"^1\.[0-9]{2}$", 'a Kubernetes minor version in quotes, such as "1.33"')]
AddonVersion = Annotated[str, _text(r"^v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+$", "a version of an EKS add-on such as v1.20.4-eksbuild.2", 40)]
PrincipalArn = Annotated[str, _text(r"^arn:aws(-[a-z]+)*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9_+=,.@/-]+$", "the ARN of an IAM role or user", 600)]
GpuName = Annotated[str, _text(r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$", "a GPU name such as H100 or L40S", 64)]
InstanceType = Annotated[str, _text(r"^[a-z0-9-]+\.[a-z0-9-]+$", "an instance type such as p5.48xlarge", 40)]
AmiId = Annotated[str, _text(r"^ami-[0-9a-f]{8,17}$", "an image id such as ami-0123456789abcdef0")]
AmiType = Annotated[str, _text(r"^[A-Z][A-Za-z0-9_]+$", "an EKS ami_type such as AL2023_x86_64_NVIDIA", 64)]
AmiRelease = Annotated[
    str, _text(r"^(v[0-9]{8}|v?[0-9]+\.[0-9]+\.[0-9]+)$", "a release of an EKS image such as v20260714 (AL2023) or v1.57.0 (Bottlerocket)", 24)
]
PlacementGroupName = Annotated[str, _text(r"^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$", "the name of an EC2 placement group", 255)]
TaintKey = Annotated[
    str, _text(r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", "a Kubernetes label key such as nvidia.com/gpu")
]
FileSystemId = Annotated[str, _text(r"^fs-[0-9a-f]{8,17}$", "a file system id such as fs-0123456789abcdef0")]
MountName = Annotated[str, _text(r"^[a-z0-9]{1,8}$", "the mount name of a Lustre file system, such as 45z7xbmv", 8)]
MigProfile = Annotated[str, _text(r"^[1-7]g\.[0-9]{1,3}gb$", "a MIG profile such as 3g.40gb", 12)]
ReservationId = Annotated[str, _text(r"^cr-[0-9a-f]{8,17}$", "a capacity reservation id such as cr-0123456789abcdef0")]
UtcTime = Annotated[str, _text(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z$", "a time in UTC such as 2026-12-24T11:30:00Z")]
ClockTime = Annotated[str, _text(r"^([01][0-9]|2[0-3]):[0-5][0-9]$", 'a time of day in quotes, such as "07:30"', 5)]
ClockEnd = Annotated[str, _text(r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$", 'a time of day in quotes, such as "19:00", or "24:00"', 5)]
TimeZone = Annotated[str, _text(r"^[A-Za-z]+([/_+-][A-Za-z0-9]+)*$", "an IANA time zone such as Europe/Berlin", 64)]
S3Object = Annotated[
    str, _text(r"^s3://[a-z0-9][a-z0-9.-]+[a-z0-9]/[A-Za-z0-9_./=-]*[A-Za-z0-9_.-]$", "an object in S3 such as s3://acme-data/prompts/contracts.jsonl", 1024)
]
HubName = Annotated[str, _text(r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$", "a name on the model hub such as org/name", 128)]
DataField = Annotated[str, _text(r"^[A-Za-z_][A-Za-z0-9_.-]*$", "letters, digits, dots, dashes and underscores", 64)]
EngineVersion = Annotated[str, _text(r"^[0-9]+\.[0-9]+(\.[0-9]+)?([.-]?(post|rc)[0-9]+)?$", 'a version in quotes, such as "0.33.0"', 32)]
Image = Annotated[
    str,
    _text(
        r"^[a-z0-9][a-zA-Z0-9._-]*(:[0-9]{1,5}/)?[a-zA-Z0-9._/-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(:[A-Za-z0-9_.-]+|@sha256:[0-9a-f]{64})$",
        "a container image with a tag or digest, such as vllm/vllm-openai:v0.33.0",
        512,
    ),
]
HostName = Annotated[str, _text(r"^(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "a host name such as llm.example.com")]
Url = Annotated[str, _text(r"^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?$", "an address such as http://prometheus.monitoring.svc:9090", 512)]
HttpsUrl = Annotated[str, _text(r"^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$", "an https address such as https://login.example.com/keys", 512)]
HostPort = Annotated[str, _text(r"^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?:[0-9]{1,5}$", "host:port, such as redis.redis-system.svc:6379", 260)]
Claim = Annotated[str, _text(r"^[A-Za-z0-9_.:/-]+$", "the name of a token claim, such as sub", 128)]
BucketName = Annotated[str, _text(r"^[a-z0-9][a-z0-9.-]+[a-z0-9]$", "a bucket name: 3 to 63 lower-case letters, digits, dots and dashes", 63)]


def _network(text: str) -> str:
    try:
        ipaddress.IPv4Network(text)
    except ValueError as err:
        raise ValueError(f"wants an IPv4 range in CIDR form, such as 10.0.0.0/16 ({err})") from err
    return text


Cidr = Annotated[str, AfterValidator(_network)]

Zones = Annotated[tuple[ZoneId, ...], Field(max_length=16)]
Cidrs = Annotated[tuple[Cidr, ...], Field(max_length=40)]
Principals = Annotated[tuple[PrincipalArn, ...], Field(max_length=64)]
GpuNames = Annotated[tuple[GpuName, ...], Field(max_length=64)]
InstanceTypes = Annotated[tuple[InstanceType, ...], Field(max_length=64)]
Audiences = Annotated[tuple[Annotated[str, StringConstraints(min_length=1, max_length=256)], ...], Field(max_length=16)]
EngineArgs = Annotated[tuple[Annotated[str, StringConstraints(min_length=1, max_length=1024)], ...], Field(max_length=64)]


class Strict(BaseModel):
    """A frozen part of the spec; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=False, validate_default=True)

    def faults(self) -> Iterator[tuple[str, str]]:
        """(field, what is wrong) where fields contradict each other."""
        yield from ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found = list(self.faults())
        if found:
            # Every fault at once, each at its own field: the loader takes them apart again.
            raise PydanticCustomError("faults", "{text}", {"text": "; ".join(f"{name}: {what}" for name, what in found), "faults": found})
        return self
