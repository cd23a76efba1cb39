"""The cluster: how long its version is supported, its add-ons, controllers, access and the endpoints that nodes call AWS through."""

from __future__ import annotations

from inferform.catalog.platform_prices import KubernetesSupport, in_extended_support, kubernetes_versions
from inferform.catalog.prices import catalog_as_of
from inferform.errors import Problem
from inferform.plan_cluster import AccessPlan, ClusterPlan, SupportPlan
from inferform.spec import DeploymentSpec

_ALWAYS = ("coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni")
EBS_CSI, S3_CSI = "aws-ebs-csi-driver", "aws-mountpoint-s3-csi-driver"
# What nodes and controllers of every cluster call: EC2 for names and addresses, ECR for add-on images, EKS and EKS Auth for joining and
# Pod Identity, CloudWatch Logs, STS. S3 has a gateway endpoint, which is free.
# Source: EKS user guide, "Deploy private clusters with limited internet access" (awsdocs/amazon-eks-user-guide, clusters/private-clusters.adoc
# at 101184e; read 2026-12-01).
_CALLED = ("ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "logs", "sts")


def cluster_plan(spec: DeploymentSpec) -> ClusterPlan:
    """The cluster as the spec says, with the dates of its Kubernetes version."""
    cloud = spec.cloud
    write = spec.observability.remote_write
    return ClusterPlan(
        support=_support(cloud.kubernetes_version, catalog_as_of()), log_types=tuple(sorted(set(cloud.log_types))), log_retention_days=cloud.log_retention_days,
        addons={name: cloud.addon_versions.get(name) for name in addons(spec)},  # type: ignore[call-overload]
        access={name: AccessPlan(principal=e.principal, level=e.level, namespaces=tuple(sorted(e.namespaces))) for name, e in sorted(cloud.access.items())},
        load_balancer_controller=balances(spec), external_secrets=cloud.controllers.external_secrets,
        remote_write_account=write.service_account if write else None, interface_endpoints=interface_services(spec),
    )  # fmt: skip


def cluster_problems(spec: DeploymentSpec) -> list[Problem]:
    """What is wrong with the Kubernetes version, with pinned add-ons that are not installed, and with doubled principals."""
    cloud, day = spec.cloud, catalog_as_of()
    found = []
    known = {support.version: support for support in kubernetes_versions()}
    usable = tuple(v for v, support in known.items() if day < support.extended_until)
    version = cloud.kubernetes_version
    if version not in usable and _minor(version) <= _minor(usable[-1]):
        ended = f"; its extended support ended on {known[version].extended_until}" if version in known else ""
        found.append(Problem(f"EKS no longer runs this version{ended}", "cloud.kubernetes_version", value=version, legal=usable, fix=f'use "{usable[-1]}"'))
    for addon in sorted(set(cloud.addon_versions) - set(addons(spec))):
        found.append(
            Problem(
                "a version is pinned for an add-on that is not installed",
                f"cloud.addon_versions.{addon}",
                value=cloud.addon_versions[addon],
                legal=addons(spec),
                fix="leave it out",
            )
        )
    entries: dict[str, str] = dict.fromkeys(cloud.admins, "cloud.admins")
    for name, entry in sorted(cloud.access.items()):
        # EKS keeps one access entry a principal.
        if entry.principal in entries:
            where = f"cloud.access.{name}.principal"
            found.append(Problem(f"has an entry already, in {entries[entry.principal]}", where, value=entry.principal, fix="keep one of the two"))
        entries[entry.principal] = f"cloud.access.{name}"
    return found


def addons(spec: DeploymentSpec) -> tuple[str, ...]:
    """EKS add-ons of the cluster, sorted."""
    wanted = spec.cloud.controllers
    return tuple(sorted([*_ALWAYS, *([EBS_CSI] if wanted.ebs_csi else []), *([S3_CSI] if wanted.s3_csi else [])]))


def balances(spec: DeploymentSpec) -> bool:
    """Whether the AWS Load Balancer Controller is wanted: the rendered gateway's Service is of its kind."""
    wanted = spec.cloud.controllers.load_balancer
    return spec.gateway.enabled if wanted == "auto" else wanted


def interface_services(spec: DeploymentSpec) -> tuple[str, ...]:
    """AWS services that get an interface endpoint, by the last part of the endpoint's name; none unless asked for."""
    if not spec.cloud.interface_endpoints:
        return ()
    more = {
        "autoscaling": any(model.nodes.autoscaled or model.quantize for model in spec.models.values()),
        "elasticloadbalancing": balances(spec),
        "secretsmanager": spec.cloud.controllers.external_secrets,
        "aps-workspaces": spec.observability.remote_write is not None,
    }
    return tuple(sorted([*_CALLED, *(name for name, wanted in more.items() if wanted)]))


def _support(version: str, day: str) -> SupportPlan:
    found: KubernetesSupport | None = next((known for known in kubernetes_versions() if known.version == version), None)
    if found is None:
        return SupportPlan()
    kind = "extended" if in_extended_support(version, day) else "standard"
    return SupportPlan(kind=kind, standard_until=found.standard_until, extended_until=found.extended_until)


def _minor(version: str) -> int:
    return int(version.split(".")[1])
