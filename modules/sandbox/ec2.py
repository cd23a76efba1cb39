"""Where moto's EC2 answers otherwise than EC2 does."""

from __future__ import annotations

import re
from collections.abc import Callable

from inferform.sandbox.call import ACCOUNT, Call
from moto.ec2.models import ec2_backends
from werkzeug.wrappers import Response


def answer(call: Call, go_on: Callable[[], Response]) -> Response | None:
    """The mended answer of moto; None for calls that moto answers well. `go_on` lets moto answer."""
    handlers = {"CreateSubnet": _create_subnet, "CreateLaunchTemplate": _create_launch_template, "DescribeAccountAttributes": _account_attributes}
    handler = handlers.get(call.action) if call.service == "ec2" else None
    return handler(call, go_on()) if handler else None


def _create_subnet(call: Call, made: Response) -> Response:
    """moto takes the first subnet of a zone for the default VPC's, which gives out public addresses; only that VPC's are such."""
    match = re.search(rb"<subnetId>(subnet-[0-9a-f]+)</subnetId>", made.data)
    if match is None:
        return made
    backend = ec2_backends[ACCOUNT][call.region]
    subnet = backend.get_subnet(match.group(1).decode())
    if not backend.vpcs[subnet.vpc_id].is_default:
        subnet.default_for_az = subnet.map_public_ip_on_launch = False
        made.set_data(re.sub(rb"<(defaultForAz|mapPublicIpOnLaunch)>true</", rb"<\1>false</", made.data))
    return made


def _create_launch_template(call: Call, made: Response) -> Response:
    """moto adds the tags of the template itself to those of what it launches."""
    match = re.search(rb"<launchTemplateId>(lt-[0-9a-f]+)</launchTemplateId>", made.data)
    if match:
        template = ec2_backends[ACCOUNT][call.region].get_launch_template(match.group(1).decode())
        for version in template.versions:
            launched = [t for t in version.data.get("TagSpecifications", []) if t.get("ResourceType") != "launch-template"]
            version.data.pop("TagSpecifications", None)
            if launched:
                version.data["TagSpecifications"] = launched
    return made


def _account_attributes(call: Call, made: Response) -> Response:
    """No account has EC2-Classic any more."""
    made.set_data(made.data.replace(b"<item><attributeValue>EC2</attributeValue></item>", b""))
    return made
