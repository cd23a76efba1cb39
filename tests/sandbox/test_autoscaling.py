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
