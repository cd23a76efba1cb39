"""A router before equal replicas: prompts that begin alike reach the same one. The last test runs the real router on rendered arguments."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.render import render
from inferform.render.router import arguments
from pydantic import ValidationError
from rendered import objects, one, one_pool

from tests.planning.specs import SMALL, model, plan, spec
from tests.render.test_router import ROUTER, Engine, PodApi, ask_until_answered, free_port, serve


def routed(**pool: Any) -> DeploymentPlan:
    return one_pool({"routing": "prefix"}, **pool)


def test_requests_go_through_the_router() -> None:
    """The model's Service selects routers, which watch the ready engines of the one pool and follow prefixes."""
    found = objects(routed())
    assert "router" == one(found, "Service", "m")["spec"]["selector"]["app.kubernetes.io/component"]
    container = one(found, "Deployment", "m-router")["spec"]["template"]["spec"]["containers"][0]
    args = container["args"]
    assert "cache_aware" == args[args.index("--policy") + 1]
    at = args.index("--selector")
    assert ["app.kubernetes.io/component=engine", "inferform.dev/model=m", "inferform.dev/role=aggregated"] == args[at + 1 : at + 4]
    assert not [word for word in args if "prefill" in word or "decode" in word or "pd-disaggregation" in word]
    # Without it requests go to the engines themselves.
    assert "engine" == one(one_pool(), "Service", "m")["spec"]["selector"]["app.kubernetes.io/component"]
    assert [] == objects(one_pool(), "Deployment", "m-router")


def test_it_waits_for_a_ready_replica() -> None:
    """Its waiting container asks the Service over the engines, whose name is no group's own; engines wait for nothing."""
    found = objects(routed())
    wait = one(found, "Deployment", "m-router")["spec"]["template"]["spec"]["initContainers"][0]
    assert [{"name": "URL", "value": "http://m-aggregated-ready:8000/health"}] == wait["env"]
    service = one(found, "Service", "m-aggregated-ready")["spec"]
    engine = one(found, "Deployment", "m-aggregated")["spec"]["template"]
    assert service["selector"].items() <= engine["metadata"]["labels"].items()
    assert ["prefetch"] == [c["name"] for c in engine["spec"]["initContainers"]]


def test_groups_are_reached_at_their_leaders() -> None:
    """A replica of two nodes is one engine to the router: workers are not selected."""
    found = objects(routed(nodes_per_replica=2, replicas_per_node=0, pod={"pods_per_replica": 2}))
    selector = one(found, "Service", "m-aggregated-ready")["spec"]["selector"]
    template = one(found, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    assert [True, False] == [selector.items() <= template[part]["metadata"]["labels"].items() for part in ("leaderTemplate", "workerTemplate")]


def test_the_network_lets_it_through_and_metrics_are_read() -> None:
    """Routers and engines of the model reach each other, and the router has a monitor."""
    found = objects(routed())
    assert one(found, "NetworkPolicy", "allow-transfer-m")
    assert one(found, "PodMonitor", "contract-qa-routers")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": "sglang"}, r"models\.m\.routing: the router was only read to speak to vLLM's completions, not to sglang"),
        ({"scaling": {"min": 0}}, r"models\.m\.pools\.aggregated\.scaling: a router without replicas answers with errors"),
    ],
)
def test_what_the_router_cannot_is_refused(changes: dict[str, Any], message: str) -> None:
    """Other engines, and pools that go to zero."""
    with pytest.raises(InputError, match=message):
        render(plan({"m": model(SMALL, routing="prefix", **changes)}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"prefix_caching": False}, "no replica keeps a prefix"), ({"topology": {"prefill": 1, "decode": 2}}, "split pools have a router of their own")],
)
def test_a_spec_that_contradicts_itself_is_refused(changes: dict[str, Any], message: str) -> None:
    """Without prefix caches there is nothing to follow; split pools have their own router."""
    with pytest.raises(ValidationError, match=message):
        spec({"m": model(SMALL, routing="prefix", **changes)})


def test_the_plan_says_so() -> None:
    """From the field of the spec to the plan and its reasons."""
    made = plan({"m": model(SMALL, routing="prefix")}).models["m"]
    assert "prefix" == made.routing
    assert any("sends prompts that begin alike to the same one" in text for text in made.why)
    assert "any" == plan({"m": model(SMALL)}).models["m"].routing


@pytest.mark.slow
@pytest.mark.skipif(ROUTER is None, reason="the vllm-router package is not installed")
def test_the_real_router_keeps_prefixes_together(tmp_path: Path) -> None:
    """Two engines, two long prompts that differ from their first word, five turns each: every turn of one goes to one engine."""
    seen: list[tuple[str, str, dict[str, Any]]] = []
    handler = type("SeenEngine", (Engine,), {"seen": seen})
    first = serve(handler, "127.0.0.4")
    port = int(first.server_address[1])
    second = serve(handler, "127.0.0.5", port)
    source = routed()
    labels = one(objects(source), "Deployment", "m-aggregated")["spec"]["template"]["metadata"]["labels"]
    listed = [
        {
            "apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "engine"}]},
            "metadata": {"name": f"e{n}", "namespace": "acme-contract-qa", "uid": f"e{n}", "resourceVersion": "1", "labels": labels},
            "status": {"phase": "Running", "podIP": address, "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for n, address in enumerate(("127.0.0.4", "127.0.0.5"))
    ]  # fmt: skip
    api = serve(type("ListedPods", (PodApi,), {"pods": listed}), "127.0.0.1")
    config = tmp_path / "kube"
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {"token": "t"}}],
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{api.server_address[1]}"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )  # fmt: skip
    here, metrics = free_port(), free_port()
    words = arguments(source, "m", source.models["m"])
    for name, value in (("--host", "127.0.0.1"), ("--port", str(here)), ("--prometheus-host", "127.0.0.1"), ("--prometheus-port", str(metrics))):
        words[words.index(name) + 1] = value
    words[words.index("--service-discovery-port") + 1] = str(port)
    assert ROUTER is not None
    process = subprocess.Popen([ROUTER, *words], env={**os.environ, "KUBECONFIG": str(config)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{here}/v1/chat/completions"
    turns = {word: [f"{word} " * 200 + f"turn {n}" for n in range(5)] for word in ("alpha", "omega")}
    try:
        ask_until_answered(url, ask("wake up"), deadline_s=60)
        end = 200
        while end and {"127.0.0.4", "127.0.0.5"} - {where for where, path, _ in seen if path.endswith("completions")}:
            # Both engines have been found once both have answered something.
            requests.post(url, json=ask(f"{end} who is there"), timeout=10).raise_for_status()
            end -= 1
        for n in range(5):
            for prompts in turns.values():
                requests.post(url, json=ask(prompts[n]), timeout=10).raise_for_status()
    finally:
        process.terminate()
        process.communicate(timeout=20)
        for server in (first, second, api):
            server.shutdown()
            server.server_close()
    for word in turns:
        # The router also asks engines to count tokens.
        where = [
            address for address, path, body in seen if path.endswith("/completions") and body.get("messages", [{}])[0].get("content", "").startswith(f"{word} ")
        ]
        assert 5 == len(where)
        assert 1 == len(set(where)), where


def ask(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": 5}
