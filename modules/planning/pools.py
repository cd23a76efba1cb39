"""One pool of the plan, put together from a choice."""

from __future__ import annotations

from dataclasses import dataclass

from inferform.errors import Problem
from inferform.plan import Percentiles, PodPlan, PoolPlan
from inferform.plan_nodes import Count, LoadPlan
from inferform.planning.candidates import Option
from inferform.planning.kv_tiers import Ranks, Tiered, plan_kv_tiers, support_of, with_tiers
from inferform.planning.lifecycle import drain_s, plan_lifecycle
from inferform.planning.loading import checkpoint_bytes, load_plan
from inferform.planning.nodes import Buying, plan_nodes
from inferform.planning.pod import plan_pod
from inferform.planning.prepare import Prepared
from inferform.planning.scaling import plan_scaling
from inferform.planning.schedule import plan_schedule
from inferform.planning.sharing import sharing_plan, utilization
from inferform.sizing.layouts import planned
from inferform.sizing.queueing import Latency, Point
from inferform.sizing.workload import Demand
from inferform.spec import Disaggregation


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool, the operating point it was planned at, and what a reader should know about it."""

    plan: PoolPlan
    point: Point
    load: LoadPlan
    notes: tuple[str, ...] = ()


def plan_pool(prepared: Prepared, demand: Demand, option: Option, role: str, *, ttft: Latency | None, tpot: Latency | None, problems: list[Problem]) -> Pool:
    """The pool of one role; `ttft` and `tpot` are given where another pool of the model decides them."""
    choice, counted = option.choice, option.counted
    fit, instance, fleet = choice.fit, choice.instance, choice.fleet
    cut = fit.cut
    point = planned(fit, demand, prepared.engine, demand.requests_per_s / counted.replicas.steady / choice.dp)
    nodes = Count(**{k: sum(getattr(p.nodes, k) for p in option.parts) for k in ("min", "steady", "max")})
    infrastructure = plan_nodes(
        f"{prepared.field}.nodes", prepared.spec.nodes, prepared.site, instance, option.parts, nodes=nodes, nodes_per_replica=fleet.nodes_per_replica,
        buying=Buying(f"{prepared.field}.capacity" if prepared.spec.capacity else "capacity", prepared.limits.capacity), sharing=sharing_plan(instance),
        problems=problems,
    )  # fmt: skip
    downloaded = checkpoint_bytes(prepared.model, cut.weights, as_published=prepared.online(cut.weights))
    load = load_plan(
        prepared.model, instance, downloaded, nodes_per_replica=fleet.nodes_per_replica, enforce_eager=prepared.spec.enforce_eager,
        engine=prepared.settings.engine.name, sources=prepared.sources,
    )  # fmt: skip
    gpus = cut.tp * cut.pp * choice.dp // fleet.nodes_per_replica if instance.gpu else 0
    engine = prepared.settings.engine
    if fleet.nodes_per_replica > 1 and engine.one_node:
        problems.append(
            Problem(
                f"a replica on {fleet.nodes_per_replica} x {instance.name}: {engine.name} {engine.one_node}", f"{prepared.field}.engine", value=engine.name,
                fix="use vllm or sglang, or hardware of which one node holds the model",
            )
        )  # fmt: skip
    pod = plan_pod(
        prepared.field, prepared.spec, instance, gpus=gpus, pods_per_replica=fleet.nodes_per_replica, pods_per_node=fleet.replicas_per_node,
        max_pods=infrastructure.max_pods, load=load, ephemeral_bytes=infrastructure.ephemeral_storage_bytes, problems=problems,
    )  # fmt: skip
    tiered = _tiered(prepared, demand, option, role, pod, ephemeral_bytes=infrastructure.ephemeral_storage_bytes, problems=problems)
    load = with_tiers(load, tiered.pod)
    shown_ttft, shown_tpot = ttft or point.ttft, tpot or point.tpot
    output = longest_output(prepared)
    slowest = shown_tpot.p95 or shown_ttft.p95
    lifecycle = plan_lifecycle(
        f"{prepared.field}.lifecycle", prepared.spec.lifecycle, prepared.settings.engine, prepared.settings.version, load_s=load.total_s,
        drain=drain_s(output, 1 / slowest), streaming=prepared.streaming, nodes=nodes, replicas=counted.replicas, nodes_per_replica=fleet.nodes_per_replica,
        replicas_per_node=fleet.replicas_per_node, problems=problems,
    )  # fmt: skip
    scaling_field = f"{prepared.field}.scaling" if prepared.spec.scaling else "scaling"
    scaling = plan_scaling(
        scaling_field, prepared.limits.scaling, replicas=counted.replicas, load=load, fit=fit, rate=choice.rate, demand=demand, prefix_caching=prepared.engine.prefix_caching,
        embed=prepared.task == "embed", problems=problems,
    )  # fmt: skip
    if prepared.limits.capacity.warm_standby and scaling.kind != "fixed":
        # The steady count holds the spare ones; what follows the load must leave them standing.
        scaling = scaling.model_copy(update={"standby": prepared.limits.capacity.warm_standby})
    schedule = plan_schedule(
        f"{prepared.field}.workload.schedule", prepared.spec.workload.schedule, scaler=scaling.kind, replicas=counted.replicas, nodes=nodes,
        standby=prepared.limits.capacity.warm_standby, load=load, nodes_per_replica=fleet.nodes_per_replica, replicas_per_node=fleet.replicas_per_node,
        problems=problems,
    )  # fmt: skip
    best = fit.best
    plan = PoolPlan(
        role=role, instance_type=instance.name, gpu=cut.gpu.name if instance.gpu else None, gpu_memory_bytes=fit.memory.device_memory_bytes if instance.gpu else 0,
        compute_capability=cut.gpu.compute_capability, nodes=nodes, replicas=counted.replicas, nodes_per_replica=fleet.nodes_per_replica,
        replicas_per_node=fleet.replicas_per_node, tp=cut.tp, pp=cut.pp, dp=choice.dp, ep=cut.ep, max_model_len=prepared.engine.max_model_len,
        max_num_seqs=fit.max_num_seqs, max_num_batched_tokens=fit.max_num_batched_tokens, gpu_memory_utilization=utilization(prepared.engine.utilization, infrastructure.sharing),
        kv_cache_tokens=fit.memory.kv_cache_tokens, ttft_ms=milliseconds(shown_ttft), tpot_ms=milliseconds(shown_tpot),
        requests_per_s=round(choice.rate, 4), output_tokens_per_s=round(choice.rate * demand.output.mean, 2), concurrency=round(best.concurrency * choice.dp, 2),
        memory=fit.memory, purchase=option.parts, infrastructure=infrastructure, lifecycle=lifecycle, scaling=scaling, pod=tiered.pod,
        schedule=schedule,
    )  # fmt: skip
    return Pool(plan, point, load, tiered.notes)


def _tiered(prepared: Prepared, demand: Demand, option: Option, role: str, pod: PodPlan, *, ephemeral_bytes: int, problems: list[Problem]) -> Tiered:
    """The pod with the KV tiers that the spec asks for; decode replicas have none, because their prompts' blocks come from prefill."""
    if role == "decode":
        return Tiered(pod, ())
    choice, cut = option.choice, option.choice.fit.cut
    topology = prepared.spec.topology
    backend, support = support_of(prepared.settings.engine, prepared.settings.version, topology.runtime if isinstance(topology, Disaggregation) else None)
    return plan_kv_tiers(
        f"{prepared.field}.kv_tiers", prepared.spec.kv_tiers, pod, backend=backend, support=support, model=prepared.model, memory=choice.fit.memory, instance=choice.instance,
        kv_cache=prepared.engine.kv_cache, ranks=Ranks(cut.tp, cut.pp, choice.dp), pods_per_node=choice.fleet.replicas_per_node, ephemeral_bytes=ephemeral_bytes,
        prompt_tokens_per_s=choice.rate * (demand.prompt.mean - demand.shared_prefix_tokens), problems=problems,
    )  # fmt: skip


def longest_output(prepared: Prepared) -> int:
    """Tokens of the longest answer that stopping waits for: the workload's 95th percentile, at most the context."""
    return int(min(prepared.demand.output.p95, prepared.engine.max_model_len))


def milliseconds(latency: Latency) -> Percentiles:
    """Seconds as the plan states them."""
    return Percentiles(p50=round(latency.p50 * 1e3, 2), p95=round(latency.p95 * 1e3, 2), p99=round(latency.p99 * 1e3, 2))
