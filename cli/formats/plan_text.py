"""A DeploymentPlan as a report: what runs on what, how fast, why, and what it costs."""

from __future__ import annotations

from inferform.cli.formats.table import bullets, pairs, table
from inferform.plan import DeploymentPlan, ModelPlan, PoolPlan
from inferform.plan_nodes import Count, LoadPlan
from inferform.quantities import format_bytes

_MOST_REJECTED = 6
_WAYS = {
    "disk": "from the bucket by local disks",
    "root_volume": "from the bucket by the root volume",
    "peers": "from other nodes first",
    "lustre": "from the file system",
}


def plan_text(plan: DeploymentPlan) -> str:
    """The whole report, at most 100 columns."""
    cloud = plan.cloud
    head = f"{plan.name} in {plan.environment}: tenant {plan.tenant}, {cloud.provider} {cloud.region}, Kubernetes {cloud.kubernetes_version}"
    legend = "Counts are fewest-steady-most."
    parts = [f"{head}\n{legend}", *(_model(name, model) for name, model in sorted(plan.models.items())), _cost(plan)]
    if plan.quotas:
        parts.append("Quotas this needs\n" + bullets([f"{q.family} {q.market.replace('_', '-')}: {q.vcpus:,} vCPUs ({q.detail})" for q in plan.quotas]))
    if plan.warnings:
        parts.append("Warnings\n" + bullets(plan.warnings))
    return "\n\n".join(parts)


def count_text(count: Count) -> str:
    """`2` or `1-2-4`: fewest, steady and most."""
    return str(count.steady) if count.min == count.steady == count.max else f"{count.min}-{count.steady}-{count.max}"


def hardware_text(pool: PoolPlan) -> str:
    """`8 x L4`, or the cores of a CPU pool."""
    return f"{pool.infrastructure.gpus_per_node} x {pool.gpu}" if pool.gpu else f"{pool.infrastructure.vcpus} vCPUs"


def _model(name: str, model: ModelPlan) -> str:
    lines = [f"{name}: {model.source} on {model.engine} {model.engine_version}, {model.weights} weights, {model.kv_cache} KV cache, {model.topology}"]
    pools = sorted(model.pools.items())
    headers = ("pool", "instance", "hardware", "tp", "pp", "nodes", "replicas", "TTFT p95", "TPOT p95", "req/s")
    rows = [
        (
            pool_name, pool.instance_type, hardware_text(pool), str(pool.tp), str(pool.pp), count_text(pool.nodes), count_text(pool.replicas),
            f"{pool.ttft_ms.p95:,.0f} ms", f"{pool.tpot_ms.p95:,.1f} ms" if model.task == "generate" else "-", f"{pool.requests_per_s:,.2f}",
        )
        for pool_name, pool in pools
    ]  # fmt: skip
    lines.append(_indented(table(headers, rows, right=(3, 4, 5, 6, 7, 8, 9), width=98)))
    lines += [_memory(pool_name, pool, several=len(pools) > 1) for pool_name, pool in pools if pool.gpu]
    lines += [_purchase(pool_name, pool, several=len(pools) > 1) for pool_name, pool in pools]
    load = model.load
    if load.weights_bytes:
        lines += _cold_start(load)
    why = [*model.why, *([f"weights {_WAYS[load.path]}: {load.why}"] if load.why else [])]
    if why:
        lines += ["  Why", bullets(why, indent="    ")]
    if model.rejected:
        shown = [f"{r.candidate}: {r.reason}" for r in model.rejected[:_MOST_REJECTED]]
        more = len(model.rejected) - len(shown)
        lines += ["  Not chosen", bullets([*shown, f"and {more} more; --format json lists them all"] if more else shown, indent="    ")]
    return "\n".join(lines)


def _cold_start(load: LoadPlan) -> list[str]:
    """How long a new node needs, and one that has image and weights."""
    rest = f"load {load.load_s:,.0f} s, warm up {load.warmup_s:,.0f} s"
    if not load.paths:
        return [f"  ready in {load.total_s:,.0f} s: download {load.download_s:,.0f} s, {rest}"]
    taken = next(path for path in load.paths if path.kind == load.path)
    fetched = f" (download {load.download_s:,.0f} s meanwhile)" if taken.overlap_s else f", download {load.download_s:,.0f} s"
    return [
        f"  a new node answers in {load.ready_s:,.0f} s: image {load.image_s:,.0f} s{fetched}, {rest}",
        f"  one that has image and weights answers in {load.warm_s:,.0f} s; weights come {_WAYS[load.path]}",
    ]


def _memory(name: str, pool: PoolPlan, *, several: bool) -> str:
    memory = pool.memory
    where = f"{name}: " if several else ""
    return (
        f"  {where}a GPU holds {format_bytes(memory.weights_bytes_per_gpu)} of weights and {format_bytes(memory.kv_cache_bytes_per_gpu)} of KV cache: "
        f"{memory.kv_cache_tokens:,} tokens, {memory.max_concurrency:,.1f} requests of {pool.max_model_len:,}"
    )


def _purchase(name: str, pool: PoolPlan, *, several: bool) -> str:
    where = f"{name}: " if several else ""
    bought = [f"{count_text(p.nodes)} {p.kind.replace('_', '-')} at ${p.usd_per_hour:,.2f} an hour ({p.price_as_of})" for p in pool.purchase]
    return f"  {where}bought {', '.join(bought)}"


def _cost(plan: DeploymentPlan) -> str:
    cost = plan.cost
    budget = f" (budget ${cost.budget_usd_per_month:,.0f})" if cost.budget_usd_per_month is not None else ""
    rows = [
        ("steady", f"${cost.usd_per_hour:,.2f} an hour, ${cost.usd_per_month:,.0f} a month of {cost.hours_per_month:,.0f} hours{budget}"),
        ("at most", f"${cost.usd_per_hour_max:,.2f} an hour"),
    ]
    if cost.usd_per_mtok:
        rows.append(("a million tokens", f"${cost.usd_per_mtok:,.2f} in and out, ${cost.usd_per_mtok_output:,.2f} of output alone"))
    return "Cost\n" + pairs(rows)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
