"""The DeploymentPlan: every decision, taken once. Rendering, stacks and policy read it and decide nothing.

`inferform size --format json` prints this document; its keys are a contract. All values are plain data, so a plan can be
stored, compared and read back. Units are in the names; GiB = 2**30.
"""

from __future__ import annotations

from typing import Literal

# Handed on under this name, where everybody looks for it.
from inferform.plan_cost import HOURS_PER_MONTH as HOURS_PER_MONTH  # noqa: PLC0414
from inferform.plan_cost import CostPlan as CostPlan  # noqa: PLC0414
from inferform.plan_cost import ModelCost as ModelCost  # noqa: PLC0414
from inferform.plan_cost import Part as Part  # noqa: PLC0414
from inferform.plan_cost import PlatformCost as PlatformCost  # noqa: PLC0414
from pydantic import Field

# FC-14: one taint, used by node groups, daemonsets and serving pods alike.
GPU_TAINT_KEY = "nvidia.com/gpu"


class Count(Part):
    """Fewest, steady and most of something."""

    min: int
    steady: int
    max: int


class Percentiles(Part):
    """A latency distribution in milliseconds."""

    p50: float
    p95: float
    p99: float


class MemoryPlan(Part):
    """Bytes on the tightest GPU of a replica. `budget_bytes` = utilization x driver-reported memory."""

    fits: bool
    device_memory_bytes: int
    budget_bytes: int
    weights_bytes_per_gpu: int
    activation_bytes_per_gpu: int
    runtime_bytes_per_gpu: int = Field(description="Non-torch memory (CUDA context growth, NCCL) plus CUDA graphs where they count against the budget.")
    kv_cache_bytes_per_gpu: int
    kv_cache_bytes_per_token: int = Field(description="Marginal bytes per token on one rank for full-attention layers.")
    kv_cache_tokens: int
    max_concurrency: float = Field(description="Requests of max_model_len that fit at once.")
    limits: tuple[str, ...] = Field((), description="What stands in the way, and what would help; empty when it fits.")


class LoadPlan(Part):
    """Cold start of one replica in seconds, and where the weights come from."""

    weights_bytes: int
    bandwidth_bytes_per_s: float
    download_s: float
    load_s: float
    warmup_s: float
    total_s: float


class PurchasePart(Part):
    """Nodes of a pool bought one way. `usd_per_hour` is for one node; its date and source are stated."""

    kind: Literal["reserved", "capacity_block", "on_demand", "spot"]
    instance_types: tuple[str, ...]
    nodes: Count
    usd_per_hour: float
    price_as_of: str
    price_source: str
    reservation_id: str | None = None
    zone: str | None = None
    ends_at: str | None = None


class EfaPlan(Part):
    """Elastic Fabric Adapter wiring: one interface per card; card 0 is device 0, every other card device 1."""

    network_cards: int
    interfaces: int
    interface_type_first: Literal["efa"] = "efa"
    interface_type_rest: Literal["efa", "efa-only"] = "efa-only"


class NodesPlan(Part):
    """How the nodes of one pool are built."""

    kind: Literal["managed", "self_managed"]
    os: Literal["al2023", "bottlerocket"]
    ami_id: str | None
    ami_type: str | None
    autoscaled: bool
    zones: tuple[str, ...] = Field(description="AZ ids; exactly one for a coupled pool.")
    coupled: bool = Field(description="Replicas span nodes, so the pool lives in one AZ.")
    placement_group: bool
    efa: EfaPlan | None
    vcpus: int
    memory_bytes: int
    gpus_per_node: int
    local_nvme_count: int
    local_nvme_bytes: int
    root_volume_bytes: int
    ephemeral_storage_bytes: int = Field(description="RAID0 of the local disks where there are any, else the root volume.")
    max_pods: int
    taint_key: str = GPU_TAINT_KEY
    quota_family: Literal["P", "G and VT", "Standard"]
    quota_vcpus: int = Field(description="vCPUs that the quota must allow at the maximum node count.")


class LifecyclePlan(Part):
    """Start and stop of one replica, in whole seconds, and how a rollout replaces it."""

    startup_failure_threshold: int
    startup_period_s: int
    progress_deadline_s: int
    pre_stop_s: int
    shutdown_timeout_s: int | None = Field(description="Engine drain time; None where the engine version has no such flag.")
    grace_s: int
    strategy: Literal["Recreate", "RollingUpdate"]
    max_surge: int
    max_unavailable: int
    rollout_interrupts: bool


class TriggerPlan(Part):
    """One scaling signal with its threshold per replica."""

    signal: Literal["queue", "request_rate", "kv_use", "in_flight_tokens", "ttft_p95", "cpu"]
    target: float
    why: str


class ScalingPlan(Part):
    """How the replicas of one pool follow the load."""

    kind: Literal["keda", "hpa", "fixed"]
    min: int
    max: int
    idle: int | None
    triggers: tuple[TriggerPlan, ...]
    polling_interval_s: int
    cooldown_s: int
    scale_up_window_s: int
    scale_down_window_s: int
    scale_down_period_s: int
    fallback_failures: int
    fallback_replicas: int


class PodPlan(Part):
    """Resources of one serving pod."""

    pods_per_replica: int
    gpus: int
    cpu_millis: int
    memory_bytes: int = Field(description="Request and limit, shared memory included.")
    shm_bytes: int
    model_cache_bytes: int


class PoolPlan(Part):
    """Like nodes that run like replicas of one model."""

    role: Literal["aggregated", "prefill", "decode"]
    instance_type: str
    gpu: str | None = Field(description="GPU name; None for a CPU pool.")
    gpu_memory_bytes: int
    compute_capability: float | None
    nodes: Count
    replicas: Count
    nodes_per_replica: int
    replicas_per_node: int
    tp: int
    pp: int
    dp: int
    ep: int
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    gpu_memory_utilization: float
    kv_cache_tokens: int
    ttft_ms: Percentiles
    tpot_ms: Percentiles
    requests_per_s: float = Field(description="Requests a second one replica carries inside its objectives.")
    output_tokens_per_s: float = Field(description="Output tokens a second of one replica at that rate.")
    concurrency: float = Field(description="Requests in flight on one replica at that rate.")
    memory: MemoryPlan
    purchase: tuple[PurchasePart, ...]
    infrastructure: NodesPlan
    lifecycle: LifecyclePlan
    scaling: ScalingPlan
    pod: PodPlan


class Rejected(Part):
    """A candidate that was looked at and the number that ruled it out."""

    candidate: str
    reason: str


class SecretRef(Part):
    name: str
    key: str


class ModelPlan(Part):
    """One model: what runs, where it comes from, and why."""

    source: str
    served_name: str
    architecture: str
    task: Literal["generate", "embed"]
    engine: Literal["vllm", "tensorrt-llm", "sglang"]
    engine_version: str
    image: str
    weights: str = Field(description="Weight precision, such as bf16, fp8, awq.")
    checkpoint_quantized: bool = Field(description="The checkpoint itself carries this precision, so the engine needs no --quantization flag.")
    kv_cache: str
    prefix_caching: bool
    chunked_prefill: bool
    enforce_eager: bool
    topology: Literal["aggregated", "disaggregated"]
    profile: Literal["interactive", "batch", "agentic"]
    max_output_tokens: int
    gated: bool
    hf_token_secret: SecretRef | None
    extra_args: tuple[str, ...]
    slo_ttft_p95_ms: float | None
    slo_tpot_p95_ms: float | None
    load: LoadPlan
    pools: dict[str, PoolPlan]
    why: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    disaggregation: Literal["vllm-router", "dynamo"] | None = Field(
        None, description="What routes between prefill and decode pools; None for one kind of pool."
    )


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


class ModelStorePlan(Part):
    """The bucket that holds weights; each model under `models/<model name>/`."""

    bucket: str


class QuotaNeed(Part):
    """A service quota that the plan needs, counted in vCPUs."""

    family: str
    market: Literal["on_demand", "spot"]
    vcpus: int
    detail: str


class DeploymentPlan(Part):
    """Everything that will exist, for one deployment in one environment."""

    name: str
    tenant: str
    environment: str
    namespace: str
    spec_digest: str
    inferform_version: str
    catalog_as_of: str
    cloud: CloudPlan
    models: dict[str, ModelPlan]
    gateway: GatewayPlan
    observability: ObservabilityPlan
    state: StatePlan
    model_store: ModelStorePlan
    quotas: tuple[QuotaNeed, ...]
    protected: bool
    cost: CostPlan
    warnings: tuple[str, ...]

    def pool_items(self) -> list[tuple[str, ModelPlan, str, PoolPlan]]:
        """(model name, model, pool name, pool) in name order."""
        return [(m, model, p, model.pools[p]) for m, model in sorted(self.models.items()) for p in sorted(model.pools)]

    def cluster_name(self) -> str:
        """Name of the EKS cluster."""
        return self.resource_prefix()

    def resource_prefix(self) -> str:
        """Prefix of every cloud resource name: deployment and environment."""
        return f"{self.name}-{self.environment}"
