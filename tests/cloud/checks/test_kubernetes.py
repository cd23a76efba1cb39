"""The Kubernetes version in EKS's calendar, and a cluster that is there already."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cloud.double import AwsDouble, ready
from cloud.looking import look
from inferform.cloud.checks import kubernetes
from inferform.cloud.preflight import preflight
from inferform.cloud.results import Finding
from inferform.plan import DeploymentPlan

VERSION, CLUSTER = kubernetes.CHECKS
TAGS = {"deployment": "contract-qa", "environment": "prod", "tenant": "acme", "managed-by": "inferform"}


def at(aws: AwsDouble, version: str) -> DeploymentPlan:
    plan = ready(aws)
    return plan.model_copy(update={"cloud": plan.cloud.model_copy(update={"kubernetes_version": version})})


@pytest.mark.parametrize(
    ("version", "severity", "words"),
    [
        ("1.31", "blocker", "EKS does not offer it in us-east-1"),
        ("1.33", "warning", "in extended support since 2026-07-29"),
        ("1.34", "warning", "standard support ends on 2026-12-02"),
        ("1.35", "ok", "standard support until 2027-03-27"),
        ("1.99", "blocker", "EKS does not offer it in us-east-1"),
    ],
)
def test_a_version_in_its_time_of_life(aws: AwsDouble, version: str, severity: str, words: str) -> None:
    """On 2026-12-01: unknown versions block, those in extended support or a day before it warn, current ones are fine."""
    found = look(aws, at(aws, version), VERSION)
    assert [severity] == [f.severity for f in found]
    assert found[0].found.startswith(words)
    assert found[0].fix in ("", "set cloud.kubernetes_version to 1.36")
    assert "one in standard support: 1.34, 1.35, 1.36" == found[0].needed


def test_the_date_comes_from_the_caller(aws: AwsDouble) -> None:
    """The same version is fine a year earlier."""
    early = preflight(at(aws, "1.34"), aws.sessions(), now=datetime(2025, 12, 1, tzinfo=UTC), checks=[VERSION])
    assert "ok" == early.findings[-1].severity


def cluster(aws: AwsDouble, version: str, tags: dict[str, str]) -> None:
    """A cluster with the deployment's name."""
    role = "arn:aws:iam::123456789012:role/eks"
    aws.client("eks").create_cluster(name="contract-qa-prod", version=version, roleArn=role, resourcesVpcConfig={"subnetIds": []}, tags=tags)


def found(aws: AwsDouble, version: str) -> Finding:
    (only,) = look(aws, at(aws, version), CLUSTER)
    return only


def test_no_cluster_yet_is_fine(aws: AwsDouble) -> None:
    """Apply makes it."""
    assert ("ok", "not there yet") == (found(aws, "1.35").severity, found(aws, "1.35").found)


def test_a_strangers_cluster_with_our_name_blocks(aws: AwsDouble) -> None:
    """Apply would fail on the name, or worse, change what it did not make."""
    cluster(aws, "1.35", {"team": "other"})
    assert ("blocker", "the name is taken by a cluster that this deployment did not make") == (found(aws, "1.35").severity, found(aws, "1.35").found)


@pytest.mark.parametrize(
    ("has", "wanted", "severity", "fix"),
    [
        ("1.35", "1.35", "ok", ""),
        ("1.34", "1.35", "ok", ""),
        ("1.35", "1.34", "blocker", "EKS never goes back: set cloud.kubernetes_version to 1.35"),
        ("1.33", "1.35", "blocker", "EKS goes up one version at a time: set cloud.kubernetes_version to 1.34 and apply first"),
    ],
)
def test_our_cluster_goes_up_one_version_at_a_time(aws: AwsDouble, has: str, wanted: str, severity: str, fix: str) -> None:
    """One minor version up is legal, none down, and two are two steps."""
    cluster(aws, has, TAGS)
    assert (severity, fix) == (found(aws, wanted).severity, found(aws, wanted).fix)
