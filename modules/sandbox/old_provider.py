"""What provider 3.39 spells, or accepts, otherwise than the provider that stacks are written for."""

from __future__ import annotations

from typing import Any

# Values that 3.39 refuses, and the nearest that it takes; None takes the attribute away. (type, attribute) -> {value: other}.
WORDS: dict[tuple[str, str], dict[Any, Any]] = {
    ("aws_autoscaling_group", "mixed_instances_policy.instances_distribution.spot_allocation_strategy"): {"price-capacity-optimized": "capacity-optimized"},
    ("aws_eks_node_group", "ami_type"): {
        "AL2023_x86_64_NVIDIA": "AL2_x86_64_GPU",
        "AL2023_x86_64_STANDARD": "AL2_x86_64",
        "BOTTLEROCKET_x86_64": "AL2_x86_64",
        "BOTTLEROCKET_x86_64_NVIDIA": "AL2_x86_64_GPU",
    },
    ("aws_eks_node_group", "capacity_type"): {"CAPACITY_BLOCK": "ON_DEMAND"},
    ("aws_eks_node_group", "scaling_config.desired_size"): {0: 1},
    ("aws_eks_node_group", "scaling_config.min_size"): {0: 1},
    ("aws_launch_template", "capacity_reservation_specification.capacity_reservation_preference"): {"capacity-reservations-only": None},
    ("aws_launch_template", "instance_market_options.market_type"): {"capacity-block": None},
    ("aws_s3_bucket_ownership_controls", "rule.object_ownership"): {"BucketOwnerEnforced": "BucketOwnerPreferred"},
}
# Blocks that 3.39 refuses when this attribute of theirs has this value.
WITHOUT: dict[tuple[str, str], frozenset[Any]] = {("aws_launch_template", "tag_specifications.resource_type"): frozenset({"network-interface"})}
# What only changed its name or form: (type, attribute) -> the 3.39 spelling.
RENAMED: dict[tuple[str, str], dict[str, Any]] = {("aws_eip", "domain"): {"vpc": True}}
