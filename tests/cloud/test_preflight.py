"""Preflight as a whole: what it says of a ready account, and that it ends well whatever AWS answers."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError
from cloud.double import NOW, AwsDouble, ready
from inferform.cloud.api import CallFailedError, EndpointSession, _Translated
from inferform.cloud.bootstrap import bootstrap
from inferform.cloud.check import Answer, Check
from inferform.cloud.checks import zones
from inferform.cloud.preflight import CHECKS, preflight, preflight_all
from inferform.cloud.results import Finding, PreflightResult
from inferform.cloud.site import Site
from inferform.plan import DeploymentPlan


def run(aws: AwsDouble, plan: DeploymentPlan, **options: object) -> PreflightResult:
    return preflight(plan, aws.sessions(), now=NOW, **options)  # type: ignore[arg-type]


def of(result: PreflightResult, id: str) -> list[Finding]:
    """Findings of one check."""
    return [f for f in result.findings if f.id == id]


def test_a_ready_account_has_nothing_against_the_plan(aws: AwsDouble) -> None:
    """With quotas, prices, images, zones and the state bucket in place every check finds its subject as needed."""
    plan = ready(aws)
    bootstrap(plan, aws.sessions())
    result = run(aws, plan)
    assert [] == [f for f in result.findings if f.severity != "ok"]
    assert not result.blocked
    assert (0, 0, 0, len(result.findings)) == (result.counts.blocker, result.counts.warning, result.counts.unknown, result.counts.ok)
    # Without reservations, commitments and own placement groups in the plan there is nothing to say about them.
    assert {c.id for c in CHECKS} - {"PLG001", "RSV001", "RSV002"} == {f.id for f in result.findings}
    assert aws.number == result.account


def test_an_empty_account_is_told_what_to_do(aws: AwsDouble) -> None:
    """A new account lacks GPU quota and the state bucket: both block, each with the command that mends it."""
    plan = ready(aws)
    aws.account.quotas[("ec2", "L-417A185B")] = 0
    result = run(aws, plan, spec="my spec.yaml")
    blockers = {f.id: f for f in result.findings if f.severity == "blocker"}
    assert {"STA001", "QTA001"} == set(blockers)
    assert "inferform bootstrap 'my spec.yaml' --env prod" == blockers["STA001"].command
    assert result.blocked


def test_findings_come_in_the_same_order_every_time(aws: AwsDouble) -> None:
    """Two runs give the same document, although their checks end in any order."""
    plan = ready(aws)
    assert run(aws, plan).model_dump_json() == run(aws, plan).model_dump_json()


def test_preflight_only_reads(aws: AwsDouble) -> None:
    """Every call of a whole run is a Describe, Get or List."""
    plan = ready(aws)
    aws.called.clear()
    run(aws, plan)
    assert 15 < len(set(aws.called))
    assert [] == [a for a in aws.called if not re.match(r"[a-z0-9]+:(Describe|Get|List)", a)]


def test_no_key_reaches_the_result(aws: AwsDouble) -> None:
    """The document names the account, never an access key or secret."""
    text = run(aws, ready(aws)).model_dump_json()
    assert aws.number in text
    assert "AKIDTEST" not in text
    assert "secretsecret" not in text


@pytest.mark.parametrize(
    ("action", "check"),
    [
        ("ec2:DescribeInstanceTypeOfferings", "ZON002"),
        ("ec2:DescribeAvailabilityZones", "ZON001"),
        ("servicequotas:GetServiceQuota", "QTA001"),
        ("ssm:GetParameters", "IMG001"),
        ("ec2:GetSpotPlacementScores", "SPT001"),
        ("pricing:GetProducts", "PRC001"),
        ("ec2:DescribeSpotPriceHistory", "PRC002"),
        ("eks:DescribeClusterVersions", "EKS001"),
        ("eks:ListClusters", "QTA003"),
        ("s3:ListBucket", "STA002"),
    ],
)
def test_a_missing_permission_is_a_finding_that_names_it(aws: AwsDouble, action: str, check: str) -> None:
    """What the caller may not ask is unknown, with the IAM action to allow; the other checks say what they found."""
    plan = ready(aws)
    if action == "s3:ListBucket":
        # S3 answers the same for a bucket that is another's; here both buckets are the account's own.
        for name in (plan.state.bucket, plan.model_store.bucket):
            aws.client("s3").create_bucket(Bucket=name)
    aws.fails[action] = ("denied", 99)
    result = run(aws, plan, checks=[c for c in CHECKS if c.id in (check, "EKS002", "ADR001")])
    found = [f for f in of(result, check) if f.severity == "unknown"]
    assert [f"the caller may not {action}"] == [f.found for f in found]
    assert f"permission {action}" == found[0].needed
    assert any(f.severity == "ok" for f in result.findings if f.id != check)


def test_usage_that_cannot_be_seen_leaves_the_quota_itself(aws: AwsDouble) -> None:
    """Without ec2:DescribeInstances the quotas are still compared, and the gap is a finding of its own."""
    plan = ready(aws)
    aws.fails["ec2:DescribeInstances"] = ("denied", 99)
    found = of(run(aws, plan), "QTA001")
    assert ["ok", "ok", "ok", "ok", "unknown"] == [f.severity for f in found]
    assert "quota of 1,152 vCPUs, use by others not known" == found[2].found
    assert "the caller may not ec2:DescribeInstances" == found[4].found


def test_throttled_calls_are_tried_again(aws: AwsDouble) -> None:
    """Two refusals for too many calls do not reach the result; endless ones become a finding."""
    plan = ready(aws)
    aws.fails["ec2:DescribeAvailabilityZones"] = ("throttled", 2)
    assert {"ok"} == {f.severity for f in of(run(aws, plan, checks=zones.CHECKS), "ZON001")}
    aws.fails["ec2:DescribeAvailabilityZones"] = ("throttled", 99)
    assert ["AWS throttles ec2:DescribeAvailabilityZones, also after retries"] == [f.found for f in of(run(aws, plan, checks=zones.CHECKS), "ZON001")]


def test_a_slow_check_does_not_hold_up_the_others(aws: AwsDouble) -> None:
    """A call that takes longer than the limit is unknown after the limit, with what the check had found before."""
    plan = ready(aws)
    run(aws, plan)
    aws.slow["ssm:GetParameters"] = 20
    start = time.monotonic()
    result = run(aws, plan, check_limit_s=6)
    assert 15 > time.monotonic() - start
    assert [("unknown", "no answer within 6 s")] == [(f.severity, f.found) for f in of(result, "IMG001")]
    assert {"ok"} == {f.severity for f in of(result, "ZON001")}


def test_the_total_limit_holds_too(aws: AwsDouble) -> None:
    """What is not done at the end of the total time is unknown, whatever the limit of a single check."""
    plan = ready(aws)

    def wait(site: Site) -> Iterator[Answer]:
        yield Answer("ok", "first", "was there")
        time.sleep(20)
        yield Answer("ok", "second", "comes too late")

    start = time.monotonic()
    result = run(aws, plan, limit_s=6, check_limit_s=60, checks=[Check("TST001", "Slow thing", wait)])
    assert 15 > time.monotonic() - start
    assert [("first", "ok"), ("slow thing", "unknown")] == [(f.subject, f.severity) for f in of(result, "TST001")]


def test_a_hanging_call_does_not_keep_the_program_alive() -> None:
    """The process ends although a check still waits for its answer."""
    code = (
        "import sys, time; from datetime import datetime, UTC\n"
        "from cloud.double import AwsDouble, ready, NOW\n"
        "from inferform.cloud.preflight import preflight, Check\n"
        "d = AwsDouble().start(); p = ready(d)\n"
        "def look(site):\n    time.sleep(60)\n    yield\n"
        "r = preflight(p, d.sessions(), now=NOW, check_limit_s=5, checks=[Check('TST001', 'Hanging', look)])\n"
        "print(r.counts.unknown)\n"
    )
    start = time.monotonic()
    path = str(Path(__file__).resolve().parents[1])
    ran = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r})\n{code}"], text=True, capture_output=True, check=False)
    assert (0, "1\n") == (ran.returncode, ran.stdout), ran.stderr
    assert 40 > time.monotonic() - start


def test_a_fault_of_ours_in_a_check_is_not_taken_for_an_answer_of_aws(aws: AwsDouble) -> None:
    """A wrong program is raised, so that it can be mended; it is no finding about the account."""

    def broken(site: Site) -> Iterator[Answer]:
        yield Answer("ok", "x", str(1 // 0))

    with pytest.raises(ZeroDivisionError):
        run(aws, ready(aws), checks=[Check("TST001", "Broken", broken)])


def test_credentials_that_expire_while_it_runs_are_told(aws: AwsDouble) -> None:
    """A token that ends between two calls makes the check unknown and says to sign in again."""
    plan = ready(aws)
    aws.fails["ssm:GetParameters"] = ("expired", 99)
    found = of(run(aws, plan), "IMG001")
    assert ["unknown"] == [f.severity for f in found]
    assert found[0].fix.startswith("sign in again")


def test_without_an_answer_at_all_nothing_else_is_asked() -> None:
    """Where no AWS can be reached one finding says so and blocks; the other checks do not run into it one by one."""
    plan = ready(AwsDouble())
    factory = lambda: EndpointSession(boto3.Session("x", "y"), "http://127.0.0.1:9")  # noqa: E731
    result = preflight(plan, factory, 30, now=NOW, check_limit_s=20)
    assert [("IDN001", "blocker")] == [(f.id, f.severity) for f in result.findings]
    assert result.account is None
    assert result.blocked


def test_an_identity_that_comes_too_late_blocks(aws: AwsDouble) -> None:
    """Where AWS does not say in time who calls, nothing was checked, so nothing may go on."""
    aws.slow["sts:GetCallerIdentity"] = 6
    result = run(aws, ready(aws), check_limit_s=1)
    assert [("IDN001", "unknown")] == [(f.id, f.severity) for f in result.findings]
    assert result.blocked


def test_progress_counts_every_check(aws: AwsDouble) -> None:
    """The caller hears of each finished check and of the end."""
    seen: list[tuple[int, int]] = []
    preflight(ready(aws), aws.sessions(), now=NOW, progress=lambda done, total: seen.append((done, total)))
    assert (1, len(CHECKS)) == seen[0]
    assert (len(CHECKS), len(CHECKS)) == seen[-1]
    assert sorted(seen) == seen


def test_environments_are_checked_at_the_same_time(aws: AwsDouble) -> None:
    """Six environments all begin before one of them goes on; results come in the order asked for, and the count of checks adds up."""
    plan = ready(aws)
    bootstrap(plan, aws.sessions())
    all_here, factory = threading.Barrier(6), aws.sessions()

    def meet() -> object:
        all_here.wait(timeout=60)
        return factory()

    told: list[tuple[int, int]] = []
    plans = [plan.model_copy(update={"environment": f"e{n}"}) for n in range(6)]
    found = preflight_all(plans, meet, now=NOW, progress=lambda done, total: told.append((done, total)))
    assert [f"e{n}" for n in range(6)] == [r.environment for r in found.results]
    assert (6 * len(CHECKS), 6 * len(CHECKS)) == max(told)
    assert {aws.number} == {r.account for r in found.results}


def test_a_page_for_people_is_no_answer_of_aws() -> None:
    """HTML with an error status, as proxies send it, is told as such and not repeated."""
    err = ClientError({"Error": {"Code": "503", "Message": "<!doctype html> <title>Blocked</title>"}}, "DescribeVpcs")
    with pytest.raises(CallFailedError) as caught, _Translated("ec2", "describe_vpcs", "us-east-1"):
        raise err
    assert ("unreachable", "the answer is not from AWS; does a proxy stand between? (status 503)") == (caught.value.kind, caught.value.words)
