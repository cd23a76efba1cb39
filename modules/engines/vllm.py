"""vLLM: `vllm serve` from the plan, every flag checked against the table of the pinned release."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from inferform.engines.engine import Device, Place, PodVariable, Signal
from inferform.engines.flags import Argument, FlagTable, load_table
from inferform.engines.images import read_image
from inferform.engines.versions import full_version, version_key
from inferform.errors import InputError, Problem
from inferform.plan import ModelPlan, PoolPlan

GIB = 2**30
_HERE = Place("/models/weights")
MASTER_PORT = 29501
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
    "--kv-cache-memory-bytes": "the plan sizes the KV cache; set gpu_memory_utilization",
    "--num-gpu-blocks-override": "the plan sizes the KV cache; set gpu_memory_utilization",
}
_KV_CACHE = {"bf16": "bfloat16", "fp16": "float16"}
_KV_CACHE_SPEC = {v: k for k, v in _KV_CACHE.items()}
# Quantizing a 16-bit checkpoint while it loads: the method's name and the first release whose registry was read with it.
_ONLINE = {"fp8": ("fp8", "0.11.0"), "int8": ("int8_per_channel_weight_only", "0.33.0")}
_CHECKPOINT_METHODS = {"fp8": "fp8", "awq": "awq", "auto_awq": "awq", "gptq": "gptq", "auto_gptq": "gptq", "mxfp4": "mxfp4", "modelopt_fp4": "nvfp4"}


class Vllm:
    """The vLLM engine."""

    name = "vllm"
    default_version = "0.33.0"
    port = 8000
    # The image has a prepared user 2000 in group 0 (vllm-project/vllm#40275); older images run under it as well with HOME and USER set.
    user_id = 2000
    group_id = 0
    home = "/home/vllm"
    health_path = "/health"

    @property
    def table(self) -> FlagTable:
        """The newest flag table; `since` and `last` tell what older releases take."""
        return load_table(self.name, self.default_version)

    def check_version(self, version: str, *, field: str = "engine_version") -> str:
        """See Engine. The range is from the oldest to the newest release whose flags were read."""
        low, high = self.table.oldest, self.table.version
        if not version_key(low) <= version_key(version) <= version_key(high):
            raise InputError(Problem("no flag table covers this vLLM version", field=field, value=version[:40], legal=(f"{low} to {high}",), fix=f"pin {high}"))
        return full_version(version)

    def image(self, version: str, device: Device) -> str:
        """See Engine. CPU images are published on the same registry from 0.17 on, before that in the project's public ECR."""
        tag = f"v{self.check_version(version)}"
        if device == "gpu":
            return f"vllm/vllm-openai:{tag}"
        return f"vllm/vllm-openai-cpu:{tag}" if version_key(version) >= version_key("0.17.0") else f"public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:{tag}"

    def pin(self, version: str | None, image: str | None, device: Device, *, field: str = "") -> tuple[str, str]:
        """See Engine."""
        prefix = f"{field}." if field else ""
        if version is not None:
            version = self.check_version(version, field=f"{prefix}engine_version")
        if image is None:
            version = version or self.default_version
            return version, self.image(version, device)
        tag = read_image(image, field=f"{prefix}image").tag
        tagged = _version_in(tag)
        if tagged and version and tagged != version:
            raise InputError(
                Problem(
                    f"the tag says {tagged}, engine_version says {version}",
                    field=f"{prefix}image",
                    value=image[:80],
                    fix="let both name the same release, or leave one out",
                )
            )
        return (self.check_version(tagged, field=f"{prefix}image") if tagged else version or self.default_version), image

    def accepts(self, flag: str, version: str) -> bool:
        """See Engine."""
        return self.table.accepts(flag, version)

    def online_quantization(self, version: str, weights: str) -> str | None:
        """See Engine."""
        method, since = _ONLINE.get(weights, ("", ""))
        return method if method and version_key(version) >= version_key(since) else None

    def split_extra_args(self, args: Sequence[str], version: str, *, field: str = "extra_args") -> tuple[dict[str, Any], tuple[str, ...]]:
        """See Engine. Keys: tp, pp, dp, expert_parallel, max_model_len, max_num_seqs, max_num_batched_tokens, gpu_memory_utilization,
        kv_cache, quantization, prefix_caching, chunked_prefill, enforce_eager, shutdown_timeout_s; values have the spec field's type."""
        owned: dict[str, Any] = {}
        rest: list[str] = []
        problems: list[Problem] = []
        for argument in self.table.read(args, version, field=field):
            name = argument.flag.name
            if name in _REFUSED:
                problems.append(Problem(f"{name} is not taken here", field=field, value=" ".join(argument.values)[:80] or None, fix=_REFUSED[name]))
            elif name in _OWNED:
                try:
                    owned[_OWNED[name][0]] = _owned_value(argument)
                except ValueError as error:
                    problems.append(Problem(f"{name}: {error}", field=field, value=" ".join(argument.values)[:80]))
            else:
                rest.extend(argument.words())
        if problems:
            # The value of a secret is never echoed.
            raise InputError(Problem(p.message, p.field, fix=p.fix) if p.message.startswith(("--api-key", "--hf-token")) else p for p in problems)
        return owned, tuple(rest)

    def command(self, model: ModelPlan, pool: PoolPlan, place: Place = _HERE) -> list[str]:
        """See Engine. Every value that steers memory or batching is explicit, so that a changed default changes nothing."""
        words = ["--port", str(self.port), "--tensor-parallel-size", str(pool.tp)]
        words += ["--pipeline-parallel-size", str(pool.pp)] if pool.pp > 1 else []
        words += ["--data-parallel-size", str(pool.dp)] if pool.dp > 1 else []
        words += ["--enable-expert-parallel"] if pool.ep > 1 else []
        words += self._precision(model)
        words += self._batching(model, pool)
        words += ["--enforce-eager"] if model.enforce_eager else []
        words += ["--runner", "pooling"] if model.task == "embed" else []
        if pool.lifecycle.shutdown_timeout_s is not None and self.accepts("--shutdown-timeout", model.engine_version):
            words += ["--shutdown-timeout", str(pool.lifecycle.shutdown_timeout_s)]
        if place.nodes > 1:
            # The short spelling of --node-rank: checkers of manifests take a pod variable for a wrong number after the long one.
            words += ["--distributed-executor-backend", "mp", "--nnodes", str(place.nodes), "-r", place.rank]
            words += ["--master-addr", place.leader, "--master-port", str(MASTER_PORT)]
            words += [] if place.rank == "0" else ["--headless"]
        self._check(words, model)
        # Extra arguments were split from owned ones by the planner; here they are checked once more, so that no plan can smuggle one in.
        owned, rest = self.split_extra_args(model.extra_args, model.engine_version, field=f"models.{model.served_name}.extra_args")
        if owned:
            raise InputError(Problem("holds flags that the plan owns", field=f"models.{model.served_name}.extra_args", value=", ".join(sorted(owned))))
        # A name that looks like a flag stays joined to its own.
        name = model.served_name
        named = [f"--served-model-name={name}"] if name.startswith("-") else ["--served-model-name", name]
        return ["vllm", "serve", place.model_path, *named, *words, *rest]

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
        where = f"models.{model.served_name}.max_num_batched_tokens"
        if not chunked and pool.max_num_batched_tokens < pool.max_model_len:
            raise InputError(
                Problem(
                    f"{pool.max_num_batched_tokens} is below max_model_len {pool.max_model_len} while chunked prefill is off",
                    field=where,
                    value=str(pool.max_num_batched_tokens),
                    fix=f"set at least {pool.max_model_len}, or turn chunked prefill on",
                )
            )
        if pool.max_num_batched_tokens < pool.max_num_seqs:
            raise InputError(
                Problem(f"{pool.max_num_batched_tokens} is below max_num_seqs {pool.max_num_seqs}", field=where, value=str(pool.max_num_batched_tokens))
            )
        return [
            *("--max-model-len", str(pool.max_model_len)),
            *("--max-num-seqs", str(pool.max_num_seqs)),
            *("--max-num-batched-tokens", str(pool.max_num_batched_tokens)),
            *("--gpu-memory-utilization", _number(pool.gpu_memory_utilization)),
            "--enable-prefix-caching" if caching else "--no-enable-prefix-caching",
            "--enable-chunked-prefill" if chunked else "--no-enable-chunked-prefill",
        ]

    def _check(self, words: Sequence[str], model: ModelPlan) -> None:
        """Each rendered flag against the table of the pinned release; a variable of the pod stands for a whole number or an address."""
        self.check_version(model.engine_version, field=f"models.{model.served_name}.engine_version")
        plain = ["0" if isinstance(word, PodVariable) else word for word in words]
        self.table.read(plain, model.engine_version, field=f"models.{model.served_name}")

    def environment(self, model: ModelPlan, pool: PoolPlan) -> dict[str, str]:
        """See Engine. Weights are local, so nothing is looked up on a hub; caches stay under HOME."""
        values = {"HF_HUB_OFFLINE": "1", "HOME": self.home, "LOGNAME": "vllm", "USER": "vllm", "VLLM_NO_USAGE_STATS": "1"}
        if pool.gpu is None:
            values["VLLM_CPU_KVCACHE_SPACE"] = str(max(1, math.ceil(pool.memory.kv_cache_bytes_per_gpu / GIB)))
        return values

    def pod_fields(self, pool: PoolPlan) -> dict[str, str]:
        """See Engine. Members of a group must agree on the address that each is reached at."""
        return {"VLLM_HOST_IP": "status.podIP"} if pool.nodes_per_replica > 1 else {}

    def metric(self, version: str, signal: Signal) -> str:
        """See Engine (FC-30)."""
        row = next(r for r in _metrics()[signal] if version_key(version) >= version_key(r["since"]))
        return row["name"] + ("_total" if row["kind"] == "counter" else "")

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


def _owned_value(argument: Argument) -> Any:
    kind = _OWNED[argument.flag.name][1]
    if kind is bool:
        return argument.positive
    text = argument.values[0]
    if kind is int:
        return _whole(text)
    if kind is float:
        return float(text)
    if argument.flag.name == "--kv-cache-dtype":
        return _KV_CACHE_SPEC.get(text, text)
    return _CHECKPOINT_METHODS.get(text, text)


def _whole(text: str) -> int:
    """A whole number as vLLM reads it: k, m and g count in thousands, capitals in powers of 1024."""
    factor = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    if text and text[-1] in factor:
        value = float(text[:-1]) * factor[text[-1]]
    elif text in ("auto", "-1"):
        raise ValueError("give a number; the plan sizes memory for it")
    else:
        value = float(text)
    if value != int(value) or value < 0:
        raise ValueError("wants a whole number")
    return int(value)


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _version_in(tag: str) -> str | None:
    """The release a tag names (`v0.19.0`, `0.19.0-x86_64`); None for tags that name none."""
    text = tag.removeprefix("v").split("-")[0]
    try:
        return full_version(text) if text.count(".") == 2 else None
    except InputError:
        return None


@cache
def _metrics() -> dict[str, list[dict[str, str]]]:
    text = files("inferform.engines").joinpath("data", "vllm-metrics.json").read_text(encoding="utf-8")
    signals: dict[str, list[dict[str, str]]] = json.loads(text)["signals"]
    return signals
