"""Prefill and decode on NVIDIA Dynamo: the graph, its order of start, its flags, and how it is scaled and scraped."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rendered
import samples
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.render import render
from rendered import one

DYNAMO = {"disaggregation": "dynamo", "engine_version": "0.31.0", "image": "vllm/vllm-openai:v0.31.0"}


def graph_plan(model: dict[str, Any] | None = None, /, **pool: Any) -> DeploymentPlan:
    """Model `m` with one prefill and four decode workers."""
    sizes = {"prefill": {"min": 1, "steady": 1, "max": 2}, "decode": {"min": 4, "steady": 4, "max": 8}}
    pools = {}
    for role, size in sizes.items():
        scaling = {"min": size["min"], "max": size["max"], "fallback_replicas": size["steady"], **pool.get("scaling", {})}
        pools[role] = samples.pool(**{"role": role, "replicas": size, **pool, "scaling": scaling})
    values = {"served_name": "m", "topology": "disaggregated", **DYNAMO, **(model or {})}
    return rendered.plan(lambda data: data.update(models={"m": samples.model(pools, **values)}))


def components(plan: DeploymentPlan) -> dict[str, dict[str, Any]]:
    graph = one(plan, "DynamoGraphDeployment", "m")
    return {c["name"]: c for c in graph["spec"]["components"]}


def main(component: dict[str, Any]) -> dict[str, Any]:
    """The container that the operator adds to."""
    (container,) = component["podTemplate"]["spec"]["containers"]
    assert "main" == container["name"]
    return dict(container)


def option(container: dict[str, Any], flag: str) -> str:
    return str(container["args"][container["args"].index(flag) + 1])


def test_the_graph_has_frontends_prefill_and_decode() -> None:
    """One graph with three components of their own types; the pools have no Deployments beside it."""
    plan = graph_plan()
    found = components(plan)
    assert {"frontend": "frontend", "prefill": "prefill", "decode": "decode"} == {name: c["type"] for name, c in found.items()}
    assert [] == rendered.objects(plan, "Deployment")
    for role, kv_role in (("prefill", "kv_producer"), ("decode", "kv_consumer")):
        container = main(found[role])
        assert (["python3", "-m"], "dynamo.vllm") == (container["command"], container["args"][0])
        assert (role, kv_role) == (option(container, "--disaggregation-mode"), json.loads(option(container, "--kv-transfer-config"))["kv_role"])
        assert "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1" == container["image"]
        assert "16Gi" == found[role]["sharedMemorySize"]
        # The operator mounts shared memory itself.
        assert "shm" not in [v["name"] for v in found[role]["podTemplate"]["spec"]["volumes"]]


def test_start_up_order_is_prefill_then_decode_then_frontend() -> None:
    """Each waits for the readiness of the one before, through a Service that selects exactly its pods."""
    plan = graph_plan()
    services = {s["metadata"]["name"]: s["spec"] for s in rendered.objects(plan, "Service")}
    templates = {name: c["podTemplate"] for name, c in components(plan).items()}
    edges = {}
    for name, template in templates.items():
        for container in template["spec"]["initContainers"]:
            if container["name"] == "wait":
                (url,) = [e["value"] for e in container["env"] if e["name"] == "URL"]
                service, rest = url.removeprefix("http://").split(":")
                assert "9090/health" == rest
                (edges[name],) = [n for n, t in templates.items() if services[service]["selector"].items() <= t["metadata"]["labels"].items()]
    assert {"decode": "prefill", "frontend": "decode"} == edges
    # The operator makes Services of the plain component names.
    assert not {"m-prefill", "m-decode", "m-frontend"} & set(services)
    assert services["m"]["selector"].items() <= templates["frontend"]["metadata"]["labels"].items()


def test_fc20_probes_are_ours_and_not_the_operators() -> None:
    """The operator's default liveness restarts on one failure; ours forgives, and start-up follows the load estimate."""
    container = main(components(graph_plan())["decode"])
    assert [{"name": "system", "containerPort": 9090, "protocol": "TCP"}] == container["ports"]
    assert (("/live", 60), ("/health", 3), ("/live", 6)) == tuple(
        (container[p]["httpGet"]["path"], container[p]["failureThreshold"]) for p in ("startupProbe", "readinessProbe", "livenessProbe")
    )


def test_fc39_a_scaler_owns_the_count_through_the_adapter() -> None:
    """With KEDA the graph names no count and has an adapter, which the ScaledObject targets; a fixed pool names its count."""
    plan = graph_plan()
    for role in ("prefill", "decode"):
        component = components(plan)[role]
        assert ({}, False) == (component["scalingAdapter"], "replicas" in component)
        target = one(plan, "ScaledObject", f"m-{role}")["spec"]["scaleTargetRef"]
        assert {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentScalingAdapter", "name": f"m-{role}"} == target
    fixed = components(graph_plan(scaling={"kind": "fixed"}))
    assert (1, 4) == (fixed["prefill"]["replicas"], fixed["decode"]["replicas"])
    assert "scalingAdapter" not in fixed["decode"]


def test_metrics_are_read_at_the_system_port_of_the_operators_pods() -> None:
    """Workers are scraped at 9090; queries match the operator's pod names, with a gang's number or without."""
    plan = graph_plan()
    ends = {m["metadata"]["name"]: m["spec"]["podMetricsEndpoints"][0] for m in rendered.objects(plan, "PodMonitor")}
    assert 9090 == ends["contract-qa-engines-9090"]["portNumber"]
    assert "http" == ends["contract-qa-frontends"]["port"]
    triggers = {t["name"]: t["metadata"]["query"] for t in one(plan, "ScaledObject", "m-decode")["spec"]["triggers"]}
    assert 'pod=~"m(-[0-9]+)?-decode-.+"' in triggers["queue"]
    ready = 'sum(kube_pod_status_ready{namespace="acme-contract-qa",pod=~"m(-[0-9]+)?-prefill-.+",condition="true"})'
    assert f"floor({ready} * 3)" == triggers["ratio"]


def test_workers_may_announce_themselves_and_frontends_read_no_weights() -> None:
    """The account that reads weights is bound to the operator's discovery role; frontends fetch the store's small files only."""
    plan = graph_plan()
    binding = one(plan, "RoleBinding", "m-serving")
    assert "m-k8s-service-discovery-role" == binding["roleRef"]["name"]
    found = components(plan)
    assert {"m-serving"} == {c["podTemplate"]["spec"]["serviceAccountName"] for c in found.values()}
    most = {}
    for name, component in found.items():
        (prefetch,) = [c for c in component["podTemplate"]["spec"]["initContainers"] if c["name"] == "prefetch"]
        most[name] = {e["name"]: e["value"] for e in prefetch["env"]}.get("MOST_BYTES")
    assert {"frontend": "67108864", "prefill": None, "decode": None} == most


def test_flags_are_those_of_the_published_parsers() -> None:
    """Worker and frontend take their own options from Dynamo's parsers and all others from the engine's own, never from its API server."""
    path = rendered.REFERENCE / "dynamo_flags.json"
    if not path.exists():
        pytest.skip(rendered.NO_REFERENCE)
    data = json.loads(path.read_text())
    assert "1.6.1" == data["version"]
    found = components(graph_plan())
    engine = {r["flag"]: r["group"] for r in json.loads((rendered.REFERENCE / "vllm_serve_flags.json").read_text())["flags"]}
    for role, part in (("prefill", "vllm_worker"), ("decode", "vllm_worker"), ("frontend", "frontend")):
        own = {name for row in data["components"][part] for name in (row["flag"], *row["aliases"], *row.get("negative_flags", []))}
        for word in main(found[role])["args"]:
            if word.startswith("--") and word not in own:
                assert role != "frontend"
                assert engine[word] not in ("Frontend", "options"), word


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"engine_version": "0.33.0", "image": "vllm/vllm-openai:v0.33.0"}, r"Dynamo 1\.6\.1 runs vLLM 0\.31\.0.*set engine_version: 0\.31\.0"),
        ({"image": "team/vllm:1"}, "Dynamo runs nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"),
        ({"extra_args": ["--seed", "7"]}, "are not handed through Dynamo's workers"),
        ({"engine": "tensorrt-llm", "engine_version": "1.3.0rc22"}, "hands no caches over here"),
    ],
)
def test_what_the_runtime_does_not_hold_is_refused(model: dict[str, Any], message: str) -> None:
    """Another engine, release, image or argument than the runtime's own is refused with its reason."""
    with pytest.raises(InputError, match=message):
        render(graph_plan(model))
