"""The gateway family: timeouts, buffers and limits, value by value."""

from __future__ import annotations

from typing import Any

import pytest
import rendered
import samples
import yaml
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.render import render
from rendered import objects, one

from tests.render.test_graph import graph_plan
from tests.render.test_router import split

SAMPLE = samples.sample_plan()
LIMITS = {"tokens_per_hour": 100_000, "requests_per_minute": 600, "store": "redis.redis-system.svc:6379"}
KEYS = {"api_keys_secret": "llm-keys", "jwt": None}


def with_gateway(**gateway: Any) -> DeploymentPlan:
    return rendered.plan(lambda data: data["gateway"].update(gateway))


@pytest.mark.parametrize(("timeout_s", "text"), [(None, "0s"), (1800.0, "30m"), (5400.0, "1h30m"), (45.5, "46s")])
def test_fc23_every_route_says_how_long_a_response_may_take(timeout_s: float | None, text: str) -> None:
    """Streaming without a timeout is 0s, 30m stays 30m; the value is never left to a default, also on AI routes."""
    plain = objects(with_gateway(timeout_s=timeout_s), "HTTPRoute")
    assert {text} == {rule["timeouts"]["request"] for route in plain for rule in route["spec"]["rules"]}
    routes = objects(with_gateway(timeout_s=timeout_s, auth=KEYS, limits=LIMITS), "AIGatewayRoute")
    assert {(text, "300s")} == {(rule["timeouts"]["request"], rule["streamIdleTimeout"]) for route in routes for rule in route["spec"]["rules"]}
    assert 4 == len(plain) == len(routes)


def test_fc23_stalled_streams_end_by_idle_time() -> None:
    """The idle timeout stands on the gateway and on the load balancer, which waits at least as long."""
    plan = with_gateway(stream_idle_timeout_s=600.0)
    assert "600s" == one(plan, "ClientTrafficPolicy")["spec"]["timeout"]["http"]["streamIdleTimeout"]
    annotations = one(plan, "EnvoyProxy")["spec"]["provider"]["kubernetes"]["envoyService"]["annotations"]
    prefix = "service.beta.kubernetes.io/aws-load-balancer-"
    assert "tcp.idle_timeout.seconds=600" == annotations[f"{prefix}listener-attributes.TCP-443"]
    assert "internal" == annotations[f"{prefix}scheme"]


def test_fc23_timeouts_that_cut_answers_are_refused() -> None:
    """700 tokens at 25 ms are 17.5 s: a 10 s timeout is refused; so is an idle time below the first token's objective of 1.2 s."""
    with pytest.raises(InputError, match=r"gateway\.timeout: 10 s end before the 18 s of .*'s longest answer"):
        render(with_gateway(timeout_s=10.0))
    with pytest.raises(InputError, match=r"gateway\.stream_idle_timeout: 1 s end before the first token of .*, due within 1\.2 s"):
        render(with_gateway(stream_idle_timeout_s=1.0))


@pytest.mark.parametrize(
    ("length", "buffer", "stream", "connection"),
    [
        # 131072 tokens x 8 bytes are 1 MiB: the floors hold.
        (131_072, "50Mi", "16Mi", "24Mi"),
        # 10 million tokens x 8 bytes = 80,000,000 bytes = 76.3 MiB, and half as much again for the connection.
        (10_000_000, "77Mi", "77Mi", "115Mi"),
    ],
)
def test_fc24_long_prompts_fit_the_buffers(length: int, buffer: str, stream: str, connection: str) -> None:
    """Buffer and windows are explicit, at least 8 bytes a token, with their floors, on the Gateway that the routes use."""

    def change(data: dict[str, Any]) -> None:
        data["models"]["llama-70b"]["pools"]["aggregated"]["max_model_len"] = length

    plan = rendered.plan(change)
    policy = one(plan, "ClientTrafficPolicy")["spec"]
    assert (buffer, stream, connection) == (
        policy["connection"]["bufferLimit"],
        policy["http2"]["initialStreamWindowSize"],
        policy["http2"]["initialConnectionWindowSize"],
    )
    gateway = one(plan, "Gateway")["metadata"]["name"]
    assert gateway == policy["targetRefs"][0]["name"]
    assert {gateway} == {ref["name"] for route in objects(plan, "HTTPRoute") for ref in route["spec"]["parentRefs"]}


def test_fc32_tokens_count_per_tenant_and_model() -> None:
    """100000 tokens an hour each: distinct tenant and exact model, nothing charged before the response, the total after it."""
    plan = with_gateway(auth=KEYS, limits=LIMITS)
    rate = one(plan, "BackendTrafficPolicy")["spec"]["rateLimit"]
    assert "Global" == rate["type"]
    tokens, requests = [r for r in rate["global"]["rules"] if r["clientSelectors"][0]["headers"][1]["value"] == "llama-70b"]
    who = [{"name": "x-tenant-id", "type": "Distinct"}, {"name": "x-ai-eg-model", "type": "Exact", "value": "llama-70b"}]
    assert {
        "clientSelectors": [{"headers": who}],
        "limit": {"requests": 100_000, "unit": "Hour"},
        "cost": {
            "request": {"from": "Number", "number": 0},
            "response": {"from": "Metadata", "metadata": {"namespace": "io.envoy.ai_gateway", "key": "llm_total_token"}},
        },
    } == tokens
    assert {
        "clientSelectors": [{"headers": who}],
        "limit": {"requests": 600, "unit": "Minute"},
        "cost": {"request": {"from": "Number", "number": 1}},
    } == requests
    for route in objects(plan, "AIGatewayRoute"):
        assert [{"metadataKey": "llm_total_token", "type": "TotalToken"}] == route["spec"]["llmRequestCosts"]


def test_fc32_the_tenant_is_set_by_the_gateway() -> None:
    """The header is removed from what clients send, and set from the API key or the token's claim."""
    plan = with_gateway(auth=KEYS, limits=LIMITS)
    assert ["x-tenant-id"] == one(plan, "ClientTrafficPolicy")["spec"]["headers"]["earlyRequestHeaders"]["remove"]
    keys = one(plan, "SecurityPolicy")["spec"]["apiKeyAuth"]
    assert ("x-tenant-id", True, "llm-keys") == (keys["forwardClientIDHeader"], keys["sanitize"], keys["credentialRefs"][0]["name"])
    jwt = {"issuer": "https://login.example.com/", "jwks_uri": "https://login.example.com/keys", "audiences": ["llm"], "tenant_claim": "org"}
    (provider,) = one(with_gateway(auth={"api_keys_secret": None, "jwt": jwt}), "SecurityPolicy")["spec"]["jwt"]["providers"]
    assert [{"claim": "org", "header": "x-tenant-id"}] == provider["claimToHeaders"]
    assert ["llm"] == provider["audiences"]


def test_fc32_limits_need_identity_and_store() -> None:
    """Limits without verified identities, or without a store for the counters, are refused; the store reaches the controller's values."""
    with pytest.raises(InputError, match=r"limits per tenant need verified identities; set gateway\.auth"):
        render(with_gateway(limits=LIMITS))
    with pytest.raises(InputError, match="needs a store"):
        render(with_gateway(auth=KEYS, limits={**LIMITS, "store": ""}))
    config = yaml.safe_load(render(with_gateway(auth=KEYS, limits=LIMITS))["gateway/envoy-gateway-values.yaml"])["config"]["envoyGateway"]
    assert {"backend": {"type": "Redis", "redis": {"url": "redis.redis-system.svc:6379"}}} == config["rateLimit"]
    assert config["extensionApis"]["enableBackend"]


PLANS = {
    "engines": rendered.one_pool,
    "groups": lambda: SAMPLE,
    "router": split,
    "prefix": lambda: rendered.one_pool({"routing": "prefix"}),
    "dynamo": graph_plan,
}


@pytest.mark.parametrize("case", PLANS)
def test_the_ai_gateway_knows_every_ready_pod(case: str) -> None:
    """A Backend's name is a headless Service over the pods of the model's own Service; its port is theirs, and open to the gateway."""
    plan = PLANS[case]()
    found = objects(plan.model_copy(update={"gateway": with_gateway(auth=KEYS, limits=LIMITS).gateway}))
    services = {s["metadata"]["name"]: s["spec"] for s in objects(found, "Service")}
    requests = one(found, "NetworkPolicy", "allow-requests")["spec"]
    for backend in objects(found, "Backend"):
        name, fqdn = backend["metadata"]["name"], backend["spec"]["endpoints"][0]["fqdn"]
        host, namespace, rest = fqdn["hostname"].split(".", 2)
        assert (plan.namespace, "svc.cluster.local") == (namespace, rest)
        service = services[host]
        assert "None" == service["clusterIP"]
        # A pod that is not ready, or terminates, must leave the name.
        assert "publishNotReadyAddresses" not in service
        assert services[name]["selector"] == service["selector"]
        templates = [t for o in found for t in templates_of(o) if service["selector"].items() <= t["metadata"]["labels"].items()]
        assert templates
        for template in templates:
            ports = {p["name"]: p["containerPort"] for c in template["spec"]["containers"] for p in c.get("ports", [])}
            # Without a cluster address nothing translates ports. Dynamo's operator declares the frontend's port itself.
            assert fqdn["port"] == ports.get("http", 8000)
            assert requests["podSelector"] in selectors_of(template["metadata"]["labels"]["app.kubernetes.io/component"])
        assert fqdn["port"] in [p["port"] for p in requests["ingress"][0]["ports"]]
    assert len(plan.models) == len(objects(found, "Backend"))
    assert {"None"} != {s.get("clusterIP") for s in services.values()}


def templates_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Pod templates of what may answer requests."""
    spec = item.get("spec", {})
    group = spec.get("leaderWorkerTemplate", {})
    found = [spec.get("template"), *(group.get(part) for part in ("leaderTemplate", "workerTemplate")), *(c["podTemplate"] for c in spec.get("components", []))]
    return [t for t in found if t and "labels" in t.get("metadata", {})]


def selectors_of(component: str) -> list[dict[str, Any]]:
    """Selectors of the policy for requests that let a pod of that component answer."""
    key = "app.kubernetes.io/component"
    both = {"matchExpressions": [{"key": key, "operator": "In", "values": ["engine", "router"]}]}
    return [both, *([{"matchLabels": {key: "engine"}}] if component == "engine" else [])]


def test_plain_routes_need_no_headless_service() -> None:
    """The gateway reads the endpoints of a Service that a plain route names, so there is no second one."""
    assert "m-pods" not in {s["metadata"]["name"] for s in objects(rendered.one_pool(), "Service")}


def test_a_model_named_like_another_ones_service_is_refused() -> None:
    """Beside `m` with its Service `m-pods` stands no model `m-pods`; on plain routes it may."""
    plan = rendered.one_pool()
    plan = plan.model_copy(update={"models": {"m": plan.models["m"], "m-pods": plan.models["m"]}})
    render(plan)
    with pytest.raises(InputError, match="2 services would share the name m-pods"):
        render(plan.model_copy(update={"gateway": with_gateway(auth=KEYS, limits=LIMITS).gateway}))


def test_limits_in_requests_alone_need_no_ai_gateway() -> None:
    """Requests are counted on plain routes, each model with its own policy."""
    plan = with_gateway(auth=KEYS, limits={**LIMITS, "tokens_per_hour": None})
    assert [] == objects(plan, "AIGatewayRoute")
    policies = {p["metadata"]["name"]: p["spec"] for p in objects(plan, "BackendTrafficPolicy")}
    assert {"bge", "llama-405b", "llama-70b", "llama-8b"} == set(policies)
    assert {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "bge"} == policies["bge"]["targetRefs"][0]


def test_models_answer_by_path_and_a_single_one_at_the_root() -> None:
    """/MODEL/v1/... leads to a model's /v1/...; a deployment with one model answers at /v1/... too."""
    (rule,) = one(SAMPLE, "HTTPRoute", "llama-70b")["spec"]["rules"]
    assert "/llama-70b" == rule["matches"][0]["path"]["value"]
    assert "/" == rule["filters"][0]["urlRewrite"]["path"]["replacePrefixMatch"]
    assert ["/m", "/v1"] == [r["matches"][0]["path"]["value"] for r in one(rendered.one_pool(), "HTTPRoute")["spec"]["rules"]]


def test_listener_follows_host_and_certificate() -> None:
    """With a certificate the listener is HTTPS for the host; without one it is plain HTTP; a public gateway says so."""
    (listener,) = one(SAMPLE, "Gateway")["spec"]["listeners"]
    assert ("HTTPS", 443, "llm.example.com") == (listener["protocol"], listener["port"], listener["hostname"])
    plain = with_gateway(tls_secret=None, host=None, internal=False)
    (listener,) = one(plain, "Gateway")["spec"]["listeners"]
    assert {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "Same"}}} == listener
    annotations = one(plain, "EnvoyProxy")["spec"]["provider"]["kubernetes"]["envoyService"]["annotations"]
    assert "internet-facing" == annotations["service.beta.kubernetes.io/aws-load-balancer-scheme"]


def test_no_gateway_no_family() -> None:
    """A gateway that is off leaves no file."""
    assert [] == [path for path in render(with_gateway(enabled=False)) if path.startswith("gateway/")]


def test_a_proxy_that_goes_waits_for_the_longest_stream() -> None:
    """Envoy's pods drain at least as long as the engine that needs longest to end its streams, and never less than the default minute."""
    longest = max(pool.lifecycle.grace_s for _, _, _, pool in SAMPLE.pool_items())
    assert f"{max(60, longest)}s" == one(SAMPLE, "EnvoyProxy")["spec"]["shutdown"]["drainTimeout"]
