"""vLLM: `vllm serve` from the plan, every flag checked against the table of the pinned release."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from inferform.engines.engine import Device, Place
from inferform.engines.flagged import Flagged, check_batching, joined, number, refuse
from inferform.engines.images import read_image
from inferform.engines.tiers import DISK_MOUNT, TierSupport
from inferform.engines.versions import version_key
from inferform.errors import InputError, Problem
from inferform.plan import ModelPlan, PoolPlan

GIB = 2**30
_HERE = Place("/models/weights")
MASTER_PORT = 29501
# Where a prefill engine tells decode engines about its cache blocks (vLLM's own default).
SIDE_CHANNEL_PORT = 5600
_KV_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}
# The module of Dynamo's block manager that vLLM loads (ai-dynamo 1.6.1).
KVBM_MODULE = "kvbm.vllm_integration.connector"
Connector = dict[str, object]
# Flags whose values belong to a field of the spec: they are merged into it, so that memory, shm and probes see them (FC-17).
_OWNED: Mapping[str, tuple[str, type]] = {
    "--tensor-parallel-size": ("tp", int),
    "--pipeline-parallel-size": ("pp", int),
    "--data-parallel-size": ("dp", int),
    "--enable-expert-parallel": ("expert_parallel", bool),
    "--max-model-len": ("max_model_len", int),
    "--max-num-seqs": ("max_num_seqs", int),
    "--max-num-batched-tokens": ("max_num_batched_tokens", int),
    "--gpu-memory-utilization": ("gpu_memory_utilization", float),
    "--kv-cache-dtype": ("kv_cache", str),
    "--quantization": ("quantization", str),
    "--enable-prefix-caching": ("prefix_caching", bool),
    "--enable-chunked-prefill": ("chunked_prefill", bool),
    "--enforce-eager": ("enforce_eager", bool),
    "--shutdown-timeout": ("shutdown_timeout_s", int),
}
# Flags that would work against what the plan decides; the text says where the decision is made.
_REFUSED: Mapping[str, str] = {
    "--model": "set source",
    "--served-model-name": "the model's name in the spec is its served name",
    "--tokenizer": "the tokenizer comes with the model in the model store",
    "--host": "the pod listens on all its addresses",
    "--port": "the port is fixed; Services and probes rely on it",
    "--uds": "Services and probes reach the engine over its port",
    "--grpc": "routes and probes speak HTTP",
    "--grpc-port": "routes and probes speak HTTP",
    "--config": "a file could override checked flags; write them in the spec",
    "--api-key": "a secret in the spec would end in plain text; authenticate at the gateway",
    "--hf-token": "set hf_token_secret",
    "--download-dir": "weights come from the node's cache",
    "--runner": "set task",
    "--convert": "set task",
    "--nnodes": "set parallelism; the plan spreads replicas over nodes",
    "--node-rank": "set parallelism; the plan spreads replicas over nodes",
    "--master-addr": "set parallelism; the plan spreads replicas over nodes",
    "--master-port": "set parallelism; the plan spreads replicas over nodes",
    "--headless": "set parallelism; the plan spreads replicas over nodes",
    "--distributed-executor-backend": "set parallelism; the plan spreads replicas over nodes",
    "--data-parallel-size-local": "set parallelism.dp",
    "--data-parallel-rank": "set parallelism.dp",
    "--data-parallel-start-rank": "set parallelism.dp",
    "--data-parallel-address": "set parallelism.dp",
    "--data-parallel-rpc-port": "set parallelism.dp",
    "--data-parallel-backend": "set parallelism.dp",
    "--kv-offloading-size": "set kv_tiers; the plan counts it into the pod's memory",
    "--kv-offloading-backend": "set kv_tiers; the plan counts it into the pod's memory",
    "--kv-cache-memory-bytes": "the plan sizes the KV cache; set gpu_memory_utilization",
    "--num-gpu-blocks-override": "the plan sizes the KV cache; set gpu_memory_utilization",
}
_KV_CACHE = {"bf16": "bfloat16", "fp16": "float16"}
_KV_CACHE_SPEC = {v: k for k, v in _KV_CACHE.items()}
# First release with a size for offloaded blocks, first whose guide was read with a tier of files, and the one whose source was read.
_OFFLOADING_SINCE, _FILE_TIER_SINCE, _TIERS_READ = "0.12.0", "0.26.0", "0.33.0"
# Quantizing a 16-bit checkpoint while it loads: the method's name and the first release whose registry was read with it.
_ONLINE = {"fp8": ("fp8", "0.11.0"), "int8": ("int8_per_channel_weight_only", "0.33.0")}
_CHECKPOINT_METHODS = {"fp8": "fp8", "awq": "awq", "auto_awq": "awq", "gptq": "gptq", "auto_gptq": "gptq", "mxfp4": "mxfp4", "modelopt_fp4": "nvfp4"}


class Vllm(Flagged):
    """The vLLM engine."""

    name = "vllm"
    title = "vLLM"
    default_version = "0.33.0"
    table_version = "0.33.0"
    owned = _OWNED
    refused = _REFUSED
    kv_cache_names = _KV_CACHE_SPEC
    methods = _CHECKPOINT_METHODS
    # The image has a prepared user 2000 in group 0 (vllm-project/vllm#40275); older images run under it as well with HOME and USER set.
    user_id = 2000
    home = "/home/vllm"
    model_label = "model_name"

    def image(self, version: str, device: Device) -> str:
        """See Engine. CPU images are published on the same registry from 0.17 on, before that in the project's public ECR."""
        tag = f"v{self.check_version(version)}"
        if device == "gpu":
            return f"vllm/vllm-openai:{tag}"
        return f"vllm/vllm-openai-cpu:{tag}" if version_key(version) >= version_key("0.17.0") else f"public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:{tag}"

    def online_quantization(self, version: str, weights: str) -> str | None:
        """See Engine."""
        method, since = _ONLINE.get(weights, ("", ""))
        return method if method and version_key(version) >= version_key(since) else None

    def kv_tiers(self, version: str) -> TierSupport:
        """See Engine. Its file tier removes nothing, so what it writes must be trimmed from outside."""
        key = version_key(version)
        since = f"; {_OFFLOADING_SINCE} and later do"
        return TierSupport(
            cpu_fault="" if key >= version_key(_OFFLOADING_SINCE) else f"vLLM {version} does not offload KV blocks by a size{since}",
            disk_fault=""
            if key >= version_key(_FILE_TIER_SINCE)
            else f"vLLM {version} was not read to have a tier of files; {_FILE_TIER_SINCE} and later have one",
            hybrid_fault=""
            if key >= version_key(_TIERS_READ)
            else f"vLLM {version} may give every layer the whole context while it offloads; {_TIERS_READ} keeps windows and states apart",
            in_shm=True,
            bounded_disk=False,
            one_latent=key >= version_key(_TIERS_READ),
        )

    def command(self, model: ModelPlan, pool: PoolPlan, place: Place = _HERE) -> list[str]:
        """See Engine. Every value that steers memory or batching is explicit, so that a changed default changes nothing."""
        words = ["--port", str(self.port), *self.engine_words(model, pool)]
        if pool.lifecycle.shutdown_timeout_s is not None and self.accepts("--shutdown-timeout", model.engine_version):
            words += ["--shutdown-timeout", str(pool.lifecycle.shutdown_timeout_s)]
        if place.nodes > 1:
            # The short spelling of --node-rank: checkers of manifests take a pod variable for a wrong number after the long one.
            words += ["--distributed-executor-backend", "mp", "--nnodes", str(place.nodes), "-r", place.rank]
            words += ["--master-addr", place.leader, "--master-port", str(MASTER_PORT)]
            words += [] if place.rank == "0" else ["--headless"]
        self.check_words(words, model)
        rest = self.checked_rest(model)
        if any(word.split(".")[0].split("=")[0] == "--kv-transfer-config" for word in rest):
            if pool.role != "aggregated":
                raise refuse(model, "extra_args", "the plan hands caches over from prefill to decode", value="--kv-transfer-config", fix="leave it out")
            if pool.pod.kv_tiers:
                raise refuse(model, "extra_args", "the plan decides where KV blocks go", value="--kv-transfer-config", fix="leave it out, or kv_tiers")
        return ["vllm", "serve", place.model_path, *joined("--served-model-name", model.served_name), *words, *rest]

    def engine_words(self, model: ModelPlan, pool: PoolPlan) -> list[str]:
        """The options of the engine itself, which a launcher other than the API server takes as well."""
        words = ["--tensor-parallel-size", str(pool.tp)]
        words += ["--pipeline-parallel-size", str(pool.pp)] if pool.pp > 1 else []
        words += ["--data-parallel-size", str(pool.dp)] if pool.dp > 1 else []
        words += ["--enable-expert-parallel"] if pool.ep > 1 else []
        words += self._precision(model)
        words += self._batching(model, pool)
        words += ["--enforce-eager"] if model.enforce_eager else []
        words += ["--runner", "pooling"] if model.task == "embed" else []
        return [*words, *_cache_words(pool)]

    def _precision(self, model: ModelPlan) -> list[str]:
        words = []
        if model.weights in ("bf16", "fp16"):
            words += ["--dtype", {"bf16": "bfloat16", "fp16": "float16"}[model.weights]]
        elif not model.checkpoint_quantized:
            method = self.online_quantization(model.engine_version, model.weights)
            if method is None:
                raise InputError(
                    Problem(
                        f"vLLM {model.engine_version} cannot quantize to {model.weights} while loading",
                        field=f"models.{model.served_name}.quantization",
                        value=model.weights,
                        legal=tuple(w for w in _ONLINE if self.online_quantization(model.engine_version, w)),
                        fix="use a checkpoint that is already quantized",
                    )
                )
            words += ["--quantization", method]
        return [*words, "--kv-cache-dtype", _KV_CACHE.get(model.kv_cache, model.kv_cache)]

    def _batching(self, model: ModelPlan, pool: PoolPlan) -> list[str]:
        # Encoders take a prompt whole and keep no cache between requests.
        chunked = model.chunked_prefill and model.task != "embed"
        caching = model.prefix_caching and model.task != "embed"
        check_batching(model, pool, chunked=chunked)
        return [
            *("--max-model-len", str(pool.max_model_len)),
            *("--max-num-seqs", str(pool.max_num_seqs)),
            *("--max-num-batched-tokens", str(pool.max_num_batched_tokens)),
            *("--gpu-memory-utilization", number(pool.gpu_memory_utilization)),
            "--enable-prefix-caching" if caching else "--no-enable-prefix-caching",
            "--enable-chunked-prefill" if chunked else "--no-enable-chunked-prefill",
        ]

    def environment(self, model: ModelPlan, pool: PoolPlan) -> dict[str, str]:
        """See Engine. Weights are local, so nothing is looked up on a hub; caches stay under HOME."""
        values = {"HF_HUB_OFFLINE": "1", "HOME": self.home, "LOGNAME": "vllm", "USER": "vllm", "VLLM_NO_USAGE_STATS": "1"}
        if pool.role != "aggregated":
            values["VLLM_NIXL_SIDE_CHANNEL_PORT"] = str(SIDE_CHANNEL_PORT)
        if pool.gpu is None:
            values["VLLM_CPU_KVCACHE_SPACE"] = str(max(1, math.ceil(pool.memory.kv_cache_bytes_per_gpu / GIB)))
        return values

    def pod_fields(self, pool: PoolPlan) -> dict[str, str]:
        """See Engine. Members of a group, and the two sides of a cache transfer, must agree on the address that each is reached at."""
        group = {"VLLM_HOST_IP": "status.podIP"} if pool.nodes_per_replica > 1 else {}
        return {**group, "VLLM_NIXL_SIDE_CHANNEL_HOST": "status.podIP"} if pool.role != "aggregated" else group

    def caveats(self, *, version: str, image: str, device: Device, efa: bool) -> tuple[str, ...]:
        """See Engine."""
        found = []
        if efa and read_image(image).repository in ("vllm/vllm-openai", "docker.io/vllm/vllm-openai"):
            # vllm-project/vllm#55635, open when read (2026-12-01).
            found.append(
                f"{image} holds no EFA libraries, so NCCL between nodes falls back to TCP; set image to one that has aws-ofi-nccl, such as the AWS deep learning container for vLLM"
            )
        if device == "gpu" and version_key(version) < version_key("0.22.0"):
            found.append(
                f"vLLM {version} images are made to run as root; pods run as user {self.user_id} with HOME and USER set, which those images were not tested with"
            )
        return tuple(found)


def _cache_words(pool: PoolPlan) -> list[str]:
    """Where KV blocks go: from prefill to decode, and to memory and disk."""
    tiers = pool.pod.kv_tiers
    if pool.role == "aggregated" and tiers and not tiers.disk_bytes:
        # One engine a data-parallel rank, each with a budget of its own for all its ranks.
        return ["--kv-offloading-size", number(tiers.cpu_bytes / pool.dp / GIB)]
    if pool.role == "aggregated" and not tiers:
        return []
    connectors = [*([offloading(pool)] if tiers else []), *([hand_over(pool)] if pool.role != "aggregated" else [])]
    if len(connectors) == 1:
        return ["--kv-transfer-config", _json(connectors[0])]
    both: Connector = {"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"connectors": connectors}}
    if tiers and tiers.backend == "dynamo":
        both |= {"kv_connector": "PdConnector", "kv_connector_module_path": KVBM_MODULE}
    return ["--kv-transfer-config", _json(both)]


def hand_over(pool: PoolPlan) -> Connector:
    """How caches go from prefill to decode: NIXL, over libfabric where the nodes have EFA and over UCX elsewhere."""
    config: Connector = {"kv_connector": "NixlConnector", "kv_role": _KV_ROLES[pool.role]}
    if pool.infrastructure.efa:
        config["kv_connector_extra_config"] = {"backends": ["LIBFABRIC"]}
    return config


def offloading(pool: PoolPlan) -> Connector:
    """How blocks go to memory and, behind it, to files."""
    tiers = pool.pod.kv_tiers
    assert tiers is not None
    if tiers.backend == "dynamo":
        # Sizes and folder stand in its environment.
        return {"kv_connector": "DynamoConnector", "kv_role": "kv_both", "kv_connector_module_path": KVBM_MODULE}
    extra: dict[str, object] = {"cpu_bytes_to_use": tiers.cpu_bytes // pool.dp}
    if tiers.disk_bytes:
        extra |= {"spec_name": "TieringOffloadingSpec", "secondary_tiers": [{"type": "fs", "root_dir": DISK_MOUNT}]}
    return {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}


def _json(config: Connector) -> str:
    return json.dumps(config, separators=(",", ":"))
