"""What a purchase list allows once and several pools want: capacity reservations, blocks, and caps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inferform.errors import Problem
from inferform.plan import ModelPlan
from inferform.spec import DeploymentSpec


def overdrawn(spec: DeploymentSpec, models: Mapping[str, ModelPlan]) -> Iterator[Problem]:
    """Sources that the pools of the plan want more nodes from than they hold together.

    A reservation or block is one thing, whoever names it. A cap without an id holds for the pools of each model that it is
    written for or inherited by.
    """
    wanted: dict[tuple[str, str], dict[str, int]] = {}
    holds: dict[tuple[str, str], tuple[int, str]] = {}
    for name, model in sorted(models.items()):
        own = spec.models[name].capacity
        field, capacity = (f"models.{name}.capacity", own) if own else ("capacity", spec.capacity)
        if capacity.purchase == "auto":
            continue
        for at, source in enumerate(capacity.purchase):
            if source.max_nodes is None:
                continue
            key = ("reservation", source.reservation_id) if source.reservation_id else (name, f"{at}")
            known = holds.get(key, (source.max_nodes, ""))[0]
            holds[key] = min(known, source.max_nodes), f"{field}.purchase.{at}.max_nodes"
            for role, pool in sorted(model.pools.items()):
                nodes = sum(p.nodes.max for p in pool.purchase if p.kind == source.kind and p.reservation_id == source.reservation_id)
                if nodes:
                    wanted.setdefault(key, {})[f"{name}/{role}"] = nodes
    for key, pools in wanted.items():
        most, field = holds[key]
        if len(pools) > 1 and sum(pools.values()) > most:
            what = f"{key[1]} holds {most}" if key[0] == "reservation" else f"the cap is {most}"
            each = ", ".join(f"{pool} {nodes}" for pool, nodes in pools.items())
            yield Problem(
                f"several pools want {sum(pools.values())} nodes from one source: {what} ({each})", field, value=str(most),
                fix="give each model a capacity.purchase of its own whose max_nodes add up to what there is",
            )  # fmt: skip
