"""The platform family: agents where they are needed, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
import rendered
import samples
import yaml
from inferform.plan import DeploymentPlan
from inferform.render import render
from inferform.render.autoscaler import RELEASES
from rendered import objects, one
from synthesis import sample_stacks

from tests.planning import specs

SAMPLE = samples.sample_plan()


def daemons(plan: DeploymentPlan) -> dict[str, dict[str, Any]]:
    return {o["metadata"]["name"]: o["spec"]["template"]["spec"] for o in objects(plan, "DaemonSet")}


def expressions(pod: dict[str, Any]) -> dict[str, list[str]]:
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return {e["key"]: e["values"] for e in term["matchExpressions"]}


def set_nodes(**nodes: Any) -> Any:
    def change(data: dict[str, Any]) -> None:
        for model in data["models"].values():
            for pool in model["pools"].values():
                if pool["gpu"]:
                    pool["infrastructure"].update(nodes)

    return change


def test_fc14_every_agent_tolerates_every_taint_of_its_pools() -> None:
    """Device plugin, exporter and EFA plugin carry the constant taint key, and each custom key once."""
    expected = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    found = daemons(SAMPLE)
    for name in ("nvidia-device-plugin", "dcgm-exporter", "efa-device-plugin"):
        assert expected == found[name]["tolerations"]

    def change(data: dict[str, Any]) -> None:
        data["models"]["llama-8b"]["pools"]["aggregated"]["infrastructure"]["taint_key"] = "team.example/gpu"

    mixed = daemons(rendered.plan(change))
    assert ["nvidia.com/gpu", "team.example/gpu"] == [t["key"] for t in mixed["nvidia-device-plugin"]["tolerations"]]
    assert ["nvidia.com/gpu", "team.example/gpu"] == [t["key"] for t in mixed["dcgm-exporter"]["tolerations"]]
    assert ["nvidia.com/gpu"] == [t["key"] for t in mixed["efa-device-plugin"]["tolerations"]]
    assert ["team.example/gpu"] == [t["key"] for t in mixed["model-cache-llama-8b-aggregated"]["tolerations"]]


def test_fc15_one_advertiser_of_gpus() -> None:
    """AL2023 nodes get the plugin, Bottlerocket nodes bring their own: the plugin is not rendered, or kept off them."""
    assert {"inferform.dev/accelerator": ["nvidia"], "inferform.dev/os": ["al2023"]} == expressions(daemons(SAMPLE)["nvidia-device-plugin"])
    all_bottlerocket = daemons(rendered.plan(set_nodes(os="bottlerocket")))
    assert "nvidia-device-plugin" not in all_bottlerocket
    assert "dcgm-exporter" in all_bottlerocket

    def change(data: dict[str, Any]) -> None:
        data["models"]["llama-8b"]["pools"]["aggregated"]["infrastructure"]["os"] = "bottlerocket"

    assert ["al2023"] == expressions(daemons(rendered.plan(change))["nvidia-device-plugin"])["inferform.dev/os"]


def test_agents_come_only_where_needed() -> None:
    """No GPU: no GPU agents. No EFA: no EFA plugin. No observability: no exporter."""

    def only_cpu(data: dict[str, Any]) -> None:
        data["models"] = {"bge": data["models"]["bge"]}

    assert {"model-cache-bge-aggregated"} == set(daemons(rendered.plan(only_cpu)))
    assert "efa-device-plugin" not in daemons(rendered.plan(set_nodes(efa=None)))
    assert {"inferform.dev/accelerator": ["nvidia"], "inferform.dev/efa": ["true"]} == expressions(daemons(SAMPLE)["efa-device-plugin"])

    def unseen(data: dict[str, Any]) -> None:
        data["observability"]["enabled"] = False

    assert "dcgm-exporter" not in daemons(rendered.plan(unseen))


def test_cache_folders_are_made_on_the_nodes_of_their_pool() -> None:
    """One agent a pool makes the model's folder for the engine's user, on that pool's nodes only."""
    pod = daemons(SAMPLE)["model-cache-llama-8b-aggregated"]
    assert {"inferform.dev/model": "llama-8b", "inferform.dev/pool": "aggregated"} == pod["nodeSelector"]
    values = {e["name"]: e["value"] for e in pod["initContainers"][0]["env"]}
    assert {"FOLDER": "/base/acme-contract-qa/llama-8b", "OWNER": "2000:0"} == values
    assert "/mnt/k8s-disks/0/inferform" == pod["volumes"][0]["hostPath"]["path"]


def test_the_exporter_counts_what_the_alerts_use() -> None:
    """Every DCGM series of an alert is among the exporter's counters, with type and help."""
    lines = one(SAMPLE, "ConfigMap", "dcgm-exporter")["data"]["counters.csv"].splitlines()
    counted = {line.split(",")[0] for line in lines}
    used = {
        word for rule in objects(SAMPLE, "PrometheusRule") for word in str(rule["spec"]).replace("{", " ").replace("(", " ").split() if word.startswith("DCGM_")
    }
    assert used <= counted
    assert all(len(line.split(", ")) >= 3 and line.split(", ")[1] in ("gauge", "counter") for line in lines)


def test_counters_exist_in_the_exporter() -> None:
    """Names and types are those of the exporter's published list."""
    path = rendered.REFERENCE / "dcgm_metrics.json"
    if not path.exists():
        pytest.skip(rendered.NO_REFERENCE)
    import json

    known = {(row["name"], row["type"]) for row in json.loads(path.read_text())["default_counters"]}
    lines = one(SAMPLE, "ConfigMap", "dcgm-exporter")["data"]["counters.csv"].splitlines()
    assert set() == {(line.split(", ")[0], line.split(", ")[1]) for line in lines} - known


def test_batch_gives_way() -> None:
    """Serving preempts, batch never does and ranks lower; a batch model uses the lower class."""
    classes = {o["metadata"]["name"]: o for o in objects(SAMPLE, "PriorityClass")}
    assert classes["inferform-batch"]["value"] < classes["inferform-serving"]["value"]
    assert ("Never", "PreemptLowerPriority") == (classes["inferform-batch"]["preemptionPolicy"], classes["inferform-serving"]["preemptionPolicy"])
    assert "inferform-batch" == rendered.pods(rendered.one_pool({"profile": "batch"}), "m-aggregated")[0]["priorityClassName"]


def test_the_cluster_autoscaler_finds_its_groups_with_the_account_that_has_its_role() -> None:
    """Cluster, region, account and the release for the cluster's minor; an unknown minor keeps the chart's image, fixed or Karpenter's pools need none."""
    path = "platform/cluster-autoscaler-values.yaml"
    values = yaml.safe_load(render(rendered.plan())[path])
    assert ({"clusterName": "contract-qa-prod"}, "us-east-1") == (values["autoDiscovery"], values["awsRegion"])
    associations = sample_stacks()["identity"]["resource"]["aws_eks_pod_identity_association"]
    account = associations[values["rbac"]["serviceAccount"]["name"]]
    assert ("kube-system", values["rbac"]["serviceAccount"]["name"]) == (account["namespace"], account["service_account"])
    assert {"inferform.dev/role": "system"} == values["nodeSelector"]
    minor = rendered.plan().cloud.kubernetes_version
    assert values["image"]["tag"].startswith(f"v{minor}.")
    assert all(tag.startswith(f"v{known}.") for known, tag in RELEASES.items())
    unknown = yaml.safe_load(render(rendered.plan(lambda d: d["cloud"].update(kubernetes_version="1.99")))[path])
    assert "image" not in unknown
    for fixed in ({"autoscaled": False}, {"kind": "karpenter"}):
        without = specs.plan({"m": specs.model(specs.SMALL, nodes=fixed)})
        assert path not in render(without)
        quantized = specs.plan({"m": specs.model(specs.SMALL, nodes=fixed, quantize={"method": "fp8", "data": {"hub": "o/p"}})})
        assert path in render(quantized)


def test_the_load_balancer_controller_is_told_what_metadata_would_say() -> None:
    """Pods cannot reach the instance metadata, so the chart's values name region and VPC; without the controller there are no values."""
    values = yaml.safe_load(render(rendered.plan())["platform/aws-load-balancer-controller-values.yaml"])
    assert ("contract-qa-prod", "us-east-1", {"Name": "contract-qa-prod"}) == (values["clusterName"], values["region"], values["vpcTags"])
    assert {"create": True, "name": "aws-load-balancer-controller"} == values["serviceAccount"]
    assert [False] * 3 == [values[name] for name in ("enableShield", "enableWaf", "enableWafv2")]
    assert "platform/aws-load-balancer-controller-values.yaml" not in render(
        rendered.plan(lambda d: d["cloud"]["cluster"].update(load_balancer_controller=False))
    )
