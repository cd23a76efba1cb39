"""TensorRT-LLM: `trtllm-serve` with a configuration file of LLM arguments from the plan, on the PyTorch backend.

What memory and batching depend on stands in the file, because the file wins over the command line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from inferform.engines.engine import Device, Place
from inferform.engines.flagged import Flagged, check_batching, joined, refuse
from inferform.engines.flags import Argument
from inferform.engines.tiers import TierSupport
from inferform.errors import InputError, Problem
from inferform.plan import ModelPlan, PoolPlan

_HERE = Place("/models/weights", config_path="/config/llm-args.yaml")
_OWNED: Mapping[str, tuple[str, type]] = {
    "--tensor_parallel_size": ("tp", int),
    "--pipeline_parallel_size": ("pp", int),
    "--max_seq_len": ("max_model_len", int),
    "--max_batch_size": ("max_num_seqs", int),
    "--max_num_tokens": ("max_num_batched_tokens", int),
    "--kv_cache_dtype": ("kv_cache", str),
    "--kv_cache_config.dtype": ("kv_cache", str),
    "--kv_cache_config.enable_block_reuse": ("prefix_caching", bool),
    "--enable_chunked_prefill": ("chunked_prefill", bool),
}
_SIZED = "the plan sizes the KV cache; set gpu_memory_utilization"
_SHARE = "set gpu_memory_utilization: it is a share of the whole card and is converted to a share of free memory"
_REFUSED: Mapping[str, str] = {
    "--model": "set source",
    "--served_model_name": "the model's name in the spec is its served name",
    "--tokenizer": "the tokenizer comes with the model in the model store",
    "--host": "the pod listens on all its addresses",
    "--port": "the port is fixed; Services and probes rely on it",
    "--grpc": "routes and probes speak HTTP",
    "--extra_llm_api_options": "a file could override checked arguments; write them as extra_args",
    "--free_gpu_memory_fraction": _SHARE,
    "--kv_cache_config.free_gpu_memory_fraction": _SHARE,
    "--kv_cache_config.max_tokens": _SIZED,
    "--kv_cache_config.max_gpu_total_bytes": _SIZED,
    "--kv_cache_config.use_uvm": _SIZED,
    "--kv_cache_config.host_cache_size": "set kv_tiers; the plan counts it into the pod's memory",
    "--moe_expert_parallel_size": "set parallelism.ep",
    "--moe_tensor_parallel_size": "set parallelism",
    "--context_parallel_size": "set parallelism",
    "--gpus_per_node": "set parallelism",
    "--enable_attention_dp": "set parallelism.dp",
    "--cuda_graph_config.max_batch_size": "set max_num_seqs",
    "--dtype": "set quantization",
    "--return_perf_metrics": "it is always on; scalers and alerts read the series",
    "--enable_iter_perf_stats": "it is always on; scalers and alerts read the series",
    "--server_role": "set topology",
    "--metadata_server_config_file": "set topology",
    "--disagg_cluster_uri": "set topology",
}
_KV_CACHE_SPEC = {"bfloat16": "bf16", "float16": "fp16"}
_NO_METHODS: Mapping[str, str] = {}
_KV_CACHE = {"auto": "auto", "bf16": "bfloat16", "fp16": "float16", "fp8": "fp8", "fp8_e4m3": "fp8"}


class TensorRtLlm(Flagged):
    """The TensorRT-LLM engine."""

    name = "tensorrt-llm"
    title = "TensorRT-LLM"
    # The newest image that NVIDIA's own guide starts with a configuration file and checks at /health.
    default_version = "1.3.0rc22"
    table_version = "1.3.0rc23"
    owned = _OWNED
    refused = _REFUSED
    kv_cache_names = _KV_CACHE_SPEC
    # The checkpoint says how it is quantized; there is no option for it.
    methods = _NO_METHODS
    # The image has no user of its own for this; see `caveats`.
    user_id = 2000
    home = "/home/trtllm"
    # The iteration statistics of a server stand at /metrics as JSON.
    metrics_path = "/prometheus/metrics"
    # Its labels are model_name and engine_type, whatever the degrees (metrics collector, read 2026-12-01).
    rank_series = False
    # NVIDIA's guide of multi-node workers: all nodes must be launched in one MPI world, by mpirun or srun (Dynamo documentation 1.0.2, read
    # 2026-12-01). mpirun reaches other pods by ssh or by exec rights in the cluster; pods here have neither. Its other
    # launcher (orchestrator_type: ray) needs a Ray cluster, which is not rendered.
    one_node = "starts ranks on other nodes by MPI, which needs ssh or exec rights between pods, and pods here have neither"
    # What the label `model_name` holds changed between release candidates, so series are told apart by pod.
    model_label = ""

    def image(self, version: str, device: Device) -> str:
        """See Engine."""
        if device == "cpu":
            raise InputError(Problem("runs on GPUs only", field="engine", value=self.name, fix="use vllm for CPU pools"))
        return f"nvcr.io/nvidia/tensorrt-llm/release:{self.check_version(version)}"

    def kv_tiers(self, version: str) -> TierSupport:
        """See Engine. Blocks go to host memory and no further."""
        return TierSupport(disk_fault="TensorRT-LLM keeps the blocks that leave the GPU in memory only")

    def command(self, model: ModelPlan, pool: PoolPlan, place: Place = _HERE) -> list[str]:
        """See Engine. Raises InputError for several nodes, embedding models and precisions that the checkpoint does not have."""
        if place.nodes > 1:
            raise refuse(
                model, "engine", f"a replica on {place.nodes} nodes: TensorRT-LLM {self.one_node}", value=self.name,
                fix="use vllm or sglang, or hardware of which one node holds the model",
            )  # fmt: skip
        if model.task == "embed":
            raise refuse(model, "engine", "serves no embedding models", value=self.name, fix="use vllm")
        words = ["--host", "0.0.0.0", "--port", str(self.port), "--extra_llm_api_options", place.config_path]  # noqa: S104 - a pod is reached at its own address
        self.check_words(words, model)
        rest = [word for argument in self._rest(model) if not argument.flag.in_file for word in argument.words()]
        return ["trtllm-serve", "serve", place.model_path, *joined("--served_model_name", model.served_name), *words, *rest]

    def configuration(self, model: ModelPlan, pool: PoolPlan) -> dict[str, Any]:
        """See Engine. Nested as the LLM arguments are; the user's own arguments of the file are merged in."""
        check_batching(model, pool, chunked=model.chunked_prefill)
        values: dict[str, Any] = {
            **self._degrees(model, pool),
            "cuda_graph_config": None if model.enforce_eager else {"enable_padding": True, "max_batch_size": pool.max_num_seqs},
            "dtype": self._dtype(model),
            "enable_chunked_prefill": model.chunked_prefill,
            "enable_iter_perf_stats": True,
            "kv_cache_config": {
                "dtype": self._cache(model),
                "enable_block_reuse": model.prefix_caching,
                "free_gpu_memory_fraction": free_memory_fraction(pool),
                # Bytes of one rank.
                **({"host_cache_size": pool.pod.kv_tiers.cpu_bytes // (pool.tp * pool.pp * pool.dp)} if pool.pod.kv_tiers else {}),
            },
            "max_batch_size": pool.max_num_seqs,
            "max_num_tokens": pool.max_num_batched_tokens,
            "max_seq_len": pool.max_model_len,
            "return_perf_metrics": True,
        }
        self._check_file(values, model)
        for argument in self._rest(model):
            if argument.flag.in_file:
                _put(values, argument.flag.name.removeprefix("--").split("."), _file_value(argument))
        return values

    def _rest(self, model: ModelPlan) -> list[Argument]:
        return self.table.read(self.checked_rest(model), model.engine_version, field=f"models.{model.served_name}.extra_args")

    def _check_file(self, values: Mapping[str, Any], model: ModelPlan) -> None:
        """Each rendered argument of the file against the table, which knows a few of them as options of the command only."""
        for path, value in _leaves(values):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            switch = isinstance(value, bool) and self.table.accepts(f"--{path}", model.engine_version) and self.table.spellings[f"--{path}"][0].is_switch
            self.table.read([f"--{path}", *([] if switch else [text])], model.engine_version, field=f"models.{model.served_name}")

    def _degrees(self, model: ModelPlan, pool: PoolPlan) -> dict[str, Any]:
        """Data parallelism is that of attention: ranks of one group hold whole attention layers, and experts are spread over all of them."""
        if pool.dp > 1 and (pool.tp > 1 or pool.ep != pool.dp):
            raise refuse(
                model, "parallelism", "data parallelism inside a replica is that of attention over the ranks that share the experts", value=f"tp {pool.tp}, dp {pool.dp}, ep {pool.ep}",
                fix=f"set tp 1, dp {pool.dp} and ep {pool.dp}, or dp 1",
            )  # fmt: skip
        ranks = pool.tp * pool.dp
        degrees: dict[str, Any] = {"tensor_parallel_size": ranks, "pipeline_parallel_size": pool.pp}
        if pool.ep > 1:
            degrees["moe_expert_parallel_size"] = pool.ep
        if pool.dp > 1:
            degrees["enable_attention_dp"] = True
        return degrees

    def _dtype(self, model: ModelPlan) -> str:
        if model.weights in ("bf16", "fp16"):
            return {"bf16": "bfloat16", "fp16": "float16"}[model.weights]
        if model.checkpoint_quantized:
            return "auto"
        raise refuse(
            model, "quantization", f"TensorRT-LLM does not quantize to {model.weights} while loading", value=model.weights,
            fix="use a checkpoint that is already quantized, or bf16",
        )  # fmt: skip

    def _cache(self, model: ModelPlan) -> str:
        if model.kv_cache not in _KV_CACHE:
            raise refuse(model, "kv_cache", f"TensorRT-LLM keeps no {model.kv_cache} cache", value=model.kv_cache, fix="use auto or fp8")
        return _KV_CACHE[model.kv_cache]

    def environment(self, model: ModelPlan, pool: PoolPlan) -> dict[str, str]:
        """See Engine. Weights are local, so nothing is looked up on a hub; caches stay under HOME."""
        return {"HF_HUB_OFFLINE": "1", "HOME": self.home, "LOGNAME": "trtllm", "USER": "trtllm"}

    def caveats(self, *, version: str, image: str, device: Device, efa: bool) -> tuple[str, ...]:
        """See Engine."""
        return (
            f"TensorRT-LLM {version} is a release candidate, and its arguments were checked against its main branch, not against {image}; start one replica before you rely on it",
            f"{image} is made to run as root; pods run as user {self.user_id} with HOME and USER set, which that image was not tested with",
        )


def free_memory_fraction(pool: PoolPlan) -> float:
    """`free_gpu_memory_fraction` that gives the planned cache (FC-22), rounded down to hundredths.

    The engine takes this share of what is free once weights and workspace are there, whereas the plan's utilization is a
    share of the whole card: f = (u x total - weights - workspace) / (total - weights - workspace).
    """
    memory = pool.memory
    free = memory.device_memory_bytes - memory.weights_bytes_per_gpu - memory.activation_bytes_per_gpu - memory.runtime_bytes_per_gpu
    return math.floor(memory.kv_cache_bytes_per_gpu / free * 100) / 100 if free > 0 else 0.0


def _leaves(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """(dotted path, value) of each argument that has a value."""
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            found += _leaves(value, f"{prefix}{key}.")
        elif value is not None:
            found.append((prefix + key, value))
    return found


def _put(values: dict[str, Any], path: list[str], value: Any) -> None:
    *parents, last = path
    for key in parents:
        inner = values.get(key)
        values[key] = inner if isinstance(inner, dict) else {}
        values = values[key]
    values[last] = value


def _file_value(argument: Argument) -> Any:
    """The value as the file spells it: numbers, truth values, lists and objects as such, all else as text."""
    text = argument.values[0]
    kind = argument.flag.type
    if kind in ("int", "float"):
        return int(text) if kind == "int" else float(text)
    if kind == "json":
        return json.loads(text)
    return {"true": True, "false": False}.get(text, text) if "true" in argument.flag.choices else text
