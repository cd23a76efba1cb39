"""Who calls, and whether the region is open."""

from __future__ import annotations

import boto3
import pytest
from cloud.double import NOW, AwsDouble, ready
from inferform.cloud.api import EndpointSession
from inferform.cloud.preflight import preflight
from inferform.cloud.results import PreflightResult


def run(aws: AwsDouble, **changes: object) -> PreflightResult:
    return preflight(ready(aws, **changes), aws.sessions(), now=NOW, checks=())


def test_no_credentials_is_one_clear_finding(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without credentials the one finding says how to sign in; nothing else is asked."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    result = preflight(ready(aws), lambda: EndpointSession(boto3.Session(), aws.url), now=NOW)
    assert [("IDN001", "blocker")] == [(f.id, f.severity) for f in result.findings]
    assert "no valid credentials: Unable to locate credentials" == result.findings[0].found
    assert "aws sso login" in result.findings[0].fix
    assert result.blocked


def test_a_profile_that_is_not_there_is_told_the_same_way(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown AWS_PROFILE is a finding about credentials, not a crash."""
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_PROFILE", "no-such")
    result = preflight(ready(aws), boto3.Session, now=NOW)
    assert [("IDN001", "blocker")] == [(f.id, f.severity) for f in result.findings]
    assert "no-such" in result.findings[0].found


def test_expired_credentials_block(aws: AwsDouble) -> None:
    """A token that AWS no longer takes blocks, with AWS's own words."""
    aws.fails["sts:GetCallerIdentity"] = ("expired", 9)
    assert [("IDN001", "blocker", "no valid credentials: not today")] == [(f.id, f.severity, f.found) for f in run(aws).findings]


def test_the_caller_is_named_without_the_session(aws: AwsDouble) -> None:
    """A role is named by account and role; the session name, often a person's address, is left out."""
    role = aws.client("iam").create_role(RoleName="deploy", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    keys = aws.client("sts").assume_role(RoleArn=role, RoleSessionName="ada@acme.example")["Credentials"]

    def factory() -> EndpointSession:
        session = boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])
        session.events.register("before-call", lambda params, **more: params["headers"].update({"x-moto-account-id": aws.number}))
        return EndpointSession(session, aws.url)

    result = preflight(ready(aws), factory, now=NOW, checks=())
    assert f"account {aws.number} as assumed-role/deploy" == result.findings[0].found
    assert "ada@acme" not in result.model_dump_json()


def test_a_region_that_does_not_exist_blocks(aws: AwsDouble) -> None:
    """A region that AWS does not list stops everything else, naming the field."""
    plan = ready(aws)
    result = preflight(plan.model_copy(update={"cloud": plan.cloud.model_copy(update={"region": "us-north-7"})}), aws.sessions(), now=NOW)
    assert [("IDN001", "ok"), ("IDN002", "blocker")] == [(f.id, f.severity) for f in result.findings]
    assert "correct cloud.region" == result.findings[1].fix


def test_an_enabled_region_is_fine(aws: AwsDouble) -> None:
    """us-east-1 needs no opt-in."""
    assert ["ok", "ok"] == [f.severity for f in run(aws).findings]
