"""Tiers of the KV cache beside the GPU: memory and disk that a node has left, and how many tokens they hold.

Both tiers repeat what the tier above holds (blocks are copied on as they are made), so a tier smaller than the one above it adds
nothing. What auto takes is bounded by the prompts that arrive in ten minutes (memory) or an hour (disk): later ones are unlikely to
be asked again, and pinned memory is slow to set up.
"""

from __future__ import annotations

from dataclasses import dataclass

from inferform.catalog.types import Instance, Model
from inferform.engines import Engine
from inferform.engines.dynamo import KV_TIERS as DYNAMO_TIERS
from inferform.engines.tiers import TierSupport
from inferform.errors import Problem
from inferform.plan import MemoryPlan, PodPlan
from inferform.plan_cost import Part
from inferform.plan_nodes import LoadPlan
from inferform.plan_serving import HOME_BYTES, TMP_BYTES, TRIM_CPU_MILLIS, TRIM_MEMORY_BYTES, KvBackend, KvTiersPlan
from inferform.quantities import GIB, format_bytes
from inferform.sizing.kv_cache import cache_pool
from inferform.spec_serving import KvTiers

# Host memory of the engine itself: one process a GPU with its CUDA context and staging buffers, one for the server. An allowance, not measured.
_PROCESS_BYTES, _SERVER_BYTES = 8 * GIB, 4 * GIB
# The kernel's page cache must hold what is being read; a sixteenth of the pod, at most one shard of weights and some.
_PAGE_CACHE_SHARE, _PAGE_CACHE_MOST = 16, 16 * GIB
# The kubelet evicts pods when 15 % of the image file system is left (its default); images of engines take tens of GB beside it.
_DISK_SHARE, _IMAGES_BYTES = 0.85, 40 * GIB
_CPU_WINDOW_S, _DISK_WINDOW_S = 600.0, 3600.0
# Touching and registering host memory; assumed, half of what vLLM's source states for one file of shared memory (10 GiB a second).
_SET_UP_BYTES_PER_S = 5.0 * GIB


@dataclass(frozen=True, slots=True)
class Ranks:
    """How a replica is spread: ranks of one copy, and copies with caches of their own."""

    tp: int
    pp: int
    dp: int


@dataclass(frozen=True, slots=True)
class Tiered:
    """A pod with its tiers, and what a reader should know about them."""

    pod: PodPlan
    notes: tuple[str, ...]


def support_of(engine: Engine, version: str, runtime: str | None) -> tuple[KvBackend, TierSupport]:
    """Whose tiers a pool has: those of its engine, or of Dynamo where it runs the pool."""
    if runtime == "dynamo":
        return "dynamo", DYNAMO_TIERS
    backend: KvBackend = "vllm" if engine.name == "vllm" else "sglang" if engine.name == "sglang" else "tensorrt-llm"
    return backend, engine.kv_tiers(version)


def plan_kv_tiers(
    field: str, spec: KvTiers, pod: PodPlan, *, backend: KvBackend, support: TierSupport, model: Model, memory: MemoryPlan, instance: Instance, kv_cache: str,
    ranks: Ranks, pods_per_node: int, ephemeral_bytes: int, prompt_tokens_per_s: float, problems: list[Problem],
) -> Tiered:  # fmt: skip
    """The pod with room for the tiers that the spec asks for; what cannot be had or does not fit is a problem with both figures."""
    if spec.cpu is None:
        return Tiered(pod, ())
    faults = _unsupported(field, spec, support, model=model, pod=pod, instance=instance)
    problems += faults
    if faults:
        return Tiered(pod, ())
    token_bytes = _token_bytes(model, kv_cache, ranks, support)
    arriving = prompt_tokens_per_s * token_bytes
    notes: list[str] = []
    cpu = _size(
        f"{field}.cpu", spec.cpu, left=_memory_left(pod), above=memory.kv_cache_bytes_per_gpu * ranks.tp * ranks.pp * ranks.dp, wanted=arriving * _CPU_WINDOW_S,
        words=_Words("memory", "GPU cache", "ten minutes", instance.name, "choose a type with more memory, or fewer replicas a node"), notes=notes, problems=problems,
    )  # fmt: skip
    if not cpu:
        return Tiered(pod, tuple(notes))
    disk = 0
    if spec.disk is not None:
        disk = _size(
            f"{field}.disk", spec.disk, left=_disk_left(pod, ephemeral_bytes, pods_per_node), above=cpu, wanted=arriving * _DISK_WINDOW_S,
            words=_Words("local disk", "memory tier", "an hour", instance.name, "choose a type with larger local disks"), notes=notes, problems=problems,
        )  # fmt: skip
    tiers = KvTiersPlan(
        backend=backend, cpu_bytes=cpu, cpu_tokens=int(cpu / token_bytes), disk_bytes=disk, disk_tokens=int(disk / token_bytes),
        trimmed=disk > 0 and not support.bounded_disk,
    )  # fmt: skip
    changes: dict[str, object] = {"kv_tiers": tiers, "shm_bytes": pod.shm_bytes + (cpu if support.in_shm else 0)}
    if tiers.trimmed:
        # The pod as a whole keeps its share of the node.
        changes |= {"cpu_millis": pod.cpu_millis - TRIM_CPU_MILLIS, "memory_bytes": pod.memory_bytes - TRIM_MEMORY_BYTES}
    return Tiered(pod.model_copy(update=changes), (*notes, _summary(tiers)))


def with_tiers(load: LoadPlan, pod: PodPlan) -> LoadPlan:
    """The start of a replica that also sets its memory tier up: pages are touched and registered before the first request."""
    if pod.kv_tiers is None:
        return load
    more = round(pod.kv_tiers.cpu_bytes / _SET_UP_BYTES_PER_S, 1)

    def longer(part: Part, *fields: str) -> dict[str, float]:
        return {name: round(getattr(part, name) + more, 1) for name in fields}

    paths = tuple(path.model_copy(update=longer(path, "warmup_s", "ready_s")) for path in load.paths)
    return load.model_copy(update={**longer(load, "warmup_s", "total_s", "ready_s", "warm_s"), "paths": paths})


def _unsupported(field: str, spec: KvTiers, support: TierSupport, *, model: Model, pod: PodPlan, instance: Instance) -> list[Problem]:
    found = []
    if instance.gpu is None or model.encoder:
        found.append(Problem("an encoder keeps no cache between requests", field, fix="leave kv_tiers out"))
    elif support.cpu_fault:
        found.append(Problem(support.cpu_fault, f"{field}.cpu", fix="pin a newer engine version, or leave kv_tiers out"))
    elif pod.pods_per_replica > 1:
        found.append(
            Problem(
                f"a replica on {pod.pods_per_replica} nodes has no tier that all its ranks reach", field, fix="leave kv_tiers out, or use hardware of which one node holds the model"
            )
        )  # fmt: skip
    elif support.hybrid_fault and len({group.kind for group in model.attention if group.kind != "none"}) > 1:
        found.append(Problem(support.hybrid_fault, field, fix="pin a newer engine version, or leave kv_tiers out"))
    if spec.disk is not None and not found:
        if support.disk_fault:
            found.append(Problem(support.disk_fault, f"{field}.disk", fix="leave disk out"))
        elif not instance.local_nvme_count and spec.disk != "auto":
            found.append(
                Problem(
                    f"{instance.name} has no local disks, and reading blocks back from a network volume is slower than computing them",
                    f"{field}.disk", value=format_bytes(spec.disk), fix="choose a type with local disks, or leave disk out",
                )
            )  # fmt: skip
    return found


@dataclass(frozen=True, slots=True)
class _Words:
    what: str
    above: str
    window: str
    instance: str
    fix: str


def _size(field: str, asked: int | str, *, left: int, above: int, wanted: float, words: _Words, notes: list[str], problems: list[Problem]) -> int:
    """Bytes of one tier in whole GiB; 0 where auto finds none that helps."""
    if isinstance(asked, int):
        if asked > left:
            fix = f"set at most {max(0, left) // GIB}Gi, or {words.fix}" if left >= GIB else words.fix
            problems.append(
                Problem(
                    f"needs {format_bytes(asked)} of {words.what}, and a pod on {words.instance} has {format_bytes(max(0, left))} left", field,
                    value=format_bytes(asked), fix=fix,
                )
            )  # fmt: skip
            return 0
        if asked <= above:
            notes.append(f"{field} {format_bytes(asked)} repeats the {format_bytes(above)} of the {words.above} and adds little; make it larger")
        return asked // GIB * GIB
    if left <= above:
        notes.append(
            f"{field} auto: none, because the {format_bytes(max(0, left))} left on {words.instance} would only repeat the {format_bytes(above)} of the {words.above}"
        )
        return 0
    if wanted <= above:
        notes.append(
            f"{field} auto: none, because the {words.above} alone holds the prompts of {words.window} ({format_bytes(wanted)} of {format_bytes(above)})"
        )
        return 0
    return int(min(left, wanted)) // GIB * GIB


def _memory_left(pod: PodPlan) -> int:
    """What the pod's memory has beside shared memory, the engine's processes and the page cache."""
    page_cache = min(_PAGE_CACHE_MOST, pod.memory_bytes // _PAGE_CACHE_SHARE)
    return pod.memory_bytes - TRIM_MEMORY_BYTES - pod.shm_bytes - _SERVER_BYTES - _PROCESS_BYTES * max(1, pod.gpus) - page_cache


def _disk_left(pod: PodPlan, ephemeral_bytes: int, pods_per_node: int) -> int:
    """A pod's share of the disk beside images, the node's one copy of the weights, and the folders of its pods."""
    usable = int(ephemeral_bytes * _DISK_SHARE) - _IMAGES_BYTES - pod.model_cache_bytes
    return usable // pods_per_node - HOME_BYTES - TMP_BYTES


def _token_bytes(model: Model, kv_cache: str, ranks: Ranks, support: TierSupport) -> int:
    """Bytes of one token over all layers and ranks of one copy; every attention layer counts whole."""
    one_rank = cache_pool(model, ranks.tp, kv_cache, 0, model.layers, grouped=False).token_bytes
    latent = all(group.kind in {"mla", "none"} for group in model.attention)
    return max(1, one_rank * (1 if latent and support.one_latent and ranks.pp == 1 else ranks.tp))


def _summary(tiers: KvTiersPlan) -> str:
    disk = f", and {format_bytes(tiers.disk_bytes)} of local disk hold {tiers.disk_tokens:,}" if tiers.disk_bytes else ""
    return f"KV blocks that leave the GPU stay: {format_bytes(tiers.cpu_bytes)} of each pod's memory hold {tiers.cpu_tokens:,} tokens{disk}"
