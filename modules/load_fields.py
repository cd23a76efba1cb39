"""What the fields of the spec are called and where they belong, for messages about names that are not fields."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from inferform.errors import Nearest
from inferform.spec import DeploymentSpec
from pydantic import BaseModel

# Names that people bring from engines, charts and older tools -> the field that holds it here.
ALIASES: dict[str, str] = {
    old: new
    for new, olds in {
        "max_model_len": "model_len context_length context_len context_window max_context max_seq_len max_sequence_length n_ctx",
        "max_num_seqs": "max_batch_size batch_size max_concurrency max_concurrent_requests",
        "max_num_batched_tokens": "max_batched_tokens max_num_tokens batched_tokens",
        "gpu_memory_utilization": "gpu_util gpu_utilization gpu_memory_fraction memory_fraction mem_fraction_static",
        "gpus": "gpu gpu_type gpu_types accelerator accelerators",
        "instance_types": "instance instance_type machine_type",
        "tp": "tensor_parallel tensor_parallel_size tp_size",
        "pp": "pipeline_parallel pipeline_parallel_size pp_size",
        "dp": "data_parallel data_parallel_size dp_size",
        "ep": "expert_parallel expert_parallel_size enable_expert_parallel ep_size",
        "min": "min_replicas minReplicas replicas replica_count minReplicaCount",
        "max": "max_replicas maxReplicas maxReplicaCount",
        "idle": "idleReplicaCount idle_replicas",
        "source": "model model_id model_name repo hf_repo checkpoint weights_path",
        "hf_token_secret": "hf_token token huggingface_token hugging_face_token hf_secret HF_TOKEN",
        "quantization": "dtype precision weights quant quantisation",
        "kv_cache": "kv_cache_dtype kv_dtype kv_cache_type",
        "peak_rps": "rps qps peak_qps requests_per_second request_rate",
        "ttft_p95": "ttft ttft_p99 time_to_first_token",
        "tpot_p95": "tpot tpot_p99 itl inter_token_latency time_per_output_token",
        "input_tokens": "prompt_tokens isl input_len prompt_length",
        "output_tokens": "completion_tokens osl output_len max_tokens",
        "shared_prefix_tokens": "prefix_tokens shared_prefix",
        "extra_args": "args flags engine_args extra_flags vllm_args additional_args",
        "engine_version": "vllm_version engineVersion",
        "prefix_caching": "prefix_cache enable_prefix_caching automatic_prefix_caching",
        "chunked_prefill": "enable_chunked_prefill",
        "enforce_eager": "eager",
        "environments": "environment envs overlays stages",
        "root_size": "volume_size root_volume_size disk_size",
        "scaling": "autoscaling autoscaler scaler",
        "gateway": "ingress route routes",
        "observability": "monitoring metrics alerts",
        "backend": "state_backend",
        "zones": "az azs availability_zones availability_zone",
        "usd_per_month": "monthly_usd max_usd monthly_budget cost_cap",
        "polling_interval": "pollingInterval",
        "scale_in_delay": "cooldown cooldown_period cooldownPeriod stabilization_window scale_down_delay",
        "grace": "termination_grace_period terminationGracePeriodSeconds grace_period",
        "pre_stop": "preStop pre_stop_delay",
        "apiVersion": "api_version version",
    }.items()
    for old in olds.split()
}


def _models_in(annotation: object) -> list[tuple[str, type[BaseModel]]]:
    """(path below the field, model) of every spec part that a field may hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [("", annotation)]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _models_in(args[0])
    if origin is dict:
        return [(".<name>" + below, model) for below, model in _models_in(args[1])]
    if origin is tuple:
        return [("[]" + below, model) for below, model in _models_in(args[0])]
    if origin in (Union, UnionType):
        return [found for arg in args for found in _models_in(arg)]
    return []


@cache
def parts() -> dict[str, type[BaseModel]]:
    """Every part of the spec by its path; `models.<name>.slo` -> Slo, the document itself by ""."""
    found: dict[str, type[BaseModel]] = {"": DeploymentSpec}
    open_paths = [""]
    while open_paths:
        path = open_paths.pop(0)
        for name, info in found[path].model_fields.items():
            for below, model in _models_in(info.annotation):
                full = f"{path}.{name}{below}".lstrip(".")
                found.setdefault(full, model)
                open_paths.append(full)
    return found


@cache
def part_of(pattern: str) -> type[BaseModel] | None:
    """The part of the spec that stands at a path pattern, None where no part does."""
    return parts().get(pattern)


def pattern_of(path: tuple[str | int, ...]) -> str:
    """The path pattern of a path: names of models become <name>, list positions []."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += "[]"
        else:
            text += "." + ("<name>" if text in (".models", ".environments") else key)
    return text.lstrip(".")


def nearest(name: str, known: Sequence[str]) -> str:
    """The known name that `name` is surely a slip of; empty where nothing is that close."""
    close = Nearest(name, tuple(known)).suggestions(1)
    return close[0] if close and difflib.SequenceMatcher(None, name.lower(), close[0].lower()).ratio() >= 0.6 else ""


def advice(name: str, path: tuple[str | int, ...]) -> str:
    """What to write instead of the unknown field `name` in the part at `path`; empty where nothing is close."""
    here = pattern_of(path)
    model = part_of(here)
    fields = tuple(model.model_fields) if model else ()
    wanted = ALIASES.get(name, name)
    if wanted in fields:
        return f"did you mean `{wanted}`?"
    elsewhere = [place for place, part in parts().items() if wanted in part.model_fields]
    if elsewhere:
        # The place that shares the longest way with where the person wrote it, then the shortest.
        best = max(elsewhere, key=lambda place: (_shared(place, here), -len(place)))
        if len(path) > 1 and path[0] == "models":
            best = best.replace("<name>", str(path[1]))
        return f"that is `{f'{best}.{wanted}'.lstrip('.')}`"
    close = nearest(name, fields)
    return f"did you mean `{close}`?" if close else ""


def _shared(one: str, other: str) -> int:
    count = 0
    for a, b in zip(one.split("."), other.split("."), strict=False):
        if a != b:
            break
        count += 1
    return count
