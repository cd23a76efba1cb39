"""EC2 placement groups, which moto lacks: they reject what EC2 rejects.

Source: EC2 API reference, CreatePlacementGroup, DescribePlacementGroups, DeletePlacementGroup (read 2026-12-01).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from inferform.sandbox.call import ACCOUNT, Call, ec2_answer, ec2_error
from moto.autoscaling.models import autoscaling_backends
from moto.ec2.models import ec2_backends
from werkzeug.wrappers import Response

STRATEGIES = ("cluster", "partition", "spread")


@dataclass
class Group:
    id: str
    name: str
    strategy: str
    partitions: int | None
    tags: dict[str, str]

    def xml(self, region: str) -> str:
        partitions = f"<partitionCount>{self.partitions}</partitionCount>" if self.partitions else ""
        tags = "".join(f"<item><key>{escape(k)}</key><value>{escape(v)}</value></item>" for k, v in sorted(self.tags.items()))
        arn = f"arn:aws:ec2:{region}:{ACCOUNT}:placement-group/{self.name}"
        return (
            f"<groupName>{escape(self.name)}</groupName><groupId>{self.id}</groupId><groupArn>{escape(arn)}</groupArn><state>available</state>"
            f"<strategy>{self.strategy}</strategy>{partitions}<tagSet>{tags}</tagSet>"
        )


@dataclass
class PlacementGroups:
    """Placement groups by (region, name)."""

    groups: dict[tuple[str, str], Group] = field(default_factory=dict)
    made: int = 0

    def answer(self, call: Call) -> Response | None:
        """The answer to a call about placement groups; None for every other call."""
        if call.service != "ec2":
            return None
        handlers = {
            "CreatePlacementGroup": self._create,
            "DescribePlacementGroups": self._describe,
            "DeletePlacementGroup": self._delete,
            "CreateTags": self._tag,
            "DeleteTags": self._tag,
        }
        handler = handlers.get(call.action)
        return handler(call) if handler else None

    def _create(self, call: Call) -> Response:
        name, strategy = call.form.get("GroupName", ""), call.form.get("Strategy", "cluster")
        count = call.form.get("PartitionCount")
        if not name or len(name) > 255:
            return ec2_error("InvalidParameterValue", f"Value ({name}) for parameter groupName is invalid. It needs 1 to 255 characters.")
        if strategy not in STRATEGIES:
            return ec2_error("InvalidParameterValue", f"Value ({strategy}) for parameter strategy is invalid.")
        if count is not None and (strategy != "partition" or not count.isdigit() or not 1 <= int(count) <= 7):
            return ec2_error("InvalidParameterValue", f"Value ({count}) for parameter partitionCount is invalid for strategy {strategy}.")
        if (call.region, name) in self.groups:
            return ec2_error("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
        self.made += 1
        tags = {
            call.form[f"TagSpecification.1.Tag.{i}.Key"]: call.form.get(f"TagSpecification.1.Tag.{i}.Value", "")
            for i in range(1, 51)
            if f"TagSpecification.1.Tag.{i}.Key" in call.form
        }
        partitions = int(count) if count else 2 if strategy == "partition" else None
        group = Group(f"pg-{self.made:017x}", name, strategy, partitions, tags)
        self.groups[call.region, name] = group
        return ec2_answer("CreatePlacementGroup", f"<return>true</return><placementGroup>{group.xml(call.region)}</placementGroup>")

    def _describe(self, call: Call) -> Response:
        names, ids = call.listed("GroupName"), call.listed("GroupId")
        here = [g for (region, _), g in sorted(self.groups.items()) if region == call.region]
        for wanted, known in ((names, {g.name for g in here}), (ids, {g.id for g in here})):
            for name in wanted:
                if name not in known:
                    return ec2_error("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        found = [g for g in here if (not names or g.name in names) and (not ids or g.id in ids)]
        items = "".join(f"<item>{g.xml(call.region)}</item>" for g in found)
        return ec2_answer("DescribePlacementGroups", f"<placementGroupSet>{items}</placementGroupSet>")

    def _delete(self, call: Call) -> Response:
        name = call.form.get("GroupName", "")
        if (call.region, name) not in self.groups:
            return ec2_error("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        if self._in_use(call.region, name):
            return ec2_error("InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use and may not be deleted.")
        del self.groups[call.region, name]
        return ec2_answer("DeletePlacementGroup", "<return>true</return>")

    @staticmethod
    def _in_use(region: str, name: str) -> bool:
        """True while instances that are not terminated, or a scaling group, are in the group."""
        instances = (i for r in ec2_backends[ACCOUNT][region].reservations.values() for i in r.instances)
        if any(getattr(i, "placement_group", None) == name and i.state != "terminated" for i in instances):
            return True
        return any(g.placement_group == name for g in autoscaling_backends[ACCOUNT][region].autoscaling_groups.values())

    def _tag(self, call: Call) -> Response | None:
        """Tags of placement groups; a call that also names other resources goes to moto."""
        ids = call.listed("ResourceId")
        mine = [g for (region, _), g in self.groups.items() if region == call.region and g.id in ids]
        if not mine or len(mine) < len(ids):
            return None
        for i in range(1, 51):
            key = call.form.get(f"Tag.{i}.Key")
            for group in mine if key else ():
                if call.action == "CreateTags":
                    group.tags[str(key)] = call.form.get(f"Tag.{i}.Value", "")
                else:
                    group.tags.pop(str(key), None)
        return ec2_answer(call.action, "<return>true</return>")
