"""The model store of a plan: names, copy, file system, and what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from pydantic import ValidationError

from tests.planning.specs import LARGE, model, plan, spec

MADE = {"id": "fs-0123456789abcdef0", "mount_name": "45z7xbmv"}
BIG = {"storage": "9600Gi", "throughput": 1000, "file_system": MADE}


def test_the_copy_has_a_name_of_its_own() -> None:
    """Buckets are global, so the copy's name carries its region; a store without one has none."""
    store = plan(model_store={"replicate_to": "us-west-2"}).model_store
    assert store.replica
    assert ("us-west-2", True) == (store.replica.region, store.replica.bucket.startswith("demo-default-models-copy-"))
    assert store.bucket != store.replica.bucket
    assert plan().model_store.replica is None


def test_the_file_system_stands_where_the_pools_are() -> None:
    """Without a zone it takes that of most pools; one that is named is kept."""
    store = plan({"chat": model(nodes={"zones": ["use1-az4"]})}, model_store={"lustre": {}}).model_store
    assert store.lustre
    assert ("use1-az4", 1200, 250) == (store.lustre.zone, store.lustre.storage_gib, store.lustre.mb_per_s_per_tib)
    named = plan(model_store={"lustre": {"zone": "use1-az6"}}, cloud={"zones": ["use1-az4", "use1-az6"]}).model_store.lustre
    assert named
    assert "use1-az6" == named.zone


def test_the_file_system_is_in_the_bill() -> None:
    """1,200 GiB at $0.145 a GB-month are $174 a month; the source of the price is told, and disks of nodes keep their own price."""
    made = plan(model_store={"lustre": {"throughput": 125}})
    assert made.cost.by_pool["platform/lustre"] == pytest.approx(174 / 730, abs=1e-6)
    (part,) = [p for p in made.cost.platform if p.name == "lustre"]
    assert part.source and part.as_of
    # No price of us-east-1 is known for this tier: the nearest listed one stands in, and says so.
    (other,) = [p for p in plan(model_store={"lustre": {"throughput": 1000}}).cost.platform if p.name == "lustre"]
    assert other.source.startswith("ap-northeast-1 list price")


def test_a_file_system_counts_once_it_can_be_mounted() -> None:
    """Before the first apply it is only paid for, with a warning that says what to do; then it is the faster way and is taken."""
    new = plan({"chat": model(LARGE)}, model_store={"lustre": {**BIG, "file_system": None}})
    assert [True] == ["write the outputs file_system_id" in w for w in new.warnings if "model_store.lustre" in w]
    assert {"disk"} == kinds(new)
    used = plan({"chat": model(LARGE)}, model_store={"lustre": BIG})
    assert {"lustre"} == kinds(used)
    assert {"lustre"} == {p.pod.weights_from for m in used.models.values() for p in m.pools.values()}


def kinds(made: DeploymentPlan) -> set[str]:
    return {m.load.path for m in made.models.values()}


def test_reading_across_zones_is_told() -> None:
    """A pool whose zones lack the file system pays for its traffic."""
    changes: dict[str, Any] = {
        "cloud": {"zones": ["use1-az4", "use1-az6"]},
        "model_store": {"lustre": {**BIG, "zone": "use1-az6"}},
        "cold_start": {"weights_from": "lustre"},
    }
    made = plan({"chat": model(LARGE, nodes={"zones": ["use1-az4"]})}, **changes)
    assert any("chat/aggregated: weights come from the file system in use1-az6, another zone" in w for w in made.warnings)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"model_store": {"replicate_to": "us-east-1"}}, "model_store.replicate_to"),
        ({"model_store": {"replicate_to": "xx-nowhere-9"}}, "model_store.replicate_to"),
        ({"model_store": {"lustre": {"zone": "use1-az5"}}, "cloud": {"zones": ["use1-az4", "use1-az6"]}}, "model_store.lustre.zone"),
        ({"cold_start": {"weights_from": "lustre"}}, "cold_start.weights_from"),
        ({"cold_start": {"weights_from": "lustre"}, "model_store": {"lustre": {}}}, "cold_start.weights_from"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], field: str) -> None:
    """A copy beside the original or nowhere, a zone outside the network, a file system that is not there or not yet."""
    with pytest.raises(InputError) as caught:
        plan(**changes)
    assert [field] == [p.field for p in caught.value.problems]


@pytest.mark.parametrize(("nodes", "field"), [({"os": "bottlerocket"}, "models.chat.nodes.os"), ({"kind": "karpenter"}, "models.chat.nodes.kind")])
def test_only_nodes_that_take_mirrors_pull_from_each_other(nodes: dict[str, Any], field: str) -> None:
    """Bottlerocket and Karpenter's node class cannot be told, so asking for it there is an error; AL2023 groups take it."""
    with pytest.raises(InputError) as caught:
        plan({"chat": model(nodes=nodes)}, cold_start={"image_peers": True})
    assert [field] == [p.field for p in caught.value.problems]
    assert plan(cold_start={"image_peers": True}).model_store.distribution.image_peers


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"model_store": {"lustre": {"storage": "2000Gi"}}}, "no size of a persistent SSD"),
        ({"model_store": {"lustre": {"storage": "600Gi"}}}, "no size of a persistent SSD"),
        ({"model_store": {"lustre": {"throughput": 200}}}, "Input should be"),
        ({"cold_start": {"weights_from": "peers", "node_agents": False}}, "node_agents: false leaves out"),
    ],
)
def test_contradictions_are_told_by_the_spec(changes: dict[str, Any], what: str) -> None:
    """Sizes and tiers that FSx does not sell, and peers without agents."""
    with pytest.raises(ValidationError, match=what):
        spec(**changes)
