"""The cluster of a plan: support of its version, add-ons, controllers, access and endpoints."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError
from pydantic import ValidationError

from tests.planning.specs import SMALL, model, plan, spec

PLATFORM, ON_CALL = (f"arn:aws:iam::111122223333:role/{name}" for name in ("platform", "on-call"))


def test_a_spec_that_says_nothing_has_the_usual_cluster() -> None:
    """All logs for 90 days, five add-ons in their newest version, a load balancer controller for the gateway, no other controller."""
    cluster = plan().cloud.cluster
    assert ("api", "audit", "authenticator", "controllerManager", "scheduler") == cluster.log_types
    assert dict.fromkeys(("aws-ebs-csi-driver", "coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni")) == cluster.addons
    assert (90, True, False, None, ()) == (
        cluster.log_retention_days, cluster.load_balancer_controller, cluster.external_secrets, cluster.remote_write_account, cluster.interface_endpoints,
    )  # fmt: skip


def test_the_plan_says_how_long_the_version_is_supported() -> None:
    """On 2026-12-01 1.35 is in standard support and 1.33 in extended; both dates are told."""
    new, old = plan(cloud={"kubernetes_version": "1.35"}).cloud.cluster.support, plan(cloud={"kubernetes_version": "1.33"}).cloud.cluster.support
    assert ("standard", "2027-03-27", "2028-03-27") == (new.kind, new.standard_until, new.extended_until)
    assert ("extended", "2026-07-29", "2027-07-29") == (old.kind, old.standard_until, old.extended_until)


@pytest.mark.parametrize(("version", "why"), [("1.31", "ended on 2026-11-26"), ("1.24", "no longer runs this version")])
def test_a_version_that_eks_no_longer_runs_is_refused(version: str, why: str) -> None:
    """The message names the end, the versions that do run, and the newest."""
    with pytest.raises(InputError, match=why) as caught:
        plan(cloud={"kubernetes_version": version})
    (problem,) = caught.value.problems
    assert ("cloud.kubernetes_version", ("1.32", "1.33", "1.34", "1.35")) == (problem.field, problem.legal)


def test_a_version_newer_than_all_that_are_known_is_taken() -> None:
    """Its dates are not known, and the plan says so."""
    support = plan(cloud={"kubernetes_version": "1.36"}).cloud.cluster.support
    assert (None, None) == (support.standard_until, support.extended_until)


def test_pinned_addons_must_be_installed() -> None:
    """A pinned version reaches the plan; one for a driver that is not asked for is a mistake."""
    assert "v1.12.4-eksbuild.1" == plan(cloud={"addon_versions": {"coredns": "v1.12.4-eksbuild.1"}}).cloud.cluster.addons["coredns"]
    with pytest.raises(InputError, match=r"cloud\.addon_versions\.aws-mountpoint-s3-csi-driver: .*not installed"):
        plan(cloud={"addon_versions": {"aws-mountpoint-s3-csi-driver": "v2.1.0-eksbuild.1"}})


def test_one_principal_has_one_entry() -> None:
    """EKS keeps one access entry a principal, so an administrator cannot be listed again."""
    with pytest.raises(InputError, match=r"cloud\.access\.ops\.principal: has an entry already, in cloud\.admins"):
        plan(cloud={"admins": [PLATFORM], "access": {"ops": {"principal": PLATFORM}}})


@pytest.mark.parametrize(
    ("cloud", "what"),
    [
        ({"access": {"ops": {"principal": ON_CALL, "level": "cluster_admin", "namespaces": ["chat"]}}}, "whole cluster"),
        ({"log_types": ["api"]}, "audit log must be kept"),
        ({"log_retention_days": 100}, "Input should be"),
        ({"addon_versions": {"coredns": "latest"}}, "match pattern"),
    ],
)
def test_contradictions_are_told_by_the_spec(cloud: dict[str, Any], what: str) -> None:
    """Scopes that cannot be, a missing audit log, a retention CloudWatch does not know, a version that pins nothing."""
    with pytest.raises(ValidationError, match=what):
        spec(cloud=cloud)


def test_interface_endpoints_follow_what_is_called() -> None:
    """Seven for every cluster; autoscaler, load balancers, secrets and metrics add theirs. Each is paid in each of three zones."""
    made = plan(cloud={"interface_endpoints": True})
    assert ("autoscaling", "ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "elasticloadbalancing", "logs", "sts") == made.cloud.cluster.interface_endpoints
    # 9 endpoints x 3 zones x $0.01.
    assert 0.27 == made.cost.by_pool["platform/interface-endpoints"]
    more = plan(cloud={"interface_endpoints": True, "controllers": {"external_secrets": True}}, observability={"remote_write": {}})
    assert {"secretsmanager", "aps-workspaces"} == set(more.cloud.cluster.interface_endpoints) - set(made.cloud.cluster.interface_endpoints)
    assert "platform/interface-endpoints" not in plan().cost.by_pool


def test_a_quantization_job_needs_the_autoscalers_endpoint() -> None:
    """Its group stands at zero and is scaled even where the pools have a fixed size."""
    fixed = {"nodes": {"autoscaled": False}}
    job = {"quantize": {"method": "fp8", "data": {"hub": "o/p"}}}
    without, with_job = (plan({"m": model(SMALL, **fixed, **more)}, cloud={"interface_endpoints": True}) for more in ({}, job))
    assert ["autoscaling" in made.cloud.cluster.interface_endpoints for made in (without, with_job)] == [False, True]
