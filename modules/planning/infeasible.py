"""When nothing carries the load inside objectives and budget: what binds, and the nearest ways out with their price."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inferform.errors import Problem
from inferform.plan_cost import HOURS_PER_MONTH
from inferform.planning.candidates import option
from inferform.planning.levers import possible
from inferform.planning.prepare import Prepared
from inferform.sizing.layouts import planned
from inferform.sizing.search import Choice, Dropped
from inferform.sizing.workload import Demand

_SHOWN = 4
_MOST_WAYS = 6
_WEAKEST = ("TPOT", "TTFT", "throughput", "memory", "count", "precision", "parallelism", "offer", "price")


def nothing_fits(prepared: Prepared, dropped: Sequence[Dropped]) -> list[Problem]:
    """The binding constraint of a model that no candidate carries, with the nearest relaxations and what they cost."""
    kinds = {row.kind for row in dropped}
    # What keeps the objectives and only needs more nodes than allowed tells more than cards that are too slow.
    enough = [row for row in dropped if row.kind == "count" and row.distance < math.inf]
    binding = "count" if enough else next((kind for kind in _WEAKEST if kind in kinds), "offer")
    rows = enough or [row for row in dropped if row.kind == binding]
    first_of: dict[str, Dropped] = {}
    for row in sorted(rows, key=lambda row: (row.distance, row.cut, row.instance)):
        first_of.setdefault(row.reason, row)
    examples = "; ".join(f"{row.cut or row.instance}: {row.reason}" for row in list(first_of.values())[:_SHOWN])
    ways = _ways_out(prepared, dropped, binding)
    return [
        Problem(
            f"{binding}: no candidate carries {prepared.name}: {examples}",
            _field(prepared, binding, rows),
            value=_value(prepared, binding),
            fix="; ".join(ways),
        )
    ]


def _field(prepared: Prepared, binding: str, rows: Sequence[Dropped]) -> str:
    where = {
        "TTFT": "slo.ttft_p95", "TPOT": "slo.tpot_p95", "throughput": "max_num_seqs", "precision": "quantization", "parallelism": "parallelism",
        "memory": "max_model_len" if prepared.spec.max_model_len is not None else "hardware",
    }.get(binding, "hardware")  # fmt: skip
    texts = " ".join(row.reason for row in rows)
    if binding in {"count", "offer"}:
        if "capacity." in texts or "purchase list" in texts:
            return f"{prepared.field}.capacity" if prepared.spec.capacity else "capacity"
        if "scaling." in texts:
            return f"{prepared.field}.scaling" if prepared.spec.scaling else "scaling"
        if rows and all("weight cache" in row.reason for row in rows):
            return f"{prepared.field}.model_cache"
        if rows and all("not offered" in row.reason for row in rows):
            return f"{prepared.field}.nodes.zones" if prepared.spec.nodes.zones else "cloud.zones" if prepared.site.zones else "cloud.region"
    return f"{prepared.field}.{where}"


def _value(prepared: Prepared, binding: str) -> str | None:
    demand = prepared.demand
    if binding == "TTFT" and demand.ttft_p95_s is not None:
        return f"{demand.ttft_p95_s:g}s"
    if binding == "TPOT" and demand.tpot_p95_s is not None:
        return f"{demand.tpot_p95_s * 1e3:g}ms"
    if binding == "memory":
        return str(prepared.engine.max_model_len)
    return None


def _ways_out(prepared: Prepared, dropped: Sequence[Dropped], binding: str) -> list[str]:
    """The cheapest plan once one constraint is moved, for each constraint that would help."""
    ways = [str(way) for way in possible(prepared, dropped, binding)[:_MOST_WAYS]]
    if binding == "memory" and not ways:
        ways.append("allow larger GPUs or more of them (hardware), a smaller max_model_len, or quantization: auto")
    return ways


def priced(prepared: Prepared, demand: Demand, choice: Choice) -> str:
    """A choice with its latency at the planned load and its price a month."""
    opt = option(prepared, choice)
    point = planned(choice.fit, demand, prepared.engine, demand.requests_per_s / opt.counted.replicas.steady / choice.dp)
    tpot = f", TPOT p95 {point.tpot.p95 * 1e3:.0f} ms" if point.tpot.p95 else ""
    return f"{choice} gives TTFT p95 {point.ttft.p95:.2f} s{tpot} for ${opt.usd_per_hour * HOURS_PER_MONTH:,.0f} a month"
