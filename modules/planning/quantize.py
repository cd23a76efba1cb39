"""The job that makes a quantized checkpoint: on the cheapest type that holds the original in memory, one layer of it on the GPU.

llm-compressor calibrates layer by layer: weights stay in host memory and come to the GPU one layer at a time, so that memory of
the host and not of the GPU decides (published wheel llmcompressor 0.14.0.1, sequential pipeline; read 2026-12-01).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from inferform.catalog.gpus import find_gpu
from inferform.catalog.instances import find_instance, gpu_instances
from inferform.catalog.types import Gpu, Instance, Model, Price
from inferform.engines import find_engine
from inferform.errors import InputError, Problem
from inferform.plan_quantize import QuantizePlan
from inferform.planning.loading import checkpoint_bytes
from inferform.planning.nodes import offered_zones
from inferform.planning.pod import reserved_cpu_millis
from inferform.planning.prepare import Prepared
from inferform.quantities import GIB, format_bytes
from inferform.sizing.precision import accuracy_class
from inferform.spec_quantize import Quantize

LIBRARY = "llmcompressor==0.14.0.1"
# Its torch (at most 2.14.0) and transformers (at most 5.17) are those of this image (published wheel vllm 0.33.0: torch 2.14.0).
_IMAGE_VERSION = "0.33.0"
# The original in 16 bits, a copy of the layer in work, cached activations, and the process.
_HOST_FACTOR, _HOST_BYTES = 1.25, 16 * GIB
# A layer in 16 bits, its Hessians or search copies, and the activations of a batch.
_LAYER_FACTOR, _GPU_BYTES = 6.0, 8 * GIB
# bf16 arithmetic.
_LEAST_CAPABILITY = 8.0
_INSTALL_BYTES, _IMAGES_BYTES, _DISK_SHARE = 12 * GIB, 40 * GIB, 0.85
# Forward passes over the samples: calibration itself, and for awq the search over 20 scales, for gptq the inverse Hessians.
_PASSES = {"awq": 24.0, "gptq": 4.0, "fp8": 1.0, "nvfp4": 2.0}
_FLOPS_SHARE, _BYTES_PER_S, _START_S = 0.3, 0.5e9, 900.0
_SHARES = {"near_lossless": 0.99, "small_loss": 0.96}
_AGENTS_BYTES, _AGENTS_CPU_MILLIS = 4 * GIB, 500


def plan_quantize(prepared: Prepared, zones: Sequence[str], problems: list[Problem]) -> QuantizePlan | None:
    """The job that the spec asks for; `zones` are those of the model's pools, where the network is."""
    asked = prepared.spec.quantize
    if asked is None:
        return None
    field, model = f"{prepared.field}.quantize", prepared.model
    method = asked.method.value
    if model.encoder or prepared.settings.engine.name == "tensorrt-llm":
        who = f"{model.id} is an encoder" if model.encoder else "TensorRT-LLM does not load the checkpoints of llm-compressor"
        problems.append(
            Problem(who, field, value=method, fix="leave quantize out" if model.encoder else "use vllm or sglang, or a checkpoint of ModelOpt as source")
        )
        return None
    base = checkpoint_bytes(model, "bf16", as_published=True)
    types = _types(asked, field, problems)
    host = int(base * _HOST_FACTOR) + _HOST_BYTES
    disk = base + checkpoint_bytes(model, method, as_published=False) + _INSTALL_BYTES
    found = [(price, instance, gpu) for instance, gpu, price in _offers(prepared, types, zones) if _fits(instance, gpu, model, host=host, base=base)]
    if not found:
        if types:
            problems.append(
                Problem(
                    f"needs {format_bytes(host)} of host memory and a GPU of {_gpu_bytes(model, base) / GIB:.0f} GiB in {', '.join(zones)}, which no type offers", field,
                    value=", ".join(asked.instance_types) or None, fix="name larger types, or take a checkpoint that is already quantized as source",
                )
            )  # fmt: skip
        return None
    price, instance, gpu = min(found, key=lambda one: (one[0].usd_per_hour * _hours(model, one[2], asked, base), one[1].name))
    local = instance.local_nvme_bytes * _DISK_SHARE - _IMAGES_BYTES >= disk
    share = asked.evaluation.min_score_share
    nodes = prepared.spec.nodes
    return QuantizePlan(
        method=method, group_size=asked.group_size, data_uri=asked.data.uri, data_hub=asked.data.hub, data_split=asked.data.split, data_field=asked.data.field,
        samples=asked.samples, sample_tokens=asked.sample_tokens, held_out=asked.evaluation.held_out,
        min_score_share=share if share is not None else _SHARES[accuracy_class(method)],
        image=asked.image or find_engine("vllm").image(_IMAGE_VERSION, "gpu"), installs=None if asked.image else LIBRARY, instance_type=instance.name, gpu=gpu.name,
        vcpus=instance.vcpus, cpu_millis=(instance.vcpus * 1000 - reserved_cpu_millis(instance.vcpus) - _AGENTS_CPU_MILLIS) // 10 * 10,
        memory_bytes=int(instance.memory_bytes * 0.95 - _AGENTS_BYTES) // 2**20 * 2**20, disk_bytes=math.ceil(disk / GIB) * GIB, local_disks=local,
        root_volume_bytes=nodes.root_size if local else math.ceil((disk + _IMAGES_BYTES) / _DISK_SHARE / GIB) * GIB, os=nodes.os,
        zones=tuple(z for z in sorted(zones) if z in offered_zones(instance, prepared.site.region)), taint_key=nodes.taint_key, tenant=prepared.site.tenant,
        hours=round(_hours(model, gpu, asked, base), 2), usd_per_hour=price.usd_per_hour, price_as_of=price.as_of, price_source=price.source,
    )  # fmt: skip


def summary(plan: QuantizePlan) -> str:
    """What it costs, once."""
    data = plan.data_uri or f"{plan.data_hub} ({plan.data_split})"
    return (
        f"quantized to {plan.method} by a job on {plan.instance_type} at ${plan.usd_per_hour:,.2f} an hour, about {plan.hours:.1f} h and ${plan.usd_per_hour * plan.hours:,.2f} once "
        f"(estimated): {plan.samples} prompts of {data}; pods load the result only where it keeps {plan.min_score_share:.0%} of the score"
    )


def quantize_warnings(name: str, plan: QuantizePlan) -> list[str]:
    """What a user should know before the job runs."""
    found = []
    if plan.installs:
        found.append(
            f"{name}: its quantization job installs {plan.installs} into {plan.image} from the package index when it starts; set quantize.image to an image that has it"
        )
    if plan.data_uri:
        found.append(f"{name}: the quantization job may read {plan.data_uri}; a bucket of another account, or one with a key of its own, must let it in too")
    return found


def _types(asked: Quantize, field: str, problems: list[Problem]) -> tuple[Instance, ...]:
    if not asked.instance_types:
        return tuple(gpu_instances())
    found = []
    for at, name in enumerate(asked.instance_types):
        try:
            found.append(find_instance(name))
        except InputError as err:
            problems += [Problem(p.message, f"{field}.instance_types.{at}", value=name, legal=p.legal, fix=p.fix) for p in err.problems]
    return tuple(found)


def _offers(prepared: Prepared, types: Sequence[Instance], zones: Sequence[str]) -> list[tuple[Instance, Gpu, Price]]:
    region = prepared.site.region
    found = []
    for instance in types:
        price = prepared.market.book.price(instance.name, region, "on_demand")
        if price is not None and instance.gpu and set(zones) & set(offered_zones(instance, region)):
            found.append((instance, find_gpu(instance.gpu), price))
    return found


def _fits(instance: Instance, gpu: Gpu, model: Model, *, host: int, base: int) -> bool:
    usable = instance.memory_bytes * 0.95 - _AGENTS_BYTES
    capability = gpu.compute_capability or 0.0
    return usable >= host and capability >= _LEAST_CAPABILITY and instance.gpu_share >= 1 and (gpu.memory_bytes or 0) >= _gpu_bytes(model, base)


def _gpu_bytes(model: Model, base: int) -> int:
    return int(base / model.layers * _LAYER_FACTOR) + _GPU_BYTES


def _hours(model: Model, gpu: Gpu, asked: Quantize, base: int) -> float:
    """Reading and writing the checkpoint, passes over the samples, and both comparisons."""
    tokens = asked.samples * asked.sample_tokens * _PASSES[asked.method.value] + 2 * asked.evaluation.held_out * asked.sample_tokens
    compute_s = tokens * 2.0 * model.total_params / ((gpu.fp16_flops or 1e14) * _FLOPS_SHARE)
    return (_START_S + 3 * base / _BYTES_PER_S + compute_s) / 3600.0
