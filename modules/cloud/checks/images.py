"""Node images: that the one EKS or a launch template will take exists for the Kubernetes version."""

from __future__ import annotations

from collections.abc import Iterator

from inferform.cloud.api import CallFailedError
from inferform.cloud.check import Answer, Check, shell
from inferform.cloud.facts import image_parameter
from inferform.cloud.site import Group, Site

_SYSTEM_IMAGE = "AL2023_x86_64_STANDARD"


def _images(site: Site) -> Iterator[Answer]:
    version, region = site.plan.cloud.kubernetes_version, site.plan.cloud.region
    # By kind and release; without a release the newest.
    wanted: dict[tuple[str, str], set[str]] = {(_SYSTEM_IMAGE, ""): {"system"}}
    own: dict[str, list[Group]] = {}
    for group in site.groups():
        nodes = group.pool.infrastructure
        if nodes.ami_id:
            own.setdefault(nodes.ami_id, []).append(group)
        else:
            wanted.setdefault((nodes.ami_type or _kind(nodes.os, nodes.gpus_per_node), nodes.ami_release or ""), set()).add(group.subject)
    paths = {(kind, release): image_parameter(kind, version, release or None) for kind, release in sorted(wanted)}
    found: dict[str, str] = {}
    names = [p for p in paths.values() if p]
    # GetParameters takes ten names.
    for start in range(0, len(names), 10):
        answer = site.api.call("ssm", "get_parameters", Names=names[start : start + 10])
        found |= {p["Name"]: p["Value"] for p in answer["Parameters"]}
    for (kind, release), path in paths.items():
        users = ", ".join(sorted(wanted[kind, release]))
        subject = f"{kind}{f' {release}' if release else ''} for {users}"
        if path is None:
            yield Answer("unknown", subject, "this kind of image is not known here", f"an image for Kubernetes {version}", "check that EKS publishes it")
        elif path in found:
            yield Answer("ok", subject, f"{found[path]} for Kubernetes {version}")
        else:
            yield Answer(
                "blocker", subject, f"no image for Kubernetes {version} in {region}", f"the parameter {path}",
                "set nodes.ami_release to one that EKS published for this version, or leave it out" if release
                else "set cloud.kubernetes_version to one that has it, or nodes.os to the other operating system",
                shell("aws", "ssm", "get-parameter", "--name", path, "--region", region),
            )  # fmt: skip
    for image, groups in sorted(own.items()):
        yield _own_image(site, image, groups)


def _kind(os: str, gpus: int) -> str:
    family = "BOTTLEROCKET_x86_64" if os == "bottlerocket" else "AL2023_x86_64"
    plain = "" if os == "bottlerocket" else "_STANDARD"
    return f"{family}{'_NVIDIA' if gpus else plain}"


def _own_image(site: Site, image: str, groups: list[Group]) -> Answer:
    region = site.plan.cloud.region
    command = shell("aws", "ec2", "describe-images", "--image-ids", image, "--region", region)
    subject = f"{image} for {', '.join(sorted({g.subject for g in groups}))}"
    fix = f"share or copy the image to {region}, or set nodes.ami_id to one that is there"
    try:
        rows = site.api.call("ec2", "describe_images", ImageIds=[image])["Images"]
    except CallFailedError as err:
        if not err.code.startswith("InvalidAMIID"):
            raise
        rows = []
    if not rows:
        return Answer("blocker", subject, f"not there, or not shared with this account, in {region}", "an available image", fix, command)
    row = rows[0]
    state, arch = str(row.get("State", "available")), str(row.get("Architecture", ""))
    if state != "available":
        return Answer("blocker", subject, f"is {state}", "an available image", fix, command)
    for kind, architectures in sorted(_architectures(site, groups).items()):
        if arch not in architectures:
            return Answer("blocker", subject, f"is for {arch}", f"{' or '.join(architectures)}, as {kind} is", "build the image for that architecture", command)
    deprecated = str(row.get("DeprecationTime", ""))
    if deprecated and deprecated <= site.now.strftime("%Y-%m-%dT%H:%M:%S"):
        return Answer("warning", subject, f"available, deprecated since {deprecated[:10]}", "a current image", "build the image anew", command)
    return Answer("ok", subject, f"available, {arch}")


def _architectures(site: Site, groups: list[Group]) -> dict[str, list[str]]:
    """Architectures that the groups' first instance types run."""
    kinds = sorted({g.instance_types[0] for g in groups})
    rows = site.api.listed("ec2", "describe_instance_types", "InstanceTypes", InstanceTypes=kinds)
    return {str(r["InstanceType"]): list(r["ProcessorInfo"]["SupportedArchitectures"]) for r in rows}


CHECKS = (Check("IMG001", "Node images", _images),)
