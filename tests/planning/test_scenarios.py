"""The field's scenarios end with the right decision (the fourth, API or own fleet, is in tests/sizing/test_breakeven.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inferform.errors import InputError
from inferform.load import load_spec
from inferform.plan import DeploymentPlan
from inferform.planner import size

from tests.planning.specs import LARGE, SMALL, model, plan

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SPIKE = {"peak_rps": 1.0, "burst": 15.0, "input_tokens": {"mean": 16000, "p95": 24000}, "output_tokens": {"mean": 300, "p95": 800}}


def spiky(**changes: object) -> DeploymentPlan:
    """8B chat with 16k prompts and fifteen times the traffic in a spike."""
    return plan({"m": model(SMALL, max_model_len=None, workload=SPIKE, slo={"ttft_p95": "3s", "tpot_p95": "80ms"})}, **changes)


def test_a_spike_of_fifteen_times_is_carried_and_not_paid_for_all_day() -> None:
    """Scenario 1: the largest fleet carries 15 x the peak with headroom, the steady one the peak; the quota is asked for the whole."""
    made = spiky()
    pool = made.models["m"].pools["aggregated"]
    # 1 request/s x 1.3 headroom; fifteen times that in the spike.
    assert pool.replicas.steady * pool.requests_per_s >= 1.3
    assert pool.replicas.max * pool.requests_per_s >= 15 * 1.3 * 0.999
    assert made.cost.usd_per_hour < made.cost.usd_per_hour_max / 4
    assert pool.nodes.max * pool.infrastructure.vcpus <= next(q.vcpus for q in made.quotas if q.family == pool.infrastructure.quota_family)


def test_a_spike_of_long_prompts_is_met_before_the_objective_is_missed() -> None:
    """Scenario 1: the context holds the longest prompts, prompts are cut into steps that leave streams running, and the scaler acts on few waiting prompts."""
    made = spiky()
    model_plan = made.models["m"]
    pool = model_plan.pools["aggregated"]
    assert pool.max_model_len >= 24000 + 800
    assert model_plan.chunked_prefill and pool.max_num_batched_tokens < 16000
    assert pool.ttft_ms.p95 <= 3000 and pool.tpot_ms.p95 <= 80
    queue = next(t for t in pool.scaling.triggers if t.signal == "queue")
    # Prompts of 16k take most of a second each, so only a handful may wait inside three seconds.
    assert 1 <= queue.target <= 3 * pool.requests_per_s + 3
    assert (30, 900) == (pool.scaling.scale_up_window_s, pool.scaling.scale_down_window_s)


def test_spot_carries_the_spike_and_never_the_peak() -> None:
    """Scenario 1: with spot behind on-demand, the steady nodes are on demand and the spike's are spot; spot alone is refused."""
    made = spiky(capacity={"purchase": [{"kind": "on_demand", "min_nodes": 1}, {"kind": "spot"}]})
    firm, spot = made.models["m"].pools["aggregated"].purchase
    assert ("on_demand", "spot") == (firm.kind, spot.kind)
    assert 0 == spot.nodes.steady < spot.nodes.max
    assert firm.nodes.steady >= 1
    with pytest.raises(InputError, match="never carry a latency-sensitive model alone"):
        spiky(capacity={"purchase": [{"kind": "spot"}]})


def test_contract_questions_fit_twelve_thousand_a_month() -> None:
    """Scenario 2: 70B, 4k prompts, p95 TTFT 1.2 s, $12,000 a month: everything counted, inside budget and objectives."""
    loaded = load_spec(EXAMPLES / "contract-qa.yaml")
    made = size(loaded.spec, loaded.environment)
    pool = made.models["llama-70b"].pools["aggregated"]
    assert made.cost.usd_per_month <= 12000
    assert pool.ttft_ms.p95 <= 1200 and pool.tpot_ms.p95 <= 50
    assert {"platform/eks", "platform/nat-gateway", "platform/system"} <= set(made.cost.by_pool)


def test_four_times_the_contract_questions_name_what_would_fit() -> None:
    """Scenario 2: at 6 requests/s the money does not do, and the message prices the ways out."""
    loaded = load_spec(EXAMPLES / "contract-qa.yaml", "rollout")
    with pytest.raises(InputError) as caught:
        size(loaded.spec, loaded.environment)
    text = str(caught.value)
    assert "budget.usd_per_month" in text
    assert re.search(r"[\d.]+ requests/s instead of 6: .* for \$[\d,]+ a month", text)
    assert re.search(r"raise budget\.usd_per_month to [\d,]+", text)


def test_embeddings_and_two_chat_models_share_no_gpu_process() -> None:
    """Scenario 3: a pool of its own for each model; embeddings run on CPU, 8B on small GPUs, 70B on larger ones."""
    loaded = load_spec(EXAMPLES / "mixed.yaml")
    made = size(loaded.spec, loaded.environment)
    pools = {name: (chosen, pool) for name, chosen, _, pool in made.pool_items()}
    assert {"bge", "llama-8b", "llama-70b"} == set(pools)
    bge, small, large = (pools[name][1] for name in ("bge", "llama-8b", "llama-70b"))
    assert bge.gpu is None and 0 == bge.pod.gpus
    assert small.gpu in {"L4", "A10G", "L40S", "T4"} and 1 == small.tp * small.pp
    assert large.gpu_memory_bytes * large.tp * large.pp > small.gpu_memory_bytes * small.tp * small.pp
    # A pod serves one model and its GPUs are whole.
    for _, pool in pools.values():
        assert pool.pod.gpus * pool.replicas_per_node <= pool.infrastructure.gpus_per_node
    assert 3 == len({chosen.served_name for chosen, _ in pools.values()})


def test_embeddings_on_gpu_stay_on_a_small_one() -> None:
    """Scenario 3: where the spec asks for a GPU, the embedding model gets one small card of its own."""
    work = {"peak_rps": 20, "input_tokens": {"mean": 120, "p95": 400}, "output_tokens": {"mean": 1, "p95": 1}}
    made = plan({"bge": model("BAAI/bge-large-en-v1.5", max_model_len=512, workload=work, slo={"ttft_p95": "500ms", "tpot_p95": None}, hardware={"device": "gpu"}),
                 "big": model(LARGE)})  # fmt: skip
    pool = made.models["bge"].pools["aggregated"]
    assert pool.gpu in {"L4", "A10G", "T4", "L40S"}
    assert 1 == pool.tp * pool.pp * pool.dp


def test_the_platform_example_is_the_largest() -> None:
    """Three pools of p5 nodes with 32 EFA interfaces each, two groups whose burst is spot, and a schedule for one of those."""
    loaded = load_spec(EXAMPLES / "platform.yaml", "prod")
    made = size(loaded.spec, loaded.environment)
    pools = [pool for _, _, _, pool in made.pool_items()]
    assert [32, 32, 32] == [pool.infrastructure.efa.interfaces for pool in pools if pool.infrastructure.efa]
    mixed = [pool for pool in pools if any(part.kind == "spot" for part in pool.purchase)]
    assert ["self_managed", "self_managed"] == [pool.infrastructure.kind for pool in mixed]
    assert [False, True] == [pool.schedule is not None for pool in mixed]
    assert made.termination is not None
