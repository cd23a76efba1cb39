"""Encoders on CPU: the step model with the arithmetic and memory bandwidth of virtual CPUs.

The two rates are assumptions, not fits. An AMX core runs 16-bit products at about 5 TFLOP/s in theory and libraries reach a small
part of that on encoder shapes, so half a core (one vCPU) is taken at 0.15 TFLOP/s; types without AMX take a quarter of it. A
calibration with the user's own runs is the way to firm figures.
"""

from __future__ import annotations

from functools import lru_cache

from inferform.catalog.types import Gpu, Instance, Model
from inferform.plan import MemoryPlan
from inferform.sizing.roofline import StepCosts

FLOPS_PER_VCPU = 0.15e12
FLOPS_PER_VCPU_WITHOUT_AMX = 0.04e12
BYTES_PER_S_PER_VCPU = 3.5e9
SOURCE = "CPU step model: 0.15 TFLOP/s and 3.5 GB/s a vCPU assumed, not fitted on measured rows"
VENDOR = "cpu"
_STEP_S = 0.004
# Families on Sapphire Rapids or newer, which have AMX.
_AMX = ("c7i", "m7i", "r7i", "c8i", "m8i", "r8i")
# One vCPU is left to the API server and the node's agents.
_OTHER_VCPUS = 1
# Python, libraries and allocator beside the weights.
_PROCESS_BYTES = 3 * 2**30
_MEMORY_SHARE = 0.85


@lru_cache(maxsize=256)
def cpu_card(instance: Instance) -> Gpu:
    """The CPUs of an instance as one card, so that the search treats all hardware alike."""
    vcpus = max(1, instance.vcpus - _OTHER_VCPUS)
    rate = FLOPS_PER_VCPU if instance.name.startswith(_AMX) else FLOPS_PER_VCPU_WITHOUT_AMX
    return Gpu(
        name=f"{vcpus} vCPUs of {instance.name}", vendor=VENDOR, arch="cpu", compute_capability=None, memory_bytes=instance.memory_bytes,
        memory_bandwidth_bytes_per_s=vcpus * BYTES_PER_S_PER_VCPU, fp16_flops=vcpus * rate, fp8_flops=None, int8_ops=None, fp4_flops=None, native_fp8=False,
        native_fp4=False, nvlink_bytes_per_s_per_gpu=0.0, pcie_gen=None, source=SOURCE, read=instance.read,
    )  # fmt: skip


def cpu_costs(model: Model, card: Gpu) -> StepCosts:
    """Seconds of a step on the CPUs of one node, 16-bit weights."""
    core = max(0, model.total_params - model.vocab * model.hidden)
    # An encoder attends in both directions, 4 x hidden operations for each pair of tokens and layer; half its longest input stands for the pairs.
    pairs = 4.0 * model.hidden * model.layers * min(model.max_position, 512) / 2
    return StepCosts(
        stages=1, dense_s_per_token=(2 * core + pairs) / (card.fp16_flops or 1.0), dense_read_s=core * 2 / card.memory_bandwidth_bytes_per_s, experts=0,
        experts_per_token=0, expert_s_per_token=0.0, expert_read_s=0.0, expert_ranks=1, expert_share=1.0, head_s_per_sequence=0.0, head_read_s=0.0, attention=(), state_s_per_sequence=0.0,
        pointwise_s_per_token=0.0, message_bytes_per_token=0.0, sends=0.0, send_latency_s=0.0, ring_s=0.0, send_s_per_token=0.0, hop_s_per_token=0.0,
        launch_s=_STEP_S, eager_s=0.0, sequence_s=0.0, host_s_per_sequence=0.0,
    )  # fmt: skip


def cpu_memory(model: Model, card: Gpu, *, step_tokens: int, sequences: int) -> MemoryPlan:
    """Memory of the process on one node; an encoder keeps no KV cache."""
    device = card.memory_bytes or 0
    budget = int(device * _MEMORY_SHARE)
    weights = model.total_params * 2
    activation = step_tokens * (4 * model.hidden + model.intermediate) * 4 + step_tokens * model.heads * min(model.max_position, step_tokens) * 4
    needed = weights + activation + _PROCESS_BYTES
    fits = needed <= budget
    limits = () if fits else (f"weights, activations and process need {needed} bytes of {budget}",)
    return MemoryPlan(
        fits=fits, device_memory_bytes=device, budget_bytes=budget, weights_bytes_per_gpu=weights, activation_bytes_per_gpu=activation,
        runtime_bytes_per_gpu=_PROCESS_BYTES, kv_cache_bytes_per_gpu=0, kv_cache_bytes_per_token=0, kv_cache_tokens=0,
        max_concurrency=float(sequences if fits else 0), limits=limits,
    )  # fmt: skip
