"""PromQL over an engine's own series, shared by scalers, rules and alerts, so that all of them read the same table (FC-30).

Every query names the namespace and the model, and gives exactly one series.
"""

from __future__ import annotations

import json
import re

from inferform.engines import Signal, find_engine
from inferform.plan import DeploymentPlan, ModelPlan
from inferform.render.naming import Workload
from inferform.render.quantities import number

# Requests of the last minutes; two scrapes of 15 s are the least a rate needs, and a shorter window follows noise.
WINDOW = "2m"


def text(value: str) -> str:
    """A PromQL string literal with exactly this value."""
    return json.dumps(value, ensure_ascii=False)


def selector(workload: Workload) -> str:
    """Label matchers of one pool: by namespace and served model, and by pod name where that says too little."""
    label = find_engine(workload.model.engine).model_label
    matchers = [f"namespace={text(workload.plan.namespace)}"]
    if label:
        matchers.append(f"{label}={text(workload.model.served_name)}")
    if len(workload.model.pools) > 1 or not label:
        matchers.append(pod_matcher(workload))
    return "{" + ",".join(matchers) + "}"


def pod_matcher(workload: Workload) -> str:
    """The matcher of a pool's pods by their names."""
    if workload.model.disaggregation == "dynamo":
        # The operator puts the number of a gang between the graph and its component, or nothing.
        return f"pod=~{text(f'{re.escape(workload.model_name)}(-[0-9]+)?-{workload.pool.role}-.+')}"
    return f"pod=~{text(re.escape(workload.name) + '-.+')}"


def series(model: ModelPlan, signal: Signal) -> str:
    """The series name of the model's engine version."""
    return find_engine(model.engine).metric(model.engine_version, signal)


def total(workload: Workload, signal: Signal) -> str:
    """A gauge added up over the pool's pods: counts of requests."""
    return f"sum({series(workload.model, signal)}{selector(workload)})"


def highest(workload: Workload, signal: Signal) -> str:
    """The highest value of a gauge over the pool's pods: shares between 0 and 1, which are never added up (FC-30)."""
    return f"max({series(workload.model, signal)}{selector(workload)})"


def quantile(workload: Workload, signal: Signal, *, q: float, window: str = WINDOW) -> str:
    """A quantile in seconds of a latency histogram over the pool's pods; 0 while pods report but nobody asks, nothing when nobody reports."""
    where = selector(workload)
    measured = f"histogram_quantile({q}, sum by (le) (rate({series(workload.model, signal)}_bucket{where}[{window}])))"
    # Without requests the quantile is NaN, which a comparison drops.
    return f"({measured} >= 0) or 0 * sum({series(workload.model, 'running')}{where})"


def cache_tokens(workload: Workload) -> int:
    """KV cache tokens behind one series of the share in use: those of a data-parallel rank, or of all ranks where a process shows one series."""
    ranks = 1 if find_engine(workload.model.engine).rank_series else workload.pool.dp
    return workload.pool.kv_cache_tokens * ranks


def tokens_in_flight(workload: Workload) -> str:
    """Tokens held in the pool's KV caches: each share in use times the tokens of its cache."""
    return f"sum({series(workload.model, 'kv_use')}{selector(workload)} * {cache_tokens(workload)})"


def mean_wait(workload: Workload) -> str:
    """Mean seconds that requests waited in the engines' queues; 0 while pods report but nothing left a queue, nothing when nobody reports.

    The mean, because the histograms start at 0.3 s in vLLM: below that every quantile is a guess between 0 and 0.3.
    """
    name, where = series(workload.model, "queue_time"), selector(workload)
    rates = [f"sum(rate({name}_{part}{where}[{WINDOW}]))" for part in ("sum", "count")]
    return f"{rates[0]} / ({rates[1]} > 0) or 0 * {total(workload, 'running')}"


def counter_rate(workload: Workload, signal: Signal, *, window: str = "5m") -> str:
    """A counter's rate a second over the pool's pods."""
    return f"sum(rate({series(workload.model, signal)}{selector(workload)}[{window}]))"


def request_rate(workload: Workload) -> str:
    """Finished requests a second over the pool's pods; 0 while pods report but none has finished any yet, nothing when nobody reports."""
    # Some engines only have the counter once it has counted.
    return f"{counter_rate(workload, 'requests', window=WINDOW)} or 0 * {total(workload, 'running')}"


def needed_and_standby(workload: Workload) -> str:
    """Replicas that the finished requests a second need, and the spare ones that stand by beside them."""
    pool = workload.pool
    return f"({request_rate(workload)}) / {number(pool.requests_per_s)} + {pool.scaling.standby}"


def ready_replicas(workload: Workload) -> str:
    """Ready replicas of a pool."""
    return f"sum({ready_series(workload)})"


def ready_series(workload: Workload) -> str:
    """The series of kube-state-metrics that count them; a LeaderWorkerSet keeps its leaders in a StatefulSet of its name, and Dynamo's operator chooses itself."""
    if workload.model.disaggregation == "dynamo":
        return f'kube_pod_status_ready{{namespace={text(workload.plan.namespace)},{pod_matcher(workload)},condition="true"}}'
    name, label = ("kube_statefulset_status_replicas_ready", "statefulset") if workload.grouped else ("kube_deployment_status_replicas_ready", "deployment")
    return f"{name}{{namespace={text(workload.plan.namespace)},{label}={text(workload.name)}}}"


def gateway_requests(plan: DeploymentPlan) -> str:
    """Requests a second that arrive at the deployment's gateway, whichever model they ask for."""
    matchers = [
        f"namespace={text(plan.gateway.namespace)}",
        # Every tenant's gateway may bear the same name; proxies of all of them run in the controller's namespace.
        f"gateway_envoyproxy_io_owning_gateway_name={text(plan.name)}",
        f"gateway_envoyproxy_io_owning_gateway_namespace={text(plan.namespace)}",
        'envoy_http_conn_manager_prefix=~"https?-.+"',
    ]
    return f"sum(rate(envoy_http_downstream_rq_total{{{','.join(matchers)}}}[{WINDOW}]))"
