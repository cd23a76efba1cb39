"""The serving family: pods that start, drain and find their weights."""

from __future__ import annotations

from typing import Any

import pytest
import rendered
import samples
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.render import render
from rendered import one, one_pool, option, pods

GIB = 2**30
SAMPLE = samples.sample_plan()


def test_one_node_is_a_deployment_and_several_are_a_group() -> None:
    """llama-405b spans two nodes: a LeaderWorkerSet of two pods, whose leader serves and whose worker runs headless."""
    assert ["bge-aggregated", "llama-70b-aggregated", "llama-8b-aggregated"] == [o["metadata"]["name"] for o in rendered.objects(SAMPLE, "Deployment")]
    group = one(SAMPLE, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    assert (2, "RecreateGroupOnPodRestart") == (group["size"], group["restartPolicy"])
    leader, worker = pods(SAMPLE, "llama-405b-aggregated")
    assert ("2", "0", "$(LWS_LEADER_ADDRESS)") == (option(leader, "--nnodes"), option(leader, "-r"), option(leader, "--master-addr"))
    assert ("$(LWS_WORKER_INDEX)", "--headless") == (option(worker, "-r"), worker["containers"][0]["args"][-1])
    assert "readinessProbe" in leader["containers"][0]
    assert "ports" not in worker["containers"][0]


def test_only_leaders_get_requests() -> None:
    """The Service selects engines, which workers of a group are not."""
    service = one(SAMPLE, "Service", "llama-405b")
    selector = service["spec"]["selector"]
    template = one(SAMPLE, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    found = [selector.items() <= template[part]["metadata"]["labels"].items() for part in ("leaderTemplate", "workerTemplate")]
    assert [True, False] == found


def test_pods_run_on_their_pool_and_tolerate_its_taint() -> None:
    """FC-14: node selector of the pool, toleration of its taint key, also a custom one."""
    plan = one_pool(infrastructure={"taint_key": "team.example/gpu"})
    (pod,) = pods(plan, "m-aggregated")
    assert {"inferform.dev/model": "m", "inferform.dev/pool": "aggregated"} == pod["nodeSelector"]
    assert [{"key": "team.example/gpu", "operator": "Exists", "effect": "NoSchedule"}] == pod["tolerations"]


def test_pods_meet_the_restricted_standard() -> None:
    """Every container runs as user 2000 without root, privileges, capabilities or a writable root; the namespace enforces it."""
    for name in ("llama-405b-aggregated", "llama-8b-aggregated", "bge-aggregated"):
        for pod in pods(SAMPLE, name):
            assert {"runAsNonRoot": True, "runAsUser": 2000, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}} == pod["securityContext"]
            assert {"configMap", "emptyDir", "persistentVolumeClaim"} == {kind for volume in pod["volumes"] for kind in volume if kind != "name"}
            for container in [*pod["initContainers"], *pod["containers"]]:
                expected = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
                assert expected == container["securityContext"]
    assert "restricted" == one(SAMPLE, "Namespace", "acme-contract-qa")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]


@pytest.mark.parametrize("name", ["llama-70b-aggregated", "llama-405b-aggregated"])
def test_fc17_every_pod_of_a_group_has_its_own_shm(name: str) -> None:
    """A sized memory volume is the shared memory of every pod, whatever set the TP degree, and the memory limit holds it."""
    size = {"llama-70b-aggregated": "16Gi", "llama-405b-aggregated": "32Gi"}[name]
    for pod in pods(SAMPLE, name):
        (volume,) = [v for v in pod["volumes"] if v["name"] == "shm"]
        assert {"medium": "Memory", "sizeLimit": size} == volume["emptyDir"]
        engine = pod["containers"][0]
        assert "/dev/shm" in [m["mountPath"] for m in engine["volumeMounts"]]  # noqa: S108
        assert int(engine["resources"]["limits"]["memory"].removesuffix("Gi")) > int(size.removesuffix("Gi"))


def test_fc20_probes_follow_the_load_estimate() -> None:
    """140 GB at 1 GB/s: 140 s of load doubled in steps of 10 s is 28, floored at 60; probes start at once and liveness forgives."""
    (pod,) = pods(one_pool(lifecycle={"startup_failure_threshold": 60, "startup_period_s": 10}), "m-aggregated")
    engine = pod["containers"][0]
    assert {"path": "/health", "port": "http"} == engine["startupProbe"]["httpGet"]
    assert (10, 60) == (engine["startupProbe"]["periodSeconds"], engine["startupProbe"]["failureThreshold"])
    assert (0, 0) == (engine["readinessProbe"]["initialDelaySeconds"], engine["livenessProbe"]["initialDelaySeconds"])
    assert 3 <= engine["livenessProbe"]["failureThreshold"]
    # 60 x 10 s of starting must fit the deadline.
    with pytest.raises(InputError, match="600 s end before the 600 s that starting may take"):
        render(one_pool(lifecycle={"progress_deadline_s": 600}))


def test_fc21_pods_drain_before_they_go() -> None:
    """4096 tokens at 40 a second are 103 s: preStop 15 s, --shutdown-timeout 103, grace above 118; 0.16 has no such flag."""
    life = {"pre_stop_s": 15, "shutdown_timeout_s": 103, "grace_s": 119}
    (pod,) = pods(one_pool({"engine_version": "0.19.0", "image": "vllm/vllm-openai:v0.19.0"}, lifecycle=life), "m-aggregated")
    assert {"sleep": {"seconds": 15}} == pod["containers"][0]["lifecycle"]["preStop"]
    assert ("103", 119) == (option(pod, "--shutdown-timeout"), pod["terminationGracePeriodSeconds"])
    old = {**life, "shutdown_timeout_s": None}
    (pod,) = pods(one_pool({"engine_version": "0.16.0", "image": "vllm/vllm-openai:v0.16.0"}, lifecycle=old), "m-aggregated")
    assert "--shutdown-timeout" not in pod["containers"][0]["args"]
    assert 119 == pod["terminationGracePeriodSeconds"]
    for grace in (30, 118):
        with pytest.raises(InputError, match=f"{grace} s end before the 118 s that draining takes"):
            render(one_pool(lifecycle={**life, "grace_s": grace}))


def containers_with_token(plan: DeploymentPlan) -> dict[str, Any]:
    found = {}
    for item in rendered.objects(plan):
        spec = item["spec"].get("template", {}).get("spec", {}) if "spec" in item else {}
        for container in [*spec.get("initContainers", []), *spec.get("containers", [])]:
            for entry in container.get("env", []):
                if entry["name"] == "HF_TOKEN":
                    found[f"{item['kind']}/{container['name']}"] = entry
    return found


def test_fc34_hub_tokens_come_by_reference_to_what_downloads() -> None:
    """The import job, the only container that talks to the hub, reads the token from the Secret; it is required, and no other pod has it."""
    plan = one_pool({"hf_token_secret": {"name": "hub", "key": "token"}})
    assert {"Job/import": {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}} == containers_with_token(plan)
    assert {} == containers_with_token(one_pool({"gated": False, "hf_token_secret": None}))
    with pytest.raises(InputError, match=r"models\.m\.hf_token_secret: is gated"):
        render(one_pool({"hf_token_secret": None}))


def test_weights_come_from_the_store_through_the_nodes_cache() -> None:
    """The prefetch container knows store and cache; the engine mounts both read-only and loads from the link."""
    (pod,) = pods(SAMPLE, "llama-8b-aggregated")
    (prefetch,) = pod["initContainers"]
    values = {e["name"]: e["value"] for e in prefetch["env"]}
    assert ("s3://contract-qa-prod-models-0a1b2c3d/models/llama-8b", "/cache", "/models/weights") == (values["STORE"], values["CACHE"], values["LINK"])
    engine = pod["containers"][0]
    assert "/models/weights" == engine["args"][0]
    assert {"cache", "model"} == {m["name"] for m in engine["volumeMounts"] if m.get("readOnly")}


@pytest.mark.parametrize(
    ("nodes", "folder"),
    [
        ({}, "/mnt/k8s-disks/0/inferform/acme-contract-qa/m"),
        ({"local_nvme_count": 0, "local_nvme_bytes": 0}, "/var/lib/inferform/acme-contract-qa/m"),
        ({"os": "bottlerocket"}, "/mnt/inferform/acme-contract-qa/m"),
    ],
)
def test_the_cache_lies_on_the_fastest_disk_of_the_node(nodes: dict[str, Any], folder: str) -> None:
    """On the RAID0 of local disks where there are any, else on the root volume; one folder a namespace and model, kept by claim."""
    plan = one_pool(infrastructure=nodes)
    volume, claim = one(plan, "PersistentVolume"), one(plan, "PersistentVolumeClaim")
    assert (folder, "DirectoryOrCreate") == (volume["spec"]["hostPath"]["path"], volume["spec"]["hostPath"]["type"])
    assert (claim["metadata"]["name"], "acme-contract-qa") == (volume["spec"]["claimRef"]["name"], volume["spec"]["claimRef"]["namespace"])
    assert volume["metadata"]["name"] == claim["spec"]["volumeName"]
    assert "Retain" == volume["spec"]["persistentVolumeReclaimPolicy"]


def test_a_model_that_is_on_no_hub_has_no_import() -> None:
    """The path of a config.json cannot be downloaded; its weights are brought to the store by hand."""
    assert [] == rendered.objects(one_pool({"source": "configs/own/config.json", "hf_token_secret": None}), "Job")


def test_an_import_is_named_by_what_it_imports() -> None:
    """A job cannot change, so another source gives another name and the same one the same."""
    names = [one(one_pool({"source": source}), "Job")["metadata"]["name"] for source in ("a/b", "a/b", "a/c")]
    assert names[0] == names[1] != names[2]


def test_gpu_memory_and_devices_are_guaranteed() -> None:
    """Requests equal limits for memory, GPUs, EFA interfaces and huge pages; CPU is requested without a limit."""
    leader, _ = pods(SAMPLE, "llama-405b-aggregated")
    resources = leader["containers"][0]["resources"]
    limits = {"memory": "1900Gi", "nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32, "hugepages-2Mi": "5Gi"}
    assert (limits, {"cpu": "180000m", **limits}) == (resources["limits"], resources["requests"])
    values = {e["name"]: e.get("value") for e in leader["containers"][0]["env"]}
    assert ("efa", "eth0") == (values["FI_PROVIDER"], values["NCCL_SOCKET_IFNAME"])
    assert {"fieldPath": "status.podIP"} == {e["name"]: e.get("valueFrom", {}).get("fieldRef") for e in leader["containers"][0]["env"]}["VLLM_HOST_IP"]


def test_replicas_that_share_a_node_share_its_interfaces() -> None:
    """32 EFA interfaces over three replicas of a node are 10 each; 2560 huge pages of 2 MiB are 853 each = 1706 MiB."""
    plan = one_pool(replicas_per_node=3, pod={"gpus": 2}, infrastructure={"efa": {"network_cards": 32, "interfaces": 32}})
    limits = pods(plan, "m-aggregated")[0]["containers"][0]["resources"]["limits"]
    assert (10, "1706Mi") == (limits["vpc.amazonaws.com/efa"], limits["hugepages-2Mi"])


def test_embeddings_on_cpu_ask_for_no_gpu() -> None:
    """The CPU pool runs the CPU image with the pooling runner and bounded KV space, on its own nodes."""
    (pod,) = pods(SAMPLE, "bge-aggregated")
    engine = pod["containers"][0]
    assert ("vllm/vllm-openai-cpu:v0.33.0", "pooling") == (engine["image"], option(pod, "--runner"))
    assert "nvidia.com/gpu" not in engine["resources"]["limits"]
    assert "1" == {e["name"]: e.get("value") for e in engine["env"]}["VLLM_CPU_KVCACHE_SPACE"]


def test_fc39_a_scaler_owns_the_replica_count() -> None:
    """With a scaler no workload says how many; without one the steady count stands there."""
    for item in rendered.objects(SAMPLE):
        if item["kind"] in ("Deployment", "LeaderWorkerSet"):
            assert "replicas" not in item["spec"], item["metadata"]["name"]
    fixed = one_pool(scaling={"kind": "fixed"}, replicas={"min": 3, "steady": 3, "max": 3})
    assert 3 == one(fixed, "Deployment")["spec"]["replicas"]
    assert (
        3
        == one(one_pool(scaling={"kind": "fixed"}, replicas={"min": 3, "steady": 3, "max": 3}, nodes_per_replica=2, tp=8, pp=2), "LeaderWorkerSet")["spec"][
            "replicas"
        ]
    )


@pytest.mark.parametrize(
    ("life", "strategy", "rollout"),
    [
        ({"strategy": "Recreate", "max_surge": 0, "max_unavailable": 1}, {"type": "Recreate"}, {"maxSurge": 0, "maxUnavailable": 1}),
        (
            {"strategy": "RollingUpdate", "max_surge": 0, "max_unavailable": 1},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            {"maxSurge": 0, "maxUnavailable": 1},
        ),
        (
            {"strategy": "RollingUpdate", "max_surge": 1, "max_unavailable": 0},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            {"maxSurge": 1, "maxUnavailable": 0},
        ),
    ],
)
def test_fc40_the_rollout_strategy_is_explicit(life: dict[str, Any], strategy: dict[str, Any], rollout: dict[str, Any]) -> None:
    """No spare GPU and one replica: Recreate; several: one goes first; a spare: one comes first. A group does the same its way."""
    assert strategy == one(one_pool(lifecycle=life), "Deployment")["spec"]["strategy"]
    group = one(one_pool(lifecycle=life, nodes_per_replica=2, tp=8, pp=2), "LeaderWorkerSet")
    assert rollout == group["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]


def test_fc40_a_rollout_that_cannot_move_is_refused() -> None:
    """Neither a surge nor one replica out is a deadlock."""
    with pytest.raises(InputError, match="a rollout could never move"):
        render(one_pool(lifecycle={"strategy": "RollingUpdate", "max_surge": 0, "max_unavailable": 0}))


def test_a_budget_lets_nodes_be_drained_one_by_one() -> None:
    """Each pool has a disruption budget over its engines: at most one away at a time."""
    budget = one(SAMPLE, "PodDisruptionBudget", "llama-70b-aggregated")["spec"]
    assert 1 == budget["maxUnavailable"]
    assert {"inferform.dev/model": "llama-70b", "inferform.dev/pool": "aggregated", "app.kubernetes.io/component": "engine"} == budget["selector"][
        "matchLabels"
    ]


def test_a_budget_of_groups_counts_their_workers() -> None:
    """A replica of 2 nodes goes with any of its pods: the budget selects leader and worker alike, and lets one pod go in all."""
    plan = one_pool(nodes_per_replica=2, tp=8, pp=2)
    budget = one(plan, "PodDisruptionBudget")["spec"]
    template = one(plan, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    (parts,) = budget["selector"]["matchExpressions"]
    assert (1, "In") == (budget["maxUnavailable"], parts["operator"])
    for pod in (template["leaderTemplate"], template["workerTemplate"]):
        words = pod["metadata"]["labels"]
        assert budget["selector"]["matchLabels"].items() <= words.items()
        assert words[parts["key"]] in parts["values"]


def test_pod_variables_of_users_are_data() -> None:
    """A `$(NAME)` in a user's argument is doubled, so that Kubernetes passes it on as it is."""
    (pod,) = pods(one_pool({"extra_args": ["--chat-template", "$(HOME)$$x"]}), "m-aggregated")
    assert "$$(HOME)$$$$x" == option(pod, "--chat-template")
