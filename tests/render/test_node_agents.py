"""Agents that make nodes ready: what they fetch, pull and serve, and for whom."""

from __future__ import annotations

from typing import Any

import pytest
import rendered
import yaml
from inferform.render import render
from rendered import objects, one, one_pool

STORE = {"storage_gib": 2400, "mb_per_s_per_tib": 500, "zone": "use1-az4", "file_system_id": "fs-0123456789abcdef0", "mount_name": "45z7xbmv"}


def agent(plan: Any, name: str = "model-cache-m-aggregated") -> dict[str, Any]:
    """Pod of one agent."""
    return dict(one(plan, "DaemonSet", name)["spec"]["template"]["spec"])


def container(pod: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [c for c in pod["containers"] if c["name"] == name]
    return dict(found)


def environment(body: dict[str, Any]) -> dict[str, str]:
    return {e["name"]: e["value"] for e in body["env"]}


def from_store(weights_from: str, **store: Any) -> Any:
    """One pool of 4 replicas whose weights come from there."""

    def change(data: dict[str, Any]) -> None:
        data["models"] = {"m": rendered.samples.model({"aggregated": rendered.samples.pool(pod={"weights_from": weights_from})}, served_name="m")}
        data["model_store"].update(store)

    return rendered.plan(change)


def test_weights_and_image_come_before_the_first_pod() -> None:
    """One agent a pool fills the same folder that pods read, as the engine's user, and pulls the engine's image beside it."""
    plan = one_pool()
    pod = agent(plan)
    fetch, image = container(pod, "weights"), container(pod, "image")
    folder = environment(pod["initContainers"][0])["FOLDER"]
    assert ("/base/acme-contract-qa/m", folder) == (folder, environment(fetch)["CACHE"])
    volume = one(plan, "PersistentVolume")
    assert volume["spec"]["hostPath"]["path"].endswith("/acme-contract-qa/m")
    assert volume["spec"]["hostPath"]["path"].startswith(pod["volumes"][0]["hostPath"]["path"])
    assert plan.models["m"].image == image["image"]
    # The image container starts after the weights are on their way.
    assert ["weights", "image"] == [c["name"] for c in pod["containers"]]
    assert {pod["initContainers"][0]["env"][1]["value"]} == {
        f"{c['securityContext']['runAsUser']}:{c['securityContext']['runAsGroup']}" for c in pod["containers"]
    }


def test_agents_take_no_gpu() -> None:
    """No agent asks for a GPU, and the image that could see one without asking is shown none."""
    pod = agent(one_pool())
    assert "void" == environment(container(pod, "image"))["NVIDIA_VISIBLE_DEVICES"]
    assert not [c for c in pod["containers"] if "nvidia.com/gpu" in c["resources"].get("limits", {})]


def test_agents_read_the_store_by_their_own_account() -> None:
    """The account, without a token for the cluster's API, stands in the agents' namespace, and the scripts with it."""
    plan = one_pool()
    account = one(plan, "ServiceAccount", "m-cache")
    assert ("inferform-system", False) == (account["metadata"]["namespace"], account["automountServiceAccountToken"])
    pod = agent(plan)
    assert "m-cache" == pod["serviceAccountName"]
    (scripts,) = [v["configMap"]["name"] for v in pod["volumes"] if v["name"] == "scripts"]
    (config,) = [c for c in objects(plan, "ConfigMap", scripts) if c["metadata"]["namespace"] == "inferform-system"]
    assert {"aws-config", "prefetch.sh"} == set(config["data"])


def test_without_agents_only_the_folder_is_made() -> None:
    """Turned off, the agent prepares the folder and stays; pods fetch for themselves."""
    pod = agent(rendered.plan(lambda d: d["model_store"].update(distribution={"node_agents": False})), "model-cache-llama-70b-aggregated")
    assert (["prepare"], ["stay"]) == ([c["name"] for c in pod["initContainers"]], [c["name"] for c in pod["containers"]])
    assert "serviceAccountName" not in pod


def test_peers_are_asked_before_the_bucket() -> None:
    """Agents of the pool serve the cache read-only to each other and to nobody else; the bucket stays the fallback and the manifest's source."""
    plan = from_store("peers")
    pod = agent(plan)
    fetch, serve = environment(container(pod, "weights")), container(pod, "serve")
    assert "model-cache-m-aggregated.inferform-system.svc:8200" == fetch["PEERS"]
    assert fetch["STORE"].startswith("s3://")
    assert ["/bin/httpd", "-f", "-p", "8200", "-h", "/base/acme-contract-qa/m"] == serve["command"]
    assert [True] == [m["readOnly"] for m in serve["volumeMounts"]]
    service = one(plan, "Service", "model-cache-m-aggregated")["spec"]
    assert ("None", 8200) == (service["clusterIP"], service["ports"][0]["port"])
    policy = one(plan, "NetworkPolicy", "model-cache-m-aggregated")["spec"]
    assert policy["podSelector"] == policy["ingress"][0]["from"][0]["podSelector"]
    assert service["selector"] == policy["podSelector"]["matchLabels"]
    assert "PEERS" not in environment(container(agent(from_store("store")), "weights"))


def test_a_file_system_replaces_the_nodes_cache() -> None:
    """Pods mount the static volume read-only, their first container only points at the weights, and agents only pull the image."""
    plan = from_store("lustre", lustre=STORE)
    (volume,) = objects(plan, "PersistentVolume")
    assert ("fsx.csi.aws.com", "fs-0123456789abcdef0", True) == tuple(volume["spec"]["csi"][k] for k in ("driver", "volumeHandle", "readOnly"))
    assert {"dnsname": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com", "mountname": "45z7xbmv"} == volume["spec"]["csi"]["volumeAttributes"]
    assert ("Retain", "2400Gi", ["ReadOnlyMany"]) == (
        volume["spec"]["persistentVolumeReclaimPolicy"], volume["spec"]["capacity"]["storage"], volume["spec"]["accessModes"],
    )  # fmt: skip
    claim = one(plan, "PersistentVolumeClaim")
    assert (volume["metadata"]["name"], volume["spec"]["claimRef"]["name"]) == (claim["spec"]["volumeName"], claim["metadata"]["name"])
    (pod,) = rendered.pods(plan, "m-aggregated")
    assert [claim["metadata"]["name"]] == [v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"] if "persistentVolumeClaim" in v]
    prefetch = next(c for c in pod["initContainers"] if c["name"] == "prefetch")
    assert {"SHARED": "/cache/models/m", "LINK": "/models/weights", "HOME": "/tmp"} == environment(prefetch)  # noqa: S108
    mounts = [m for c in (prefetch, pod["containers"][0]) for m in c["volumeMounts"] if m["name"] == "cache"]
    assert [True, True] == [m.get("readOnly") for m in mounts]
    # The namespace lets a claim of that size in.
    limits = one(plan, "LimitRange")["spec"]["limits"]
    assert ["2400Gi"] == [limit["max"]["storage"] for limit in limits if limit["type"] == "PersistentVolumeClaim"]
    daemon = agent(plan)
    assert ["image"] == [c["name"] for c in daemon["containers"]]
    assert ("volumes" in daemon, "initContainers" in daemon) == (False, False)
    assert not [a for a in objects(plan, "ServiceAccount") if a["metadata"]["name"] == "m-cache"]


def test_a_file_system_that_nobody_mounts_renders_nothing() -> None:
    """Without its id there is no volume; nor where all pools read from their nodes."""
    for plan in (from_store("store", lustre=STORE), from_store("store", lustre={**STORE, "file_system_id": None, "mount_name": None})):
        assert "csi" not in [v["spec"].get("csi", "hostPath") for v in objects(plan, "PersistentVolume")]
        assert "serving/model-store-volume.yaml" not in render(plan)


def test_images_are_shared_between_model_nodes() -> None:
    """Spegel runs on model nodes alone, tolerates their taints, mirrors the registries of the engines and keeps what was configured before."""
    plan = rendered.plan(lambda d: d["model_store"].update(distribution={"image_peers": True}))
    values = yaml.safe_load(render(plan)["platform/spegel-values.yaml"])
    assert ["https://docker.io"] == values["spegel"]["mirroredRegistries"]
    assert values["spegel"]["prependExisting"] is True
    (term,) = values["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [{"key": "inferform.dev/model", "operator": "Exists"}] == term["matchExpressions"]
    assert "nvidia.com/gpu" in {t["key"] for t in values["tolerations"]}
    assert "platform/spegel-values.yaml" not in render(rendered.plan())


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("vllm/vllm-openai:v0.33.0", "docker.io"),
        ("nvcr.io/nvidia/tensorrt-llm/release:1.3.0", "nvcr.io"),
        ("registry.local:5000/vllm:v1", "registry.local:5000"),
    ],
)
def test_the_registry_of_an_image(image: str, registry: str) -> None:
    """A first part with a dot or a port is a registry; anything else comes from Docker Hub."""

    def change(data: dict[str, Any]) -> None:
        data["model_store"].update(distribution={"image_peers": True})
        data["models"] = {"m": rendered.samples.model({"aggregated": rendered.samples.pool()}, served_name="m", image=image)}

    values = yaml.safe_load(render(rendered.plan(change))["platform/spegel-values.yaml"])
    assert [f"https://{registry}"] == values["spegel"]["mirroredRegistries"]
