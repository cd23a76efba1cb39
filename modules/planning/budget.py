"""The budget: the cheapest set of models inside it, or what it binds and what would help (requirements A9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from inferform.errors import Problem
from inferform.plan_cost import HOURS_PER_MONTH
from inferform.planning.candidates import find, option
from inferform.planning.infeasible import priced
from inferform.planning.levers import inside
from inferform.planning.models import Variant
from inferform.planning.prepare import Prepared
from inferform.sizing.layouts import planned
from inferform.sizing.search import Choice

# USD an hour of what stands around the pools of a set of variants, one a model.
Platforms = Callable[[Sequence[Variant]], float]


def within(budget_usd_per_hour: float, platform: Platforms, choices: Sequence[tuple[Prepared, tuple[Variant, ...]]]) -> list[Variant] | None:
    """One variant a model inside the budget, keeping as many published checkpoints as it can; None when even the cheapest set is too dear."""
    picked = [ways[0] for _, ways in choices]
    # Models whose other precision saves most give way first.
    savings = sorted(((ways[0].usd_per_hour - min(w.usd_per_hour for w in ways), at) for at, (_, ways) in enumerate(choices)), reverse=True)
    for saved, at in savings:
        if platform(picked) + sum(v.usd_per_hour for v in picked) <= budget_usd_per_hour:
            break
        if saved > 0:
            first = choices[at][1][0]
            cheapest = min(choices[at][1], key=lambda v: v.usd_per_hour)
            picked[at] = replace(cheapest, over_budget=tuple(o.choice for o in first.options.values()), dropped=(*first.dropped, *cheapest.dropped))
    return picked if platform(picked) + sum(v.usd_per_hour for v in picked) <= budget_usd_per_hour + 1e-9 else None


def exceeded(budget_usd_per_month: float, platform: Platforms, choices: Sequence[tuple[Prepared, tuple[Variant, ...]]]) -> Problem:
    """The budget named as what binds: what the objectives cost, what the budget buys, and which load it would carry."""
    cheapest = [min(ways, key=lambda v: v.usd_per_hour) for _, ways in choices]
    around = platform(cheapest)
    total = around + sum(v.usd_per_hour for v in cheapest)
    plans = "; ".join(
        f"{prepared.name}: {opt.choice} ${opt.usd_per_hour * HOURS_PER_MONTH:,.0f}"
        for (prepared, _), variant in zip(choices, cheapest, strict=True)
        for opt in variant.options.values()
    )
    message = (
        f"budget: the cheapest plan that meets the objectives costs ${total * HOURS_PER_MONTH:,.0f} a month ({plans}; platform ${around * HOURS_PER_MONTH:,.0f}) "
        f"and ${budget_usd_per_month:,.0f} is allowed"
    )
    ways = [f"raise budget.usd_per_month to {math.ceil(total * HOURS_PER_MONTH):,}"]
    dearest = max(range(len(choices)), key=lambda at: cheapest[at].usd_per_hour)
    prepared, variant = choices[dearest][0], cheapest[dearest]
    others = sum(v.usd_per_hour for at, v in enumerate(cheapest) if at != dearest)
    left = budget_usd_per_month / HOURS_PER_MONTH - around - others
    if left <= 0:
        return Problem(message, "budget.usd_per_month", value=f"{budget_usd_per_month:g}", fix=ways[0])
    if len(variant.options) == 1:
        of = f"{prepared.name}: " if len(choices) > 1 else ""
        ways += [f"{of}{way}" for way in inside(prepared, left)]
    best = _fastest(prepared, left)
    if best is not None:
        ways.append(f"within the budget the best latency at this load: {best}")
    else:
        ways.append(
            f"no fleet for the ${left * HOURS_PER_MONTH:,.0f} a month that are left within the budget carries the load of {prepared.name} at any latency"
        )
    return Problem(message, "budget.usd_per_month", value=f"{budget_usd_per_month:g}", fix="; ".join(ways))


def _fastest(prepared: Prepared, usd_per_hour: float) -> str | None:
    """The affordable fleet that comes nearest to the objectives, described with its latency and price.

    It may even meet them at the planned load and only lack the headroom above it.
    """
    loose = replace(prepared.demand, ttft_p95_s=None, tpot_p95_s=None)
    best: tuple[float, Choice] | None = None
    for weights in prepared.tiers:
        if not weights:
            continue
        for choice in find(prepared, loose, weights, ceiling_usd_per_hour=usd_per_hour, keep=None).choices:
            opt = option(prepared, choice)
            point = planned(choice.fit, loose, prepared.engine, loose.requests_per_s / opt.counted.replicas.steady / choice.dp)
            demand = prepared.demand
            worst = max(point.ttft.p95 / demand.ttft_p95_s if demand.ttft_p95_s else 0.0, point.tpot.p95 / demand.tpot_p95_s if demand.tpot_p95_s else 0.0)
            if best is None or worst < best[0]:
                best = (worst, choice)
    if best is None:
        return None
    short = f", but without the {prepared.demand.defaults.headroom:.0%} headroom" if best[0] <= 1 else ""
    return priced(prepared, loose, best[1]) + short
