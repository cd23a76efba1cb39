"""Why a plan is as it is: the deciding numbers in words, and every kind of candidate with what ruled it out (requirements A11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inferform.plan import Rejected
from inferform.plan_cost import HOURS_PER_MONTH
from inferform.planning.candidates import Option
from inferform.planning.prepare import Prepared
from inferform.sizing.corrections import NOT_MEASURED, Scale
from inferform.sizing.cpu import SOURCE, VENDOR
from inferform.sizing.error_bands import bands
from inferform.sizing.layouts import Cut
from inferform.sizing.queueing import Point
from inferform.sizing.roofline import constants, family
from inferform.sizing.search import Choice, Dropped

# What is shown first when candidates of one card fall for several reasons: the closest to being usable.
_ORDER = ("TTFT", "TPOT", "throughput", "memory", "precision", "parallelism", "count", "price", "offer")
_MOST_OTHERS = 6


def why(prepared: Prepared, option: Option, point: Point, others: Sequence[Choice], *, tier: int) -> tuple[str, ...]:
    """The decisions of one pool, each with the number behind it."""
    choice, demand = option.choice, prepared.demand
    cut, fit = choice.fit.cut, choice.fit
    replicas = option.counted.replicas
    lines = [_cheapest(option, others)]
    lines.append(_precision(prepared, choice, tier))
    if choice.instance.gpu:
        lines.append(_parallelism(prepared, choice))
    headroom = demand.defaults.headroom
    lines.append(
        f"{replicas.steady} replica{'s' if replicas.steady > 1 else ''}: {demand.requests_per_s:g} requests/s and {headroom:.0%} headroom are {demand.capacity_needed():.2f}/s, one replica carries "
        f"{choice.rate:.2f}/s inside its objectives"
        + (f", {prepared.limits.capacity.warm_standby} stand by warm" if prepared.limits.capacity.warm_standby else "")
    )
    if demand.burst > 1:
        lines.append(f"up to {replicas.max} replicas: the burst of {demand.burst:g} x {demand.requests_per_s:g} requests/s with the same headroom")
    lines.append(_latency(prepared, point))
    if choice.instance.gpu and prepared.task == "generate":
        lines.append(
            f"max_num_seqs {fit.max_num_seqs} and max_num_batched_tokens {fit.max_num_batched_tokens}: {fit.best.concurrency:.0f} requests in flight at the limit, and a full "
            "step does not stall running streams"
        )
    if demand.shared_prefix_tokens and prepared.engine.prefix_caching:
        lines.append(
            f"the prefix cache serves {demand.shared_prefix_tokens} of {demand.prompt.mean:.0f} prompt tokens; a cold or evicted prefix costs a full prefill"
        )
    source = SOURCE if cut.gpu.vendor == VENDOR else f"step model with {constants().source}"
    lines.append(f"latencies from: {source}{_own_runs(fit.behaviour.scale)}{_band(prepared, cut)}")
    return (*lines, *prepared.notes, *option.counted.notes)


def _band(prepared: Prepared, cut: Cut) -> str:
    if cut.gpu.vendor == VENDOR:
        return ""
    known = bands("moe" if prepared.model.moe else "dense", prepared.engine.name, family(cut.gpu))
    share = dict(known.shares)
    return f"; {known.source.removeprefix('error bands: ')} lie within TTFT +- {share['ttft_ms']:.0%}, TPOT +- {share['tpot_ms']:.0%}, throughput +- {share['output_tokens_per_s']:.0%}"


def _own_runs(scale: Scale) -> str:
    if scale == NOT_MEASURED:
        return ""
    return f", corrected by own runs: throughput x {scale.output_tokens_per_s:.2f}, TTFT x {scale.ttft_ms:.2f}, TPOT x {scale.tpot_ms:.2f}"


def _cheapest(option: Option, others: Sequence[Choice]) -> str:
    text = f"{option.choice}: ${option.usd_per_hour:,.2f} an hour, the cheapest candidate inside the objectives"
    if not others:
        return text + "; no other is inside them"
    second = others[0]
    gap = second.usd_per_hour - option.usd_per_hour
    share = gap / option.usd_per_hour if option.usd_per_hour else 0.0
    return f"{text}; next is {second} at ${second.usd_per_hour:,.2f} (+{share:.0%})"


def _precision(prepared: Prepared, choice: Choice, tier: int) -> str:
    weights = choice.fit.cut.weights
    if prepared.model.quantization is not None and weights == prepared.published:
        return f"{weights}: the checkpoint is published in it"
    if prepared.online(weights):
        return f"{weights}: {prepared.settings.engine.name} quantizes the published {prepared.published} checkpoint while loading"
    if weights in {"bf16", "fp16"}:
        return f"{weights}: the checkpoint as published" + ("" if weights == prepared.published else ", in the 16-bit type that this card has")
    reason = "nothing that runs the checkpoint as published meets objectives and budget" if tier else "asked for in the spec"
    return f"{weights}: {reason}; it needs a checkpoint quantized to {weights}"


def _parallelism(prepared: Prepared, choice: Choice) -> str:
    cut, instance = choice.fit.cut, choice.instance
    if prepared.degrees is not None:
        return f"TP {cut.tp}, PP {cut.pp}, DP {cut.dp}, EP {cut.ep}: asked for in the spec"
    if cut.ep > 1:
        attention = f"attention on {cut.dp} data-parallel ranks of TP {cut.tp}" if cut.dp > 1 else f"attention over TP {cut.tp}"
        return f"{cut.degrees}: whole experts on each of {cut.ep} GPUs carry more a replica than experts cut in pieces, with {attention}; all inside one NVLink domain"
    if choice.fleet.nodes_per_replica > 1:
        return (
            f"TP {cut.tp} inside a node and PP {cut.pp} over {choice.fleet.nodes_per_replica} nodes: one node does not hold the model, or misses an objective"
        )
    if cut.tp > 1:
        return f"TP {cut.tp}: fewer GPUs miss an objective or cost more a request; all of them share one NVLink domain"
    if cut.pp > 1:
        return f"PP {cut.pp}: the {instance.gpu_count} cards are linked by PCIe, where tensor parallelism does not pay"
    return "TP 1: the model fits one GPU, so more replicas come before more GPUs a replica"


def _latency(prepared: Prepared, point: Point) -> str:
    demand = prepared.demand
    ttft = f"TTFT p95 {point.ttft.p95:.2f} s" + (f" (objective {demand.ttft_p95_s:g} s)" if demand.ttft_p95_s else "")
    if prepared.task == "embed":
        return f"at the planned load: {ttft}"
    tpot = f"TPOT p95 {point.tpot.p95 * 1e3:.0f} ms" + (f" (objective {demand.tpot_p95_s * 1e3:.0f} ms)" if demand.tpot_p95_s else "")
    return f"at the planned load: {ttft}, {tpot}"


def rejected(option: Option, others: Iterable[Choice], dropped: Iterable[Dropped], over_budget: Iterable[Choice] = ()) -> tuple[Rejected, ...]:
    """Every other candidate: dearer ones with the difference, the rest grouped by card and kind with the nearest number."""
    rows = [
        Rejected(
            candidate=str(choice),
            reason=f"budget: runs the checkpoint as published for ${choice.usd_per_hour * HOURS_PER_MONTH:,.0f} a month, more than is allowed",
        )
        for choice in over_budget
    ]
    for choice in list(others)[:_MOST_OTHERS]:
        gap = choice.usd_per_hour - option.usd_per_hour
        rows.append(Rejected(candidate=str(choice), reason=f"price: ${choice.usd_per_hour:,.2f} an hour, ${gap * HOURS_PER_MONTH:,.0f} a month more"))
    return (*rows, *grouped(dropped))


def grouped(dropped: Iterable[Dropped]) -> tuple[Rejected, ...]:
    """One line for each card and kind of obstacle: the candidate that came nearest, and how many fell the same way."""
    groups: dict[tuple[str, str], list[Dropped]] = {}
    for row in dropped:
        groups.setdefault((row.gpu or row.instance, row.kind), []).append(row)
    lines = []
    for (card, kind), found in sorted(groups.items(), key=lambda item: (item[0][0], _ORDER.index(item[0][1]))):
        nearest = min(found, key=lambda row: (row.distance, row.cut, row.instance))
        names = sorted({row.instance for row in found})
        where = (
            f"{nearest.cut or card} on {nearest.instance}" if nearest.cut else ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        )
        alike = len({(row.instance, row.cut) for row in found}) - 1
        more = f" ({alike} more of {card} alike)" if alike > 0 and nearest.cut else ""
        lines.append(Rejected(candidate=where, reason=f"{kind}: {nearest.reason}{more}"))
    return tuple(lines)
