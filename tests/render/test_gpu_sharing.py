"""FC-31: several replicas on one GPU. MIG is not tensor parallelism, and taking turns is no isolation."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
import yaml
from inferform.catalog.gpus import find_gpu
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.policy import judge
from inferform.policy_document import Document
from inferform.render import render
from rendered import objects, one, option, pods
from synthesis import stacks_of

from tests.planning.specs import model, plan

GIB = 2**30
MIG = {"mode": "mig", "profile": "3g.40gb"}
TURNS = {"mode": "time-slicing", "replicas": 4}
LOAD = {"peak_rps": 20, "burst": 2.0}
AUTH = {"gateway": {"auth": {"api_keys_secret": "tenants"}, "host": "llm.example.com", "tls_secret": "llm-tls"}}


def made(sharing: dict[str, Any], *, gpus: tuple[str, ...] = ("H100",), deployment: dict[str, Any] | None = None, **changes: Any) -> DeploymentPlan:
    return plan({"m": model(**{"hardware": {"gpus": list(gpus), "sharing": sharing}, "workload": LOAD, **changes})}, **(deployment or {}))


def refused(sharing: dict[str, Any], **changes: Any) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        made(sharing, **changes)
    return [(p.field, f"{p.message}; {p.fix}") for p in caught.value.problems]


def test_fc31_memory_comes_from_the_profile() -> None:
    """Half of an H100's 79.65 GiB less what the driver keeps: below the 39.5 GiB that nvidia-smi lists for 3g.40gb, far below the card."""
    part = find_gpu("H100-80GB-SXM5/3g.40gb")
    assert 39.2 * GIB < (part.memory_bytes or 0) <= 39.5 * GIB
    pool = made(MIG).models["m"].pools["aggregated"]
    assert pool.memory.device_memory_bytes < 39.5 * GIB
    assert ("H100-80GB-SXM5/3g.40gb", 1, 1, 1) == (pool.gpu, pool.tp, pool.pp, pool.pod.gpus)
    assert 0 == pool.infrastructure.gpus_per_node % 2
    assert pool.replicas_per_node == pool.infrastructure.gpus_per_node


def test_fc31_each_pod_asks_for_one_instance() -> None:
    """nvidia.com/mig-3g.40gb: 1, in requests as in limits, counted by the quota; whole GPUs are not there to be had."""
    found = made(MIG)
    container = pods(found, "m-aggregated")[0]["containers"][0]
    assert (1, 1) == tuple(container["resources"][part]["nvidia.com/mig-3g.40gb"] for part in ("requests", "limits"))
    assert "nvidia.com/gpu" not in container["resources"]["limits"]
    hard = one(found, "ResourceQuota", "capacity")["spec"]["hard"]
    pool = found.models["m"].pools["aggregated"]
    assert ("0", str(pool.scaling.max + pool.lifecycle.max_surge)) == (hard["requests.nvidia.com/gpu"], hard["requests.nvidia.com/mig-3g.40gb"])


def test_fc31_cards_are_cut_before_they_are_offered() -> None:
    """An init container cuts every card into two instances, the plugin offers them by profile (mixed), and no other plugin runs there (FC-15)."""
    found = made(MIG)
    config = one(found, "ConfigMap", next(o["metadata"]["name"] for o in objects(found, "ConfigMap") if "gpu-sharing" in o["metadata"]["name"]))["data"]
    layout = {"all-3g.40gb": [{"devices": "all", "mig-enabled": True, "mig-devices": {"3g.40gb": 2}}]}
    assert layout == yaml.safe_load(config["mig.yaml"])["mig-configs"]
    assert {"version": "v1", "flags": {"migStrategy": "mixed"}} == yaml.safe_load(config["plugin.yaml"])
    spec = one(found, "DaemonSet", "nvidia-device-plugin-m-aggregated")["spec"]["template"]["spec"]
    assert ["nvidia-mig-parted", "apply", "-f", "/config/mig.yaml", "-c", "all-3g.40gb"] == spec["initContainers"][0]["command"]
    assert {"inferform.dev/model": "m", "inferform.dev/pool": "aggregated"} == spec["nodeSelector"]
    assert [] == objects(found, "DaemonSet", "nvidia-device-plugin")
    mixed = plan({"m": model(hardware={"gpus": ["H100"], "sharing": MIG}, workload=LOAD), "whole": model()})
    terms = one(mixed, "DaemonSet", "nvidia-device-plugin")["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = terms["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert {"key": "inferform.dev/gpu-sharing", "operator": "DoesNotExist"} in term["matchExpressions"]


def test_fc31_nodes_say_how_their_gpus_are_divided() -> None:
    """Label of the nodes, the GPU's own name beside it, and for groups at zero what the autoscaler cannot see."""
    (group,) = stacks_of(made(MIG))["nodes"]["resource"]["aws_eks_node_group"].values()
    assert ("mig-3g.40gb", "H100-80GB-SXM5") == (group["labels"]["inferform.dev/gpu-sharing"], group["labels"]["inferform.dev/gpu"])
    own = made(MIG, nodes={"kind": "self_managed"})
    (scaling, *_) = stacks_of(own)["nodes"]["resource"]["aws_autoscaling_group"].values()
    tags = {tag["key"]: tag["value"] for tag in scaling["tag"]}
    count = own.models["m"].pools["aggregated"].infrastructure.gpus_per_node
    assert str(count) == tags["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/mig-3g.40gb"]


def test_fc31_tensor_parallelism_over_instances_is_refused() -> None:
    """tp 2 on two 3g.40gb instances: a process sees one of them, so the field, 2 and the way out are named; so are pp, dp and ep."""
    (problem,) = refused(MIG, parallelism={"tp": 2})
    assert "models.m.parallelism.tp" == problem[0]
    assert "a process sees one GPU in a MIG instance" in problem[1] and "use whole GPUs" in problem[1]
    assert ["models.m.parallelism.pp"] == [field for field, _ in refused(MIG, parallelism={"pp": 2})]


def test_fc31_a_profile_of_another_card_is_refused() -> None:
    """3g.40gb on an L40S, which has no MIG, and 3g.71gb of an H200 on an H100: legal profiles are listed."""
    ((field, text),) = refused(MIG, gpus=("L40S",))
    assert "models.m.hardware.sharing.profile" == field and "name GPUs that have MIG" in text
    with pytest.raises(InputError) as caught:
        made({"mode": "mig", "profile": "3g.71gb"})
    assert "3g.40gb" in caught.value.problems[0].legal


def test_fc31_time_slicing_is_for_one_tenant() -> None:
    """With gateway.auth several tenants share the pool: refused, offering MIG or whole GPUs. Inside one tenant it is allowed with a warning."""
    ((field, text),) = refused(TURNS, gpus=("L40S",), deployment=AUTH)
    assert "models.m.hardware.sharing.mode" == field
    assert "several tenants" in text and "use mode mig" in text and "whole GPUs" in text
    found = made(TURNS, gpus=("L40S",))
    assert [w for w in found.warnings if "4 replicas take turns on each GPU" in w]
    assert render(made(MIG, deployment=AUTH))


def test_fc31_turns_are_one_unit_each_and_a_share_of_the_memory() -> None:
    """nvidia.com/gpu: 1 of four on a card, requests above one refused by the plugin, and each engine takes a quarter of 90 % of the whole card."""
    found = made(TURNS, gpus=("L40S",))
    (pod,) = pods(found, "m-aggregated")
    assert 1 == pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
    assert "0.225" == option(pod, "--gpu-memory-utilization") and "1" == option(pod, "--tensor-parallel-size")
    (config,) = [o["data"] for o in objects(found, "ConfigMap") if "gpu-sharing" in o["metadata"]["name"]]
    turns = yaml.safe_load(config["plugin.yaml"])["sharing"]["timeSlicing"]
    assert {"renameByDefault": False, "failRequestsGreaterThanOne": True, "resources": [{"name": "nvidia.com/gpu", "replicas": 4}]} == turns
    assert ["tp"] == [field.rpartition(".")[2] for field, _ in refused(TURNS, gpus=("L40S",), parallelism={"tp": 2})]


def test_fc22_engines_that_share_free_memory_do_not_share_a_card() -> None:
    """TensorRT-LLM and SGLang on one card with others would take what those count as free."""
    for engine in ("tensorrt-llm", "sglang"):
        ((field, text),) = refused(TURNS, gpus=("L40S",), engine=engine)
        assert "models.m.hardware.sharing.mode" == field and "counts as free" in text


def test_nodes_that_know_no_parts_are_refused() -> None:
    """Karpenter counts whole GPUs, and Bottlerocket's plugin offers them."""
    assert ["models.m.nodes.kind"] == [field for field, _ in refused(MIG, nodes={"kind": "karpenter"})]
    assert ["models.m.nodes.os"] == [field for field, _ in refused(MIG, nodes={"os": "bottlerocket"})]


@pytest.mark.parametrize(
    "sharing", [{"mode": "mig"}, {"mode": "mig", "profile": "3g.40gb", "replicas": 2}, {"mode": "time-slicing"}, {**TURNS, "profile": "3g.40gb"}]
)
def test_what_a_mode_needs_is_asked_for(sharing: dict[str, Any]) -> None:
    """MIG wants a profile, turns want a number, and neither the other's."""
    with pytest.raises(ValueError, match=r"profile|replicas"):
        made(sharing)


@pytest.mark.slow
def test_the_rules_allow_divided_gpus_beside_whole_ones() -> None:
    """One plugin a node, tolerations of every taint and one instance a pod: no rule denies a strict tenant with a MIG pool beside a whole one."""
    found = plan(
        {"m": model(hardware={"gpus": ["H100"], "sharing": MIG}, workload=LOAD), "whole": model()}, isolation={"tier": "enterprise", "dedicated": True}
    )
    verdict = judge(Document(plan=found.model_dump(mode="json"), objects=tuple(objects(found))), today=date(2026, 12, 1))
    assert [] == [(f.address, f.message) for f in verdict.findings if verdict.denies(f)]
