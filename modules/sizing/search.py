"""The cheapest way to carry one model's traffic: instance type x layout x precision, exhaustive with sound pruning.

Candidates are tried from the cheapest node up. A candidate whose fewest nodes already cost more than the best one found cannot
win, so it is not evaluated; every other one is. At the same price, where people wait, two replicas go before one; then fewer
nodes win, then the precision closer to the checkpoint, then fewer GPUs a replica, then fewer ranks with experts of their own,
then the name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inferform.catalog.gpus import find_gpu
from inferform.catalog.types import Instance, Model
from inferform.sizing.cpu import cpu_card
from inferform.sizing.layouts import Cut, Engine, Fit, Miss, carries, evaluate, is_evaluated
from inferform.sizing.roofline import Link
from inferform.sizing.workload import Demand

_PIPELINE_LINK = {"nvswitch": 300e9, "nvlink": 100e9, "pcie": 20e9, "none": 20e9}
# Pipeline stages over more nodes than this are not searched; an explicit pp may ask for them.
_MOST_NODES_PER_REPLICA = 4
# Requests a second of someone who is alone.
_LONE = 1e-6
_QUALITY = {"bf16": 0, "fp16": 0, "fp8": 1, "int8": 2, "mxfp4": 3, "nvfp4": 3, "awq": 4, "gptq": 4}


@dataclass(frozen=True, slots=True)
class Degrees:
    """Explicit parallel degrees."""

    tp: int
    pp: int
    dp: int
    ep: int = 1


@dataclass(frozen=True, slots=True)
class Fleet:
    """Replicas and nodes: fewest, steady, most; and how many of one make the other."""

    replicas: tuple[int, int, int]
    nodes: tuple[int, int, int]
    nodes_per_replica: int = 1
    replicas_per_node: int = 1


@dataclass(frozen=True, slots=True)
class Space:
    """What may be tried. `cost` prices a fleet an hour or says why it cannot be had; `check` says what forbids a cut before it is evaluated.

    `spread_experts`: the engine can lay whole experts on the ranks of a replica, and the model has experts.
    `thorough` evaluates what one look would drop, so that searches for other loads find it known.
    """

    instances: tuple[Instance, ...]
    weights: tuple[str, ...]
    degrees: Degrees | None
    cost: Callable[[Instance, Fleet], float | str]
    check: Callable[[Cut], tuple[str, str] | None]
    warm_standby: int = 0
    spread_experts: bool = False
    thorough: bool = False
    ceiling_usd_per_hour: float = math.inf


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate that carries the traffic inside the objectives."""

    instance: Instance
    fit: Fit
    fleet: Fleet
    usd_per_hour: float

    @property
    def dp(self) -> int:
        """Data-parallel ranks of a replica."""
        return self.fit.cut.dp

    @property
    def rate(self) -> float:
        """Requests a second of one replica, all its data-parallel ranks together."""
        return self.fit.best.requests_per_s * self.dp

    def __str__(self) -> str:
        cut = self.fit.cut
        return f"{self.fleet.nodes[1]} x {self.instance.name} ({cut.gpu.name}), {cut.weights}, {cut.degrees}"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that was ruled out before or after evaluation, by instance type and layout.

    `distance` is how far off it is (1 = just missed); for a count, the nodes that would keep the objectives, infinite where that was not looked at.
    """

    instance: str
    gpu: str
    cut: str
    kind: str
    reason: str
    distance: float


@dataclass(frozen=True, slots=True)
class Found:
    """Choices from the cheapest up, and all that was dropped."""

    choices: tuple[Choice, ...]
    dropped: tuple[Dropped, ...]


def search(model: Model, demand: Demand, engine: Engine, space: Space, *, keep: int | None = 2, every: bool = False) -> Found:
    """Candidates that carry the demand inside its objectives, cheapest first; the best `keep` of them are exact, all with None.

    Shape: one Choice per instance type at most, its cheapest layout; with `every` all layouts.
    """
    choices: list[Choice] = []
    dropped: list[Dropped] = []
    priced = []
    for instance in space.instances:
        one = space.cost(instance, Fleet((1, 1, 1), (1, 1, 1)))
        if isinstance(one, str):
            dropped.append(Dropped(instance.name, instance.gpu or "", "", "offer", one, math.inf))
        else:
            priced.append((one, instance.name, instance))
    for _, _, instance in sorted(priced, key=lambda p: p[:2]):
        best: Choice | None = None
        uneven = _uneven(instance, space.degrees)
        if uneven:
            dropped.append(Dropped(instance.name, instance.gpu or "", "", "parallelism", uneven, math.inf))
            continue
        for cut, nodes in _cuts(instance, space):
            bar = space.ceiling_usd_per_hour
            if keep is not None and len(choices) >= keep:
                bar = min(bar, sorted(c.usd_per_hour for c in choices)[keep - 1])
            outcome: Choice | tuple[str, str, float] | None = _price_bar(space.cost(instance, Fleet((1, 1, 1), (nodes,) * 3, nodes)), nodes, bar) or _refused(
                space, cut
            )
            if outcome is None and bar < math.inf and not space.thorough and not is_evaluated(model, demand, engine, cut):
                outcome = _too_weak(model, demand, engine, cut, instance=instance, nodes=nodes, bar=bar, space=space)
            if outcome is None:
                fit = evaluate(model, demand, engine, cut)
                outcome = (fit.kind, fit.reason, fit.distance) if isinstance(fit, Miss) else _choice(instance, fit, nodes=nodes, demand=demand, space=space)
            if isinstance(outcome, Choice) and every:
                choices.append(outcome)
            elif isinstance(outcome, Choice):
                best = outcome if best is None or _order(outcome, demand) < _order(best, demand) else best
            else:
                kind, reason, distance = outcome
                dropped.append(Dropped(instance.name, cut.gpu.name, str(cut), kind, reason, distance))
        if best is not None:
            choices.append(best)
    choices.sort(key=lambda choice: _order(choice, demand))
    return Found(tuple(choices), tuple(dropped))


def _order(choice: Choice, demand: Demand) -> tuple[float, bool, int, int, int, int, str]:
    """Cheapest first. At the same price: two replicas before one where people wait, then as the module says."""
    cut = choice.fit.cut
    alone = demand.defaults.latency_sensitive and choice.fleet.replicas[1] == 1
    return (round(choice.usd_per_hour, 6), alone, choice.fleet.nodes[1], _QUALITY[cut.weights], cut.tp * cut.pp * cut.dp, cut.ep, choice.instance.name)


def _uneven(instance: Instance, degrees: Degrees | None) -> str | None:
    """Why explicit degrees do not lie on whole nodes of this type: a tensor-parallel group never crosses nodes."""
    if degrees is None or not instance.gpu:
        return None
    count, ranks = instance.gpu_count, degrees.tp * degrees.pp * degrees.dp
    if degrees.tp > count:
        return f"TP {degrees.tp} does not fit the {count} GPU{'s' if count > 1 else ''} of a node, and tensor parallelism never crosses nodes"
    if ranks > count and (ranks % count or count % degrees.tp):
        return f"{ranks} GPUs a replica do not fill whole nodes of {count}"
    return None


def _cuts(instance: Instance, space: Space) -> Iterator[tuple[Cut, int]]:
    """(cut, nodes of one replica) to try on an instance type.

    Tensor parallelism stays inside one NVLink domain (requirements A3): over PCIe, and over nodes, a model is cut into pipeline stages.
    Data-parallel ranks are tried where they share experts; other ranks are replicas of their own and need no trying.
    """
    if not instance.gpu:
        yield Cut(cpu_card(instance), "none", 1, 1, "bf16", _PIPELINE_LINK["none"]), 1
        return
    gpu = find_gpu(instance.gpu)
    link: Link = instance.interconnect if instance.interconnect != "neuronlink" else "none"
    inside = _PIPELINE_LINK[link]
    for weights in space.weights:
        if weights == "fp16" and "bf16" in space.weights and gpu.native_bf16:
            # The checkpoint's own type runs here, so the other 16-bit type is no choice.
            continue
        if space.degrees is not None:
            tp, pp, dp, ep = space.degrees.tp, space.degrees.pp, space.degrees.dp, space.degrees.ep
            nodes = max(1, -(-tp * pp * dp // instance.gpu_count))
            hop = instance.network_bytes_per_s if nodes > 1 else inside
            yield Cut(gpu, link if tp * dp > 1 else "none", tp, pp, weights, hop, dp, ep), nodes
            continue
        wired = link in {"nvswitch", "nvlink"}
        tps = [t for t in _powers(instance.gpu_count) if wired or t == 1]
        for tp in tps:
            yield Cut(gpu, link if tp > 1 else "none", tp, 1, weights, inside), 1
        for ranks in tps if space.spread_experts else ():
            for tp in _powers(ranks):
                if ranks > 1:
                    yield Cut(gpu, link, tp, 1, weights, inside, ranks // tp, ranks), 1
        for pp in _powers(instance.gpu_count):
            if pp > 1 and not wired:
                yield Cut(gpu, "none", 1, pp, weights, inside), 1
        if wired and instance.efa_interfaces and instance.gpu_count == max(tps):
            for nodes in range(2, _MOST_NODES_PER_REPLICA + 1):
                yield Cut(gpu, link, instance.gpu_count, nodes, weights, instance.network_bytes_per_s), nodes


def _powers(limit: int) -> Sequence[int]:
    return [2**n for n in range(limit.bit_length()) if 2**n <= limit]


def _price_bar(least: float | str, nodes: int, bar: float) -> tuple[str, str, float] | None:
    """A candidate whose fewest nodes cannot be had, or already cost more than the best ones found."""
    if isinstance(least, str):
        return "count", least, math.inf
    if least <= bar:
        return None
    return "price", f"{nodes} node{'s' if nodes > 1 else ''} already cost ${least:,.2f} an hour", least / bar if bar > 0 else math.inf


def _too_weak(
    model: Model, demand: Demand, engine: Engine, cut: Cut, *, instance: Instance, nodes: int, bar: float, space: Space
) -> tuple[str, str, float] | None:
    """A candidate that carries too little for all the nodes that the best ones found would pay for; what it carries need not be known."""
    per_node = _replicas_per_node(instance, cut, nodes)
    groups = _affordable(instance, nodes, per_node, bar, space)
    replicas = groups * per_node - space.warm_standby
    if replicas < 1:
        return "price", f"{nodes} node{'s' if nodes > 1 else ''} and the warm standby cost more than ${bar:,.2f} an hour", 1.0
    least = demand.capacity_needed() / replicas
    # Rates are found to one percent, and a hair below the one needed must not be lost.
    if carries(model, demand, engine, cut, least * 0.99 / cut.dp) or not carries(model, demand, engine, cut, _LONE):
        # What not even a lone request keeps is told as that.
        return None
    count = groups * nodes
    return (
        "price",
        f"{count} node{'s' if count > 1 else ''} do not carry the load, and more cost over ${bar:,.2f} an hour (a replica would need {least:.3g} requests/s)",
        1.0,
    )


def _affordable(instance: Instance, nodes: int, per_node: int, bar: float, space: Space) -> int:
    """Most groups of `nodes` nodes whose price is at most `bar`."""

    def within(groups: int) -> bool:
        replicas, count = groups * per_node, groups * nodes
        usd = space.cost(instance, Fleet((replicas,) * 3, (count,) * 3, nodes, per_node))
        return not isinstance(usd, str) and usd <= bar

    low, high = 0, 1
    while within(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if within(middle) else (low, middle)
    return low


def _refused(space: Space, cut: Cut) -> tuple[str, str, float] | None:
    forbidden = space.check(cut)
    return None if forbidden is None else (*forbidden, 1.0)


def _choice(instance: Instance, fit: Fit, *, nodes: int, demand: Demand, space: Space) -> Choice | tuple[str, str, float]:
    dp = fit.cut.dp
    per_node = _replicas_per_node(instance, fit.cut, nodes)
    fleet = fleet_for(demand, fit.best.requests_per_s * dp, nodes_per_replica=nodes, replicas_per_node=per_node, warm_standby=space.warm_standby)
    usd = space.cost(instance, fleet)
    if isinstance(usd, str):
        return "count", usd, fleet.nodes[1]
    if usd > space.ceiling_usd_per_hour:
        return "price", f"{fleet.nodes[1]} nodes cost ${usd:,.2f} an hour", usd / space.ceiling_usd_per_hour
    return Choice(instance, fit, fleet, usd)


def _replicas_per_node(instance: Instance, cut: Cut, nodes: int) -> int:
    return max(1, instance.gpu_count // (cut.tp * cut.pp * cut.dp)) if nodes == 1 else 1


def fleet_for(demand: Demand, rate: float, *, nodes_per_replica: int, replicas_per_node: int, warm_standby: int) -> Fleet:
    """Replicas and nodes for a demand when one replica carries `rate` requests a second.

    Steady carries the busiest hour plus headroom plus warm standby, most carries the burst; GPUs of a node that is paid for anyway run
    replicas too. Fewest is half the steady fleet, for the quiet hours.
    """

    def filled(replicas: int) -> tuple[int, int]:
        nodes = -(-replicas // replicas_per_node) * nodes_per_replica
        return nodes // nodes_per_replica * replicas_per_node, nodes

    steady, steady_nodes = filled(math.ceil(demand.capacity_needed() / rate - 1e-9) + warm_standby)
    most, most_nodes = filled(max(steady, math.ceil(demand.burst_needed() / rate - 1e-9) + warm_standby))
    fewest, fewest_nodes = filled(max(1, -(-steady // 2)))
    return Fleet((min(fewest, steady), steady, most), (min(fewest_nodes, steady_nodes), steady_nodes, most_nodes), nodes_per_replica, replicas_per_node)
