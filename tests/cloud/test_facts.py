"""Facts about AWS."""

from __future__ import annotations

import pytest
from inferform.catalog.instances import cpu_instances, gpu_instances
from inferform.catalog.instances import quota_family as planned_family
from inferform.cloud.facts import base_region, image_parameter, quota_family, quotas


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("p5.48xlarge", "P"),
        ("p6-b200.48xlarge", "P"),
        ("g6e.12xlarge", "G and VT"),
        ("gr6.4xlarge", "G and VT"),
        ("vt1.3xlarge", "G and VT"),
        ("m7i.2xlarge", "Standard"),
        ("im4gn.large", "Standard"),
        ("trn1.2xlarge", ""),
        ("inf2.xlarge", ""),
        ("dl1.24xlarge", ""),
        ("mac2.metal", ""),
        ("hpc7a.12xlarge", ""),
        ("u-6tb1.metal", ""),
        ("x2gd.metal", ""),
    ],
)
def test_the_letters_of_a_type_tell_its_quota(kind: str, family: str) -> None:
    """Standard is A, C, D, H, I, M, R, T, Z; what is counted elsewhere is none of ours."""
    assert family == quota_family(kind)


def test_the_plan_and_preflight_count_alike() -> None:
    """For every instance of the catalogue that the plan may buy, both use the same quota."""
    kinds = [i.name for i in (*gpu_instances(), *cpu_instances())]
    assert kinds
    assert [] == [k for k in kinds if planned_family(k) in ("P", "G and VT", "Standard") and planned_family(k) != quota_family(k)]


def test_quotas_of_the_plan_are_known() -> None:
    """Each family and market has a row, under the code of that market."""
    assert "L-417A185B" == quotas()["P/on_demand"].code
    assert "L-7212CCBC" == quotas()["P/spot"].code
    assert "L-3819A6DF" == quotas()["G and VT/spot"].code
    assert "L-34B43A08" == quotas()["Standard/spot"].code


def test_image_parameters() -> None:
    """The version is part of the path; a kind that is not listed has none."""
    assert "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/latest/image_id" == image_parameter("BOTTLEROCKET_x86_64_NVIDIA", "1.35")
    assert image_parameter("CUSTOM", "1.35") is None


def test_a_region_of_the_same_partition_is_asked_first() -> None:
    """China and GovCloud have their own."""
    assert ("us-east-1", "cn-north-1", "us-gov-west-1") == (base_region("eu-west-1"), base_region("cn-northwest-1"), base_region("us-gov-east-1"))
