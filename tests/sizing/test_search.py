"""The search: fleets by hand, the same answer as brute force, and properties that money depends on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.catalog.gpus import find_gpu
from inferform.catalog.instances import find_instance, gpu_instances
from inferform.catalog.models import find_model
from inferform.catalog.prices import price
from inferform.catalog.types import Instance
from inferform.sizing.layouts import Cut, Engine, Fit, Miss, evaluate
from inferform.sizing.lengths import Lengths
from inferform.sizing.search import Degrees, Fleet, Found, Space, fleet_for, search
from inferform.sizing.workload import Demand, context_length

LLAMA_8B, LLAMA_70B = find_model("meta-llama/Meta-Llama-3.1-8B"), find_model("meta-llama/Llama-3.3-70B-Instruct")
ENGINE = Engine("vllm", "0.33.0", "auto", 8192, None, None, 0.9, enforce_eager=False, chunked_prefill=True, prefix_caching=True)
DEMAND = Demand("interactive", 4.0, Lengths(800, 2000), Lengths(250, 600), 0, 2.0, 1.5, 0.08)


def listed(instance: Instance, fleet: Fleet) -> float | str:
    """The on-demand price in us-east-1."""
    found = price(instance.name, "us-east-1", "on_demand")
    return "no price" if found is None else fleet.nodes[1] * found.usd_per_hour


def space(
    instances: tuple[Instance, ...] = (),
    weights: tuple[str, ...] = ("bf16", "fp8"),
    degrees: Degrees | None = None,
    cost: Callable[[Instance, Fleet], float | str] = listed,
) -> Space:
    known = tuple(i for i in gpu_instances() if i.arch == "x86_64" and i.gpu not in {"RTX-PRO-4500-BSE", "T4", "V100-16GB-SXM2", "V100-32GB-SXM2"})
    return Space(instances or known, weights, degrees, cost, lambda cut: None)


def best(found: Found) -> tuple[str, str, float]:
    choice = found.choices[0]
    return choice.instance.name, str(choice.fit.cut), round(choice.usd_per_hour, 6)


def test_fleet_by_hand() -> None:
    """10 requests/s and 30 % headroom are 13/s; at 4/s a replica that is 4 replicas, 2 a node on 2 nodes; burst 2 makes 7, so 8 on 4 nodes."""
    demand = replace(DEMAND, requests_per_s=10.0)
    assert Fleet((2, 4, 8), (1, 2, 4), 1, 2) == fleet_for(demand, 4.0, nodes_per_replica=1, replicas_per_node=2, warm_standby=0)


def test_warm_standby_is_kept_at_every_size() -> None:
    """One spare replica on top of four steady and seven at most."""
    fleet = fleet_for(replace(DEMAND, requests_per_s=10.0), 4.0, nodes_per_replica=1, replicas_per_node=1, warm_standby=1)
    assert ((3, 5, 8), (3, 5, 8)) == (fleet.replicas, fleet.nodes)


def test_a_replica_over_two_nodes_counts_nodes_twice() -> None:
    """Three replicas of two nodes each are six nodes."""
    fleet = fleet_for(replace(DEMAND, requests_per_s=10.0, burst=1.0), 5.0, nodes_per_replica=2, replicas_per_node=1, warm_standby=0)
    assert (3, 6) == (fleet.replicas[1], fleet.nodes[1])


@pytest.mark.parametrize(
    "demand",
    [
        DEMAND,
        replace(DEMAND, requests_per_s=40.0),
        replace(DEMAND, prompt=Lengths(3000, 6000), ttft_p95_s=0.8),
        replace(DEMAND, profile="batch", ttft_p95_s=None, tpot_p95_s=None, requests_per_s=20.0),
        replace(DEMAND, shared_prefix_tokens=600, tpot_p95_s=0.02),
    ],
    ids=["small", "large", "long prompts", "batch", "fast"],
)
def test_pruning_never_loses_the_best(demand: Demand) -> None:
    """The cheapest two with pruning are the cheapest two of all candidates."""
    pruned, brute = (search(LLAMA_8B, demand, ENGINE, space(), keep=keep) for keep in (2, None))
    assert [str(c) for c in brute.choices[:2]] == [str(c) for c in pruned.choices[:2]]
    assert brute.choices[0].usd_per_hour == pruned.choices[0].usd_per_hour


@settings(max_examples=15, deadline=None)
@given(st.floats(0.2, 60), st.floats(1.0, 4.0))
def test_more_load_never_costs_less_nor_needs_fewer_replicas(rate: float, factor: float) -> None:
    """On one type replicas grow with the load, and over all types the price does."""
    one = space((find_instance("g6e.xlarge"),), ("fp8",))
    low, high = (search(LLAMA_8B, replace(DEMAND, requests_per_s=r), ENGINE, one) for r in (rate, rate * factor))
    assert low.choices[0].fleet.replicas[1] <= high.choices[0].fleet.replicas[1]
    low, high = (search(LLAMA_8B, replace(DEMAND, requests_per_s=r), ENGINE, space()) for r in (rate, rate * factor))
    assert low.choices[0].usd_per_hour <= high.choices[0].usd_per_hour + 1e-9


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(["g6.xlarge", "g6e.xlarge", "g5.xlarge", "p5.48xlarge", "g7e.2xlarge"]), st.floats(0.05, 1.0))
def test_a_cheaper_price_never_makes_the_plan_dearer(name: str, factor: float) -> None:
    """Lowering one type's price lowers the best price or leaves it."""

    def discounted(instance: Instance, fleet: Fleet) -> float | str:
        found = listed(instance, fleet)
        return found * factor if instance.name == name and not isinstance(found, str) else found

    before, after = (search(LLAMA_8B, DEMAND, ENGINE, space(cost=cost)) for cost in (listed, discounted))
    assert after.choices[0].usd_per_hour <= before.choices[0].usd_per_hour + 1e-9


def test_stricter_objectives_never_cost_less() -> None:
    """A tighter TPOT objective keeps the price or raises it."""
    prices = [search(LLAMA_70B, replace(DEMAND, tpot_p95_s=t), ENGINE, space()).choices[0].usd_per_hour for t in (0.12, 0.08, 0.05, 0.03)]
    assert prices == sorted(prices)


def test_tensor_parallelism_stays_inside_nvlink() -> None:
    """70B on PCIe cards is cut into stages, never into tensor-parallel ranks; on NVSwitch it is the other way round (requirements A3)."""
    pcie = search(LLAMA_70B, replace(DEMAND, tpot_p95_s=0.3), ENGINE, space((find_instance("g6e.12xlarge"),), ("fp8",)), keep=None)
    board = search(LLAMA_70B, DEMAND, ENGINE, space((find_instance("p5.48xlarge"),), ("fp8",)), keep=None)
    assert (1, 4) == (pcie.choices[0].fit.cut.tp, pcie.choices[0].fit.cut.pp)
    assert 1 == board.choices[0].fit.cut.pp < board.choices[0].fit.cut.tp


def test_an_explicit_degree_is_kept() -> None:
    """TP 2 over PCIe is taken when it is asked for, as an override."""
    found = search(LLAMA_8B, DEMAND, ENGINE, space((find_instance("g6.12xlarge"),), ("bf16",), Degrees(2, 1, 1)))
    assert (2, "pcie") == (found.choices[0].fit.cut.tp, found.choices[0].fit.cut.link)


def test_a_tensor_parallel_group_never_crosses_nodes() -> None:
    """TP 16 on nodes of eight is dropped with the reason."""
    found = search(LLAMA_70B, DEMAND, ENGINE, space((find_instance("p5.48xlarge"),), ("fp8",), Degrees(16, 1, 1)))
    assert not found.choices
    assert "never crosses nodes" in found.dropped[0].reason


def test_what_was_dropped_says_why() -> None:
    """Every candidate that is not chosen has a kind and a reason with a number."""
    found = search(LLAMA_70B, DEMAND, ENGINE, space())
    assert found.dropped
    for row in found.dropped:
        assert row.kind in {"memory", "TTFT", "TPOT", "throughput", "price", "offer", "parallelism", "precision", "count"}
        assert row.kind in {"offer", "parallelism", "precision"} or any(c.isdigit() for c in row.reason)


def test_a_ceiling_keeps_only_what_is_affordable() -> None:
    """No choice is above the ceiling, and what is dropped for it says its price."""
    limited = replace(space(), ceiling_usd_per_hour=10.0)
    found = search(LLAMA_70B, replace(DEMAND, ttft_p95_s=None, tpot_p95_s=None), ENGINE, limited, keep=None)
    assert all(c.usd_per_hour <= 10 for c in found.choices)
    assert any(row.kind == "price" and "$" in row.reason for row in found.dropped)


def test_ties_go_to_two_replicas_where_people_wait() -> None:
    """c7i.4xlarge and c7i.8xlarge cost the same per vCPU: two small nodes go before one large one, one goes first for batch work."""
    bge = find_model("BAAI/bge-large-en-v1.5")
    types = (find_instance("c7i.4xlarge"), find_instance("c7i.8xlarge"))
    engine = replace(ENGINE, max_model_len=512, chunked_prefill=False, prefix_caching=False)
    demand = Demand("interactive", 20.0, Lengths(120, 400), Lengths(1, 1), 0, 1.0, 0.5, None)
    assert ("c7i.4xlarge", 2) == ((c := search(bge, demand, engine, space(types, ("bf16",))).choices[0]).instance.name, c.fleet.nodes[1])


def test_default_context_covers_twice_the_tail() -> None:
    """p95 of 2,000 and 600 tokens: 2 x 2,600 = 5,200, in whole 1,024 tokens 6,144; a model of 4,096 gets its own length."""
    assert 6144 == context_length(Lengths(800, 2000), Lengths(250, 600), 131_072)
    assert 4096 == context_length(Lengths(800, 2000), Lengths(250, 600), 4096)


def test_headroom_is_between_30_and_50_percent() -> None:
    """Requirements A2, for every profile."""
    for profile in ("interactive", "agentic", "batch"):
        demand = replace(DEMAND, profile=profile)
        assert 1.3 <= demand.capacity_needed() / demand.requests_per_s <= 1.5
        assert math.isclose(demand.burst_needed(), demand.capacity_needed() * 2.0)


@settings(max_examples=15, deadline=None)
@given(st.floats(30, 150), st.floats(1.0, 2.0), st.sampled_from([1, 2, 4]), st.sampled_from(["fp8", "bf16"]))
def test_more_memory_never_fits_less(gib: float, factor: float, tp: int, weights: str) -> None:
    """A card with more memory and all else alike carries no less of a 70B model, and holds what the smaller one held."""
    h100 = find_gpu("H100")

    def on(memory: float) -> Fit | Miss:
        card = replace(h100, cuda_memory_bytes=int(memory * 2**30), memory_bytes=int((memory + 1) * 2**30))
        return evaluate(LLAMA_70B, DEMAND, ENGINE, Cut(card, "nvswitch" if tp > 1 else "none", tp, 1, weights, 300e9))

    small, large = on(gib), on(gib * factor)
    if isinstance(small, Fit):
        assert isinstance(large, Fit)
        assert large.memory.kv_cache_tokens >= small.memory.kv_cache_tokens * 0.98
        assert large.best.requests_per_s >= small.best.requests_per_s * 0.97
