"""The parts of a plan about what surrounds the models: cloud, gateway, monitoring, state, model store and quotas."""

from __future__ import annotations

from typing import Literal

from inferform.plan_cluster import ClusterPlan
from inferform.plan_cost import Part
from inferform.plan_nodes import Count
from pydantic import Field


class SystemPool(Part):
    """CPU nodes for the gateway, controllers and agents."""

    instance_type: str
    nodes: Count
    usd_per_hour: float
    vcpus: int
    memory_bytes: int


class CloudPlan(Part):
    """The cloud frame of the deployment."""

    provider: Literal["aws"]
    region: str
    zones: tuple[str, ...] = Field(description="AZ ids of the network, sorted.")
    vpc_cidr: str
    kubernetes_version: str
    public_cidrs: tuple[str, ...]
    admins: tuple[str, ...]
    system_pool: SystemPool
    cluster: ClusterPlan = ClusterPlan()


class RateLimitPlan(Part):
    """What each tenant may use; counted by the gateway in `store` (host:port of Redis)."""

    tokens_per_hour: int | None
    requests_per_minute: int | None
    store: str


class JwtPlan(Part):
    """Tokens that the gateway verifies; `tenant_claim` names the tenant."""

    issuer: str
    jwks_uri: str
    audiences: tuple[str, ...]
    tenant_claim: str


class GatewayAuthPlan(Part):
    """How clients prove who they are: API keys of a Secret (its keys are tenant names) or JWTs; exactly one is set."""

    api_keys_secret: str | None
    jwt: JwtPlan | None


class GatewayPlan(Part):
    enabled: bool
    class_name: str
    host: str | None
    tls_secret: str | None
    internal: bool
    streaming: bool
    timeout_s: float | None = Field(description="Whole-response timeout; None renders 0s (unlimited).")
    stream_idle_timeout_s: float
    buffer_limit_bytes: int
    namespace: str = Field("envoy-gateway-system", description="Namespace where the gateway's proxies run.")
    auth: GatewayAuthPlan | None = None
    limits: RateLimitPlan | None = None


class ObservabilityPlan(Part):
    enabled: bool
    prometheus_url: str
    namespace: str = Field("monitoring", description="Namespace of the Prometheus that scrapes the pods.")


class StatePlan(Part):
    backend: Literal["s3", "local"]
    bucket: str
    key_prefix: str


class QuotaNeed(Part):
    """A service quota that the plan needs, counted in vCPUs."""

    family: str
    market: Literal["on_demand", "spot"]
    vcpus: int
    detail: str
