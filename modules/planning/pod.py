"""Resources of one serving pod: its share of a node, shared memory and the weight cache (FC-16, FC-17)."""

from __future__ import annotations

from typing import Literal

from inferform.catalog.types import Instance
from inferform.errors import Problem
from inferform.plan import PodPlan
from inferform.plan_nodes import LoadPlan
from inferform.quantities import GIB, format_bytes
from inferform.spec import ModelSpec

MIB = 2**20
# Node agents (network, storage, GPU plugin, metrics, logs) and the kubelet's own share, as EKS reserves it.
_AGENT_CPU_MILLIS = 400
_AGENT_BYTES = GIB
_EVICTION_BYTES = 100 * MIB
# The kernel keeps part of what the instance type is sold with.
KERNEL_SHARE = 0.03
# NCCL and the engine's worker processes meet in /dev/shm.
_SHM_ONE_GPU, _SHM_PER_GPU, _SHM_MOST = 2 * GIB, 4 * GIB, 32 * GIB
# Assumed, not measured: PyTorch with a CUDA context and the API server beside it hold less than this with no weights on the host.
_LEAST_PROCESS_BYTES = 3 * GIB
CACHE_FACTOR = 1.2
WEIGHTS_FROM: dict[str, Literal["store", "peers", "lustre"]] = {"disk": "store", "root_volume": "store", "peers": "peers", "lustre": "lustre"}


def reserved_cpu_millis(vcpus: int) -> int:
    """CPU that the kubelet keeps on EKS: 6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest."""
    steps = ((1, 60.0), (1, 10.0), (2, 5.0), (max(0, vcpus - 4), 2.5))
    left, total = vcpus, 0.0
    for cores, millis in steps:
        taken = min(left, cores)
        total += taken * millis
        left -= taken
    return round(total)


def reserved_bytes(max_pods: int) -> int:
    """Memory that the kubelet keeps on EKS: 255 MiB, and 11 MiB for each pod that may run."""
    return 255 * MIB + 11 * MIB * max_pods


def plan_pod(
    field: str, spec: ModelSpec, instance: Instance, *, gpus: int, pods_per_replica: int, pods_per_node: int, max_pods: int, load: LoadPlan,
    ephemeral_bytes: int, problems: list[Problem],
) -> PodPlan:  # fmt: skip
    """One pod's GPUs, CPU, memory (shared memory inside), and cache of weights."""
    world = gpus * pods_per_replica
    shm = spec.shm if spec.shm is not None else _SHM_ONE_GPU if world <= 1 else min(_SHM_MOST, _SHM_PER_GPU * gpus)
    cpu = (instance.vcpus * 1000 - reserved_cpu_millis(instance.vcpus) - _AGENT_CPU_MILLIS) // pods_per_node // 10 * 10
    kept = reserved_bytes(max_pods) + _EVICTION_BYTES + _AGENT_BYTES
    memory = int((instance.memory_bytes * (1 - KERNEL_SHARE) - kept) / pods_per_node) // MIB * MIB
    left = memory - shm
    if shm < memory and gpus and spec.hardware.sharing is not None and left < _LEAST_PROCESS_BYTES:
        problems.append(
            Problem(
                f"leaves each engine process {format_bytes(left)} of memory on {instance.name}, and one with its server needs {format_bytes(_LEAST_PROCESS_BYTES)}",
                f"{field}.hardware.sharing", value=str(pods_per_node), fix="set fewer replicas, a smaller shm, or choose a larger type in hardware.instance_types",
            )
        )  # fmt: skip
    if shm >= memory:
        problems.append(
            Problem(
                f"does not fit the pod's {format_bytes(memory)} on {instance.name}",
                f"{field}.shm",
                value=format_bytes(shm),
                fix=f"set at most {format_bytes(memory // 2)}",
            )
        )
    cache = spec.model_cache if spec.model_cache is not None else round(load.weights_bytes * CACHE_FACTOR)
    source = WEIGHTS_FROM[load.path]
    if cache > ephemeral_bytes and source != "lustre":
        fix = "choose a type with local disks, or set nodes.root_size" if not instance.local_nvme_count else "choose a type with larger local disks"
        problems.append(
            Problem(
                f"needs {format_bytes(cache)} of the node's {format_bytes(ephemeral_bytes)} for the weight cache",
                f"{field}.model_cache",
                value=format_bytes(cache),
                fix=fix,
            )
        )
    return PodPlan(
        pods_per_replica=pods_per_replica, gpus=gpus, cpu_millis=cpu, memory_bytes=memory, shm_bytes=shm, model_cache_bytes=cache, weights_from=source
    )
