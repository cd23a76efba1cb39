"""Launch templates: how one node of a pool is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from inferform.plan_nodes import EfaPlan
from inferform.stacks.aws.account import bounded, tags
from inferform.stacks.resource import Handle, Stack
from inferform.stacks.values import Ref, Value

GIB = 2**30
_NAME_LIMIT = 128
# One hop keeps the node's own credentials out of the reach of pods. A pool that needs 2 is an exception to record here.
METADATA_HOPS = 1
_BOTTLEROCKET_SYSTEM_GIB = 4


def launch_template(
    stack: Stack,
    key: str,
    *,
    os: str,
    root_volume_bytes: int,
    security_groups: Sequence[Ref],
    user_data: Ref | str | None,
    efa: EfaPlan | None = None,
    placement_group: Ref | str | None = None,
    more: Mapping[str, Value] | None = None,
    depends_on: Sequence[Handle] = (),
) -> Handle:
    """A template with encrypted gp3 volumes and IMDSv2; `more` adds image, type, profile and purchase where the group wants them there."""
    name = bounded(f"{stack.plan.resource_prefix()}-{key}", _NAME_LIMIT)
    attributes: dict[str, Value] = {
        "name": name,
        "update_default_version": True,
        "metadata_options": {
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": METADATA_HOPS,
            "instance_metadata_tags": "disabled",
        },
        "block_device_mappings": _volumes(os, root_volume_bytes),
        # The provider's default tags stop at the template; what it launches is tagged here.
        "tag_specifications": [{"resource_type": r, "tags": {**tags(stack.plan), "Name": name}} for r in ("instance", "network-interface", "volume")],
        "user_data": user_data,
        **(more or {}),
    }
    if efa:
        attributes["network_interfaces"] = interfaces(efa, security_groups)
    else:
        attributes["vpc_security_group_ids"] = list(security_groups)
    if placement_group is not None:
        attributes["placement"] = {"group_name": placement_group}
    return stack.resource("aws_launch_template", key, attributes, depends_on=depends_on)


def interfaces(efa: EfaPlan, security_groups: Sequence[Ref]) -> list[Value]:
    """One interface a network card (FC-12): card 0 is device 0, every other card device 1; all of them EFA.

    Where a type has one card more than EFA interfaces (p6-b300), card 0 carries plain traffic.
    """
    first = efa.interface_type_first if efa.interfaces == efa.network_cards else "interface"
    return [
        {
            "network_card_index": card,
            "device_index": min(card, 1),
            "interface_type": first if card == 0 else efa.interface_type_rest,
            "delete_on_termination": "true",
            "security_groups": list(security_groups),
        }
        for card in range(efa.network_cards)
    ]


def _volumes(os: str, root_volume_bytes: int) -> list[Value]:
    size = math.ceil(root_volume_bytes / GIB)
    # Bottlerocket keeps its system on the first volume and everything else on the second.
    sizes = {"/dev/xvda": _BOTTLEROCKET_SYSTEM_GIB, "/dev/xvdb": size} if os == "bottlerocket" else {"/dev/xvda": size}
    return [
        {"device_name": device, "ebs": {"volume_size": gib, "volume_type": "gp3", "encrypted": "true", "delete_on_termination": "true"}}
        for device, gib in sizes.items()
    ]
