"""The parts of a spec that say where a deployment runs, how it is reached, watched, and where its state is kept."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from enum import StrEnum
from typing import Literal

from inferform import names
from inferform.names import Strict
from inferform.quantities import DurationS
from pydantic import Field


class Provider(StrEnum):
    AWS = "aws"


class Endpoint(Strict):
    """Who reaches the Kubernetes API from outside the VPC; nobody by default."""

    public_cidrs: names.Cidrs = Field((), description="IPv4 ranges that may reach the public API endpoint; empty: private.", examples=[["203.0.113.0/24"]])


class Cloud(Strict):
    """Where the fleet runs."""

    provider: Provider = Field(description="The cloud.", examples=["aws"])
    region: names.Region = Field(description="Region name.", examples=["us-east-1"])
    zones: names.Zones = Field((), description="Availability Zone ids to use; empty lets the plan choose by offering.", examples=[["use1-az4", "use1-az6"]])
    vpc_cidr: names.Cidr = Field("10.0.0.0/16", description="Address range of the VPC.", examples=["10.40.0.0/16"])
    kubernetes_version: names.KubernetesVersion = Field("1.33", description="Kubernetes minor version of the cluster.")
    endpoint: Endpoint = Field(Endpoint(), description="Access to the Kubernetes API endpoint.")
    admins: names.Principals = Field(
        (),
        description="IAM principals that administer the cluster.",
        examples=[["arn:aws:iam::111122223333:role/platform"]],
    )

    def faults(self) -> Iterator[tuple[str, str]]:
        if not 16 <= (size := ipaddress.IPv4Network(self.vpc_cidr).prefixlen) <= 24:
            yield "vpc_cidr", f"/{size} does not hold the network; a VPC of ours is /16 to /24"


class Gateway(Strict):
    """How clients reach the models."""

    enabled: bool = Field(True, description="Render Gateway and routes.")
    class_name: names.Name = Field("envoy-gateway", description="GatewayClass.")
    host: names.HostName | None = Field(None, description="Host name of the listener.", examples=["llm.example.com"])
    tls_secret: names.SecretName | None = Field(None, description="Secret with the certificate; without it the listener is plain HTTP inside the VPC.")
    internal: bool = Field(True, description="Internal load balancer; false publishes it, which policy NET001 reviews.")
    streaming: bool = Field(True, description="Routes carry server-sent events.")
    timeout: DurationS | None = Field(None, description="Longest whole response; unlimited for streaming when left out.", examples=["30m"])
    stream_idle_timeout: DurationS = Field("300s", description="Longest silence inside a stream.")  # type: ignore[assignment]


class Observability(Strict):
    """Metrics and alerts."""

    enabled: bool = Field(True, description="Render PodMonitor and PrometheusRule.")
    prometheus_url: names.Url = Field("http://prometheus-operated.monitoring.svc:9090", description="Where scalers read metrics.")


class State(Strict):
    """Where Terraform keeps its state."""

    backend: Literal["s3", "local"] = Field("s3", description="s3 for real environments, local for sandboxes.")
    bucket: names.BucketName | None = Field(None, description="State bucket; named from the deployment when left out.")
    lock: bool = Field(True, description="State locking cannot be turned off.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if not self.lock:
            yield "lock", "lock: false is refused; state is always locked"
