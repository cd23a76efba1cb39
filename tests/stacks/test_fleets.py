"""Every GPU family, built and bought in every way: what AWS can build is built without a fault, the rest is refused for the right reason."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden
import jsonschema
import pytest
from fleets import FAMILIES, PURCHASES, Way, efa_interfaces, fleet, planned, ways
from inferform.plan import DeploymentPlan
from inferform.render import render
from inferform.stacks.app import synthesize
from rendered import NO_REFERENCE, REFERENCE, objects
from synthesis import stacks_of

Json = dict[str, Any]
GOLDEN = Path(__file__).parent / "golden" / "families"
CHECKER = Path(__file__).resolve().parents[2].parent / "shared" / "accept" / "terraform_json.py"


def kinds(way: Way) -> set[str]:
    """The kinds of purchase in its list."""
    return {str(source["kind"]) for source in PURCHASES[way.purchase]}


# Who is refused, and why; a way that no row fits is legal. Where it cannot be bought at all, how it is built is not looked at.
REFUSED: tuple[tuple[Callable[[Way], bool], str], ...] = (
    (lambda way: not way.priced, "price is known"),
    (lambda way: "capacity_block" in kinds(way) and not way.instance.capacity_blocks, "is not sold in capacity blocks"),
    (lambda way: {"capacity_block", "spot"} <= kinds(way), "a capacity block and spot do not go together"),
    (lambda way: way.efa and not efa_interfaces(way), "has no Elastic Fabric Adapter"),
    (lambda way: way.kind == "managed" and len(kinds(way) - {"capacity_block"}) > 1, "an EKS managed node group buys in one way only"),
    (lambda way: way.kind == "karpenter" and way.purchase == "floor", "so a floor of on_demand nodes may be emptied first"),
)


def reasons(way: Way) -> list[str]:
    """Reasons to refuse it, by the table."""
    found = [why for refuses, why in REFUSED if refuses(way)]
    not_sold = [why for _, why in REFUSED[:3]]
    return [why for why in found if why in not_sold] if set(found) & set(not_sold[:2]) else found


def key_of(way: Way) -> str:
    return f"{way.name}-aggregated"


@pytest.mark.parametrize("family", FAMILIES)
def test_each_way_is_built_or_refused_for_the_right_reason(family: str) -> None:
    """All kinds x purchases x EFA: refusals are those of the table, everything else fits the provider's schema, and Karpenter's objects their CRDs."""
    legal = []
    for way in ways(family):
        found = planned(way)
        if isinstance(found, list):
            assert sorted(reasons(way)) == sorted(next((w for _, w in REFUSED if w in text), text) for text in found), way
        else:
            assert [] == reasons(way), way
            legal.append((way, *found))
    assert {"managed", "self_managed", "karpenter"} == {way.kind for way, _, _ in legal}
    plan = fleet(legal)
    stack = stacks_of(plan)["nodes"]
    assert [] == undeclared(stack)
    for way, _, _ in legal:
        if way.kind == "managed":
            _check_managed(way, stack["resource"])
        elif way.kind == "self_managed":
            _check_self_managed(way, stack["resource"])
    _check_karpenter([way for way, _, _ in legal if way.kind == "karpenter"], objects(plan))


def test_fc38_one_pool_of_three_goes_and_the_others_stay() -> None:
    """A managed group, a scaling group and a pool of Karpenter: whichever goes, resources and objects of the other two are the same bytes."""
    three = [Way("g6", "managed", "on-demand", efa=False), Way("g6", "self_managed", "od-spot", efa=False), Way("g6", "karpenter", "od-spot", efa=False)]
    rows = [(way, *found) for way in three if not isinstance(found := planned(way), list)]
    assert 3 == len(rows)

    def of(way: Way, source: DeploymentPlan) -> str:
        resources = stacks_of(source)["nodes"]["resource"]
        own = {kind: {name: body for name, body in named.items() if name.startswith(way.name)} for kind, named in resources.items()}
        files = {path: text for path, text in render(source).items() if f"/{way.name}" in path}
        return json.dumps([{kind: named for kind, named in own.items() if named}, files])

    whole = fleet(rows)
    for gone in three:
        less = fleet(row for row in rows if row[0] != gone)
        for way in three:
            assert (way == gone) == (of(way, whole) != of(way, less)), (way.name, gone.name)


def _template(way: Way, resources: Json) -> Json:
    """The launch template of a way, with its EFA interfaces counted; a block has one of its own."""
    key = f"{key_of(way)}-cr-0bbbbbbbbbbbbbbbb" if way.purchase == "block" else key_of(way)
    template: Json = resources["aws_launch_template"][key]
    rows = template.get("network_interfaces", [])
    assert (efa_interfaces(way) if way.efa else 0) == sum(i["interface_type"].startswith("efa") for i in rows)
    assert template["metadata_options"]["http_tokens"] == "required"
    assert {"true"} == {v["ebs"]["encrypted"] for v in template["block_device_mappings"]}
    return template


def _check_managed(way: Way, resources: Json) -> None:
    template = _template(way, resources)
    group = resources["aws_eks_node_group"][f"{key_of(way)}-cr-0bbbbbbbbbbbbbbbb" if way.purchase == "block" else key_of(way)]
    expected = {"spot": "SPOT", "block": "CAPACITY_BLOCK"}.get(way.purchase, "ON_DEMAND")
    assert expected == group["capacity_type"]
    target = template.get("capacity_reservation_specification", {}).get("capacity_reservation_target", {}).get("capacity_reservation_id")
    assert {"odcr": "cr-0aaaaaaaaaaaaaaaa", "block": "cr-0bbbbbbbbbbbbbbbb"}.get(way.purchase) == target


def _check_self_managed(way: Way, resources: Json) -> None:
    template = _template(way, resources)
    if way.purchase == "block":
        assert "capacity-block" == template["instance_market_options"]["market_type"]
        return
    group = resources["aws_autoscaling_group"][key_of(way)]
    policy = group["mixed_instances_policy"]["instances_distribution"]
    assert ("spot" in kinds(way)) == (policy["on_demand_percentage_above_base_capacity"] == 0)
    reservation = group.get("capacity_reservation_specification", {}).get("capacity_reservation_preference")
    assert {"odcr": "capacity-reservations-only", "odcr-od-spot": "capacity-reservations-first"}.get(way.purchase) == reservation


def _check_karpenter(legal: list[Way], found: list[Json]) -> None:
    pools = {o["metadata"]["name"]: o for o in found if o["kind"] == "NodePool"}
    classes = {o["metadata"]["name"]: o for o in found if o["kind"] == "EC2NodeClass"}
    assert {key_of(way) for way in legal} == set(classes)
    kept = {"on_demand": "on-demand", "spot": "spot", "reserved": "reserved", "capacity_block": "reserved"}
    for way in legal:
        own = [o for o in pools.values() if o["spec"]["template"]["spec"]["nodeClassRef"]["name"] == key_of(way)]
        types = [r["values"][0] for o in own for r in o["spec"]["template"]["spec"]["requirements"] if r["key"] == "karpenter.sh/capacity-type"]
        assert sorted(kept[str(source["kind"])] for source in PURCHASES[way.purchase]) == sorted(types)
        rows = classes[key_of(way)]["spec"].get("networkInterfaces", [])
        assert (efa_interfaces(way) if way.efa else 0) == sum(i["interfaceType"] == "efa-only" for i in rows)
        assert len(rows) == len({(i["networkCardIndex"], i["deviceIndex"]) for i in rows})
    if REFERENCE.exists():
        for kind, group in (("NodePool", "karpenter.sh"), ("EC2NodeClass", "karpenter.k8s.aws")):
            validator = jsonschema.Draft7Validator(json.loads((REFERENCE / f"crds/{group}/{kind}_v1.json").read_text(encoding="utf-8")))
            assert [] == [e.message for o in found if o["kind"] == kind for e in validator.iter_errors(o)]


def undeclared(stack: Json) -> list[str]:
    """References to resources and data sources that the stack does not declare."""
    declared = {f"{kind}.{name}" for kind, rows in stack["resource"].items() for name in rows}
    declared |= {f"data.{kind}.{name}" for kind, rows in stack["data"].items() for name in rows}
    text = json.dumps({key: stack.get(key) for key in ("resource", "data", "output", "locals")})
    found = {m for expression in re.findall(r"\$\{([^}]*)\}", text) for m in re.findall(r"(?<![\w.])((?:data\.)?aws_[a-z0-9_]+\.[A-Za-z_][\w-]*)", expression)}
    return sorted(found - declared)


@pytest.mark.parametrize("family", FAMILIES)
def test_golden_family(family: str, golden_write: bool) -> None:
    """The nodes of each family are what was reviewed: a managed group with EFA where there is any, a mixed group, and reserved capacity."""
    chosen = [
        Way(family, "managed", "on-demand", efa=False),
        Way(family, "managed", "on-demand", efa=True),
        Way(family, "self_managed", "odcr-od-spot", efa=False),
        Way(family, "managed", "block", efa=False),
    ]
    rows = [(way, *found) for way in chosen if not isinstance(found := planned(way), list)]
    text = json.dumps(stacks_of(fleet(rows))["nodes"]["resource"], indent=1, sort_keys=True) + "\n"
    folder = GOLDEN / family
    golden.check({"nodes.json": text}, folder, write=golden_write)


@pytest.mark.slow
def test_an_independent_checker_finds_no_fault_in_a_fleet(tmp_path: Path) -> None:
    """All legal ways of p5 and of g6 by the checker that knows nothing of this code."""
    if not CHECKER.exists():
        pytest.skip(NO_REFERENCE)
    for family in ("p5", "g6"):
        legal = [(way, *found) for way in ways(family) if not isinstance(found := planned(way), list)]
        synthesize(fleet(legal), tmp_path / family)
    done = subprocess.run([sys.executable, str(CHECKER), str(tmp_path)], capture_output=True, text=True, check=False)
    if "CalledProcessError" in done.stderr:
        pytest.skip("pip cannot download the bindings that the checker reads")
    assert ", 0 faults" in done.stdout, done.stdout
