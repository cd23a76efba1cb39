"""What surrounds the pools: network zones, system pool, gateway, buckets, quotas."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from inferform.catalog.instances import find_instance, quota_family
from inferform.catalog.price_book import PriceBook
from inferform.errors import InputError, Problem
from inferform.plan import ModelPlan
from inferform.plan_nodes import Count
from inferform.plan_platform import CloudPlan, GatewayAuthPlan, GatewayPlan, JwtPlan, ObservabilityPlan, QuotaNeed, RateLimitPlan, SystemPool
from inferform.planning.cluster import cluster_plan, cluster_problems
from inferform.planning.nodes import EKS_EXCLUDED_ZONES, home_zones, region_zones
from inferform.spec import DeploymentSpec
from inferform.spec_platform import Gateway

MIB = 2**20
# First type with a price in the region wins.
_SYSTEM_TYPES = ("m7i.2xlarge", "m7i.xlarge", "c7i.2xlarge", "c6i.2xlarge")
_SYSTEM_NODES = Count(min=2, steady=2, max=4)
# A cluster needs subnets in two zones.
_LEAST_ZONES = 2
_BUFFER_FLOOR_BYTES = 50 * MIB
_BYTES_PER_TOKEN = 8
_BUCKET_NAME_LIMIT = 63


def bucket_name(purpose: str, *, tenant: str, name: str, environment: str, region: str) -> str:
    """A bucket name that no other deployment shares: readable start, purpose, and a digest of everything that identifies it; at most 63."""
    digest = hashlib.sha256("/".join((tenant, name, environment, region, purpose)).encode()).hexdigest()[:8]
    tail = f"-{purpose}-{digest}"
    return f"{name}-{environment}"[: _BUCKET_NAME_LIMIT - len(tail)].rstrip("-") + tail


def network_zones(spec: DeploymentSpec, pools: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Zones of the network, sorted: those the spec lists, else the region's usual ones and what a pool (by its zones) needs beyond them."""
    if spec.cloud.zones:
        return tuple(sorted(spec.cloud.zones))
    return tuple(sorted({*home_zones(spec.cloud.region), *(zone for zones in pools for zone in zones)}))


def frame_problems(spec: DeploymentSpec, zones: Sequence[str]) -> list[Problem]:
    """What is wrong with the cluster and with the zones of the network."""
    found = cluster_problems(spec)
    excluded = sorted(set(zones) & EKS_EXCLUDED_ZONES)
    if excluded:
        found.append(
            Problem("an EKS cluster takes no subnets here", "cloud.zones", value=", ".join(excluded), legal=region_zones(spec.cloud.region), fix="leave it out")
        )
    known = region_zones(spec.cloud.region)
    strange = sorted(set(zones) - set(known) - EKS_EXCLUDED_ZONES) if known else []
    if strange:
        found.append(Problem(f"is not a zone of {spec.cloud.region}", "cloud.zones", value=", ".join(strange), legal=known))
    if len(zones) < _LEAST_ZONES:
        found.append(
            Problem(
                "an EKS cluster needs subnets in two zones",
                "cloud.zones",
                value=", ".join(zones) or None,
                legal=known,
                fix="list at least two zones, or none to let the plan choose",
            )
        )
    return found


def system_pool(region: str, book: PriceBook) -> SystemPool:
    """CPU nodes for gateway, controllers and agents. Raises: InputError when no price is known in the region."""
    for name in _SYSTEM_TYPES:
        cost = book.price(name, region, "on_demand")
        if cost is not None:
            instance = find_instance(name)
            return SystemPool(instance_type=name, nodes=_SYSTEM_NODES, usd_per_hour=cost.usd_per_hour, vcpus=instance.vcpus, memory_bytes=instance.memory_bytes)
    raise InputError(
        Problem("no instance prices of this region are known", "cloud.region", value=region, legal=book.regions(), fix="choose one of these regions")
    )


def cloud_plan(spec: DeploymentSpec, zones: tuple[str, ...], system: SystemPool) -> CloudPlan:
    """The cloud frame."""
    cloud = spec.cloud
    return CloudPlan(
        provider="aws", region=cloud.region, zones=zones, vpc_cidr=cloud.vpc_cidr, kubernetes_version=cloud.kubernetes_version,
        public_cidrs=cloud.endpoint.public_cidrs, admins=cloud.admins, system_pool=system, cluster=cluster_plan(spec),
    )  # fmt: skip


def gateway_plan(gateway: Gateway, models: dict[str, ModelPlan], problems: list[Problem]) -> GatewayPlan:
    """Timeouts that outlast every generation (FC-23) and buffers that hold the longest prompt (FC-24)."""
    if gateway.timeout is not None:
        for name, model in sorted(models.items()):
            slowest = max((pool.tpot_ms.p95 for pool in model.pools.values()), default=0.0)
            needed = model.max_output_tokens * slowest / 1e3
            if gateway.timeout < needed:
                problems.append(
                    Problem(
                        f"cuts {name}: its longest answer of {model.max_output_tokens} tokens takes {needed:.0f} s at {1e3 / slowest:.0f} tokens a second", "gateway.timeout",
                        value=f"{gateway.timeout:g}s", fix=f"set at least {needed:.0f}s, or leave it out for streaming",
                    )
                )  # fmt: skip
    slow = max((m.slo_ttft_p95_ms or 0.0 for m in models.values()), default=0.0) / 1e3
    if gateway.streaming and gateway.stream_idle_timeout <= slow:
        problems.append(
            Problem(
                f"is not above the {slow:g} s that the first token may take",
                "gateway.stream_idle_timeout",
                value=f"{gateway.stream_idle_timeout:g}s",
                fix="raise it, the default is 300s",
            )
        )
    longest = max((pool.max_model_len for m in models.values() for pool in m.pools.values()), default=0)
    auth, limits = gateway.auth, gateway.limits
    return GatewayPlan(
        enabled=gateway.enabled, class_name=gateway.class_name, host=gateway.host, tls_secret=gateway.tls_secret, internal=gateway.internal,
        streaming=gateway.streaming, timeout_s=gateway.timeout, stream_idle_timeout_s=gateway.stream_idle_timeout,
        buffer_limit_bytes=max(_BUFFER_FLOOR_BYTES, longest * _BYTES_PER_TOKEN), namespace=gateway.namespace,
        auth=None if auth is None else GatewayAuthPlan(
            api_keys_secret=auth.api_keys_secret,
            jwt=None if auth.jwt is None else JwtPlan(
                issuer=auth.jwt.issuer, jwks_uri=auth.jwt.jwks_uri, audiences=auth.jwt.audiences, tenant_claim=auth.jwt.tenant_claim
            ),
        ),
        limits=None if limits is None else RateLimitPlan(
            tokens_per_hour=limits.tokens_per_hour, requests_per_minute=limits.requests_per_minute, store=limits.store
        ),
    )  # fmt: skip


def observability_plan(spec: DeploymentSpec) -> ObservabilityPlan:
    """Metrics as the spec says."""
    watch = spec.observability
    return ObservabilityPlan(enabled=watch.enabled, prometheus_url=watch.prometheus_url, namespace=watch.namespace)


def quotas(models: dict[str, ModelPlan], system: SystemPool) -> tuple[QuotaNeed, ...]:
    """vCPUs that service quotas must allow at the largest fleet, by family and market (FC-06). Capacity blocks count against none."""
    needs: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for _, model in sorted(models.items()):
        for _, pool in sorted(model.pools.items()):
            for part in pool.purchase:
                if part.kind == "capacity_block" or part.nodes.max == 0:
                    continue
                vcpus = max(find_instance(name).vcpus for name in part.instance_types)
                market = "spot" if part.kind == "spot" else "on_demand"
                types = part.instance_types
                text = f"{part.nodes.max} x {types[0]} x {vcpus} vCPUs" if len(types) == 1 else f"{part.nodes.max} x up to {vcpus} vCPUs ({' or '.join(types)})"
                needs.setdefault((pool.infrastructure.quota_family, market), []).append((part.nodes.max * vcpus, text))
        if model.quantize is not None:
            job = model.quantize
            text = f"1 x {job.instance_type} x {job.vcpus} vCPUs (quantization)"
            needs.setdefault((quota_family(job.instance_type), "on_demand"), []).append((job.vcpus, text))
    own = system.nodes.max * system.vcpus
    needs.setdefault((quota_family(system.instance_type), "on_demand"), []).append(
        (own, f"{system.nodes.max} x {system.instance_type} x {system.vcpus} vCPUs (system)")
    )
    return tuple(
        QuotaNeed(
            family=family, market="spot" if market == "spot" else "on_demand", vcpus=sum(v for v, _ in found), detail=" + ".join(text for _, text in found)
        )
        for (family, market), found in sorted(needs.items())
    )
