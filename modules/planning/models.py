"""A model's part of the plan: candidates by tier, the chosen one, and the whole of what runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

from inferform.errors import InputError, Problem
from inferform.plan import ModelPlan, PoolPlan, Rejected, SecretRef
from inferform.plan_cost import HOURS_PER_MONTH
from inferform.planning.candidates import Option, find, option
from inferform.planning.closeness import closeness_warning
from inferform.planning.hand_over import hand_over
from inferform.planning.infeasible import nothing_fits
from inferform.planning.pools import Pool, longest_output, plan_pool
from inferform.planning.prepare import Prepared
from inferform.planning.quantize import plan_quantize, quantize_warnings, summary
from inferform.planning.reasons import rejected, why
from inferform.planning.sharing import sharing_warning
from inferform.planning.split import LEAST_REPLICAS, LEAST_SAVING, ROLES, best_split, may_split
from inferform.sizing.corrections import NOT_MEASURED
from inferform.sizing.layouts import prompt_share
from inferform.sizing.lengths import Z99
from inferform.sizing.precision import check_precision
from inferform.sizing.queueing import Latency
from inferform.sizing.search import Choice, Dropped, Found
from inferform.spec import Disaggregation

# A saving below this share is not worth a checkpoint of one's own.
_WORTH_TELLING = 0.9


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to carry a model: an option for each role of its pools, the runners-up, what was dropped, and the precision tier.

    `over_budget` is what an earlier tier would run, had the budget room for it. `apart` are split pools that would be cheaper, but are
    left to the user to ask for.
    """

    options: dict[str, Option]
    others: tuple[Choice, ...]
    dropped: tuple[Dropped, ...]
    tier: int
    over_budget: tuple[Choice, ...] = ()
    apart: dict[str, Option] | None = None

    @property
    def usd_per_hour(self) -> float:
        """The steady fleet of all its pools."""
        return sum(o.usd_per_hour for o in self.options.values())


def first_variant(prepared: Prepared) -> Variant:
    """The cheapest way in the first precision tier that has one.

    Raises: InputError naming the binding constraint when no tier has any.
    """
    found, missed = _variants(prepared, range(len(prepared.tiers)), stop=True)
    if not found:
        raise InputError(nothing_fits(prepared, tuple(row for result in missed for row in result.dropped)))
    return found[0]


def later_variants(prepared: Prepared, first: Variant) -> tuple[Variant, ...]:
    """The cheapest way in each precision tier after one that was found."""
    return tuple(_variants(prepared, range(first.tier + 1, len(prepared.tiers)), stop=False)[0])


def _variants(prepared: Prepared, tiers: range, *, stop: bool) -> tuple[list[Variant], list[Found]]:
    found: list[Variant] = []
    missed: list[Found] = []
    for tier in tiers:
        weights = prepared.tiers[tier]
        if found and stop:
            break
        if not weights:
            continue
        result = _split(prepared, weights, tier) if isinstance(prepared.spec.topology, Disaggregation) else _free(prepared, weights, tier)
        if isinstance(result, Variant):
            before = tuple(row for earlier in missed for row in earlier.dropped)
            found.append(replace(result, dropped=(*before, *result.dropped)))
        else:
            missed.append(result)
    return found, missed


def _aggregated(prepared: Prepared, weights: tuple[str, ...], tier: int) -> Variant | Found:
    found = find(prepared, prepared.demand, weights)
    if not found.choices:
        return found
    return Variant({"aggregated": option(prepared, found.choices[0])}, found.choices[1:], found.dropped, tier)


def _split(prepared: Prepared, weights: tuple[str, ...], tier: int) -> Variant | Found:
    """Prefill and decode pools in the asked ratio."""
    options, dropped = best_split(prepared, weights, cast(Disaggregation, prepared.spec.topology), math.inf)
    return Found((), dropped) if options is None else Variant(options, (), dropped, tier)


def _free(prepared: Prepared, weights: tuple[str, ...], tier: int) -> Variant | Found:
    """One kind of replica, or split pools where a fleet is a tenth cheaper so or nothing else keeps the objectives; for small fleets only named."""
    together = _aggregated(prepared, weights, tier)
    if not may_split(prepared):
        return together
    if isinstance(together, Variant):
        replicas = together.options["aggregated"].counted.replicas.steady
        if replicas < 2:
            return together
        options, _ = best_split(prepared, weights, None, together.usd_per_hour * (1 - LEAST_SAVING))
        if replicas < LEAST_REPLICAS:
            return replace(together, apart=options)
        whole = together.options["aggregated"].choice
        return together if options is None else Variant(options, (whole, *together.others), together.dropped, tier)
    options, _ = best_split(prepared, weights, None, math.inf)
    return together if options is None else Variant(options, (), together.dropped, tier)


def _left_apart(variant: Variant) -> tuple[Rejected, ...]:
    """The split pools that a small fleet is not turned to by itself, with what they would save and how to ask for them."""
    if variant.apart is None:
        return ()
    usd = sum(o.usd_per_hour for o in variant.apart.values())
    steady = {role: o.counted.replicas.steady for role, o in variant.apart.items()}
    shown = " and ".join(f"{role} {o.choice}" for role, o in variant.apart.items())
    reason = (
        f"price: ${usd:,.2f} an hour, ${(variant.usd_per_hour - usd) * HOURS_PER_MONTH:,.0f} a month less, but a fleet below {LEAST_REPLICAS} replicas is not split "
        f"by itself: two kinds of pools and a router are more to run; to have it set topology: {{prefill: {steady['prefill']}, decode: {steady['decode']}}}"
    )
    return (Rejected(candidate=shown, reason=reason),)


def plan_model(prepared: Prepared, variant: Variant, problems: list[Problem], warnings: list[str]) -> ModelPlan:
    """Everything that runs for one model."""
    pools = pools_of(prepared, variant, problems)
    first = next(iter(variant.options.values()))
    main = pools.get("aggregated") or pools["decode"]
    cut = first.choice.fit.cut
    lines: list[str] = []
    for role, opt in variant.options.items():
        prefix = "" if role == "aggregated" else f"{role}: "
        point = pools[role].point
        lines += [prefix + line for line in why(prepared, opt, point, variant.others, tier=variant.tier)]
    lines += [note for pool in pools.values() for note in pool.notes]
    quantize = plan_quantize(prepared, sorted({zone for pool in pools.values() for zone in pool.plan.infrastructure.zones}), problems)
    if prepared.spec.routing == "prefix" and len(pools) == 1:
        lines.append("a router before the replicas sends prompts that begin alike to the same one, as asked for in the spec")
    if quantize is not None:
        lines.append(summary(quantize))
        warnings += quantize_warnings(prepared.name, quantize)
    if len(pools) > 1:
        lines.append(_apart(prepared, variant, pools))
    lines += _cheaper(prepared, variant)
    warnings += _warnings(prepared, variant, pools)
    spec, demand, model = prepared.spec, prepared.demand, prepared.model
    token = spec.hf_token_secret
    return ModelPlan(
        source=prepared.source, served_name=prepared.name, architecture=model.architecture, task=prepared.task, engine=prepared.settings.engine.name,
        engine_version=prepared.settings.version, image=prepared.settings.image, weights=cut.weights,
        checkpoint_quantized=cut.weights not in {"bf16", "fp16"} and not prepared.online(cut.weights), kv_cache=spec.kv_cache.value,
        prefix_caching=prepared.engine.prefix_caching, chunked_prefill=prepared.engine.chunked_prefill, enforce_eager=spec.enforce_eager,
        topology="disaggregated" if len(pools) > 1 else "aggregated", profile=spec.workload.profile.value, max_output_tokens=longest_output(prepared),
        gated=model.gated, hf_token_secret=None if token is None else SecretRef(name=token.name, key=token.key), extra_args=prepared.settings.extra_args,
        slo_ttft_p95_ms=None if demand.ttft_p95_s is None else round(demand.ttft_p95_s * 1e3, 3),
        slo_tpot_p95_ms=None if demand.tpot_p95_s is None else round(demand.tpot_p95_s * 1e3, 3), load=main.load,
        pools={role: pool.plan for role, pool in pools.items()}, why=tuple(dict.fromkeys(lines)), rejected=(*_left_apart(variant), *rejected(first, variant.others, variant.dropped, variant.over_budget)),
        disaggregation=spec.topology.runtime if isinstance(spec.topology, Disaggregation) else "vllm-router" if len(pools) > 1 else None,
        quantize=quantize, routing=spec.routing if len(pools) == 1 else "any",
    )  # fmt: skip


def _apart(prepared: Prepared, variant: Variant, pools: dict[str, Pool]) -> str:
    """What the split saves, its ratio, and what the hand-over adds."""
    prefill, decode = pools["prefill"].plan, pools["decode"].plan
    sizes = f"{prefill.replicas.steady} prefill to {decode.replicas.steady} decode replicas"
    whole = next(iter(variant.others), None)
    saved = f", ${(whole.usd_per_hour - variant.usd_per_hour) * HOURS_PER_MONTH:,.0f} a month less than {whole}" if whole is not None else ""
    asked = "asked for in the spec" if isinstance(prepared.spec.topology, Disaggregation) else "each as many as its own work needs"
    way = hand_over(prepared, variant.options["prefill"].choice, variant.options["decode"].choice)
    return (
        f"prefill and decode apart: {sizes}, {asked}{saved}; handing a long prompt's cache over takes {way.seconds * 1e3:.0f} ms of the first token's time, "
        f"by {way.over}"
    )


def prompt_shares(prepared: Prepared, variant: Variant) -> dict[str, float]:
    """By role, the share of a pool's GPU time that prompts take at the planned load; the rest goes to answers."""
    fixed = {"prefill": 1.0, "decode": 0.0}
    return {
        role: fixed[role] if role in fixed else prompt_share(option.choice.fit, prepared.demand, prepared.engine) for role, option in variant.options.items()
    }


def _cheaper(prepared: Prepared, variant: Variant) -> list[str]:
    """What a checkpoint in a later precision tier would save, where it saves a tenth or more."""
    if "aggregated" not in variant.options:
        return []
    lines = []
    for weights in prepared.tiers[variant.tier + 1 :]:
        ceiling = variant.usd_per_hour * _WORTH_TELLING
        choices = find(prepared, prepared.demand, weights, ceiling_usd_per_hour=ceiling, keep=1).choices if weights else ()
        if choices:
            saved = 1 - choices[0].usd_per_hour / variant.usd_per_hour
            lines.append(
                f"cheaper with another checkpoint: {choices[0]} at ${choices[0].usd_per_hour:,.2f} an hour (-{saved:.0%}); set quantization to {choices[0].fit.cut.weights}"
            )
    return lines


def pools_of(prepared: Prepared, variant: Variant, problems: list[Problem]) -> dict[str, Pool]:
    """Pools by role. In a split model the first token comes from prefill, the hand-over and a decode step, and the pace from the decode pool."""
    options = variant.options
    if "aggregated" in options:
        return {"aggregated": plan_pool(prepared, prepared.demand, options["aggregated"], "aggregated", ttft=None, tpot=None, problems=problems)}
    trial = {role: plan_pool(prepared, prepared.demand_of(role), options[role], role, ttft=None, tpot=None, problems=[]) for role in ROLES}
    prompt, tpot = trial["prefill"].point.ttft, trial["decode"].point.tpot
    after = hand_over(prepared, options["prefill"].choice, options["decode"].choice).seconds + tpot.p50
    ttft = Latency(prompt.p50 + after, prompt.p95 + after, prompt.p99 + after)
    return {role: plan_pool(prepared, prepared.demand_of(role), options[role], role, ttft=ttft, tpot=tpot, problems=problems) for role in ROLES}


def _warnings(prepared: Prepared, variant: Variant, pools: dict[str, Pool]) -> list[str]:
    """What a user should know before paying."""
    name, settings = prepared.name, prepared.settings
    found: list[str] = []
    for role, opt in variant.options.items():
        pool, cut = pools[role].plan, opt.choice.fit.cut
        where = name if role == "aggregated" else f"{name}/{role}"
        found += [f"{where}: {note}" for note in (*prepared.market.notes(opt.choice.instance), *prepared.market.idle(opt.parts))]
        if pool.gpu is not None:
            checked = check_precision(
                prepared.model, cut.gpu, weights=cut.weights, kv_cache=prepared.engine.kv_cache, engine=settings.engine.name, engine_version=settings.version
            )
            found += [f"{where}: {text}" for text in checked.warnings]
        if cut.weights not in {"bf16", "fp16", prepared.published} and not prepared.online(cut.weights) and prepared.spec.quantize is None:
            found.append(
                f"{where}: {prepared.source} is published in {prepared.published}; put a checkpoint quantized to {cut.weights} into the model store, or name one as source, "
                "and check its quality on your prompts first"
            )
        if cut.link == "pcie" and cut.tp > 1:
            found.append(f"{where}: TP {cut.tp} over PCIe as asked; its all-reduce costs more than it saves unless a GPU cannot hold the model")
        if pool.gpu is not None and prepared.engine.own_runs.scales and opt.choice.fit.behaviour.scale == NOT_MEASURED:
            found.append(f"{where}: no own run measured {cut}; its latencies are those of the step model alone")
        found += _robustness(prepared, where, pool)
        found += [
            f"{where}: {text}"
            for text in settings.engine.caveats(
                version=settings.version, image=settings.image, device="gpu" if pool.gpu else "cpu", efa=pool.infrastructure.efa is not None
            )
        ]
    cards = {role: opt.choice.fit.cut.gpu for role, opt in variant.options.items()}
    if len({card.arch for card in cards.values()}) > 1:
        between = " and ".join(f"{role} on {card.name}" for role, card in sorted(cards.items()))
        found.append(f"{name}: {between} are of two generations, whose attention kernels may lay the cache out differently; try the hand-over before you buy")
    slow = sorted({pool.plan.instance_type for pool in pools.values() if pool.plan.infrastructure.efa is None}) if len(pools) > 1 else []
    if slow:
        over_s = hand_over(prepared, variant.options["prefill"].choice, variant.options["decode"].choice).seconds
        found.append(
            f"{name}: {' and '.join(slow)} here has no EFA, so NIXL hands caches over by TCP (UCX), {over_s * 1e3:.0f} ms for a long prompt when the network is free; "
            "set nodes.efa: true where the type has it, with an image that holds libfabric"
        )
    for what, lengths in (("input_tokens", prepared.demand.prompt), ("output_tokens", prepared.demand.output)):
        if lengths.shape.cap < math.inf:
            found.append(
                f"{name}: p95 {lengths.p95:.0f} of {what} is {lengths.p95 / lengths.mean:.1f} x its mean, a heavier tail than a lognormal one; taken as one that ends "
                f"at {lengths.at(Z99):.0f} tokens, and behind such requests others may wait up to 1.8 x as long as planned: compare with a run of your own (calibrate --runs)"
            )
    work = prepared.spec.workload
    wanted = work.input_tokens.p95_tokens + (work.output_tokens.p95_tokens if prepared.task == "generate" else 1)
    if prepared.engine.max_model_len < wanted:
        found.append(
            f"{name}: max_model_len {prepared.engine.max_model_len} is below the {wanted:.0f} tokens of a 95th-percentile prompt and answer; longer requests are refused"
        )
    return found


def _robustness(prepared: Prepared, where: str, pool: PoolPlan) -> list[str]:
    found = []
    told = (
        sharing_warning(pool.infrastructure.sharing),
        closeness_warning(prepared.spec.nodes.closeness, nodes_per_replica=pool.nodes_per_replica),
    )
    found += [f"{where}: {text}" for text in told if text]
    if prepared.demand.defaults.latency_sensitive and pool.replicas.steady == 1:
        found.append(f"{where}: one replica carries all traffic, so losing its node interrupts service; capacity.warm_standby: 1 keeps a second one loaded")
    if pool.lifecycle.rollout_interrupts:
        found.append(f"{where}: no GPUs are left for a second replica, so every rollout interrupts service; raise capacity.max_nodes to avoid it")
    if any(p.kind == "spot" for p in pool.purchase) and prepared.demand.defaults.latency_sensitive:
        steady = sum(p.nodes.steady for p in pool.purchase if p.kind == "spot")
        which = f"{steady} of {pool.nodes.steady} steady nodes and the burst" if steady else "burst nodes"
        found.append(f"{where}: {which} are spot; a reclaim ends the streams on them after two minutes")
    return found
