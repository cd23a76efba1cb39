"""Tiers of the KV cache in rendered pods: flags, files and environment of each engine, volumes, and what trims them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rendered
import samples
import yaml
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from rendered import one, one_pool, option, pods

GIB = 2**30


def tiers(backend: str = "vllm", disk: int = 500 * GIB, *, trimmed: bool = False) -> dict[str, Any]:
    """A pod with 200 GiB of memory tier and a disk tier."""
    return {"pod": {"kv_tiers": {"backend": backend, "cpu_bytes": 200 * GIB, "cpu_tokens": 1, "disk_bytes": disk, "disk_tokens": 1, "trimmed": trimmed}}}


def environment(pod: dict[str, Any]) -> dict[str, str]:
    return {e["name"]: e.get("value", "") for e in pod["containers"][0]["env"]}


def split_plan(runtime: str, **prefill: Any) -> DeploymentPlan:
    """Model `m` split; the prefill pool is changed by `prefill`."""
    version = "0.31.0" if runtime == "dynamo" else "0.33.0"
    size = {"min": 1, "steady": 1, "max": 2}
    scaling = {"min": 1, "max": 2, "fallback_replicas": 1}
    pools = {role: samples.pool(role=role, replicas=size, scaling=scaling, **(prefill if role == "prefill" else {})) for role in ("prefill", "decode")}
    values = {"served_name": "m", "topology": "disaggregated", "disaggregation": runtime, "engine_version": version, "image": f"vllm/vllm-openai:v{version}"}
    return rendered.plan(lambda data: data.update(models={"m": samples.model(pools, **values)}))


def test_vllm_offloads_to_memory_by_size() -> None:
    """One flag with GiB; each of two data-parallel engines of a replica gets half of the pod's bytes."""
    (pod,) = pods(one_pool(**tiers(disk=0)), "m-aggregated")
    assert "200" == option(pod, "--kv-offloading-size")
    (pod,) = pods(one_pool(**tiers(disk=0), tp=2, dp=2), "m-aggregated")
    assert "100" == option(pod, "--kv-offloading-size")
    assert "kv" not in [v["name"] for v in pod["volumes"]]
    assert "ephemeral-storage" not in pod["containers"][0]["resources"]["requests"]


def test_vllm_tiers_memory_and_files() -> None:
    """The connector's configuration names bytes and folder; the folder is a bounded volume of the node's disk that the pod asks for."""
    (pod,) = pods(one_pool(**tiers(trimmed=True)), "m-aggregated")
    config = json.loads(option(pod, "--kv-transfer-config"))
    extra = {"cpu_bytes_to_use": 200 * GIB, "spec_name": "TieringOffloadingSpec", "secondary_tiers": [{"type": "fs", "root_dir": "/kv"}]}
    assert {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra} == config
    assert {"sizeLimit": "500Gi"} == next(v for v in pod["volumes"] if v["name"] == "kv")["emptyDir"]
    assert "500Gi" == pod["containers"][0]["resources"]["requests"]["ephemeral-storage"]
    assert "/kv" in [m["mountPath"] for m in pod["containers"][0]["volumeMounts"]]


def test_files_that_the_engine_keeps_are_trimmed() -> None:
    """A sidecar from the start removes the oldest files above 85 % of the volume, by a script that stands in the namespace."""
    plan = one_pool(**tiers(trimmed=True))
    (pod,) = pods(plan, "m-aggregated")
    (trim,) = [c for c in pod["initContainers"] if c["name"] == "kv-trim"]
    assert ("Always", ["/bin/sh", "/kv-scripts/kv-trim.sh"]) == (trim["restartPolicy"], trim["command"])
    assert {"FOLDER": "/kv", "LIMIT": str(int(500 * GIB * 0.85))} == {e["name"]: e["value"] for e in trim["env"]}
    (scripts,) = [v["configMap"]["name"] for v in pod["volumes"] if v["name"] == "kv-scripts"]
    assert "du -sk" in one(plan, "ConfigMap", scripts)["data"]["kv-trim.sh"]
    # It asks for its own 50 m, and the quota of the namespace has room for it in each of 4 replicas and a surge.
    assert {"cpu": "50m", "memory": "128Mi"} == trim["resources"]["requests"]
    hard = [one(p, "ResourceQuota", "capacity")["spec"]["hard"] for p in (plan, one_pool(**tiers()))]
    assert 0 < int(hard[0]["requests.memory"].removesuffix("Mi")) - kubernetes_mib(hard[1]["requests.memory"])
    assert [] == [c for c in pods(one_pool(**tiers()), "m-aggregated")[0]["initContainers"] if c["name"] == "kv-trim"]


def kubernetes_mib(text: str) -> int:
    return int(text.removesuffix("Mi")) if text.endswith("Mi") else int(text.removesuffix("Gi")) * 1024


def test_a_prefill_replica_hands_over_and_offloads() -> None:
    """Both connectors behind one: blocks go to memory, and to decode replicas; those have the hand-over alone."""
    plan = split_plan("vllm-router", **tiers(disk=0))
    config = json.loads(option(pods(plan, "m-prefill")[0], "--kv-transfer-config"))
    assert ("MultiConnector", "kv_both") == (config["kv_connector"], config["kv_role"])
    inner = config["kv_connector_extra_config"]["connectors"]
    assert [("OffloadingConnector", "kv_both"), ("NixlConnector", "kv_producer")] == [(c["kv_connector"], c["kv_role"]) for c in inner]
    assert {"cpu_bytes_to_use": 200 * GIB} == inner[0]["kv_connector_extra_config"]
    assert "NixlConnector" == json.loads(option(pods(plan, "m-decode")[0], "--kv-transfer-config"))["kv_connector"]


def test_dynamo_offloads_through_its_block_manager() -> None:
    """PdConnector with the block manager before NIXL; sizes and folder come through the environment, in whole GiB."""
    plan = split_plan("dynamo", **tiers("dynamo"))
    components = {c["name"]: c["podTemplate"]["spec"] for c in one(plan, "DynamoGraphDeployment")["spec"]["components"]}
    prefill = components["prefill"]
    config = json.loads(option(prefill, "--kv-transfer-config"))
    assert ("PdConnector", "kvbm.vllm_integration.connector") == (config["kv_connector"], config["kv_connector_module_path"])
    assert ["DynamoConnector", "NixlConnector"] == [c["kv_connector"] for c in config["kv_connector_extra_config"]["connectors"]]
    values = environment(prefill)
    expected = {"DYN_KVBM_CPU_CACHE_GB": "200", "DYN_KVBM_DISK_CACHE_GB": "500", "DYN_KVBM_DISK_CACHE_DIR": "/kv"}
    assert expected == {key: values[key] for key in expected}
    assert "DYN_KVBM_CPU_CACHE_GB" not in environment(components["decode"])
    assert "kv" in [v["name"] for v in prefill["volumes"]]


def test_sglang_takes_sizes_a_rank() -> None:
    """200 GiB over 4 ranks are 53 whole GB each; files are bounded by the engine itself, each rank a quarter of 85 % of 500 GiB."""
    model = {"engine": "sglang", "engine_version": "0.5.23", "image": "lmsysorg/sglang:v0.5.23"}
    (pod,) = pods(one_pool(model, **tiers("sglang")), "m-aggregated")
    assert ("53", "file") == (option(pod, "--hicache-size"), option(pod, "--hicache-storage-backend"))
    assert "--enable-hierarchical-cache" in pod["containers"][0]["args"]
    values = environment(pod)
    assert ("/kv", str(int(500 * GIB * 0.85) // 4)) == (
        values["SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR"],
        values["SGLANG_HICACHE_FILE_BACKEND_MAX_SIZE"],
    )


def test_tensorrt_llm_takes_bytes_a_rank() -> None:
    """200 GiB over 4 ranks: 50 GiB in the configuration file."""
    model = {
        "engine": "tensorrt-llm", "engine_version": "1.3.0rc22", "image": "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc22", "checkpoint_quantized": True,
    }  # fmt: skip
    (config,) = [o for o in rendered.objects(one_pool(model, **tiers("tensorrt-llm", disk=0)), "ConfigMap") if "llm-args.yaml" in o["data"]]
    assert 50 * GIB == yaml.safe_load(config["data"]["llm-args.yaml"])["kv_cache_config"]["host_cache_size"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--kv-transfer-config", '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'], "the plan decides where KV blocks go"),
        (["--kv-offloading-size", "10"], r"--kv-offloading-size is not taken here.*set kv_tiers"),
    ],
)
def test_arguments_beside_the_tiers_are_refused(args: list[str], message: str) -> None:
    """Nothing may offload beside what the plan counted into the pod's memory."""
    with pytest.raises(InputError, match=message):
        pods(one_pool({"extra_args": args}, **tiers(disk=0)), "m-aggregated")
