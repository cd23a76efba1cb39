"""SGLang: `sglang.launch_server` from the plan, every flag checked against the table of the pinned release."""

from __future__ import annotations

import math
from collections.abc import Mapping

from inferform.engines.engine import Device, Place
from inferform.engines.flagged import Flagged, check_batching, joined, number, refuse
from inferform.engines.tiers import DISK_FILL, DISK_MOUNT, TierSupport
from inferform.errors import InputError, Problem
from inferform.plan import ModelPlan, PoolPlan

_HERE = Place("/models/weights")
RENDEZVOUS_PORT = 29501
_OWNED: Mapping[str, tuple[str, type]] = {
    "--tp-size": ("tp", int),
    "--pp-size": ("pp", int),
    "--context-length": ("max_model_len", int),
    "--max-running-requests": ("max_num_seqs", int),
    "--max-prefill-tokens": ("max_num_batched_tokens", int),
    "--kv-cache-dtype": ("kv_cache", str),
    "--quantization": ("quantization", str),
    "--disable-radix-cache": ("prefix_caching", bool),
}
_DEGREES = "set parallelism; the plan spreads replicas over GPUs and nodes"
_SIZED = "the plan sizes the KV cache; set gpu_memory_utilization"
_TIERED = "set kv_tiers; the plan counts it into the pod's memory and disk"
# The hierarchical cache counts in decimal GB.
_GB = 10**9
_REFUSED: Mapping[str, str] = {
    "--model-path": "set source",
    "--served-model-name": "the model's name in the spec is its served name",
    "--tokenizer-path": "the tokenizer comes with the model in the model store",
    "--host": "the pod listens on all its addresses",
    "--port": "the port is fixed; Services and probes rely on it",
    "--config": "a file could override checked flags; write them in the spec",
    "--api-key": "a secret in the spec would end in plain text; authenticate at the gateway",
    "--admin-api-key": "a secret in the spec would end in plain text; authenticate at the gateway",
    "--download-dir": "weights come from the node's cache",
    "--is-embedding": "set task",
    "--dp-size": "set parallelism.dp",
    "--attn-dp-size": "set parallelism.dp",
    "--ep-size": "set parallelism.ep",
    "--nnodes": _DEGREES,
    "--node-rank": _DEGREES,
    "--dist-init-addr": _DEGREES,
    "--mem-fraction-static": "set gpu_memory_utilization: it is a share of the whole card and is converted",
    "--max-total-tokens": _SIZED,
    "--chunked-prefill-size": "set max_num_batched_tokens and chunked_prefill",
    "--cuda-graph-backend-decode": "set enforce_eager",
    "--enable-metrics": "it is always on; scalers and alerts read the series",
    "--enable-hierarchical-cache": _TIERED,
    "--hicache-size": _TIERED,
    "--hicache-ratio": _TIERED,
    "--hicache-host-memory-fraction": _TIERED,
    "--hicache-storage-backend": _TIERED,
    "--smg-grpc-mode": "routes and probes speak HTTP",
    "--disaggregation-mode": "set topology",
}
_KV_CACHE = {"auto": "auto", "bf16": "bfloat16", "fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3", "fp8_e5m2": "fp8_e5m2"}
_KV_CACHE_SPEC = {"bfloat16": "bf16"}
_METHODS = {"gptq_marlin": "gptq", "awq_marlin": "awq", "modelopt_fp8": "fp8", "modelopt_fp4": "nvfp4"}


class Sglang(Flagged):
    """The SGLang engine."""

    name = "sglang"
    title = "SGLang"
    default_version = "0.5.23"
    table_version = "0.5.23"
    owned = _OWNED
    refused = _REFUSED
    kv_cache_names = _KV_CACHE_SPEC
    methods = _METHODS
    # The image has no user of its own for this; see `caveats`.
    user_id = 2000
    home = "/home/sglang"
    model_label = "model_name"

    def image(self, version: str, device: Device) -> str:
        """See Engine. Release images are tagged as the repository is (`v0.5.23`)."""
        if device == "cpu":
            raise InputError(Problem("has no CPU image that is rendered here", field="engine", value=self.name, fix="use vllm for CPU pools"))
        return f"lmsysorg/sglang:v{self.check_version(version)}"

    def online_quantization(self, version: str, weights: str) -> str | None:
        """See Engine. A 16-bit checkpoint is quantized to FP8 while it loads."""
        return "fp8" if weights == "fp8" else None

    def kv_tiers(self, version: str) -> TierSupport:
        """See Engine. The hierarchical cache, with files behind it."""
        return TierSupport()

    def command(self, model: ModelPlan, pool: PoolPlan, place: Place = _HERE) -> list[str]:
        """See Engine. Every value that steers memory or batching is explicit, so that a changed default changes nothing."""
        words = ["--host", "0.0.0.0", "--port", str(self.port), "--enable-metrics"]  # noqa: S104 - a pod is reached at its own address
        words += self._degrees(model, pool)
        words += self._precision(model)
        words += self._batching(model, pool)
        words += ["--cuda-graph-backend-decode", "disabled", "--cuda-graph-backend-prefill", "disabled"] if model.enforce_eager else []
        words += ["--is-embedding"] if model.task == "embed" else []
        if place.nodes > 1:
            words += ["--nnodes", str(place.nodes), "--node-rank", place.rank]
        self.check_words(words, model)
        # The leader's address is a variable of the pod, and a port follows it, so it is added after the check.
        words += ["--dist-init-addr", type(place.leader)(f"{place.leader}:{RENDEZVOUS_PORT}")] if place.nodes > 1 else []
        rest = self.checked_rest(model)
        launch = ["python3", "-m", "sglang.launch_server", "--model-path", place.model_path]
        return [*launch, *joined("--served-model-name", model.served_name), *words, *rest]

    def _degrees(self, model: ModelPlan, pool: PoolPlan) -> list[str]:
        """With experts over all ranks attention is data-parallel inside one group of tp x dp ranks; otherwise dp copies stand side by side."""
        world = pool.tp * pool.dp
        if pool.ep > 1 and pool.ep != world:
            raise refuse(model, "parallelism", f"SGLang spreads experts over all {world} ranks or over none", value=str(pool.ep), fix=f"set ep 1 or {world}")
        if pool.ep > 1:
            words = ["--tp-size", str(world), "--ep-size", str(pool.ep), *(["--attn-dp-size", str(pool.dp)] if pool.dp > 1 else [])]
        else:
            words = ["--tp-size", str(pool.tp), *(["--dp-size", str(pool.dp)] if pool.dp > 1 else [])]
        return [*words, *(["--pp-size", str(pool.pp)] if pool.pp > 1 else [])]

    def _precision(self, model: ModelPlan) -> list[str]:
        words = []
        if model.weights in ("bf16", "fp16"):
            words += ["--dtype", {"bf16": "bfloat16", "fp16": "float16"}[model.weights]]
        elif not model.checkpoint_quantized:
            method = self.online_quantization(model.engine_version, model.weights)
            if method is None:
                raise refuse(
                    model, "quantization", f"SGLang cannot quantize to {model.weights} while loading", value=model.weights,
                    fix="use fp8, or a checkpoint that is already quantized",
                )  # fmt: skip
            words += ["--quantization", method]
        if model.kv_cache not in _KV_CACHE:
            raise refuse(model, "kv_cache", f"SGLang keeps no {model.kv_cache} cache", value=model.kv_cache, fix="use auto, bf16 or fp8")
        return [*words, "--kv-cache-dtype", _KV_CACHE[model.kv_cache]]

    def _batching(self, model: ModelPlan, pool: PoolPlan) -> list[str]:
        chunked = model.chunked_prefill and model.task != "embed"
        check_batching(model, pool, chunked=chunked)
        # Ranks that share experts share these limits too: the engine divides them by the attention ranks, and the plan counts for one.
        ranks = pool.dp if pool.ep > 1 else 1
        return [
            *("--context-length", str(pool.max_model_len)),
            *("--max-running-requests", str(pool.max_num_seqs * ranks)),
            *("--max-prefill-tokens", str(pool.max_num_batched_tokens)),
            *("--chunked-prefill-size", str(pool.max_num_batched_tokens * ranks) if chunked else "-1"),
            *("--mem-fraction-static", number(static_fraction(pool))),
            *([] if model.prefix_caching and model.task != "embed" else ["--disable-radix-cache"]),
            *self._tiers(pool),
        ]

    def _tiers(self, pool: PoolPlan) -> list[str]:
        """Sizes are for each rank, in whole GB."""
        tiers = pool.pod.kv_tiers
        if tiers is None:
            return []
        words = ["--enable-hierarchical-cache", "--hicache-size", str(max(1, tiers.cpu_bytes // (pool.tp * pool.pp * pool.dp) // _GB))]
        return [*words, *(["--hicache-storage-backend", "file"] if tiers.disk_bytes else [])]

    def environment(self, model: ModelPlan, pool: PoolPlan) -> dict[str, str]:
        """See Engine. Weights are local, so nothing is looked up on a hub; caches stay under HOME."""
        values = {"HF_HUB_OFFLINE": "1", "HOME": self.home, "LOGNAME": "sglang", "USER": "sglang"}
        tiers = pool.pod.kv_tiers
        if tiers and tiers.disk_bytes:
            # Each rank removes its own oldest files above its share.
            share = int(tiers.disk_bytes * DISK_FILL) // (pool.tp * pool.pp * pool.dp)
            values |= {"SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR": DISK_MOUNT, "SGLANG_HICACHE_FILE_BACKEND_MAX_SIZE": str(share)}
        return values

    def caveats(self, *, version: str, image: str, device: Device, efa: bool) -> tuple[str, ...]:
        """See Engine."""
        found = [f"{image} is made to run as root; pods run as user {self.user_id} with HOME and USER set, which that image was not tested with"]
        if efa:
            found.append(f"{image} may hold no EFA libraries, so NCCL between nodes would fall back to TCP; set image to one that has aws-ofi-nccl")
        return tuple(found)


def static_fraction(pool: PoolPlan) -> float:
    """`mem_fraction_static` that gives the planned cache: weights, context and cache as a share of the card, rounded down.

    Activations and CUDA graphs live outside of it; the plan's utilization is a share of the card that includes them.
    """
    memory = pool.memory
    static = memory.weights_bytes_per_gpu + memory.runtime_bytes_per_gpu + memory.kv_cache_bytes_per_gpu
    return math.floor(static / memory.device_memory_bytes * 1000) / 1000
