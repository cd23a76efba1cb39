"""Plans of one instance type bought and built in every way, made by the planner's own rules but without sizing a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import samples
from inferform.catalog.instances import efa_layout, find_instance
from inferform.catalog.price_book import LISTED
from inferform.catalog.types import Instance
from inferform.errors import Problem
from inferform.plan import DeploymentPlan
from inferform.plan_nodes import Count, NodesPlan, PurchasePart
from inferform.planning.karpenter import karpenter_plan
from inferform.planning.nodes import Buying, Site, home_zones, offered_zones, plan_nodes
from inferform.planning.purchase import Market
from inferform.planning.termination import termination_plan
from inferform.spec_nodes import Capacity, NodePool

Json = dict[str, Any]
# One type of each family; g6.2xlarge and c7i stand for those without EFA.
FAMILIES = {
    "p4d": "p4d.24xlarge", "p4de": "p4de.24xlarge", "p5": "p5.48xlarge", "p5-small": "p5.4xlarge", "p5e": "p5e.48xlarge", "p5en": "p5en.48xlarge",
    "p6-b200": "p6-b200.48xlarge", "p6-b300": "p6-b300.48xlarge", "g5": "g5.48xlarge", "g6": "g6.48xlarge", "g6-small": "g6.2xlarge", "g6e": "g6e.48xlarge",
    "cpu": "c7i.4xlarge",
}  # fmt: skip
KINDS = ("managed", "self_managed", "karpenter")
_ODCR = {"kind": "reserved", "reservation_id": "cr-0aaaaaaaaaaaaaaaa"}
_BLOCK = {"kind": "capacity_block", "reservation_id": "cr-0bbbbbbbbbbbbbbbb", "max_nodes": 4, "ends_at": "2027-03-01T11:30:00Z"}
# Ways to buy four nodes; one that names a zone gets the fleet's.
PURCHASES: dict[str, tuple[Json, ...]] = {
    "on-demand": ({"kind": "on_demand"},),
    "spot": ({"kind": "spot"},),
    "odcr": (_ODCR,),
    "block": (_BLOCK,),
    "od-spot": ({"kind": "on_demand", "max_nodes": 1}, {"kind": "spot"}),
    "odcr-od-spot": ({**_ODCR, "max_nodes": 1}, {"kind": "on_demand", "max_nodes": 1}, {"kind": "spot"}),
    "block-od": ({**_BLOCK, "max_nodes": 2}, {"kind": "on_demand"}),
    "block-spot": ({**_BLOCK, "max_nodes": 2}, {"kind": "spot"}),
    "floor": ({"kind": "on_demand", "min_nodes": 1, "max_nodes": 1}, {"kind": "spot"}),
}
_NODES = (1, 2, 4)
_SHORT = {"managed": "mng", "self_managed": "asg", "karpenter": "kpt"}
_REGIONS = ("us-east-1", "us-west-2", "us-east-2", "ap-northeast-1")


@dataclass(frozen=True, slots=True)
class Way:
    """One way to build and buy a pool of one instance type."""

    family: str
    kind: str
    purchase: str
    efa: bool

    @property
    def instance(self) -> Instance:
        return find_instance(FAMILIES[self.family])

    @property
    def region(self) -> str:
        """The first region where the type has zones and a price: on demand, or for those that are not sold so, of a block."""
        name, sold = self.instance.name, ("on_demand", "capacity_block")
        return next(r for how in sold for r in _REGIONS if LISTED.price(name, r, how) and offered_zones(self.instance, r))

    @property
    def priced(self) -> bool:
        """Each way in the list has a price, or the on-demand price to stand in for it."""
        listed = [str(source["kind"]) for source in PURCHASES[self.purchase]]
        return all(LISTED.price(self.instance.name, self.region, how) or LISTED.price(self.instance.name, self.region, "on_demand") for how in listed)

    @property
    def zone(self) -> str:
        usable = offered_zones(self.instance, self.region)
        return next((z for z in usable if z in home_zones(self.region)), usable[0])

    @property
    def name(self) -> str:
        """Name of the model in a plan; short, because names are limited."""
        return f"{_SHORT[self.kind]}-{self.purchase}{'-efa' if self.efa else ''}"


def ways(family: str) -> Iterator[Way]:
    """Every kind of group, way to buy, and EFA on and off."""
    yield from (Way(family, kind, purchase, efa) for kind in KINDS for purchase in PURCHASES for efa in (False, True))


def planned(way: Way, **nodes: Any) -> tuple[NodesPlan, tuple[PurchasePart, ...]] | list[str]:
    """The planner's nodes and purchase, or every reason why it refuses them."""
    listed = [{**source, "zone": way.zone} if source.get("reservation_id") else source for source in PURCHASES[way.purchase]]
    capacity = Capacity.model_validate({"purchase": listed})
    market = Market(way.region, capacity, latency_sensitive=False)
    problems: list[Problem] = list(market.problems("capacity"))
    parts = market.parts(way.instance, _NODES)
    if isinstance(parts, str):
        return [*(p.message for p in problems), parts]
    zones = {"zones": [way.zone]} if way.efa or any("zone" in source for source in listed) else {}
    spec = NodePool.model_validate({"kind": way.kind, "efa": way.efa, **zones, **nodes})
    counts = Count(**{key: sum(getattr(p.nodes, key) for p in parts) for key in ("min", "steady", "max")})
    made = plan_nodes(
        "models.m.nodes", spec, Site(way.region, (), "1.33"), way.instance, parts, nodes=counts, nodes_per_replica=1, buying=Buying("capacity", capacity),
        problems=problems,
    )  # fmt: skip
    return [p.message for p in problems] or (made, parts)


def fleet(found: Iterable[tuple[Way, NodesPlan, tuple[PurchasePart, ...]]]) -> DeploymentPlan:
    """The sample plan with one model a way, in the ways' region."""
    rows = list(found)
    data = samples.plan_data()
    first = rows[0][0]
    zones = sorted({*home_zones(first.region), *(zone for _, nodes, _ in rows for zone in nodes.zones)})
    data["cloud"] |= {"region": first.region, "zones": zones}
    data["models"] = {way.name: samples.model({"aggregated": _pool(way, nodes, parts)}) for way, nodes, parts in rows}
    made = DeploymentPlan.model_validate({**data, "termination": None})
    prefix, pools = made.resource_prefix(), {f"{model}-{name}": pool for model, _, name, pool in made.pool_items()}
    more = {"karpenter": karpenter_plan(prefix, (p.infrastructure.kind for p in pools.values())), "termination": termination_plan(prefix, pools)}
    return made.model_copy(update=more)


def _pool(way: Way, nodes: NodesPlan, parts: tuple[PurchasePart, ...]) -> Json:
    gpu = way.instance.gpu
    counts = {key: sum(getattr(p.nodes, key) for p in parts) for key in ("min", "steady", "max")}
    replicas = {"gpus": 1 if gpu else 0}
    pool = samples.pool(instance_type=way.instance.name, gpu=gpu, nodes=counts, replicas=counts, replicas_per_node=1, tp=1, pod=replicas)
    return {**pool, "infrastructure": nodes.model_dump(mode="json"), "purchase": [p.model_dump(mode="json") for p in parts]}


def efa_interfaces(way: Way) -> int:
    """EFA interfaces of the type; 0 where it has none."""
    layout = efa_layout(way.instance.name)
    return layout.interfaces if layout else 0
