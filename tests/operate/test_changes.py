"""Changes as they are read from terraform's plan JSON, and when a second plan stays inside the first."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.operate.changes import beyond, count, from_config, from_plan, outputs_change
from inferform.operate.results import Action, Change
from operate.tiny import tiny_plan


def raw(address: str, actions: list[str], before: Any = None, after: Any = None, **more: Any) -> dict[str, Any]:
    """An entry of resource_changes."""
    change = {"actions": actions, "before": before, "after": after, "after_unknown": {}, **more}
    return {"address": address, "mode": "managed", "type": address.split(".", maxsplit=1)[0], "name": address.split(".")[1], "change": change}


def test_actions_attributes_and_nodes() -> None:
    """Each action has one name; an update names what differs, a replacement what forces it, a node group its pool and nodes."""
    document = {
        "resource_changes": [
            raw("aws_vpc.main", ["no-op"]),
            raw("aws_iam_role.a", ["update"], {"a": 1, "b": None, "c": 1}, {"a": 2, "b": [], "c": 1}, after_unknown={"arn": True, "tags": {}}),
            raw("aws_eks_node_group.llama-405b-aggregated", ["delete", "create"], {}, {}, replace_paths=[["subnet_ids"], ["scaling_config", 0]]),
            raw("aws_kms_key.k", ["create"], None, {}),
            {**raw("aws_ami.x", ["read"]), "mode": "data"},
        ]
    }
    found = from_plan(document, tiny_plan(), tiny_plan())
    assert [
        ("aws_eks_node_group.llama-405b-aggregated", "replace", ("scaling_config", "subnet_ids"), "llama-405b", "aggregated", 2),
        ("aws_iam_role.a", "update", ("a", "arn"), None, None, None),
        ("aws_kms_key.k", "create", (), None, None, None),
    ] == [(c.address, c.action, c.attributes, c.model, c.pool, c.nodes) for c in found]
    assert (1, 1, 1, 0) == tuple(count(found).model_dump().values())


def test_marks_of_known_blocks_are_no_change() -> None:
    """Terraform writes an empty mark for every block of an update; only one with something unknown in it counts."""
    unknown = {"scaling_config": [{}], "timeouts": {"create": False}, "launch_template": [{"version": True}]}
    update = raw("aws_eks_node_group.llama-70b-aggregated", ["update"], {}, {}, after_unknown=unknown)
    found = from_plan({"resource_changes": [update]}, None, tiny_plan())[0]
    assert (("launch_template",), ("launch_template",)) == (found.attributes, found.renews)


def test_nodes_are_counted_in_the_cloud() -> None:
    """A group that goes has the nodes that run now, whatever was planned once; a new one those that it starts with."""
    rows = [
        raw("aws_eks_node_group.llama-405b-aggregated", ["delete"], {"scaling_config": [{"desired_size": 7}]}, None),
        raw("aws_autoscaling_group.llama-8b-aggregated", ["create"], None, {"desired_capacity": 4}),
    ]
    found = from_plan({"resource_changes": rows}, tiny_plan(), tiny_plan())
    assert [("llama-8b", 4), ("llama-405b", 7)] == [(c.model, c.nodes) for c in found]
    # Of a group that only goes, `before` is what was applied; what the plan has read since is in its prior state.
    now = {"address": rows[0]["address"], "type": "aws_eks_node_group", "values": {"scaling_config": [{"desired_size": 9}]}}
    state = {"values": {"root_module": {"resources": [now]}}}
    assert 9 == from_plan({"resource_changes": rows[:1], "prior_state": state}, tiny_plan(), tiny_plan())[0].nodes


def test_nodes_of_a_pool_that_goes_come_from_the_old_plan() -> None:
    """A deleted pool is only known to the plan that was applied."""
    document = {"resource_changes": [raw("aws_autoscaling_group.llama-8b-aggregated", ["delete"], {})]}
    assert 3 == from_plan(document, tiny_plan(), tiny_plan(pools=["bge"]))[0].nodes


def test_configuration_that_cannot_be_planned_yet() -> None:
    """Everything that is not in the state is a creation; what the state has beyond it is a deletion."""
    config = {"resource": {"aws_vpc": {"main": {}}, "aws_eks_node_group": {"bge-aggregated": {}}}}
    found = from_config(config, ["aws_vpc.main", "aws_eip.nat"], None, tiny_plan())
    assert [("aws_eip.nat", "delete", None), ("aws_eks_node_group.bge-aggregated", "create", 1)] == [(c.address, c.action, c.nodes) for c in found]


def test_outputs_that_become_unknown_are_a_change() -> None:
    """An output whose value is only known after apply counts as one that may change."""
    assert outputs_change({"output_changes": {"vpc": {"actions": ["update"], "after_unknown": True}, "b": {"actions": ["no-op"]}}})
    assert not outputs_change({"output_changes": {"b": {"actions": ["no-op"]}}})


@pytest.mark.parametrize(
    ("shown", "found", "refused"),
    [
        ("create", "create", False),
        ("create", "update", False),  # it was adopted: a run that was cut off had made it
        ("create", "replace", False),  # it was left half made
        ("create", "delete", True),
        ("update", "replace", True),
        ("update", "delete", True),
        ("replace", "create", False),  # the old one is gone already
        ("delete", "create", True),
        ("delete", "delete", False),
    ],
)
def test_a_second_plan_stays_inside_the_first(shown: Action, found: Action, refused: bool) -> None:
    """What apply may do after a new plan follows from what was shown, never more."""
    before, after = (Change(address="a.b", type="a", action=action) for action in (shown, found))
    assert refused == bool(beyond([before], [after]))


def test_updates_stay_with_the_attributes_that_were_shown() -> None:
    """An update may touch fewer attributes than were shown, not others; an address that was not shown is refused."""
    shown = [Change(address="a.b", type="a", action="update", attributes=("tags", "version"))]
    assert [] == beyond(shown, [Change(address="a.b", type="a", action="update", attributes=("tags",))])
    wide = Change(address="a.b", type="a", action="update", attributes=("policy", "tags"))
    assert ["update policy of a.b (not shown)"] == beyond(shown, [wide])
    assert ["create a.c (not shown)"] == beyond(shown, [Change(address="a.c", type="a", action="create")])
