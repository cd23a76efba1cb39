"""Where moto's scaling groups answer otherwise than AWS does."""

from __future__ import annotations

import re
from collections.abc import Callable

from inferform.sandbox.call import ACCOUNT, Call
from moto.backends import get_backend
from werkzeug.wrappers import Response

# moto names this queue and this role for every hook, whatever was asked.
_INVENTED = re.compile(
    rb"<NotificationTargetARN>arn:aws:sqs:us-east-1:123456789012:my-queue</NotificationTargetARN>|<RoleARN>arn:aws:iam::1234567890:role/my-auto-scaling-role</RoleARN>"
)


def answer(call: Call, go_on: Callable[[], Response]) -> Response | None:
    """The mended answer of moto; None for calls that moto answers well. `go_on` lets moto answer."""
    if call.service != "autoscaling":
        return None
    if call.action == "DescribeLifecycleHooks":
        found = go_on()
        found.set_data(_INVENTED.sub(b"", found.data))
        return found
    if call.action in ("PutScheduledUpdateGroupAction", "DeleteScheduledAction"):
        return _of_its_group(call, go_on)
    return None


def _of_its_group(call: Call, go_on: Callable[[], Response]) -> Response:
    """A scheduled action under the name of its group as well: moto keeps one of each name, AWS one of each name in each group."""
    actions = get_backend("autoscaling")[ACCOUNT][call.region].scheduled_actions
    name = call.form.get("ScheduledActionName", "")
    own = f"{call.form.get('AutoScalingGroupName', '')}/{name}"
    if call.action == "DeleteScheduledAction" and own in actions:
        actions[name] = actions.pop(own)
    found = go_on()
    if name in actions:
        actions[own] = actions.pop(name)
    return found
