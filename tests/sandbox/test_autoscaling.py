"""Where the double mends moto's scaling groups."""

from __future__ import annotations

from typing import Any

from inferform.sandbox.backend import client


def test_a_hook_has_no_target_that_nobody_named(ec2: Any) -> None:
    """A lifecycle hook without queue and role is read back without them, so that a second plan is empty."""
    groups = client(ec2.meta.endpoint_url, "autoscaling", "us-east-1")
    ec2.create_launch_template(LaunchTemplateName="hooked", LaunchTemplateData={"ImageId": "ami-12c6146b", "InstanceType": "t3.micro"})
    groups.create_auto_scaling_group(
        AutoScalingGroupName="hooked", LaunchTemplate={"LaunchTemplateName": "hooked"}, MinSize=0, MaxSize=1, AvailabilityZones=["us-east-1a"]
    )
    groups.put_lifecycle_hook(
        LifecycleHookName="drain", AutoScalingGroupName="hooked", LifecycleTransition="autoscaling:EC2_INSTANCE_TERMINATING", HeartbeatTimeout=180
    )
    (hook,) = groups.describe_lifecycle_hooks(AutoScalingGroupName="hooked")["LifecycleHooks"]
    assert (180, None, None) == (hook["HeartbeatTimeout"], hook.get("NotificationTargetARN"), hook.get("RoleARN"))


def test_groups_have_schedules_of_one_name(ec2: Any) -> None:
    """Two groups each keep their own action `evening`; deleting one leaves the other."""
    groups = client(ec2.meta.endpoint_url, "autoscaling", "us-east-1")
    ec2.create_launch_template(LaunchTemplateName="timed", LaunchTemplateData={"ImageId": "ami-12c6146b", "InstanceType": "t3.micro"})
    for number, name in enumerate(("timed-a", "timed-b")):
        groups.create_auto_scaling_group(
            AutoScalingGroupName=name, LaunchTemplate={"LaunchTemplateName": "timed"}, MinSize=0, MaxSize=9, AvailabilityZones=["us-east-1a"]
        )
        groups.put_scheduled_update_group_action(AutoScalingGroupName=name, ScheduledActionName="evening", Recurrence="0 20 * * *", MinSize=number)

    def evening(name: str) -> list[int]:
        return [a["MinSize"] for a in groups.describe_scheduled_actions(AutoScalingGroupName=name)["ScheduledUpdateGroupActions"]]

    assert ([0], [1]) == (evening("timed-a"), evening("timed-b"))
    groups.delete_scheduled_action(AutoScalingGroupName="timed-a", ScheduledActionName="evening")
    assert ([], [1]) == (evening("timed-a"), evening("timed-b"))
