"""Running one check of preflight alone."""

from __future__ import annotations

from cloud.double import NOW, AwsDouble
from inferform.cloud.check import Check
from inferform.cloud.preflight import preflight
from inferform.cloud.results import Finding
from inferform.plan import DeploymentPlan


def look(aws: AwsDouble, plan: DeploymentPlan, *checks: Check) -> list[Finding]:
    """The findings of `checks`, without those about the caller."""
    result = preflight(plan, aws.sessions(), now=NOW, checks=checks)
    return [f for f in result.findings if not f.id.startswith("IDN")]


def by_subject(findings: list[Finding]) -> dict[str, Finding]:
    """Findings by what they are about; each subject once."""
    assert len({f.subject for f in findings}) == len(findings)
    return {f.subject: f for f in findings}
