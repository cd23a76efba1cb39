"""Replicas that span nodes: where their pods go, by pod affinity or through a queue."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import rendered
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.planning.closeness import layers
from rendered import objects, one

from tests.planning.specs import model, plan

LAYER = "topology.k8s.aws/network-node-layer-"
BIG = "meta-llama/Meta-Llama-3.1-405B"


def made(closeness: dict[str, Any] | None = None, instance: str = "p5.48xlarge") -> DeploymentPlan:
    nodes = {"closeness": closeness} if closeness else {}
    return plan(
        {
            "m": model(
                BIG, nodes=nodes, hardware={"instance_types": [instance]}, parallelism={"tp": 8, "pp": 2}, workload={"peak_rps": 3, "burst": 2.0},
                slo={"ttft_p95": "10s", "tpot_p95": "200ms"},
            )
        }
    )  # fmt: skip


def templates(found: DeploymentPlan) -> list[dict[str, Any]]:
    group = one(found, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    return [group["leaderTemplate"], group["workerTemplate"]]


def test_pods_of_one_replica_stand_close_where_there_is_room() -> None:
    """Without a word in the spec: the last switch counts most, each wider layer half as much; only pods of the same replica attract each other."""
    for template in templates(made()):
        terms = template["spec"]["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        assert [(100, f"{LAYER}3"), (50, f"{LAYER}2"), (25, f"{LAYER}1")] == [(t["weight"], t["podAffinityTerm"]["topologyKey"]) for t in terms]
        for term in terms:
            assert ["leaderworkerset.sigs.k8s.io/group-key"] == term["podAffinityTerm"]["matchLabelKeys"]
            assert {"inferform.dev/model": "m", "inferform.dev/pool": "aggregated"} == term["podAffinityTerm"]["labelSelector"]["matchLabels"]


@pytest.mark.parametrize(("instance", "leaf"), [("p5.48xlarge", 3), ("p6-b200.48xlarge", 4), ("p4d.24xlarge", 3), ("g6.48xlarge", 0), ("p5.4xlarge", 0)])
def test_the_last_switch_is_the_deepest_layer_that_aws_tells(instance: str, leaf: int) -> None:
    """Three layers on most types, four on p6, none on g6 and on the small p5."""
    assert [f"{LAYER}{number}" for number in range(1, leaf + 1)] == list(layers(instance))


def test_a_layer_may_be_required() -> None:
    """required with level aggregation: pods of a replica only where they share layer 2."""
    for template in templates(made({"level": "aggregation", "required": True})):
        (term,) = template["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert f"{LAYER}2" == term["topologyKey"]


def test_kueue_admits_a_replica_as_a_whole() -> None:
    """Leader and workers are one group within one domain; the workload asks for the queue, and affinity leaves the choice to it."""
    found = made({"scheduler": "kueue", "required": True})
    for template in templates(found):
        assert {"kueue.x-k8s.io/podset-group-name": "replica", "kueue.x-k8s.io/podset-required-topology": f"{LAYER}3"} == template["metadata"]["annotations"]
        assert "affinity" not in template["spec"]
    assert "m-aggregated" == one(found, "LeaderWorkerSet")["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
    soft = templates(made({"scheduler": "kueue"}))[0]["metadata"]["annotations"]
    assert f"{LAYER}3" == soft["kueue.x-k8s.io/podset-preferred-topology"]


def test_queue_flavor_and_topology_belong_together() -> None:
    """Local queue to cluster queue to flavor to topology; nodes are the pool's, and the quota holds every resource that its pods ask for, at the largest."""
    found = made({"scheduler": "kueue"})
    local, cluster, flavor, topology = (one(found, kind) for kind in ("LocalQueue", "ClusterQueue", "ResourceFlavor", "Topology"))
    name = "acme-demo-m-aggregated"
    assert ("acme-demo", name) == (local["metadata"]["namespace"], local["spec"]["clusterQueue"])
    assert {"kubernetes.io/metadata.name": "acme-demo"} == cluster["spec"]["namespaceSelector"]["matchLabels"]
    assert name == flavor["spec"]["topologyName"] == topology["metadata"]["name"]
    assert [f"{LAYER}1", f"{LAYER}2", f"{LAYER}3", "kubernetes.io/hostname"] == [level["nodeLabel"] for level in topology["spec"]["levels"]]
    assert {"inferform.dev/model": "m", "inferform.dev/pool": "aggregated"} == flavor["spec"]["nodeLabels"]
    (group,) = cluster["spec"]["resourceGroups"]
    quota = {row["name"]: row["nominalQuota"] for row in group["flavors"][0]["resources"]}
    requests = templates(found)[0]["spec"]["containers"][0]["resources"]["requests"]
    assert set(requests) == set(group["coveredResources"]) == set(quota)
    pool = found.models["m"].pools["aggregated"]
    pods = (pool.scaling.max + pool.lifecycle.max_surge) * 2
    assert (str(8 * pods), str(32 * pods)) == (quota["nvidia.com/gpu"], quota["vpc.amazonaws.com/efa"])


@pytest.mark.parametrize("kind", ["Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue"])
def test_kueue_takes_the_objects(kind: str) -> None:
    """Each is valid by Kueue's own definition."""
    folder = rendered.REFERENCE / "crds/kueue.x-k8s.io"
    if not folder.exists():
        pytest.skip(rendered.NO_REFERENCE)
    jsonschema.Draft7Validator(json.loads((folder / f"{kind}_v1beta2.json").read_text())).validate(one(made({"scheduler": "kueue"}), kind))


def test_where_nothing_is_known_nothing_is_promised() -> None:
    """AWS tells no layers of g6 nodes: asked for, that is an error with a way out; not asked for, there is no affinity. One-node replicas get a warning."""
    with pytest.raises(InputError, match=r"AWS tells no network layers of g6\.48xlarge"):
        plan(
            {
                "m": model(
                    BIG,
                    nodes={"closeness": {}},
                    hardware={"instance_types": ["g6.48xlarge"]},
                    quantization="fp8",
                    parallelism={"tp": 8, "pp": 4},
                    slo={"ttft_p95": "60s", "tpot_p95": "2s"},
                )
            }
        )
    small = plan({"m": model(nodes={"closeness": {"required": True}})})
    assert ["m: nodes.closeness has no effect: each replica fits one node"] == [w for w in small.warnings if "closeness" in w]
    assert [] == objects(small, "Topology")
