"""The parts of a spec that say where a deployment runs, how it is reached, watched, and where its state is kept."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from enum import StrEnum
from typing import Literal

from inferform import names
from inferform.names import Strict
from inferform.quantities import DurationS
from inferform.spec_cluster import LOG_TYPES, AccessEntries, AddonVersions, Controllers, Endpoint, LogType, RemoteWrite, RetentionDays
from pydantic import Field


class Provider(StrEnum):
    AWS = "aws"


class Cloud(Strict):
    """Where the fleet runs."""

    provider: Provider = Field(description="The cloud.", examples=["aws"])
    region: names.Region = Field(description="Region name.", examples=["us-east-1"])
    zones: names.Zones = Field((), description="Availability Zone ids to use; empty lets the plan choose by offering.", examples=[["use1-az4", "use1-az6"]])
    vpc_cidr: names.Cidr = Field("10.0.0.0/16", description="Address range of the VPC.", examples=["10.40.0.0/16"])
    kubernetes_version: names.KubernetesVersion = Field("1.35", description="Kubernetes minor version of the cluster.")
    endpoint: Endpoint = Field(Endpoint(), description="Access to the Kubernetes API endpoint.")
    admins: names.Principals = Field(
        (),
        description="IAM principals that administer the cluster.",
        examples=[["arn:aws:iam::111122223333:role/platform"]],
    )
    access: AccessEntries = Field({}, description="Further principals with what they may do in the cluster, by a name of your choice.")
    log_types: tuple[LogType, ...] = Field(LOG_TYPES, min_length=1, description="Control plane logs that are kept.")
    log_retention_days: RetentionDays = Field(90, description="Days that control plane and flow logs are kept.")
    addon_versions: AddonVersions = Field({}, description="Pinned add-on versions; an add-on left out takes the newest that EKS has for the cluster's version.")
    controllers: Controllers = Field(Controllers(), description="Controllers that call AWS.")
    interface_endpoints: bool = Field(False, description="Reach the AWS services that nodes call through interface endpoints instead of the NAT gateways.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if "audit" not in self.log_types:
            yield "log_types", "the audit log must be kept: without it nobody can tell who changed what"
        network = ipaddress.IPv4Network(self.vpc_cidr)
        if not 16 <= network.prefixlen <= 22:
            yield "vpc_cidr", f"/{network.prefixlen} does not hold the network; a VPC of ours is /16 to /22"
        if network.is_link_local or network.is_loopback or network.is_multicast:
            yield "vpc_cidr", f"{self.vpc_cidr} holds addresses that hosts keep to themselves; use a private range such as 10.0.0.0/16"


class Jwt(Strict):
    """JSON Web Tokens that the gateway verifies."""

    issuer: names.HttpsUrl = Field(description="Issuer of the tokens.", examples=["https://login.example.com/"])
    jwks_uri: names.HttpsUrl = Field(description="Where the issuer publishes its keys.", examples=["https://login.example.com/keys"])
    audiences: names.Audiences = Field((), description="Accepted audiences; empty accepts any.", examples=[["llm"]])
    tenant_claim: names.Claim = Field("sub", description="Claim that names the tenant.")


class GatewayAuth(Strict):
    """How clients prove who they are: exactly one of api_keys_secret and jwt."""

    api_keys_secret: names.SecretName | None = Field(
        None, description="Existing Secret; each key is a tenant, its value that tenant's API key.", examples=["llm-api-keys"]
    )
    jwt: Jwt | None = Field(None, description="Verify JSON Web Tokens instead.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if (self.api_keys_secret is None) == (self.jwt is None):
            yield "jwt", "give exactly one of api_keys_secret and jwt"


class RateLimits(Strict):
    """What each tenant may use of each model."""

    tokens_per_hour: int | None = Field(None, ge=1, le=2**32 - 1, description="Tokens (input + output) an hour per tenant and model.", examples=[100_000])
    requests_per_minute: int | None = Field(None, ge=1, le=2**32 - 1, description="Requests a minute per tenant and model.", examples=[600])
    store: names.HostPort = Field(description="host:port of the Redis that holds the counters.", examples=["redis.redis-system.svc:6379"])

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.tokens_per_hour is None and self.requests_per_minute is None:
            yield "tokens_per_hour", "give tokens_per_hour or requests_per_minute"


class Gateway(Strict):
    """How clients reach the models."""

    enabled: bool = Field(True, description="Render Gateway and routes.")
    class_name: names.Name = Field("envoy-gateway", description="GatewayClass.")
    host: names.HostName | None = Field(None, description="Host name of the listener.", examples=["llm.example.com"])
    tls_secret: names.SecretName | None = Field(None, description="Secret with the certificate; without it the listener is plain HTTP inside the VPC.")
    internal: bool = Field(True, description="Internal load balancer; false publishes it, which policy NET001 reviews.")
    streaming: bool = Field(True, description="Routes carry server-sent events.")
    timeout: DurationS | None = Field(None, ge=1, le=604800, description="Longest whole response; unlimited for streaming when left out.", examples=["30m"])
    stream_idle_timeout: DurationS = Field("300s", ge=1, le=86400, description="Longest silence inside a stream.")  # type: ignore[assignment]
    namespace: names.Name = Field("envoy-gateway-system", description="Namespace where the gateway's proxies run.")
    auth: GatewayAuth | None = Field(None, description="Who may call; without it everyone who reaches the gateway may.")
    limits: RateLimits | None = Field(None, description="Limits per tenant; they need auth, because the tenant comes from the verified identity.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.limits and not self.auth:
            yield "limits", "limits need auth: the tenant is taken from the verified identity, never from what the client says"


class Observability(Strict):
    """Metrics and alerts."""

    enabled: bool = Field(True, description="Render PodMonitor and PrometheusRule.")
    prometheus_url: names.Url = Field("http://prometheus-operated.monitoring.svc:9090", description="Where scalers read metrics.")
    namespace: names.Name = Field("monitoring", description="Namespace of the Prometheus that scrapes the pods.")
    remote_write: RemoteWrite | None = Field(None, description="Keep metrics in Amazon Managed Service for Prometheus as well.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.remote_write and not self.enabled:
            yield "remote_write", "remote_write needs enabled: true"


class State(Strict):
    """Where Terraform keeps its state."""

    backend: Literal["s3", "local"] = Field("s3", description="s3 for real environments, local for sandboxes.")
    bucket: names.BucketName | None = Field(None, description="State bucket; named from the deployment when left out.")
    lock: bool = Field(True, description="State locking cannot be turned off.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if not self.lock:
            yield "lock", "lock: false is refused; state is always locked"
