"""Who calls, and whether the region is open to the account: without these nothing else can be asked."""

from __future__ import annotations

from collections.abc import Iterator

from inferform.cloud.api import CallFailedError
from inferform.cloud.check import Answer, Check, shell
from inferform.cloud.facts import base_region
from inferform.cloud.site import Site


def _caller(site: Site) -> Iterator[Answer]:
    """Sets `site.account`. The caller is named without the session name, which may be a person's address."""
    region = base_region(site.plan.cloud.region)
    try:
        caller = site.api.call("sts", "get_caller_identity", region=region)
    except CallFailedError as err:
        if err.kind == "credentials":
            yield Answer(
                "blocker", "caller", f"no valid credentials: {err.words}", "an AWS identity",
                "sign in (aws sso login, aws configure) or give the job a role; inferform reads credentials as the AWS CLI does", "aws sts get-caller-identity",
            )  # fmt: skip
        else:
            yield Answer(
                "blocker", "caller", f"AWS does not answer: {err.words}", "an answer from AWS STS",
                "check network, proxy (HTTPS_PROXY) and DNS; nothing else was checked", "aws sts get-caller-identity",
            )  # fmt: skip
        return
    site.account = str(caller["Account"])
    arn = str(caller["Arn"])
    if arn.endswith(":root"):
        yield Answer(
            "warning",
            "caller",
            f"root user of account {site.account}",
            "a role or user",
            "use a role with the operator policy (inferform bootstrap --policies)",
        )
        return
    kind, _, name = arn.rpartition(":")[2].partition("/")
    who = name.split("/")[0] if kind == "assumed-role" else name
    yield Answer("ok", "caller", f"account {site.account} as {kind}/{who}")


def _region(site: Site) -> Iterator[Answer]:
    region = site.plan.cloud.region
    answer = site.api.call("ec2", "describe_regions", region=base_region(region), AllRegions=True)
    status = {r["RegionName"]: r.get("OptInStatus", "opt-in-not-required") for r in answer["Regions"]}
    if region not in status:
        yield Answer("blocker", region, "no such region in this partition", "a region of AWS", "correct cloud.region")
    elif status[region] == "not-opted-in":
        yield Answer(
            "blocker", region, "not enabled for this account", "an enabled region", "enable it; that takes minutes to hours",
            shell("aws", "account", "enable-region", "--region-name", region),
        )  # fmt: skip
    else:
        yield Answer("ok", region, f"enabled ({status[region]})")


CHECKS = (Check("IDN001", "Caller", _caller), Check("IDN002", "Region", _region))
