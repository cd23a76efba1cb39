"""What an account may have and what EKS publishes, as fakes that reject what AWS rejects: quotas, images, versions, bucket owners.

Sources: Service Quotas API reference (GetServiceQuota, RequestServiceQuotaIncrease), Systems Manager API reference (GetParameters),
EKS API reference (DescribeClusterVersions) with the release calendar, S3 user guide (bucket owner condition), read 2026-12-01.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from inferform.sandbox.fakes_wire import Fake, Json, RefusedError, Wsgi
from moto.s3.models import s3_backends
from werkzeug.wrappers import Request, Response

_IMAGE = re.compile(
    r"/aws/service/(eks/optimized-ami/(?P<al>1\.\d+)/amazon-linux-2023/(x86_64|arm64)/(standard|nvidia)/"
    r"(recommended|amazon-eks-node-al2023-(x86_64|arm64)-(standard|nvidia)-1\.\d+-(?P<ar>v\d{8}))/image_id"
    r"|bottlerocket/aws-k8s-(?P<br>1\.\d+)(-nvidia)?/(x86_64|arm64)/(latest|(?P<bv>\d+\.\d+\.\d+))/image_id)"
)
# Version -> (released, end of standard support, end of extended support).
_CALENDAR = {
    "1.32": ("2025-01-25", "2026-03-23", "2027-03-23"),
    "1.33": ("2025-05-28", "2026-07-29", "2027-07-29"),
    "1.34": ("2025-10-06", "2026-12-02", "2027-12-02"),
    "1.35": ("2026-01-28", "2027-03-27", "2028-03-27"),
    "1.36": ("2026-06-02", "2027-08-02", "2028-08-02"),
}
_TODAY = "2026-12-01"


@dataclass
class Account:
    """Quotas by (service, code): what applies (`quotas`), AWS's own defaults, and increases that are asked for."""

    quotas: dict[tuple[str, str], float] = field(default_factory=dict)
    defaults: dict[tuple[str, str], float] = field(default_factory=dict)
    requests: list[Json] = field(default_factory=list)
    images_until: str = "1.36"
    releases: set[str] = field(default_factory=lambda: {"v20261120", "1.51.0"})

    def fakes(self) -> dict[tuple[str, str], Fake]:
        """By service model and operation."""
        return {
            ("service-quotas", "GetServiceQuota"): self._quota,
            ("service-quotas", "GetAWSDefaultServiceQuota"): self._default,
            ("service-quotas", "ListRequestedServiceQuotaChangeHistoryByQuota"): self._history,
            ("service-quotas", "RequestServiceQuotaIncrease"): self._request,
            ("ssm", "GetParameters"): self._parameters,
            ("eks", "DescribeClusterVersions"): self._versions,
        }

    def _quota(self, given: Json, region: str) -> Json:
        return {"Quota": _quota(given, self.quotas)}

    def _default(self, given: Json, region: str) -> Json:
        return {"Quota": _quota(given, self.defaults)}

    def _history(self, given: Json, region: str) -> Json:
        return {"RequestedQuotas": [r for r in self.requests if (r["ServiceCode"], r["QuotaCode"]) == (given["ServiceCode"], given["QuotaCode"])]}

    def _request(self, given: Json, region: str) -> Json:
        key, desired = (given["ServiceCode"], given["QuotaCode"]), float(given["DesiredValue"])
        if key not in self.quotas and key not in self.defaults:
            raise RefusedError("NoSuchResourceException", "The requested resource does not exist.")
        if desired <= self.quotas.get(key, self.defaults.get(key, 0.0)):
            raise RefusedError("IllegalArgumentException", "You must provide a quota value greater than the current quota value.")
        if any((r["ServiceCode"], r["QuotaCode"]) == key and r["Status"] in ("PENDING", "CASE_OPENED") for r in self.requests):
            raise RefusedError("ResourceAlreadyExistsException", "Only one open service quota increase request is allowed per quota.")
        made = {"Id": f"request-{len(self.requests) + 1}", "ServiceCode": key[0], "QuotaCode": key[1], "DesiredValue": desired, "Status": "PENDING"}
        self.requests.append(made)
        return {"RequestedQuota": made}

    def _parameters(self, given: Json, region: str) -> Json:
        names = list(given["Names"])
        if len(names) > 10:
            raise RefusedError("ValidationException", "Member must have length less than or equal to 10")
        if not all(n.startswith(("/aws/service/eks/", "/aws/service/bottlerocket/")) for n in names):
            raise NotImplementedError
        found, unknown = [], []
        for name in names:
            match = _IMAGE.fullmatch(name)
            version = (match.group("al") or match.group("br")) if match else ""
            release = (match.group("ar") or match.group("bv")) if match else None
            if version and (release is None or release in self.releases) and (1, 31) <= _minor(version) <= _minor(self.images_until):
                value = f"ami-{hashlib.sha256(f'{region}{name}'.encode()).hexdigest()[:17]}"
                found.append({"Name": name, "Type": "String", "Value": value, "Version": 1, "DataType": "aws:ec2:image"})
            else:
                unknown.append(name)
        return {"Parameters": found, "InvalidParameters": unknown}

    def _versions(self, given: Json, region: str) -> Json:
        return {"clusterVersions": [_version(v) for v in sorted(_CALENDAR, reverse=True)]}


def _quota(given: Json, known: dict[tuple[str, str], float]) -> Json:
    key = (given["ServiceCode"], given["QuotaCode"])
    if key not in known:
        raise RefusedError("NoSuchResourceException", "The request failed because the specified service quota does not exist or has no applied value.")
    return {"ServiceCode": key[0], "QuotaCode": key[1], "Value": known[key], "Adjustable": True, "GlobalQuota": False}


def _version(version: str) -> Json:
    released, standard, extended = _CALENDAR[version]
    status = "STANDARD_SUPPORT" if _TODAY < standard else "EXTENDED_SUPPORT"
    return {
        "clusterVersion": version, "clusterType": "eks", "defaultVersion": version == max(_CALENDAR), "releaseDate": _day(released),
        "endOfStandardSupportDate": _day(standard), "endOfExtendedSupportDate": _day(extended), "versionStatus": status, "status": status.lower().replace("_", "-"),
    }  # fmt: skip


def _day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _minor(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)


@dataclass(frozen=True)
class BucketOwners:
    """Refuses S3 calls that expect another owner than the bucket has, as S3 does; moto does not look."""

    application: Wsgi

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = Request(environ)
        expected = request.headers.get("x-amz-expected-bucket-owner")
        name = request.path.strip("/").split("/")[0]
        if expected and any(name in region["aws"].buckets for account, region in s3_backends.items() if account != expected):
            body = "" if request.method == "HEAD" else "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
            return Response(body, 403, content_type="application/xml")(environ, start_response)
        return self.application(environ, start_response)
