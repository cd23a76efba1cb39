"""The nodes family: what Karpenter is asked for, by the schemas of its release."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import pytest
import yaml
from inferform.labels import node_cache_path
from inferform.plan import DeploymentPlan
from inferform.render import render
from rendered import NO_REFERENCE, REFERENCE, objects, one, pods

from tests.planning.specs import LARGE, model, plan

P5 = {"instance_types": ["p5.48xlarge"]}
BLOCK = {"kind": "capacity_block", "reservation_id": "cr-0123456789abcdef0", "zone": "use1-az6", "max_nodes": 2, "ends_at": "2027-01-24T11:30:00Z"}


def made(spec: dict[str, Any] | None = None, **changes: Any) -> DeploymentPlan:
    return plan({"m": spec or model(nodes={"kind": "karpenter"})}, **changes)


def wanted(pool: dict[str, Any]) -> dict[str, list[str]]:
    """Values of a NodePool's requirements by key."""
    rows = pool["spec"]["template"]["spec"]["requirements"]
    assert {"In"} == {row["operator"] for row in rows}
    return {row["key"]: row["values"] for row in rows}


def p5(**nodes: Any) -> DeploymentPlan:
    """Two p5 nodes a replica, by Karpenter."""
    return made(
        model(
            "meta-llama/Meta-Llama-3.1-405B", quantization="bf16", parallelism={"tp": 8, "pp": 2}, hardware=P5, nodes={"kind": "karpenter", **nodes},
            slo={"ttft_p95": "6s", "tpot_p95": "150ms"}, workload={"peak_rps": 0.3},
        )
    )  # fmt: skip


def test_without_karpenter_there_is_no_family() -> None:
    """Other kinds of nodes are no objects of the cluster."""
    assert not [path for path in render(plan()) if path.startswith("nodes/")]


def test_nodes_that_serve_are_never_ended() -> None:
    """No age limit, only empty nodes are consolidated, and neither use nor drift disrupts any; rolling updates take one at a time."""
    for updates, at_once in (("auto", "0"), ("rolling", "1")):
        spec = one(made(model(nodes={"kind": "karpenter", "updates": updates})), "NodePool")["spec"]
        assert ("Never", "WhenEmpty") == (spec["template"]["spec"]["expireAfter"], spec["disruption"]["consolidationPolicy"])
        budgets = {budget["reasons"][0]: budget["nodes"] for budget in spec["disruption"]["budgets"]}
        assert {"Empty": "100%", "Underutilized": "0", "Drifted": at_once} == budgets


def test_fc14_taint_and_labels_are_those_of_every_other_group() -> None:
    """The one taint constant, the labels that pods select, and the GPU's name."""
    spec = one(made(), "NodePool")["spec"]["template"]
    assert [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}] == spec["spec"]["taints"]
    assert {"inferform.dev/model": "m", "inferform.dev/pool": "aggregated", "inferform.dev/gpu": "L4"}.items() <= spec["metadata"]["labels"].items()


def test_fc16_local_disks_are_one_raid0() -> None:
    """g6 nodes have local disks and claim them; nodes of a type without do not."""
    assert "RAID0" == one(made(model(nodes={"kind": "karpenter"}, hardware={"instance_types": ["g6.xlarge"]})), "EC2NodeClass")["spec"]["instanceStorePolicy"]
    bge = model(
        "BAAI/bge-large-en-v1.5",
        max_model_len=512,
        nodes={"kind": "karpenter"},
        hardware={"device": "cpu"},
        workload={"input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}},
    )
    assert "instanceStorePolicy" not in one(made(bge), "EC2NodeClass")["spec"]


def test_fc12_every_card_has_its_efa() -> None:
    """32 EFA-only interfaces, one a card, beside one ordinary interface for the node's addresses on card 0."""
    spec = one(p5(zones=["use1-az6"]), "EC2NodeClass")["spec"]
    rows = [(i["networkCardIndex"], i["deviceIndex"], i["interfaceType"]) for i in spec["networkInterfaces"]]
    assert (0, 0, "interface") == rows[0]
    assert [(0, 1, "efa-only"), *((card, 0, "efa-only") for card in range(1, 32))] == rows[1:]
    assert [{"name": "demo-default-node"}, {"name": "demo-default-m-aggregated-efa"}] == spec["securityGroupSelectorTerms"]
    assert {"name": "demo-default-m-aggregated"} == spec["placementGroupSelector"]
    assert [{"tags": {"Name": "demo-default-private-use1-az6"}}] == spec["subnetSelectorTerms"]


def test_fc07_the_users_own_placement_group_by_name() -> None:
    """An existing group is selected by its name and nothing else."""
    assert {"name": "ml-cluster-a"} == one(p5(zones=["use1-az6"], placement_group="ml-cluster-a"), "EC2NodeClass")["spec"]["placementGroupSelector"]


def test_fc08_a_block_is_reserved_capacity_of_its_own_nodepool() -> None:
    """The block's NodePool takes reserved capacity with the block's id in the block's zone, at most its nodes; on demand comes after it."""
    spec = model(LARGE, hardware=P5, nodes={"kind": "karpenter", "zones": ["use1-az6"]})
    found = made(spec, capacity={"purchase": [BLOCK, {"kind": "on_demand"}], "max_nodes": 4})
    block, rest = one(found, "NodePool", "m-aggregated-cr-0123456789abcdef0"), one(found, "NodePool", "m-aggregated-on-demand")
    assert (["reserved"], ["cr-0123456789abcdef0"], ["use1-az6"]) == tuple(
        wanted(block)[key] for key in ("karpenter.sh/capacity-type", "karpenter.k8s.aws/capacity-reservation-id", "topology.k8s.aws/zone-id")
    )
    assert ["on-demand"] == wanted(rest)["karpenter.sh/capacity-type"]
    assert block["spec"]["weight"] > rest["spec"]["weight"]
    assert {"nvidia.com/gpu": "16"} == block["spec"]["limits"]
    assert "cr-0123456789abcdef0" == block["spec"]["template"]["metadata"]["labels"]["inferform.dev/fabric"]
    assert [{"id": "cr-0123456789abcdef0"}] == one(found, "EC2NodeClass")["spec"]["capacityReservationSelectorTerms"]


@pytest.mark.parametrize(
    ("nodes", "family", "images", "devices"),
    [
        ({}, "AL2023", [{"alias": "al2023@v20260714"}], ["/dev/xvda"]),
        ({"os": "bottlerocket", "ami_release": "v1.57.0"}, "Bottlerocket", [{"alias": "bottlerocket@v1.57.0"}], ["/dev/xvda", "/dev/xvdb"]),
        ({"ami_id": "ami-0123456789abcdef0"}, "AL2023", [{"id": "ami-0123456789abcdef0"}], ["/dev/xvda"]),
    ],
)
def test_images_are_pinned_and_disks_encrypted(nodes: dict[str, Any], family: str, images: list[dict[str, str]], devices: list[str]) -> None:
    """A release by its alias or an own image by its id, never the newest; gp3 volumes are encrypted; metadata stays on the node."""
    spec = one(made(model(nodes={"kind": "karpenter", **nodes})), "EC2NodeClass")["spec"]
    assert (family, images) == (spec["amiFamily"], spec["amiSelectorTerms"])
    assert devices == [v["deviceName"] for v in spec["blockDeviceMappings"]]
    assert all(v["ebs"]["encrypted"] and v["ebs"]["volumeType"] == "gp3" for v in spec["blockDeviceMappings"])
    assert (1, "required") == (spec["metadataOptions"]["httpPutResponseHopLimit"], spec["metadataOptions"]["httpTokens"])


def test_the_chart_finds_cluster_and_queue() -> None:
    """Values name what Terraform makes, and the controller runs on system nodes, never on its own."""
    values = yaml.safe_load(render(made())["nodes/karpenter-values.yaml"])
    assert ("demo-default", "demo-default-karpenter") == (values["settings"]["clusterName"], values["settings"]["interruptionQueue"])
    assert {"inferform.dev/role": "system"} == values["nodeSelector"]
    assert [{"name": "AWS_REGION", "value": "us-east-1"}] == values["controller"]["env"]


def test_objects_fit_the_schemas_of_the_release() -> None:
    """NodePools and EC2NodeClasses of every shape above are valid by the CRDs of Karpenter 1.14.1; unknown fields are faults."""
    if not REFERENCE.exists():
        pytest.skip(NO_REFERENCE)
    schemas = {
        "NodePool": json.loads((REFERENCE / "crds/karpenter.sh/NodePool_v1.json").read_text(encoding="utf-8")),
        "EC2NodeClass": json.loads((REFERENCE / "crds/karpenter.k8s.aws/EC2NodeClass_v1.json").read_text(encoding="utf-8")),
    }
    block = made(model(LARGE, hardware=P5, nodes={"kind": "karpenter"}), capacity={"purchase": [BLOCK, {"kind": "on_demand"}], "max_nodes": 4})
    bottlerocket = made(model(nodes={"kind": "karpenter", "os": "bottlerocket", "ami_release": "1.57.0"}))
    checked = 0
    for found in (made(), p5(zones=["use1-az6"]), block, bottlerocket):
        for item in objects(found):
            if item["kind"] in schemas:
                assert [] == [e.message for e in jsonschema.Draft7Validator(schemas[item["kind"]]).iter_errors(item)]
                checked += 1
    assert 9 == checked


def test_pods_ask_karpenter_for_nothing_that_it_cannot_see() -> None:
    """Huge pages are no capacity of a node that is not there yet, so pods on EFA do without; other pods on EFA ask for them."""
    found = p5(zones=["use1-az6"])
    for pod in pods(found, "m-aggregated"):
        engine = pod["containers"][0]
        assert 32 == engine["resources"]["limits"]["vpc.amazonaws.com/efa"]
        assert "hugepages-2Mi" not in engine["resources"]["limits"]
        assert "0" == next(e["value"] for e in engine["env"] if e["name"] == "FI_EFA_USE_HUGE_PAGE")
    managed = p5(zones=["use1-az6"], kind="managed")
    assert all("hugepages-2Mi" in pod["containers"][0]["resources"]["limits"] for pod in pods(managed, "m-aggregated"))


@pytest.mark.parametrize(
    ("source", "instance"),
    [
        ("meta-llama/Meta-Llama-3.1-8B", "g6.2xlarge"), ("meta-llama/Meta-Llama-3.1-8B", "g5.xlarge"), (LARGE, "p5.48xlarge"), (LARGE, "p4d.24xlarge"),
        (LARGE, "g6e.12xlarge"),
    ],
)  # fmt: skip
def test_karpenter_finds_the_type_that_its_pods_fill(source: str, instance: str) -> None:
    """Memory and CPU of a full node's pods, beside 1 GiB and 400 m of agents, are within what Karpenter reckons the type to have.

    Its sum: memory less the overhead share, the kubelet's reservation and 100 MiB of eviction threshold.
    """
    slo = {"ttft_p95": "5s", "tpot_p95": "200ms"}
    found = made(model(source, hardware={"instance_types": [instance]}, nodes={"kind": "karpenter"}, slo=slo))
    pool = found.models["m"].pools["aggregated"]
    kept = one(found, "EC2NodeClass")["spec"]["kubelet"]["kubeReserved"]
    overhead = yaml.safe_load(render(found)["nodes/karpenter-values.yaml"])["settings"]["vmMemoryOverheadPercent"]
    room = pool.infrastructure.memory_bytes / 2**20 * (1 - overhead) - int(kept["memory"].removesuffix("Mi")) - 100
    assert pool.pod.memory_bytes * pool.replicas_per_node / 2**20 + 1024 <= room
    assert pool.pod.cpu_millis * pool.replicas_per_node + 400 <= pool.infrastructure.vcpus * 1000 - int(kept["cpu"].removesuffix("m"))


def test_the_weight_cache_of_bottlerocket_lies_on_the_local_disks() -> None:
    """Karpenter moves only the directories of containerd, kubelet and logs to the array, so the node is told to bind the cache; AL2023 needs no word."""
    asked = {"hardware": {"instance_types": ["g6e.xlarge"]}}
    bottlerocket = one(made(model(nodes={"kind": "karpenter", "os": "bottlerocket", "ami_release": "v1.57.0"}, **asked)), "EC2NodeClass")["spec"]
    (bound,) = tomllib.loads(bottlerocket["userData"])["settings"]["bootstrap-commands"].values()
    assert [["apiclient", "ephemeral-storage", "bind", "--dirs", node_cache_path(os="bottlerocket", local_disks=True)]] == bound["commands"]
    assert (True, "always") == (bound["essential"], bound["mode"])
    assert "userData" not in one(made(model(nodes={"kind": "karpenter"}, **asked)), "EC2NodeClass")["spec"]
