"""Zones of the region, and which of them offer the instance types of the plan (FC-06)."""

from __future__ import annotations

from collections.abc import Iterator

from inferform.cloud.check import Answer, Check, listed, shell
from inferform.cloud.site import Site


def _zones(site: Site) -> Iterator[Answer]:
    known = site.zones()
    region = site.plan.cloud.region
    usable = sorted(i for i, z in known.items() if z.get("ZoneType", "availability-zone") == "availability-zone" and z["State"] == "available")
    for zone in site.plan.cloud.zones:
        row = known.get(zone)
        if row is None or row.get("ZoneType", "availability-zone") != "availability-zone":
            what = "no zone of this account" if row is None else f"a {row['ZoneType']}, which takes no EKS control plane"
            yield Answer("blocker", zone, f"{what} in {region}", f"one of {listed(usable)}", "correct cloud.zones (ids, not letters: they differ between accounts)",
                         shell("aws", "ec2", "describe-availability-zones", "--region", region))  # fmt: skip
        elif row["State"] != "available":
            said = " ".join(m.get("Message", "") for m in row.get("Messages") or ())
            yield Answer("warning", zone, f"{row['ZoneName']} is {row['State']} {said}".strip(), "available", "plan with another zone until it is back")
        else:
            yield Answer("ok", zone, f"{row['ZoneName']}, available")


def _offerings(site: Site) -> Iterator[Answer]:
    cloud = site.plan.cloud
    uses = [(g.subject, g.instance_types, g.zones, f"models.{g.model}.nodes.zones") for g in site.groups()]
    uses.append(("system", (cloud.system_pool.instance_type,), cloud.zones, "cloud.zones"))
    types = sorted({t for _, kinds, _, _ in uses for t in kinds})
    filters = [{"Name": "instance-type", "Values": types}]
    offered: dict[str, set[str]] = {}
    for row in site.api.listed("ec2", "describe_instance_type_offerings", "InstanceTypeOfferings", LocationType="availability-zone-id", Filters=filters):
        offered.setdefault(row["InstanceType"], set()).add(row["Location"])
    for subject, kinds, zones, field in uses:
        for at, kind in enumerate(kinds):
            yield _offered(f"{subject} {kind}", kind, zones, offered.get(kind, set()), field=field, first=at == 0, region=cloud.region)


def _offered(subject: str, kind: str, zones: tuple[str, ...], offered: set[str], *, field: str, first: bool, region: str) -> Answer:
    missing = sorted(set(zones) - offered)
    needed = f"in {listed(zones)}"
    if not missing:
        return Answer("ok", subject, f"offered in {listed(zones)}", needed)
    found = f"offered in {listed(offered)}" if offered else f"not offered in {region}"
    command = shell(
        "aws", "ec2", "describe-instance-type-offerings", "--location-type", "availability-zone-id", "--filters", f"Name=instance-type,Values={kind}", "--region", region
    )  # fmt: skip
    if len(missing) < len(set(zones)):
        return Answer(
            "warning" if first else "ok",
            subject,
            found,
            needed,
            f"nodes come only in {listed(set(zones) - set(missing))}; set {field} to zones that offer it",
            command,
        )
    fix = f"set {field} to {' or '.join(sorted(offered))}" if offered else "choose another instance type (hardware.instance_types) or region"
    if not first:
        return Answer("warning", subject, found, needed, f"{fix}, or the pool does without this alternative", command)
    return Answer("blocker", subject, found, needed, fix, command)


CHECKS = (Check("ZON001", "Zones", _zones), Check("ZON002", "Instance type offerings", _offerings))
