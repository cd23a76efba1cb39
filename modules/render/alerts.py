"""What is computed ahead and what wakes people, for one pool and for the GPUs. Series names come from the engines' tables."""

from __future__ import annotations

from typing import Any

from inferform.engines import Signal
from inferform.plan import DeploymentPlan
from inferform.render import queries
from inferform.render.naming import Workload
from inferform.render.quantities import number

# XIDs that NVIDIA's catalogue ties to hardware or to a GPU that must be reset; others come from the program that runs.
HARDWARE_XIDS = (48, 62, 63, 64, 74, 79, 94, 95, 119, 120)


def _labels(workload: Workload) -> dict[str, str]:
    return {"model": workload.model_name, "pool": workload.pool_name}


def _latencies(workload: Workload) -> tuple[Signal, ...]:
    """What a pool can be measured by: prefill replicas stop at the first token, and decode replicas start from it."""
    by_role: dict[str, tuple[Signal, ...]] = {"prefill": ("ttft",), "decode": ("tpot",)}
    return by_role.get(workload.pool.role, ("ttft", "tpot"))


def recording_rules(workload: Workload) -> list[dict[str, Any]]:
    """Latency quantiles, load and token rates of one pool, ready for dashboards."""
    model = workload.model
    rows = [
        ("inferform:requests_waiting:sum", queries.total(workload, "queue")),
        ("inferform:requests_running:sum", queries.total(workload, "running")),
        ("inferform:requests:rate5m", queries.counter_rate(workload, "requests")),
        ("inferform:prompt_tokens:rate5m", queries.counter_rate(workload, "prompt_tokens")),
    ]
    if model.task == "generate":
        for signal in _latencies(workload):
            for q in (0.5, 0.95, 0.99):
                rows.append((f"inferform:{signal}_seconds:p{round(q * 100)}", queries.quantile(workload, signal, q=q, window="5m")))
        rows += [
            ("inferform:kv_cache_use:max", queries.highest(workload, "kv_use")),
            ("inferform:generation_tokens:rate5m", queries.counter_rate(workload, "generation_tokens")),
        ]
        if model.prefix_caching:
            hits, asked = queries.counter_rate(workload, "prefix_hits"), queries.counter_rate(workload, "prefix_queries")
            rows.append(("inferform:prefix_hit_ratio:rate5m", f"{hits} / ({asked} > 0)"))
    return [{"record": record, "expr": expr, "labels": _labels(workload)} for record, expr in rows]


def pool_alerts(workload: Workload) -> list[dict[str, Any]]:
    """What is wrong with one pool, against its own objectives and capacity."""
    model, pool, name = workload.model, workload.pool, workload.name
    rows: list[tuple[str, str, str, str, str]] = []
    objectives: tuple[tuple[Signal, float | None, str], ...] = (
        ("ttft", model.slo_ttft_p95_ms, "Time to first token"),
        ("tpot", model.slo_tpot_p95_ms, "Time per output token"),
    )
    for signal, objective_ms, what in objectives:
        if objective_ms is not None and model.task == "generate" and signal in _latencies(workload):
            expr = f"({queries.quantile(workload, signal, q=0.95, window='5m')}) > {number(objective_ms / 1000)}"
            text = f"{what} of {name}: p95 is above {number(objective_ms)} ms."
            rows.append((f"Inferform{signal.capitalize()}AboveObjective", expr, "10m", "warning", text))
    ready = queries.ready_replicas(workload)
    # Twice what a replica should have waiting, or a whole batch where no target is planned.
    waiting = next((2 * t.target for t in pool.scaling.triggers if t.signal == "queue"), float(pool.max_num_seqs))
    text = f"{name} has twice the waiting requests that its replicas should have: it cannot grow, or grows too slowly."
    rows.append(("InferformQueueGrowing", f"{queries.total(workload, 'queue')} > {number(waiting)} * {ready}", "10m", "warning", text))
    if model.task == "generate":
        text = f"The KV cache of {name} is full, so requests wait or are preempted."
        rows.append(("InferformKvCacheFull", f"{queries.highest(workload, 'kv_use')} > 0.95", "10m", "warning", text))
    fewest = pool.replicas.steady if pool.scaling.kind == "fixed" else pool.scaling.min
    if fewest >= 1 and pool.scaling.idle is None:
        text = f"{name} has fewer ready replicas than its minimum of {fewest}."
        rows.append(("InferformReplicasNotReady", f"{ready} < {fewest}", f"{pool.lifecycle.progress_deadline_s}s", "critical", text))
        absent = f"absent({queries.total(workload, 'running')})"
        rows.append(("InferformNoMetrics", absent, "10m", "critical", f"{name} reports no metrics: scaling runs on its fallback."))
    return [_alert(*row, _labels(workload)) for row in rows]


def gpu_alerts(plan: DeploymentPlan) -> list[dict[str, Any]]:
    """Hardware faults of the GPUs that the deployment's pods use."""
    where = f"{{namespace={queries.text(plan.namespace)}}}"
    xids = " or ".join(f"DCGM_FI_DEV_XID_ERRORS{where} == {xid}" for xid in HARDWARE_XIDS)
    rows = (
        ("InferformGpuXid", xids, "0m", "critical", "A GPU reported an XID that points at hardware: drain the node."),
        ("InferformGpuEccUncorrected", f"increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{where}[15m]) > 0", "0m", "critical", "A GPU had an uncorrected memory error."),
        (
            "InferformGpuRowRemapFailed",
            f"DCGM_FI_DEV_ROW_REMAP_FAILURE{where} > 0",
            "0m",
            "critical",
            "A GPU could not remap a bad memory row: it must be replaced.",
        ),
        (
            "InferformGpuThrottled",
            f"increase(DCGM_FI_DEV_THERMAL_VIOLATION{where}[15m]) > 60e9",
            "15m",
            "warning",
            "Heat throttled a GPU for over a minute in 15.",
        ),
    )
    return [_alert(*row, {}) for row in rows]


def _alert(name: str, expr: str, wait: str, severity: str, text: str, own: dict[str, str]) -> dict[str, Any]:  # noqa: PLR0917
    return {"alert": name, "expr": expr, "for": wait, "labels": {**own, "severity": severity}, "annotations": {"summary": text}}
