"""Placement groups of the user's own that the plan launches into (FC-07)."""

from __future__ import annotations

from collections.abc import Iterator

from inferform.cloud.api import CallFailedError
from inferform.cloud.check import Answer, Check, shell
from inferform.cloud.site import Site


def _placement_groups(site: Site) -> Iterator[Answer]:
    users: dict[str, set[str]] = {}
    for group in site.groups():
        name = group.pool.infrastructure.placement_group_name
        if name:
            users.setdefault(name, set()).add(group.subject)
    region = site.plan.cloud.region
    for name, subjects in sorted(users.items()):
        subject = f"{name} for {', '.join(sorted(subjects))}"
        make = shell("aws", "ec2", "create-placement-group", "--group-name", name, "--strategy", "cluster", "--region", region)
        try:
            rows = site.api.call("ec2", "describe_placement_groups", GroupNames=[name])["PlacementGroups"]
        except CallFailedError as err:
            if err.code != "InvalidPlacementGroup.Unknown":
                raise
            rows = []
        if not rows:
            yield Answer("blocker", subject, f"not there in {region}", "the placement group", "make it, or let apply make one (placement_group left out)", make)
        elif rows[0]["State"] != "available":
            yield Answer("blocker", subject, f"is {rows[0]['State']}", "available", "wait until it is there, or name another in nodes.placement_group")
        elif rows[0]["Strategy"] != "cluster":
            yield Answer(
                "blocker", subject, f"has the strategy {rows[0]['Strategy']}", "cluster, which keeps nodes close by", "name one with the strategy cluster in nodes.placement_group",
            )  # fmt: skip
        else:
            yield Answer("ok", subject, "there, strategy cluster")


CHECKS = (Check("PLG001", "Placement groups", _placement_groups),)
