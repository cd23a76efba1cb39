"""The DeploymentSpec: everything a user may write in one deployment file, described once.

Schema, starter files and documentation come from these fields. Values that depend on the catalogue (does the GPU exist,
does the model fit) are checked later by `load` and `planner`; this file checks what can be known from the spec alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Literal

from inferform import names
from inferform.names import Strict
from inferform.quantities import GIB, DurationS, SizeBytes
from inferform.spec_isolation import Isolation
from inferform.spec_nodes import Capacity, Hardware, NodePool
from inferform.spec_platform import Cloud, Gateway, Observability, State
from inferform.spec_quantize import Quantize
from inferform.spec_scaling import Lifecycle, Scaling
from inferform.spec_schedule import Schedule
from inferform.spec_serving import KvTiers
from inferform.spec_store import ColdStart, ModelStore
from pydantic import Field, JsonValue


class EngineName(StrEnum):
    VLLM = "vllm"
    TENSORRT_LLM = "tensorrt-llm"
    SGLANG = "sglang"


class Quantization(StrEnum):
    AUTO = "auto"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    AWQ = "awq"
    GPTQ = "gptq"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"


class Quality(StrEnum):
    REFERENCE = "reference"
    NEAR_LOSSLESS = "near_lossless"
    SMALL_LOSS = "small_loss"


class KvCacheType(StrEnum):
    AUTO = "auto"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    FP8_E4M3 = "fp8_e4m3"
    FP8_E5M2 = "fp8_e5m2"


class Profile(StrEnum):
    INTERACTIVE = "interactive"
    BATCH = "batch"
    AGENTIC = "agentic"


class TokenLengths(Strict):
    """A distribution of token counts; p95 defaults to twice the mean."""

    mean: int = Field(ge=1, le=10_000_000, description="Mean tokens.")
    p95: int | None = Field(None, ge=1, le=10_000_000, description="95th percentile tokens; twice the mean when left out.")

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.p95 is not None and self.p95 < self.mean:
            yield "p95", f"p95 {self.p95} is below mean {self.mean}"
        if self.p95 is not None and self.p95 > 20 * self.mean:
            yield (
                "p95",
                f"p95 {self.p95} is more than 20 x mean {self.mean}, but one request in twenty of {self.p95} tokens alone makes a mean of {self.p95 / 20:.0f}",
            )

    @property
    def p95_tokens(self) -> int:
        return self.p95 if self.p95 is not None else 2 * self.mean


class Workload(Strict):
    """The traffic one model must carry."""

    profile: Profile = Field(Profile.INTERACTIVE, description="interactive (people wait), batch (throughput) or agentic (long shared prefixes, many turns).")
    peak_rps: float = Field(gt=0, le=1_000_000, description="Requests a second in the busiest hour; the steady fleet carries this.", examples=[6])
    mean_rps: float | None = Field(
        None,
        gt=0,
        le=1_000_000,
        description="Mean requests a second over the month, for the price per token and request; peak_rps when left out.",
        examples=[2],
    )
    input_tokens: TokenLengths = Field(description="Prompt lengths.")
    output_tokens: TokenLengths = Field(TokenLengths(mean=1, p95=1), description="Generated lengths; leave out for embedding models.")
    shared_prefix_tokens: int = Field(0, ge=0, description="Leading prompt tokens that requests have in common, so that the prefix cache can serve them.")
    burst: float = Field(1.0, ge=1, le=100, description="Short-term peak as a multiple of peak_rps; the burst fleet carries the rest.", examples=[2.0])
    schedule: Schedule | None = Field(None, description="Hours of the week in which traffic is known to come; replicas and nodes stand ready for them.")

    def faults(self) -> Iterator[tuple[str, str]]:
        over = [name for name, window in (self.schedule.windows.items() if self.schedule else ()) if window.share > max(1.0, self.burst)]
        if over:
            yield "schedule", f"the share of {', '.join(over)} is above burst {self.burst:g}; raise burst or peak_rps"
        if self.mean_rps is not None and self.mean_rps > self.peak_rps:
            yield "mean_rps", f"mean_rps {self.mean_rps:g} is above peak_rps {self.peak_rps:g}"
        if self.shared_prefix_tokens >= self.input_tokens.mean and self.shared_prefix_tokens:
            yield "shared_prefix_tokens", f"shared_prefix_tokens {self.shared_prefix_tokens} must be below input_tokens.mean {self.input_tokens.mean}"

    @property
    def average_rps(self) -> float:
        """Requests a second that a month's bill is spread over."""
        return self.peak_rps if self.mean_rps is None else self.mean_rps


class Slo(Strict):
    """Latency objectives; the profile's defaults apply to what is left out."""

    ttft_p95: DurationS | None = Field(None, gt=0, le=3600, description="95th percentile of time to first token.", examples=["1.2s"])
    tpot_p95: DurationS | None = Field(None, gt=0, le=60, description="95th percentile of time per output token.", examples=["50ms"])


class Parallelism(Strict):
    """How one replica is spread over GPUs."""

    tp: int = Field(1, ge=1, le=1024, description="Tensor parallel degree.")
    pp: int = Field(1, ge=1, le=1024, description="Pipeline parallel degree.")
    dp: int = Field(1, ge=1, le=1024, description="Data parallel degree inside one replica.")
    ep: int = Field(1, ge=1, le=1024, description="Expert parallel degree.")


class Disaggregation(Strict):
    """Separate prefill and decode pools in this ratio of replicas."""

    prefill: int = Field(ge=1, le=64, description="Prefill replicas per group.")
    decode: int = Field(ge=1, le=64, description="Decode replicas per group.")
    runtime: Literal["vllm-router", "dynamo"] = Field(
        "vllm-router", description="What routes and hands over caches: vLLM's router with NIXL, or NVIDIA Dynamo (a DynamoGraphDeployment)."
    )


class SecretKey(Strict):
    """A key of an existing Kubernetes Secret; the value itself never enters a spec."""

    name: names.SecretName = Field(description="Name of the Secret.", examples=["hf-token"])
    key: names.SecretField = Field("token", description="Key inside the Secret.")


class Budget(Strict):
    """What a deployment may cost."""

    usd_per_month: float = Field(gt=0, le=1e9, description="Ceiling for the steady fleet, 730 hours a month.", examples=[12000])


class ModelSpec(Strict):
    """One model and how it is served."""

    source: str = Field(
        min_length=1, max_length=512, description="Catalogue name, or the path of a Hugging Face config.json.", examples=["meta-llama/Llama-3.3-70B-Instruct"]
    )
    task: Literal["auto", "generate", "embed"] = Field("auto", description="embed for embedding models; auto reads it from the model.")
    engine: EngineName = Field(EngineName.VLLM, description="Serving engine.")
    engine_version: names.EngineVersion | None = Field(None, description="Engine version; the catalogue's default when left out.", examples=["0.33.0"])
    image: names.Image | None = Field(None, description="Container image with tag or digest; the engine's own when left out.")
    quantization: Quantization = Field(
        Quantization.AUTO,
        description="Weight precision; auto runs the checkpoint as published, and another only where that misses the objectives or the budget.",
    )
    quantize: Quantize | None = Field(None, description="Make the quantized checkpoint by a job, instead of finding one in the model store.")
    quality: Quality = Field(
        Quality.SMALL_LOSS,
        description="Floor for precisions that auto chooses: reference (as published), near_lossless (8 bits, about 99 % of the scores), small_loss (4 bits too).",
    )
    kv_cache: KvCacheType = Field(KvCacheType.AUTO, description="KV cache precision; auto keeps the compute type.")
    parallelism: Literal["auto"] | Parallelism = Field("auto", description="auto, or explicit degrees.")
    topology: Literal["auto", "aggregated"] | Disaggregation = Field("auto", description="One kind of replica, or separate prefill and decode.")
    max_model_len: int | None = Field(None, ge=16, le=100_000_000, description="Longest prompt + output in tokens; from the workload when left out.")
    max_num_seqs: int | None = Field(None, ge=1, le=65_536, description="Most sequences in one step.")
    max_num_batched_tokens: int | None = Field(None, ge=16, le=10_000_000, description="Token budget of one step.")
    gpu_memory_utilization: float | None = Field(None, gt=0, le=0.98, description="Share of GPU memory the engine may take.")
    chunked_prefill: bool | None = Field(None, description="Split long prompts over steps; on by default.")
    prefix_caching: bool = Field(True, description="Reuse the KV cache of shared prefixes.")
    routing: Literal["any", "prefix"] = Field(
        "any", description="Which replica gets a request: any, or by a router the one that has seen its prefix (vLLM replicas that prefill and decode)."
    )
    kv_tiers: KvTiers = Field(KvTiers(), description="Memory and local disk for KV blocks that leave the GPU; none by default.")
    enforce_eager: bool = Field(False, description="Run without CUDA graphs.")
    hardware: Hardware = Field(Hardware(), description="Limits on the choice of hardware.")
    nodes: NodePool = Field(NodePool(), description="How this model's nodes are built.")
    capacity: Capacity | None = Field(None, description="Overrides the deployment's capacity for this model.")
    scaling: Scaling | None = Field(None, description="Overrides the deployment's scaling for this model.")
    lifecycle: Lifecycle = Field(Lifecycle(), description="Start and stop behaviour.")
    workload: Workload = Field(description="The traffic to carry.")
    slo: Slo = Field(Slo(), description="Latency objectives.")
    extra_args: names.EngineArgs = Field(
        (), description="Further engine flags; a flag the spec owns is merged into its field or refused.", examples=[["--seed", "7"]]
    )
    hf_token_secret: SecretKey | None = Field(None, description="Where the model hub token lives; needed for gated models.")
    model_cache: SizeBytes | None = Field(
        None, ge=GIB, le=65536 * GIB, description="Node-local cache reserved for weights; 1.2 x the weights when left out.", examples=["200Gi"]
    )
    shm: SizeBytes | None = Field(None, ge=2**26, le=2048 * GIB, description="Size of /dev/shm; planned when left out.", examples=["16Gi"])

    def faults(self) -> Iterator[tuple[str, str]]:
        seqs, budget, length = self.max_num_seqs, self.max_num_batched_tokens, self.max_model_len
        if seqs and budget and budget < seqs:
            yield "max_num_batched_tokens", f"max_num_batched_tokens {budget} is below max_num_seqs {seqs}"
        if self.chunked_prefill is False and budget and length and budget < length:
            yield "max_num_batched_tokens", f"chunked_prefill is off, so max_num_batched_tokens {budget} must be at least max_model_len {length}"
        if self.quantize is not None and self.quantization not in (Quantization.AUTO, self.quantize.method.value):
            yield "quantization", f"quantization {self.quantization.value} contradicts quantize.method {self.quantize.method.value}; leave it out"
        if self.routing == "prefix" and not self.prefix_caching:
            yield "routing", "no replica keeps a prefix, which prefix_caching: false rules out"
        if self.routing == "prefix" and isinstance(self.topology, Disaggregation):
            yield "routing", "split pools have a router of their own, which follows prefixes anyway; leave routing out"
        if self.kv_tiers.cpu is not None and not self.prefix_caching:
            yield "kv_tiers", "blocks are kept for prompts that begin alike, which prefix_caching: false rules out"
        if any(arg.split("=")[0] in ("--api-key", "--hf-token") for arg in self.extra_args):
            yield "extra_args", "a key is never an argument: the pod reads it from a Secret (hf_token_secret)"
        if self.hardware.device == "cpu" and self.task == "generate":
            yield "hardware", "device cpu is for embedding models (task: embed)"


class DeploymentSpec(Strict):
    """One deployment: a cloud, its models with traffic and objectives, and how they are bought, reached and scaled."""

    apiVersion: Literal["inferform/v1"] = Field("inferform/v1", description="Version of this format.")
    name: names.Name = Field(description="Name of the deployment; part of every resource name.", examples=["contract-qa"])
    tenant: names.Name = Field("default", description="Who it belongs to.", examples=["acme"])
    cloud: Cloud = Field(description="Where it runs.")
    models: dict[names.Name, ModelSpec] = Field(min_length=1, max_length=64, description="Models by name.")
    capacity: Capacity = Field(Capacity(), description="How nodes are bought.")
    budget: Budget | None = Field(None, description="What the deployment may cost.")
    gateway: Gateway = Field(Gateway(), description="How clients reach it.")
    isolation: Isolation = Field(Isolation(), description="How far its tenant is kept from others.")
    scaling: Scaling = Field(Scaling(), description="How replicas follow load.")
    calibration: str | None = Field(
        None,
        min_length=1,
        max_length=512,
        description="Correction file by own runs, from inferform calibrate; a path from the spec's folder.",
        examples=["own.json"],
    )
    observability: Observability = Field(Observability(), description="Metrics and alerts.")
    state: State = Field(State(), description="Terraform state.")
    model_store: ModelStore = Field(ModelStore(), description="Where weights are kept.")
    cold_start: ColdStart = Field(ColdStart(), description="How a new node gets image and weights.")
    protected: bool = Field(False, description="Destroy asks for the typed name.")
    environments: dict[names.Name, dict[str, JsonValue]] = Field({}, max_length=256, description="Overlays by environment, merged by key; null removes a key.")
