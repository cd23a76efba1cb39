"""The gateway family: how clients reach the models, for how long, and how much each tenant may use.

Models are told apart by path (`/MODEL/v1/...`); a deployment with a single model answers at `/v1/...` as well. Limits in
tokens need the AI gateway, which reads the model's name from the request, so all models then answer at `/v1/...`.
"""

from __future__ import annotations

import math
from typing import Any

from inferform.engines import find_engine
from inferform.plan import DeploymentPlan, ModelPlan
from inferform.plan_platform import GatewayPlan, RateLimitPlan
from inferform.quantities import kubernetes_bytes
from inferform.render import naming
from inferform.render.quantities import duration, seconds
from inferform.render.router import answering, pods_service
from inferform.render.templating import fill

MIB = 2**20
TENANT_HEADER = "x-tenant-id"
MODEL_HEADER = "x-ai-eg-model"
TOKENS_KEY = "llm_total_token"
# A load balancer that gives up before the gateway would cut silent streams; 350 s is its own default, 6000 s its limit.
_NLB_IDLE_MIN_S, _NLB_IDLE_MAX_S = 350, 6000
# A proxy that stops keeps its streams for this long by default (Envoy Gateway, "Graceful Shutdown", read 2026-12-01).
_DRAIN_LEAST_S = 60
# FC-24: 8 bytes a token hold any prompt as JSON; below these floors long prompts meet 413 or stall.
_BYTES_PER_TOKEN = 8
_BUFFER_FLOOR, _STREAM_FLOOR, _CONNECTION_FLOOR = 50 * MIB, 16 * MIB, 24 * MIB
_WINDOW_MAX = 2**31 - 1


def render_gateway(plan: DeploymentPlan) -> dict[str, str]:
    """Files of the family by path; empty when the gateway is off."""
    gateway = plan.gateway
    if not gateway.enabled:
        return {}
    common = {"name": plan.name, "namespace": plan.namespace, "labels": naming.deployment_labels(plan)}
    counts_tokens = gateway.limits is not None and gateway.limits.tokens_per_hour is not None
    files = {
        "gateway.yaml": fill("gateway/gateway.yaml.j2", {**common, "gateway": gateway_view(plan)}),
        "client-traffic-policy.yaml": fill("gateway/client-traffic-policy.yaml.j2", {**common, "policy": client_view(plan)}),
    }
    for name, model in sorted(plan.models.items()):
        template = "gateway/ai-gateway-route.yaml.j2" if counts_tokens else "gateway/http-route.yaml.j2"
        files[naming.file_name(name, "route")] = fill(template, {"route": route_view(plan, name, model)})
    if gateway.auth:
        files["security-policy.yaml"] = fill("gateway/security-policy.yaml.j2", {**common, "policy": auth_view(gateway)})
    if gateway.limits:
        if counts_tokens:
            rules = [rule for _, model in sorted(plan.models.items()) for rule in limit_rules(gateway.limits, model.served_name)]
            targets = [{"name": plan.name, "kind": "Gateway", "target": plan.name, "rules": rules}]
        else:
            targets = [{"name": name, "kind": "HTTPRoute", "target": name, "rules": limit_rules(gateway.limits, None)} for name in sorted(plan.models)]
        files["backend-traffic-policy.yaml"] = fill("gateway/backend-traffic-policy.yaml.j2", {**common, "policies": targets})
        files["envoy-gateway-values.yaml"] = fill("gateway/envoy-gateway-values.yaml.j2", {"config": controller_view(gateway.limits, counts_tokens)})
    return files


def gateway_view(plan: DeploymentPlan) -> dict[str, Any]:
    """Class, proxies and listener. A proxy that goes waits as long as any engine behind it may need to end its streams."""
    gateway = plan.gateway
    port = 443 if gateway.tls_secret else 80
    idle_s = min(_NLB_IDLE_MAX_S, max(_NLB_IDLE_MIN_S, math.ceil(gateway.stream_idle_timeout_s)))
    prefix = "service.beta.kubernetes.io/aws-load-balancer-"
    listener: dict[str, Any] = {"name": "https" if gateway.tls_secret else "http", "port": port, "protocol": "HTTPS" if gateway.tls_secret else "HTTP"}
    if gateway.host:
        listener["hostname"] = gateway.host
    if gateway.tls_secret:
        listener["tls"] = {"mode": "Terminate", "certificateRefs": [{"group": "", "kind": "Secret", "name": gateway.tls_secret}]}
    listener["allowedRoutes"] = {"namespaces": {"from": "Same"}}
    return {
        "class_name": gateway.class_name,
        "drain": seconds(max(_DRAIN_LEAST_S, *(pool.lifecycle.grace_s for _, _, _, pool in plan.pool_items()))),
        "listener": listener,
        "annotations": {
            f"{prefix}attributes": "load_balancing.cross_zone.enabled=true",
            f"{prefix}listener-attributes.TCP-{port}": f"tcp.idle_timeout.seconds={idle_s}",
            f"{prefix}nlb-target-type": "ip",
            f"{prefix}scheme": "internal" if gateway.internal else "internet-facing",
            f"{prefix}type": "external",
        },
    }


def client_view(plan: DeploymentPlan) -> dict[str, Any]:
    """Idle time, buffer and windows on the way in (FC-23, FC-24). The tenant header never comes from a client."""
    need = max(pool.max_model_len for _, _, _, pool in plan.pool_items()) * _BYTES_PER_TOKEN
    return {
        "idle": seconds(plan.gateway.stream_idle_timeout_s),
        "buffer": kubernetes_bytes(max(plan.gateway.buffer_limit_bytes, need, _BUFFER_FLOOR)),
        "stream_window": kubernetes_bytes(_window(max(_STREAM_FLOOR, need))),
        "connection_window": kubernetes_bytes(_window(max(_CONNECTION_FLOOR, need * 3 // 2))),
        "removed_headers": [TENANT_HEADER],
    }


def _window(size: int) -> int:
    # HTTP/2 windows end at 2**31 - 1; whole Mi below that.
    return min(size, _WINDOW_MAX // MIB * MIB)


def route_view(plan: DeploymentPlan, name: str, model: ModelPlan) -> dict[str, Any]:
    """The route of one model. Its whole-response timeout is always written, because the gateways' defaults cut streams (FC-23)."""
    gateway = plan.gateway
    port = find_engine(model.engine).port
    matches: list[dict[str, str | None]] = [{"path": f"/{name}", "rewrite": "/"}]
    if len(plan.models) == 1:
        matches.append({"path": "/v1", "rewrite": None})
    return {
        "name": name,
        "namespace": plan.namespace,
        "labels": naming.model_labels(plan, name),
        "gateway": plan.name,
        "hostnames": [gateway.host] if gateway.host else [],
        "timeout": "0s" if gateway.timeout_s is None else duration(gateway.timeout_s),
        "idle": seconds(gateway.stream_idle_timeout_s),
        "matches": matches,
        "served_name": model.served_name,
        "model_header": MODEL_HEADER,
        "tokens_key": TOKENS_KEY,
        "service": name,
        "pods_service": pods_service(name),
        "selector": answering(name, model),
        "address": f"{pods_service(name)}.{plan.namespace}.svc.cluster.local",
        "port": port,
    }


def auth_view(gateway: GatewayPlan) -> dict[str, Any]:
    """Verified identities; the tenant's name goes into a header that limits count by."""
    assert gateway.auth is not None
    if gateway.auth.api_keys_secret:
        return {
            "apiKeyAuth": {
                "credentialRefs": [{"group": "", "kind": "Secret", "name": gateway.auth.api_keys_secret}],
                "extractFrom": [{"headers": ["authorization", "x-api-key"]}],
                "forwardClientIDHeader": TENANT_HEADER,
                "sanitize": True,
            }
        }
    jwt = gateway.auth.jwt
    assert jwt is not None
    provider: dict[str, Any] = {"name": "tenants", "issuer": jwt.issuer, "remoteJWKS": {"uri": jwt.jwks_uri}}
    if jwt.audiences:
        provider["audiences"] = list(jwt.audiences)
    return {"jwt": {"providers": [{**provider, "claimToHeaders": [{"claim": jwt.tenant_claim, "header": TENANT_HEADER}]}]}}


def limit_rules(limits: RateLimitPlan, served_name: str | None) -> list[dict[str, Any]]:
    """Limits of one model, counted per tenant: tokens are charged after the response, requests before it (FC-32)."""
    headers: list[dict[str, str]] = [{"name": TENANT_HEADER, "type": "Distinct"}]
    if served_name is not None:
        headers.append({"name": MODEL_HEADER, "type": "Exact", "value": served_name})
    rules: list[dict[str, Any]] = []
    if limits.tokens_per_hour is not None and served_name is not None:
        cost = {
            "request": {"from": "Number", "number": 0},
            "response": {"from": "Metadata", "metadata": {"namespace": "io.envoy.ai_gateway", "key": TOKENS_KEY}},
        }
        rules.append({"clientSelectors": [{"headers": headers}], "limit": {"requests": limits.tokens_per_hour, "unit": "Hour"}, "cost": cost})
    if limits.requests_per_minute is not None:
        cost = {"request": {"from": "Number", "number": 1}}
        rules.append({"clientSelectors": [{"headers": headers}], "limit": {"requests": limits.requests_per_minute, "unit": "Minute"}, "cost": cost})
    return rules


def controller_view(limits: RateLimitPlan, counts_tokens: bool) -> dict[str, Any]:
    """What the gateway's controller must be installed with: the store of the counters, and the AI gateway's hooks where it counts tokens.

    Source: envoyproxy/ai-gateway manifests/envoy-gateway-values.yaml, read 2026-12-01.
    """
    config: dict[str, Any] = {"rateLimit": {"backend": {"type": "Redis", "redis": {"url": limits.store}}}}
    if counts_tokens:
        everything = {"includeAll": True}
        config["extensionApis"] = {"enableBackend": True, "enableEnvoyPatchPolicy": True}
        config["extensionManager"] = {
            "hooks": {
                "xdsTranslator": {
                    "translation": {"listener": everything, "route": everything, "cluster": everything, "secret": everything},
                    "post": ["Translation", "Cluster", "Route"],
                }
            },
            "service": {"fqdn": {"hostname": "ai-gateway-controller.envoy-ai-gateway-system.svc.cluster.local", "port": 1063}},
        }
    return {"envoyGateway": config}
