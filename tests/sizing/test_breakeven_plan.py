"""What a plan says for a break-even: the bill of one model, what its replicas carry, and its traffic."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inferform.errors import InputError
from inferform.plan import DeploymentPlan
from inferform.sizing.breakeven_plan import Demand, choose_model, planned
from samples import model, plan_data, pool

DEMAND = Demand(peak_rps=6, input_tokens=4000, output_tokens=300, shared_prefix_tokens=3000)
SECONDS = 730 * 3600


def plan(models: dict[str, object], **cost: object) -> DeploymentPlan:
    data = plan_data()
    return DeploymentPlan.model_validate({**data, "models": models, "cost": {**data["cost"], **cost}})


def test_the_only_model_bears_the_whole_bill() -> None:
    """$87,600 a month, two replicas of 4.2 requests a second: 8.4 x 4,300 tokens all month; 6 a second are planned for."""
    found = planned(plan({"llama-70b": model({"aggregated": pool()})}), "llama-70b", DEMAND)
    assert 87_600 == found.fleet.usd_per_month
    assert pytest.approx(8.4 * 4300 * SECONDS) == found.fleet.capacity_tokens_per_month
    assert pytest.approx(6 * 4300 * SECONDS) == found.tokens_per_month
    # 4,000 of 4,300 tokens are input, 3,000 of the 4,000 are the shared prefix.
    assert (4000 / 4300, 0.75, 0.0) == (found.traffic.input_share, found.traffic.cached_share, found.traffic.batch_share)


def test_several_models_share_the_bill_by_the_price_of_their_pools() -> None:
    """Pools of $30 and $10 an hour: three quarters of the month's bill, platform parts included, go to the first."""
    models = {"big": model({"aggregated": pool()}), "big-2": model({"aggregated": pool()})}
    both = plan(models, by_pool={"big/aggregated": 30.0, "big-2/aggregated": 10.0, "platform/eks": 5.0}, usd_per_month=40_000.0)
    assert pytest.approx(30_000) == planned(both, "big", DEMAND).fleet.usd_per_month
    assert "75% of it for big" in planned(both, "big", DEMAND).fleet.source


def test_models_without_a_price_share_evenly() -> None:
    """Where no pool has a price (all reserved and paid) nothing is divided by zero."""
    models = {"a": model({"aggregated": pool()}), "b": model({"aggregated": pool()})}
    assert 43_800 == planned(plan(models, by_pool={}), "a", DEMAND).fleet.usd_per_month


def test_the_scarcer_role_limits_a_split_model() -> None:
    """One prefill replica of 9 and three decode replicas of 2 requests a second carry 6 together."""
    pools = {
        "prefill": pool(role="prefill", requests_per_s=9.0, replicas={"steady": 1}),
        "decode": pool(role="decode", requests_per_s=2.0, replicas={"steady": 3}),
    }
    found = planned(plan({"m": model(pools, topology="disaggregated")}), "m", DEMAND)
    assert pytest.approx(6 * 4300 * SECONDS) == found.fleet.capacity_tokens_per_month


def test_batch_work_uses_the_batch_api_and_no_cache_means_none() -> None:
    """A batch model compares with the batch price; without prefix caching the API's cache is not counted either."""
    found = planned(plan({"m": model({"aggregated": pool()}, profile="batch", prefix_caching=False)}), "m", DEMAND)
    assert (0.0, 1.0) == (found.traffic.cached_share, found.traffic.batch_share)


def test_a_spec_of_several_models_asks_which() -> None:
    """The only model needs no name; of several one is named, and a wrong name gets the nearest."""
    one, two = plan({"m": model({"aggregated": pool()})}), plan({"chat": model({"aggregated": pool()}), "embed": model({"aggregated": pool()})})
    assert ("m", "embed") == (choose_model(one, None), choose_model(two, "embed"))
    with pytest.raises(InputError, match="several models"):
        choose_model(two, None)
    with pytest.raises(InputError) as err:
        choose_model(two, "chats")
    assert ("chat",) == err.value.problems[0].legal


def test_the_mean_of_the_month_counts_where_the_spec_states_it() -> None:
    """A third of the peak on the mean is a third of the tokens; the fleet and its bill stay."""
    fleet = plan({"llama-70b": model({"aggregated": pool()})})
    held, mean = (planned(fleet, "llama-70b", d) for d in (DEMAND, replace(DEMAND, mean_rps=2)))
    assert held.tokens_per_month == pytest.approx(3 * mean.tokens_per_month)
    assert held.fleet == mean.fleet
    assert "mean of 2 requests a second" in mean.tokens_source


def test_the_platform_is_paid_once_and_nodes_carry_what_their_replicas_do() -> None:
    """A node of two replicas at $55.04 an hour with 100 GiB of disk at $0.08 a month: its month is a step, and the rest of the bill is the platform's."""
    disks = {"name": "system-disks", "count": 200, "unit": "GB-month", "usd_per_unit": 0.08, "usd_per_hour": 0.02, "as_of": "2026-07", "source": "test"}
    paid = plan({"m": model({"aggregated": pool()})}, by_pool={"m/aggregated": 60.0, "platform/eks": 10.0}, usd_per_month=51_100.0, platform=[disks])
    found = planned(paid, "m", DEMAND).fleet
    assert (pytest.approx(51_100), pytest.approx(7_300)) == (found.usd_per_month, found.fixed_usd_per_month)
    (part,) = found.parts
    assert ("aggregated", 1, 1, pytest.approx(55.04 * 730 + 8), pytest.approx(8.4 * 4300 * SECONDS)) == (
        part.name, part.steady, part.nodes, part.usd_per_month, part.capacity_tokens_per_month,
    )  # fmt: skip


def test_further_nodes_cost_what_the_purchase_list_pays_beyond_the_steady_fleet() -> None:
    """Two reserved nodes at $30 are all there are; the third is bought on demand at $55.04."""
    bought = pool()["purchase"][0]
    reserved = {**bought, "kind": "reserved", "nodes": {"min": 2, "steady": 2, "max": 2}, "usd_per_hour": 30.0}
    on_demand = {**bought, "nodes": {"min": 0, "steady": 0, "max": 2}}
    pools = {"aggregated": pool(nodes={"min": 2, "steady": 2, "max": 4}, replicas={"min": 4, "steady": 4, "max": 8}, purchase=[reserved, on_demand])}
    (part,) = planned(plan({"m": model(pools)}, by_pool={"m/aggregated": 60.0}), "m", DEMAND).fleet.parts
    assert (2, pytest.approx(55.04 * 730)) == (part.steady, part.usd_per_month)


def test_a_replica_over_several_nodes_is_bought_whole() -> None:
    """Four nodes with two to a replica are two steps of two nodes."""
    count = {"min": 4, "steady": 4, "max": 6}
    pools = {"aggregated": pool(nodes=count, nodes_per_replica=2, replicas_per_node=1, purchase=[{**pool()["purchase"][0], "nodes": count}])}
    (part,) = planned(plan({"m": model(pools)}, by_pool={"m/aggregated": 220.16}), "m", DEMAND).fleet.parts
    assert (2, 2, pytest.approx(2 * 55.04 * 730)) == (part.steady, part.nodes, part.usd_per_month)
    assert pytest.approx(4.2 * 4300 * SECONDS) == part.capacity_tokens_per_month


def test_an_embedding_model_is_compared_by_its_input_alone() -> None:
    """Whatever the demand says of answers, all tokens are input: 4,000 a request, not 4,300."""
    found = planned(plan({"m": model({"aggregated": pool()}, task="embed")}), "m", DEMAND)
    assert 1.0 == found.traffic.input_share
    assert (pytest.approx(8.4 * 4000 * SECONDS), pytest.approx(6 * 4000 * SECONDS)) == (found.fleet.capacity_tokens_per_month, found.tokens_per_month)
