"""The DeploymentPlan: every decision, taken once. Rendering, stacks and policy read it and decide nothing.

`inferform size --format json` prints this document; its keys are a contract. All values are plain data, so a plan can be
stored, compared and read back. Units are in the names; GiB = 2**30.
"""

from __future__ import annotations

from typing import Literal

from inferform.plan_cost import CostPlan, Part
from inferform.plan_isolation import IsolationPlan
from inferform.plan_karpenter import KarpenterPlan
from inferform.plan_nodes import Count, LoadPlan, NodesPlan, PurchasePart
from inferform.plan_platform import CloudPlan, GatewayPlan, ObservabilityPlan, QuotaNeed, StatePlan
from inferform.plan_quantize import QuantizePlan
from inferform.plan_scaling import LifecyclePlan, ScalingPlan
from inferform.plan_schedule import SchedulePlan
from inferform.plan_serving import KvTiersPlan
from inferform.plan_store import ModelStorePlan
from inferform.plan_termination import TerminationPlan
from pydantic import Field


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


class PodPlan(Part):
    """Resources of one serving pod."""

    pods_per_replica: int
    gpus: int
    cpu_millis: int
    memory_bytes: int = Field(description="Request and limit, shared memory included.")
    shm_bytes: int
    model_cache_bytes: int
    weights_from: Literal["store", "peers", "lustre"] = Field(
        "store", description="store and peers: the node's own disk, filled from the bucket or from other nodes first; lustre: the file system."
    )
    kv_tiers: KvTiersPlan | None = Field(None, description="Where KV blocks go when they leave the GPU; None for nowhere.")


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
    schedule: SchedulePlan | None = Field(None, description="What stands ready for known traffic; None without a schedule.")


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
    routing: Literal["any", "prefix"] = Field("any", description="prefix: a router sends prompts that begin alike to the same replica.")
    quantize: QuantizePlan | None = Field(None, description="The job that makes the checkpoint; None where it is loaded as published or found.")
    disaggregation: Literal["vllm-router", "dynamo"] | None = Field(
        None, description="What routes between prefill and decode pools; None for one kind of pool."
    )


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
    isolation: IsolationPlan = Field(IsolationPlan(), description="How far its tenant is kept from others.")
    karpenter: KarpenterPlan | None = Field(None, description="The controller of the pools whose nodes Karpenter starts; None without any.")
    termination: TerminationPlan | None = Field(None, description="Who drains nodes of self-managed groups; None without any.")

    def pool_items(self) -> list[tuple[str, ModelPlan, str, PoolPlan]]:
        """(model name, model, pool name, pool) in name order."""
        return [(m, model, p, model.pools[p]) for m, model in sorted(self.models.items()) for p in sorted(model.pools)]

    def has_scaled_groups(self) -> bool:
        """Whether the Cluster Autoscaler sets the count of any node group: a pool's that Karpenter does not own, or one of quantization jobs."""
        pools = (pool.infrastructure for _, _, _, pool in self.pool_items())
        return any(nodes.autoscaled and nodes.kind != "karpenter" for nodes in pools) or any(model.quantize for model in self.models.values())

    def cluster_name(self) -> str:
        """Name of the EKS cluster."""
        return self.resource_prefix()

    def resource_prefix(self) -> str:
        """Prefix of every cloud resource name: deployment and environment."""
        return f"{self.name}-{self.environment}"
