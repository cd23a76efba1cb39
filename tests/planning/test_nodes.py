"""How nodes are built."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.catalog.instances import find_instance, zones
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.plan_nodes import NodesPlan
from inferform.planning.nodes import EKS_EXCLUDED_ZONES, offered_zones

from tests.planning.specs import LARGE, model, plan

HUGE = "meta-llama/Meta-Llama-3.1-405B"


def huge(**nodes: Any) -> dict[str, Any]:
    """A model over two p5 nodes a replica."""
    return model(
        HUGE, quantization="bf16", parallelism={"tp": 8, "pp": 2}, hardware={"instance_types": ["p5.48xlarge"]}, nodes=nodes,
        slo={"ttft_p95": "6s", "tpot_p95": "150ms"}, workload={"peak_rps": 0.3},
    )  # fmt: skip


def on(instance: str, source: str = LARGE, **nodes: Any) -> NodesPlan:
    return plan({"m": model(source, hardware={"instance_types": [instance]}, nodes=nodes)}).models["m"].pools["aggregated"].infrastructure


def refused(models: dict[str, Any], **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        plan(models, **changes)
    return str(caught.value)


def test_fc06_zones_come_from_the_offering() -> None:
    """p5.48xlarge pools stand only where the type is listed and a cluster may have subnets."""
    found = on("p5.48xlarge").zones
    assert found
    assert set(found) <= set(zones("us-east-1", "p5.48xlarge")) - EKS_EXCLUDED_ZONES


def test_fc06_a_zone_without_the_type_is_named() -> None:
    """g7e is not listed in use1-az4: the message names type, zone and the zones that have it."""
    text = refused(
        {"m": model(LARGE, hardware={"instance_types": ["g7e.2xlarge"]}, nodes={"zones": ["use1-az4"]}, slo={"tpot_p95": "300ms", "ttft_p95": "5s"})}
    )
    assert "not offered in use1-az4" in text


@pytest.mark.parametrize(("instance", "vcpus", "family"), [("p5.48xlarge", 192, "P"), ("p4d.24xlarge", 96, "P"), ("g6e.xlarge", 4, "G and VT")])
def test_fc06_the_quota_is_counted_in_vcpus(instance: str, vcpus: int, family: str) -> None:
    """Maximum nodes x vCPUs of a node: four p5.48xlarge need 768."""
    source = LARGE if family == "P" else "meta-llama/Meta-Llama-3.1-8B"
    made = plan({"m": model(source, hardware={"instance_types": [instance]})}, capacity={"max_nodes": 4})
    assert 4 * vcpus == made.models["m"].pools["aggregated"].infrastructure.quota_vcpus
    need = next(q for q in made.quotas if q.family == family)
    assert (4 * vcpus, "on_demand") == (need.vcpus, need.market)
    assert f"4 x {instance} x {vcpus} vCPUs" in need.detail


def test_fc06_spot_is_a_quota_of_its_own() -> None:
    """Batch work on demand and spot needs both markets."""
    made = plan(
        {"m": model(workload={"profile": "batch", "burst": 3.0}, slo={"ttft_p95": None, "tpot_p95": None})},
        capacity={"purchase": [{"kind": "on_demand", "max_nodes": 1}, {"kind": "spot"}]},
    )
    assert {("on_demand",), ("spot",)} <= {(q.market,) for q in made.quotas if q.family == "G and VT"}


def test_fc07_a_coupled_pool_gets_one_zone() -> None:
    """A replica over two nodes: one zone, EFA on every card and a placement group."""
    pool = plan({"m": huge()}).models["m"].pools["aggregated"]
    assert (1, True, True) == (len(pool.infrastructure.zones), pool.infrastructure.coupled, pool.infrastructure.placement_group)
    assert 2 == pool.nodes_per_replica == pool.pod.pods_per_replica


@pytest.mark.parametrize("where", ["pool", "cloud"])
def test_fc07_several_zones_without_a_choice_are_refused(where: str) -> None:
    """The message names the zones and the field that selects one."""
    listed = ["use1-az4", "use1-az6"]
    text = refused({"m": huge(zones=listed)}) if where == "pool" else refused({"m": huge()}, cloud={"zones": listed})
    assert "models.m.nodes.zones" in text
    assert "use1-az4, use1-az6" in text


def test_fc07_placement_is_asked_for_by_name_too() -> None:
    """placement: cluster on a pool that spans no nodes still means one zone."""
    made = on("p5.48xlarge", placement="cluster", zones=["use1-az6"])
    assert (("use1-az6",), True, False) == (made.zones, made.placement_group, made.coupled)


def test_a_reservation_has_its_place() -> None:
    """With a reservation no placement group is added by itself, and asking for one is refused."""
    purchase = {"purchase": [{"kind": "reserved", "reservation_id": "cr-0123456789abcdef0", "zone": "use1-az6"}]}
    nodes = plan({"m": huge()}, capacity=purchase).models["m"].pools["aggregated"].infrastructure
    assert (False, ("use1-az6",)) == (nodes.placement_group, nodes.zones)
    assert "models.m.nodes.placement" in refused({"m": huge(placement="cluster", zones=["use1-az6"])}, capacity=purchase)


def test_fc09_images_are_al2023() -> None:
    """GPU nodes take the NVIDIA image, CPU nodes the standard one, an own image takes none."""
    assert "AL2023_x86_64_NVIDIA" == on("p5.48xlarge").ami_type
    own = on("p5.48xlarge", ami_id="ami-0123456789abcdef0")
    assert (None, "ami-0123456789abcdef0") == (own.ami_type, own.ami_id)
    bge = {
        **model("BAAI/bge-large-en-v1.5", max_model_len=512, workload={"input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}}),
        "hardware": {"device": "cpu"},
    }
    assert "AL2023_x86_64_STANDARD" == plan({"m": bge}).models["m"].pools["aggregated"].infrastructure.ami_type


def test_fc09_al2_is_refused_from_1_33() -> None:
    """EKS publishes no AL2 GPU images for Kubernetes 1.33 and later."""
    text = refused({"m": model(nodes={"ami_type": "AL2_x86_64_GPU"})}, cloud={"kubernetes_version": "1.33"})
    assert "models.m.nodes.ami_type: EKS publishes no Amazon Linux 2 images for Kubernetes 1.33" in text


def test_an_image_for_other_nodes_is_refused() -> None:
    """A CPU image on GPU nodes."""
    assert "does not fit al2023 nodes with GPUs" in refused({"m": model(nodes={"ami_type": "AL2023_x86_64_STANDARD"})})


@pytest.mark.parametrize(
    ("instance", "cards"), [("p5.48xlarge", 32), ("p5en.48xlarge", 16), ("p4d.24xlarge", 4), ("p4de.24xlarge", 4), ("p6-b200.48xlarge", 8)]
)
def test_fc12_one_interface_per_card(instance: str, cards: int) -> None:
    """efa: true gives an interface on every network card; the first is efa, the rest efa-only."""
    efa = on(instance, efa=True, zones=[offered_zones(find_instance(instance), "us-east-1")[0]]).efa
    assert efa is not None
    assert (cards, cards, "efa", "efa-only") == (efa.network_cards, efa.interfaces, efa.interface_type_first, efa.interface_type_rest)


def test_fc12_efa_on_a_type_without_it_is_refused() -> None:
    """g6e.xlarge has no EFA."""
    text = refused({"m": model(hardware={"instance_types": ["g6e.xlarge"]}, nodes={"efa": True})})
    assert "models.m.nodes.efa: g6e.xlarge has no Elastic Fabric Adapter" in text


def test_fc11_a_mixed_purchase_needs_a_self_managed_group() -> None:
    """FC-11: on demand and spot in one group is self-managed; asking for a managed group is refused."""
    mixed = {"purchase": [{"kind": "on_demand", "min_nodes": 1, "max_nodes": 1}, {"kind": "spot"}]}
    jobs = model(workload={"profile": "batch", "peak_rps": 40}, slo={"ttft_p95": None, "tpot_p95": None})

    def kind(made: DeploymentPlan) -> str:
        return made.models["m"].pools["aggregated"].infrastructure.kind

    assert ("self_managed", "managed") == (kind(plan({"m": jobs}, capacity=mixed)), kind(plan({"m": jobs}, capacity={"purchase": [{"kind": "spot"}]})))
    assert "models.m.nodes.kind" in refused({"m": {**jobs, "nodes": {"kind": "managed"}}}, capacity=mixed)


def test_pods_stay_inside_the_addresses_of_the_type() -> None:
    """An explicit pod limit above what the type's interfaces allow is refused."""
    assert "models.m.nodes.max_pods" in refused({"m": model(hardware={"instance_types": ["p5.48xlarge"]}, nodes={"max_pods": 250})})


def test_the_network_covers_every_pool() -> None:
    """At least two zones, none that EKS excludes, and each pool stands in zones of the network."""
    made = plan({"big": model(LARGE), "chat": model(), "huge": huge()})
    assert 2 <= len(made.cloud.zones)
    assert not set(made.cloud.zones) & EKS_EXCLUDED_ZONES
    for _, _, _, pool in made.pool_items():
        assert pool.infrastructure.zones
        assert set(pool.infrastructure.zones) <= set(made.cloud.zones)


def test_one_listed_zone_is_too_few() -> None:
    """EKS needs subnets in two zones."""
    assert "cloud.zones: an EKS cluster needs subnets in two zones" in refused({"chat": model()}, cloud={"zones": ["use1-az4"]})


def test_a_pool_stands_inside_the_network() -> None:
    """A pool zone that cloud.zones does not list is refused."""
    text = refused({"m": model(nodes={"zones": ["use1-az6"]})}, cloud={"zones": ["use1-az2", "use1-az4"]})
    assert "models.m.nodes.zones: is not among the zones of the network" in text


def test_fc38_another_pool_moves_nothing() -> None:
    """Adding a model that needs other zones leaves the zones of the first as they were."""
    alone, beside = plan({"chat": model()}), plan({"chat": model(), "huge": huge(zones=["use1-az1"])})
    assert alone.models["chat"] == beside.models["chat"]
    assert "use1-az1" in beside.cloud.zones


def test_a_whole_nodes_pod_fits_what_the_kubelet_leaves() -> None:
    """On a g5.4xlarge (64 GiB, addresses for 234 pods) the kubelet is told to keep memory for the planned pods alone, so that the pod fits."""
    pool = plan({"m": model(hardware={"instance_types": ["g5.4xlarge"]}, nodes={"kind": "managed"})}).models["m"].pools["aggregated"]
    nodes = pool.infrastructure
    kept = int(nodes.kube_reserved["memory"].removesuffix("Mi"))
    assert kept == 255 + 11 * nodes.max_pods
    assert pool.pod.memory_bytes / 2**20 <= 65536 * 0.97 - kept - 100
