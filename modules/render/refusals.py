"""Plans that no set of objects can honour. They are refused before anything is rendered, all reasons at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from inferform.engines import dynamo, engine_names, find_engine
from inferform.errors import InputError, Problem
from inferform.plan import DeploymentPlan, ModelPlan, PoolPlan
from inferform.render import naming, weights
from inferform.render.router import follows_prefixes, has_graph, has_router, pods_service, role_service, roles


def refuse_what_cannot_run(plan: DeploymentPlan) -> None:
    """Raises InputError with every contradiction of the plan."""
    problems = [*_names(plan), *_gateway(plan)]
    for name, model in sorted(plan.models.items()):
        problems += _model(name, model)
        for pool_name, pool in sorted(model.pools.items()):
            problems += _pool(plan, f"models.{name}.pools.{pool_name}", pool)
    if problems:
        raise InputError(problems)


def _names(plan: DeploymentPlan) -> Iterator[Problem]:
    counts = Counter(workload.name for workload in naming.workloads(plan))
    for name, count in counts.items():
        if count > 1:
            yield Problem(f"{count} pools would share the name {name}", field="models", fix="rename one of the models")
    limits = plan.gateway.limits if plan.gateway.enabled else None
    services = Counter(
        [
            *plan.models,
            *(role_service(name, model, role) for name, model in plan.models.items() if has_router(model) or has_graph(model) for role in roles(model)),
            *(pods_service(name) for name in plan.models if limits and limits.tokens_per_hour is not None),
        ]
    )
    for name, count in services.items():
        if count > 1:
            yield Problem(f"{count} services would share the name {name}", field="models", fix="rename one of the models")
    for workload in naming.workloads(plan):
        if workload.model.engine in engine_names() and not find_engine(workload.model.engine).model_label:
            for other in sorted(name for name in counts if name.startswith(f"{workload.name}-")):
                yield Problem(f"metrics of {workload.name} and {other} could not be told apart", field="models", fix="rename one of the models")


def _model(name: str, model: ModelPlan) -> Iterator[Problem]:
    where = f"models.{name}"
    if model.engine not in engine_names():
        yield Problem("cannot be rendered", field=f"{where}.engine", value=model.engine, legal=engine_names(), fix="use vllm")
    if model.topology == "disaggregated":
        yield from _disaggregated(where, model)
    if follows_prefixes(model):
        yield from _routed(where, model)
    if model.gated and model.hf_token_secret is None and weights.is_on_hub(model):
        yield Problem(
            "is gated, so its download needs a token", field=f"{where}.hf_token_secret", fix="name the Secret that holds it: {name: hf-token, key: token}"
        )


def _routed(where: str, model: ModelPlan) -> Iterator[Problem]:
    """What a router before equal replicas needs."""
    if model.engine != "vllm" or model.task == "embed":
        what = "embedding models" if model.task == "embed" else model.engine
        yield Problem(
            f"the router was only read to speak to vLLM's completions, not to {what}", field=f"{where}.routing", value="prefix", fix="leave routing out"
        )
    for name, pool in sorted(model.pools.items()):
        if pool.scaling.kind != "fixed" and (pool.scaling.min == 0 or pool.scaling.idle == 0):
            yield Problem(
                "a router without replicas answers with errors", field=f"{where}.pools.{name}.scaling", value="0", fix="keep one replica, or leave routing out"
            )


def _disaggregated(where: str, model: ModelPlan) -> Iterator[Problem]:
    """What the router and the transfer of caches need."""
    roles = sorted(pool.role for pool in model.pools.values())
    if roles != ["decode", "prefill"]:
        yield Problem("needs one prefill and one decode pool", field=f"{where}.topology", value=", ".join(roles), fix="set topology: {prefill: 1, decode: 4}")
        return
    if model.disaggregation is None:
        yield Problem("is not decided", field=f"{where}.topology.runtime", legal=("vllm-router", "dynamo"), fix="set runtime: vllm-router")
    if has_graph(model) and model.engine == "vllm":
        if model.engine_version != dynamo.VLLM_VERSION:
            fix = f"set engine_version: {dynamo.VLLM_VERSION}"
            yield Problem(f"Dynamo {dynamo.VERSION} runs vLLM {dynamo.VLLM_VERSION}", field=f"{where}.engine_version", value=model.engine_version, fix=fix)
        elif model.image != find_engine(model.engine).image(model.engine_version, "gpu"):
            yield Problem(f"Dynamo runs {dynamo.WORKER_IMAGE}", field=f"{where}.image", value=model.image[:80], fix="leave image out")
        if model.extra_args:
            yield Problem("are not handed through Dynamo's workers", field=f"{where}.extra_args", fix="leave them out, or set runtime: vllm-router")
    if model.engine != "vllm":
        yield Problem("hands no caches over here", field=f"{where}.engine", value=model.engine, legal=("vllm",), fix="use vllm")
    prefill, decode = (next(pool for pool in model.pools.values() if pool.role == role) for role in ("prefill", "decode"))
    if decode.tp % prefill.tp:
        yield Problem(
            f"decode on TP {decode.tp} cannot take the caches of prefill on TP {prefill.tp}: NIXL needs a whole multiple",
            field=f"{where}.parallelism",
            fix="set one tp for both",
        )
    for name, pool in sorted(model.pools.items()):
        at = f"{where}.pools.{name}"
        if pool.nodes_per_replica > 1:
            yield Problem(
                f"a {pool.role} replica on {pool.nodes_per_replica} nodes is not rendered", field=at, fix="use hardware of which one node holds the model"
            )
        if pool.scaling.kind != "fixed" and (pool.scaling.min == 0 or pool.scaling.idle == 0):
            yield Problem(f"without {pool.role} replicas no request is answered", field=f"{at}.scaling", value="0", fix="keep one replica of each role")


def _pool(plan: DeploymentPlan, where: str, pool: PoolPlan) -> Iterator[Problem]:
    life, scaling = pool.lifecycle, pool.scaling
    if pool.pod.gpus * pool.replicas_per_node > pool.infrastructure.gpus_per_node:
        # Two engines on one GPU would each take what the other counts as free (FC-22).
        yield Problem(
            f"{pool.replicas_per_node} replicas of {pool.pod.gpus} GPUs do not fit a node of {pool.infrastructure.gpus_per_node}",
            field=f"{where}.replicas_per_node",
            value=str(pool.replicas_per_node),
            fix="give each engine GPUs of its own",
        )
    drain_s = life.pre_stop_s + (life.shutdown_timeout_s or 0)
    if life.grace_s <= drain_s:
        yield Problem(
            f"{life.grace_s} s end before the {drain_s} s that draining takes, so streams would be cut",
            field=f"{where}.lifecycle.grace_s",
            fix=f"set more than {drain_s}",
        )
    startup_s = life.startup_failure_threshold * life.startup_period_s
    if life.progress_deadline_s <= startup_s:
        yield Problem(
            f"{life.progress_deadline_s} s end before the {startup_s} s that starting may take",
            field=f"{where}.lifecycle.progress_deadline_s",
            fix=f"set more than {startup_s}",
        )
    if life.strategy == "RollingUpdate" and life.max_surge == 0 and life.max_unavailable == 0:
        yield Problem("max_surge and max_unavailable are both 0, so a rollout could never move", field=f"{where}.lifecycle")
    if scaling.kind == "fixed":
        return
    if scaling.min > scaling.max:
        yield Problem(f"min {scaling.min} is above max {scaling.max}", field=f"{where}.scaling")
    if scaling.idle not in (None, 0):
        yield Problem(f"idle {scaling.idle} cannot be held; drop idle and set min to the always-on count", field=f"{where}.scaling.idle", legal=("0",))
    to_zero = scaling.min == 0 or scaling.idle == 0
    if to_zero and not (plan.gateway.enabled and plan.observability.enabled):
        yield Problem(
            "nothing would wake a workload at zero replicas without the gateway's metrics",
            field=f"{where}.scaling",
            fix="enable gateway and observability, or keep one replica",
        )
    if all(trigger.signal == "cpu" for trigger in scaling.triggers):
        yield Problem(
            "only cpu triggers: a fallback does not apply to them, and cpu says nothing about a GPU model",
            field=f"{where}.scaling.triggers",
            fix="add queue or request_rate",
        )
    if scaling.kind == "hpa" and to_zero:
        yield Problem("a HorizontalPodAutoscaler does not scale to zero", field=f"{where}.scaling", fix="use keda, or keep one replica")
    if scaling.kind == "keda" and not scaling.min <= scaling.fallback_replicas <= scaling.max:
        yield Problem(f"fallback of {scaling.fallback_replicas} replicas is outside {scaling.min} to {scaling.max}", field=f"{where}.scaling.fallback_replicas")


def _gateway(plan: DeploymentPlan) -> Iterator[Problem]:
    gateway = plan.gateway
    if not gateway.enabled:
        return
    if gateway.limits and not gateway.auth:
        yield Problem("limits per tenant need verified identities", field="gateway.limits", fix="set gateway.auth")
    if gateway.limits and not gateway.limits.store:
        yield Problem("a limit that all proxies share needs a store for its counters", field="gateway.limits.store", fix="name a Redis as host:port")
    for name, model in sorted(plan.models.items()):
        longest_s = max((model.max_output_tokens * pool.tpot_ms.p95 / 1000 for pool in model.pools.values()), default=0.0)
        if gateway.timeout_s is not None and model.task == "generate" and gateway.timeout_s < longest_s:
            yield Problem(
                f"{gateway.timeout_s:g} s end before the {longest_s:.0f} s of {name}'s longest answer",
                field="gateway.timeout",
                fix=f"set at least {longest_s:.0f}s, or leave it out",
            )
        first_s = (model.slo_ttft_p95_ms or 0) / 1000
        if gateway.stream_idle_timeout_s <= first_s:
            yield Problem(
                f"{gateway.stream_idle_timeout_s:g} s end before the first token of {name}, due within {first_s:g} s",
                field="gateway.stream_idle_timeout",
                fix=f"set more than {first_s:g}s",
            )
