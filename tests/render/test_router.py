"""Prefill and decode behind a router: what is rendered, in which order it starts, and that the real router runs with it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import rendered
import requests
import samples
import yaml
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.render import render
from inferform.render.router import WAIT, arguments
from rendered import one, option, pods

ROUTER = shutil.which("vllm-router", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def split(model: dict[str, Any] | None = None, /, **changes: dict[str, Any]) -> DeploymentPlan:
    """Model `m` with one prefill and four decode replicas; `changes` by role."""
    sizes = {"prefill": {"min": 1, "steady": 1, "max": 2}, "decode": {"min": 4, "steady": 4, "max": 8}}
    pools = {}
    for role, size in sizes.items():
        scaling = {"min": size["min"], "max": size["max"], "fallback_replicas": size["steady"]}
        own = changes.get(role, {})
        pools[role] = samples.pool(**{"role": role, "replicas": size, **own, "scaling": {**scaling, **own.get("scaling", {})}})
    values = {"served_name": "m", "topology": "disaggregated", "disaggregation": "vllm-router", **(model or {})}
    return rendered.plan(lambda data: data.update(models={"m": samples.model(pools, **values)}))


def test_each_role_hands_over_or_fetches_caches() -> None:
    """Prefill produces, decode consumes, both over NIXL at their own address; libfabric is named where nodes have EFA."""
    expected = {"prefill": "kv_producer", "decode": "kv_consumer"}
    for role, kv_role in expected.items():
        (pod,) = pods(split(), f"m-{role}")
        assert {"kv_connector": "NixlConnector", "kv_role": kv_role} == json.loads(option(pod, "--kv-transfer-config"))
        environment = {e["name"]: e for e in pod["containers"][0]["env"]}
        assert "status.podIP" == environment["VLLM_NIXL_SIDE_CHANNEL_HOST"]["valueFrom"]["fieldRef"]["fieldPath"]
        assert "5600" == environment["VLLM_NIXL_SIDE_CHANNEL_PORT"]["value"]
    efa = {"infrastructure": {"efa": {"network_cards": 32, "interfaces": 32}}}
    (pod,) = pods(split(prefill=efa, decode=efa), "m-decode")
    assert ["LIBFABRIC"] == json.loads(option(pod, "--kv-transfer-config"))["kv_connector_extra_config"]["backends"]


def test_caches_stay_in_one_zone() -> None:
    """Pods of both roles prefer the zone where others of the model run, and do not spread over zones."""
    for role in ("prefill", "decode"):
        (pod,) = pods(split(), f"m-{role}")
        (term,) = pod["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        assert "topology.kubernetes.io/zone" == term["podAffinityTerm"]["topologyKey"]
        assert ["kubernetes.io/hostname"] == [c["topologyKey"] for c in pod["topologySpreadConstraints"]]
    assert "affinity" not in pods(samples.sample_plan(), "llama-70b-aggregated")[0]


def waits(found: rendered.Objects) -> dict[str, str]:
    """Workload -> the workload behind the Service that its init container waits for."""
    services = {s["metadata"]["name"]: s["spec"]["selector"] for s in rendered.objects(found, "Service")}
    templates = {d["metadata"]["name"]: d["spec"]["template"] for d in rendered.objects(found, "Deployment")}
    edges = {}
    for name, template in templates.items():
        for container in template["spec"].get("initContainers", []):
            if container["name"] == "wait":
                (url,) = [e["value"] for e in container["env"] if e["name"] == "URL"]
                service = url.removeprefix("http://").split(":")[0]
                behind = [other for other, t in templates.items() if services[service].items() <= t["metadata"]["labels"].items()]
                assert 1 == len(behind)
                edges[name] = behind[0]
    return edges


def test_start_up_order_is_prefill_then_decode_then_router() -> None:
    """The waiting containers form exactly that chain, each on the readiness of the one before; clients reach only the router."""
    found = rendered.objects(split())
    assert {"m-decode": "m-prefill", "m-router": "m-decode"} == waits(found)
    selector = one(found, "Service", "m")["spec"]["selector"]
    assert {"inferform.dev/model": "m", "app.kubernetes.io/component": "router"} == selector
    assert all("readinessProbe" in pods(render(split()), f"m-{role}")[0]["containers"][0] for role in ("prefill", "decode"))
    assert {} == waits(rendered.objects(samples.sample_plan()))


def test_waiting_ends_when_the_one_before_is_ready(tmp_path: Path) -> None:
    """The waiting command ends on the first good answer, not on refused connections or errors."""
    calls = tmp_path / "calls"
    curl = tmp_path / "curl"
    # Fails twice, then succeeds, and notes what it was asked for.
    curl.write_text(f'#!/bin/bash\necho "${{@: -1}}" >> {calls}\n[ "$(wc -l < {calls})" -ge 3 ]\n')
    curl.chmod(0o755)
    sleep = tmp_path / "sleep"
    sleep.write_text("#!/bin/bash\n")
    sleep.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "URL": "http://m-prefill:8000/health"}
    subprocess.run(["/bin/bash", "-c", WAIT], env=environment, check=True, timeout=20, capture_output=True)
    assert ["http://m-prefill:8000/health"] * 3 == calls.read_text().splitlines()


def test_the_router_may_watch_pods_and_nothing_else() -> None:
    """Its account reads pods of its namespace; no other pod carries a token."""
    found = rendered.objects(split())
    rules = one(found, "Role", "m-router")["rules"]
    assert [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}] == rules
    with_token = [d["metadata"]["name"] for d in rendered.objects(found, "Deployment") if d["spec"]["template"]["spec"]["automountServiceAccountToken"]]
    assert ["m-router"] == with_token


def test_caches_pass_between_the_models_own_pods_only() -> None:
    """Engines and routers of the model reach each other on any port; the gateway reaches routers; the quota holds the routers."""
    found = rendered.objects(split())
    spec = one(found, "NetworkPolicy", "allow-transfer-m")["spec"]
    members = spec["podSelector"]
    assert {"inferform.dev/model": "m"} == members["matchLabels"]
    assert [{"from": [{"podSelector": members}]}] == spec["ingress"]
    assert [{"to": [{"podSelector": members}]}] == spec["egress"]
    fixed = {"kind": "fixed"}
    plain = rendered.objects(split(prefill={"scaling": fixed}, decode={"scaling": fixed}))
    # 2 + 1 prefill, 8 + 1 decode, 2 + 1 routers, 1 import.
    assert "16" == one(plain, "ResourceQuota", "capacity")["spec"]["hard"]["pods"]


def test_each_role_keeps_its_share_of_the_other() -> None:
    """With 1 : 4 planned and a band of a quarter, decode has at least 3 for each ready prefill and prefill 0.1875 for each ready decode, rounded down."""
    expected = {"prefill": ("m-decode", "0.1875"), "decode": ("m-prefill", "3")}
    for role, (other, share) in expected.items():
        triggers = {t["name"]: t for t in one(split(), "ScaledObject", f"m-{role}")["spec"]["triggers"]}
        query = f'floor(sum(kube_deployment_status_replicas_ready{{namespace="acme-contract-qa",deployment="{other}"}}) * {share})'
        assert (query, "1", "AverageValue") == (
            triggers["ratio"]["metadata"]["query"],
            triggers["ratio"]["metadata"]["threshold"],
            triggers["ratio"]["metricType"],
        )
    assert "ratio" not in [t["name"] for t in one(samples.sample_plan(), "ScaledObject", "llama-70b-aggregated")["spec"]["triggers"]]


def test_the_ratio_never_holds_both_pools_up() -> None:
    """From any pair of sizes, pools without load come down to 1 and 3, whichever moves first."""
    for start in ((1, 4), (2, 8), (2, 3), (1, 8), (2, 6)):
        prefill, decode = start
        for _ in range(20):
            prefill = max(1, min(prefill, int(decode * 0.1875)))
            decode = max(1, min(decode, int(prefill * 3)))
        assert (1, 3) == (prefill, decode)


def test_latencies_are_judged_where_they_are_made() -> None:
    """Time to first token is the prefill pool's, time per token the decode pool's."""
    alerts = {}
    for role in ("prefill", "decode"):
        groups = one(split(), "PrometheusRule", f"m-{role}")["spec"]["groups"]
        alerts[role] = {r["alert"] for g in groups for r in g["rules"] if "alert" in r} & {"InferformTtftAboveObjective", "InferformTpotAboveObjective"}
    assert {"prefill": {"InferformTtftAboveObjective"}, "decode": {"InferformTpotAboveObjective"}} == alerts


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ({"disaggregation": None}, {}, "topology.runtime: is not decided"),
        ({"engine": "sglang", "engine_version": "0.5.23", "image": "lmsysorg/sglang:v0.5.23"}, {}, "hands no caches over"),
        ({"extra_args": ["--kv-transfer-config", "{}"]}, {}, "the plan hands caches over"),
        ({}, {"prefill": {"tp": 8}}, "decode on TP 4 cannot take the caches of prefill on TP 8"),
        ({}, {"decode": {"nodes_per_replica": 2, "replicas_per_node": 1}}, "a decode replica on 2 nodes is not rendered"),
        ({}, {"prefill": {"scaling": {"min": 0}}}, "without prefill replicas no request is answered"),
        ({}, {"decode": {"role": "prefill"}}, "needs one prefill and one decode pool"),
    ],
)
def test_what_cannot_run_is_refused(model: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    """Each combination that the router or the transfer cannot honour is refused with its reason."""
    with pytest.raises(InputError, match=message):
        render(split(model, **changes))


EVENTS = 4
SENT: list[float] = []


class Engine(BaseHTTPRequestHandler):
    """A stand-in engine that records what it is asked and answers like vLLM with NIXL."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, str, dict[str, Any]]]
    # When each event of a stream was sent.
    sent: list[float]

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.answer({"data": [{"id": "m"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append((str(self.server.server_address[0]), self.path, body))
        if body.get("stream") and self.path == "/v1/chat/completions":
            self.stream()
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
        fetched = {"do_remote_prefill": True, "remote_engine_id": "e", "remote_block_ids": [7], "remote_host": "127.0.0.2", "remote_port": 5600}
        usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
        self.answer({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage, "kv_transfer_params": fetched})

    def stream(self) -> None:
        """One server-sent event every 250 ms."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number in range(EVENTS):
            time.sleep(0.25 if number else 0)
            self.sent.append(time.monotonic())
            self.chunk(f'data: {{"choices": [{{"index": 0, "delta": {{"content": "{number}"}}}}]}}\n\n'.encode())
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def events(url: str, sent: list[float], headers: dict[str, str] | None = None) -> list[int]:
    """For each event of a streamed answer, how many had been sent when it arrived."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 5, "stream": True}
    known = []
    with requests.post(url, json=body, headers={**(headers or {}), "accept-encoding": "gzip"}, stream=True, timeout=30) as answer:
        answer.raise_for_status()
        assert "content-encoding" not in answer.headers
        for line in answer.iter_lines(chunk_size=1):
            if line.startswith(b"data: {"):
                known.append(len(sent))
    return known


class PodApi(BaseHTTPRequestHandler):
    """A stand-in for the cluster's API: lists the pods that it was given and keeps watches open."""

    protocol_version = "HTTP/1.1"
    pods: list[dict[str, Any]]

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        if "watch=true" in self.path:
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            time.sleep(20)
            return
        data = json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": self.pods}).encode()
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def serve(handler: type[BaseHTTPRequestHandler], address: str, port: int = 0) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer((address, port), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[int, Path, list[tuple[str, str, dict[str, Any]]]]]:
    """(engines' port, kube config, requests seen): a prefill and a decode pod with the labels of the rendered pods."""
    seen: list[tuple[str, str, dict[str, Any]]] = []
    engine = type("SeenEngine", (Engine,), {"seen": seen, "sent": SENT})
    first = serve(engine, "127.0.0.2")
    port = int(first.server_address[1])
    second = serve(engine, "127.0.0.3", port)
    found = rendered.objects(split())
    listed = []
    for role, address in (("prefill", "127.0.0.2"), ("decode", "127.0.0.3")):
        template = one(found, "Deployment", f"m-{role}")["spec"]["template"]
        meta = {"name": role, "namespace": "acme-contract-qa", "uid": role, "resourceVersion": "1", "labels": template["metadata"]["labels"]}
        status = {"phase": "Running", "podIP": address, "conditions": [{"type": "Ready", "status": "True"}]}
        listed.append({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "engine"}]}, "status": status})
    api = serve(type("ListedPods", (PodApi,), {"pods": listed}), "127.0.0.1")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{api.server_address[1]}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "current-context": "c",
    }
    (tmp_path / "kube").write_text(yaml.safe_dump(config))
    yield port, tmp_path / "kube", seen
    for server in (first, second, api):
        server.shutdown()
        server.server_close()


@pytest.mark.slow
@pytest.mark.skipif(ROUTER is None, reason="the vllm-router package is not installed")
def test_fc25_the_real_router_splits_requests_and_holds_no_event_back(cluster: tuple[int, Path, list[tuple[str, str, dict[str, Any]]]]) -> None:
    """Started with the rendered arguments (ports and addresses of this machine), the router finds both engines by their labels,
    asks prefill for one token with the transfer announced, and decode for the answer with the cache's place."""
    port, config, seen = cluster
    plan = split()
    assert ROUTER is not None
    here, metrics = free_port(), free_port()
    words = arguments(plan, "m", plan.models["m"])
    for name, value in (("--host", "127.0.0.1"), ("--port", str(here)), ("--prometheus-host", "127.0.0.1"), ("--prometheus-port", str(metrics))):
        words[words.index(name) + 1] = value
    words[words.index("--service-discovery-port") + 1] = str(port)
    process = subprocess.Popen([ROUTER, *words], env={**os.environ, "KUBECONFIG": str(config)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 5}
        answer = ask_until_answered(f"http://127.0.0.1:{here}/v1/chat/completions", body, deadline_s=60)
        plain = list(seen)
        streamed = events(f"http://127.0.0.1:{here}/v1/chat/completions", SENT)
        assert 200 == requests.get(f"http://127.0.0.1:{here}/readiness", timeout=5).status_code
        assert b"vllm_router" in requests.get(f"http://127.0.0.1:{metrics}/metrics", timeout=5).content
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert "yes" == answer["choices"][0]["message"]["content"]
    asked = [(where, sent["max_tokens"], sent["kv_transfer_params"]) for where, path, sent in plain if path == "/v1/chat/completions"]
    (first, second) = asked[-2:]
    assert ("127.0.0.2", 1, True) == (first[0], first[1], first[2]["do_remote_decode"])
    assert ("127.0.0.3", 5, [7], "127.0.0.2") == (second[0], second[1], second[2]["remote_block_ids"], second[2]["remote_host"])
    # FC-25: each event comes through before the next one is sent.
    assert list(range(1, EVENTS + 1)) == streamed


def ask_until_answered(url: str, body: dict[str, Any], *, deadline_s: float) -> dict[str, Any]:
    end = time.monotonic() + deadline_s
    while True:
        try:
            with requests.post(url, json=body, timeout=10) as answer:
                answer.raise_for_status()
                found: dict[str, Any] = answer.json()
        except requests.RequestException:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
        else:
            return found
