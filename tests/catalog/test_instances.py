"""Instance look-ups: sizes, EFA wiring, zones, quotas."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from inferform.catalog.gpus import find_gpu
from inferform.catalog.instances import cpu_instances, efa_layout, find_instance, gpu_instances, offered_regions, offering_known, quota_family, zones
from inferform.catalog.tables import rows
from inferform.errors import InputError

SHARED = Path(__file__).resolve().parents[2] / "../shared/data/catalog"


def test_one_instance_in_base_units() -> None:
    """p5.48xlarge: 8 H100 behind NVSwitch, 192 vCPUs, 2 TiB, 8 x 3.8 TB of NVMe, 3,200 Gbit/s."""
    node = find_instance("p5.48xlarge")
    assert ("H100-80GB-SXM5", 8, "nvswitch", 192) == (node.gpu, node.gpu_count, node.interconnect, node.vcpus)
    assert (2048 * 2**30, 8, 30_400_000_000_000, 400e9) == (node.memory_bytes, node.local_nvme_count, node.local_nvme_bytes, node.network_bytes_per_s)


def test_unknown_instance_lists_the_nearest() -> None:
    """A misspelt type is refused with the types closest to it."""
    with pytest.raises(InputError) as caught:
        find_instance("p5.48xlarg")
    assert "p5.48xlarge" == caught.value.problems[0].legal[0]


def test_gpu_instances_are_whole_nvidia_cards() -> None:
    """The planner's list holds NVIDIA types only, without fractional cards."""
    found = gpu_instances("aws")
    assert {"nvidia"} == {find_gpu(node.gpu).vendor for node in found if node.gpu}
    assert {1.0} == {node.gpu_share for node in found}
    assert not {"g6f.xlarge", "trn1.32xlarge", "inf2.xlarge"} & {node.name for node in found}
    assert {"p5.48xlarge", "g6e.xlarge", "p4d.24xlarge", "g7e.2xlarge"} <= {node.name for node in found}


def test_fractional_card_is_marked() -> None:
    """g6f.xlarge carries an eighth of an L4."""
    assert (1, 0.125) == (find_instance("g6f.xlarge").gpu_count, find_instance("g6f.xlarge").gpu_share)


def test_cpu_instances_have_no_accelerator() -> None:
    """CPU types come by name and carry none."""
    names = [node.name for node in cpu_instances("aws")]
    assert names == sorted(names) and "c7i.4xlarge" in names


def test_efa_layout_of_many_cards() -> None:
    """p5.48xlarge has 32 cards with one EFA each; p6-b300 has 17 cards and none on card 0."""
    wide, newest = efa_layout("p5.48xlarge"), efa_layout("p6-b300.48xlarge")
    assert wide and newest
    assert (32, 32, tuple(range(32))) == (wide.network_cards, wide.interfaces, wide.efa_cards)
    assert (17, 16, tuple(range(1, 17))) == (newest.network_cards, newest.interfaces, newest.efa_cards)


def test_no_efa_is_none() -> None:
    """A type without EFA has no layout; an unknown type is an error."""
    assert efa_layout("g6.xlarge") is None
    with pytest.raises(InputError):
        efa_layout("p9.huge")


def test_local_zones_are_left_out() -> None:
    """The Atlanta local zone is only listed when asked for."""
    ordinary, every = zones("us-east-1", "p5.48xlarge"), zones("us-east-1", "p5.48xlarge", local_zones=True)
    assert {"use1-atl2-az1"} == set(every) - set(ordinary)
    assert ordinary == tuple(sorted(ordinary))


def test_not_offered_differs_from_not_known() -> None:
    """g6e.xlarge was read and is not in eu-west-1; g6.2xlarge was never read."""
    assert ((), True) == (zones("eu-west-1", "g6e.xlarge"), offering_known("g6e.xlarge"))
    assert ((), False) == (zones("eu-west-1", "g6.2xlarge"), offering_known("g6.2xlarge"))
    assert "us-east-1" in offered_regions("g6e.xlarge")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("p5.48xlarge", "P"),
        ("p6-b200.48xlarge", "P"),
        ("g6e.xlarge", "G and VT"),
        ("gr6.4xlarge", "G and VT"),
        ("c7i.large", "Standard"),
        ("inf2.xlarge", "Inf"),
        ("trn1.2xlarge", "Trn"),
    ],
)
def test_quota_family(name: str, family: str) -> None:
    """The letters that open a type decide which vCPU quota counts it."""
    assert family == quota_family(name)


def test_rows_are_sound() -> None:
    """Every instance's card exists, nothing is listed twice, sources are known, EFA counts agree between the two files."""
    sources = {row["key"]: row for row in rows("sources.csv")}
    table = rows("instances.csv")
    assert len(table) == len({row["instance_type"] for row in table}) == 132
    for row in table:
        node = find_instance(row["instance_type"])
        assert row["source"] in sources and row["read"], node.name
        assert node.vcpus > 0 and node.memory_bytes > 0, node.name
        if node.gpu:
            assert find_gpu(node.gpu).name == node.gpu
            assert (node.gpu_count > 1) == (node.interconnect != "none"), node.name
    for row in rows("efa.csv"):
        layout, node = efa_layout(row["instance_type"]), find_instance(row["instance_type"])
        assert layout is not None and layout.interfaces == node.efa_interfaces > 0, node.name
        assert layout.network_cards in {None, node.network_cards}, node.name
        assert len(layout.efa_cards) in {0, layout.interfaces}, node.name
        assert layout.max_enis in {None, node.max_enis}, node.name
        assert row["source"] in sources
    assert all(row["source"] in sources for row in rows("zones.csv"))
    assert all(row["source"] and row["as_of"] and row["licence"] for row in sources.values())
    keys = [(row["instance_type"], row["zone"]) for row in rows("zones.csv")]
    assert len(keys) == len(set(keys))


@pytest.mark.skipif(not SHARED.exists(), reason="the source tables are not beside this checkout")
def test_carried_values_equal_their_source() -> None:
    """Sizes, cards and zones were carried over without a change."""
    with (SHARED / "instances.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            node = find_instance(row["instance_type"])
            assert (row["gpu"] or None, int(row["vcpus"])) == (node.gpu, node.vcpus)
            assert float(row["gpu_count"] or 0) == (node.gpu_count * node.gpu_share if node.gpu else 0)
            assert float(row["memory_gib"]) * 2**30 == node.memory_bytes
            assert float(row["network_gbps"] or 0) / 8 * 1e9 == pytest.approx(node.network_bytes_per_s)
    with (SHARED / "azs.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert row["az"] in zones(row["region"], row["instance_type"], local_zones=True)
