"""Spec to plan as a whole: examples, determinism, completeness, properties."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from inferform.engines import find_engine
from inferform.errors import InputError
from inferform.load import load_spec
from inferform.plan import DeploymentPlan, PoolPlan
from inferform.planner import size, spec_digest
from inferform.spec import DeploymentSpec
from pydantic import ValidationError

from tests.planning.specs import LARGE, SMALL, model, plan, spec

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.yaml") if "models:" in path.read_text(encoding="utf-8"))


def planned(name: str) -> DeploymentPlan | InputError:
    loaded = load_spec(ROOT / "examples" / name)
    try:
        return size(loaded.spec, loaded.environment)
    except InputError as err:
        return err


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_meet_their_objectives_and_budgets(name: str) -> None:
    """Each example is planned inside its objectives and budget, or says which of them to relax and at what price."""
    found = planned(name)
    if isinstance(found, InputError):
        assert re.search(r"budget|TTFT|TPOT|memory", str(found))
        assert re.search(r"\$[\d,]+", str(found))
        return
    assert found.cost.budget_usd_per_month is None or found.cost.usd_per_month <= found.cost.budget_usd_per_month
    for _, chosen, _, pool in found.pool_items():
        assert chosen.slo_ttft_p95_ms is None or pool.ttft_ms.p95 <= chosen.slo_ttft_p95_ms
        assert chosen.slo_tpot_p95_ms is None or pool.tpot_ms.p95 <= chosen.slo_tpot_p95_ms
        assert pool.memory.fits


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_engine_takes_every_planned_pool(name: str) -> None:
    """The command line of each pool passes the engine's own flag table."""
    found = planned(name)
    if isinstance(found, InputError):
        pytest.skip("this example has no plan, which another test looks at")
    for _, chosen, _, pool in found.pool_items():
        assert "--max-model-len" in find_engine(chosen.engine).command(chosen, pool)


def test_the_same_spec_gives_the_same_plan_in_another_process() -> None:
    """Byte-identical JSON from two processes with different hash seeds."""
    code = (
        "import json, sys; from inferform.planner import size; from inferform.spec import DeploymentSpec; "
        "print(size(DeploymentSpec.model_validate(json.load(sys.stdin))).model_dump_json())"
    )
    text = spec({"big": model(LARGE), "chat": model()}).model_dump_json(exclude_unset=True)
    text = json.dumps({**json.loads(text), "models": {"big": model(LARGE), "chat": model()}})
    outputs = {
        subprocess.run([sys.executable, "-c", code], input=text, text=True, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }
    assert 1 == len(outputs)


def test_a_plan_can_be_stored_and_read_back() -> None:
    """JSON out and in is the same plan."""
    made = plan({"big": model(LARGE), "chat": model()})
    assert made == DeploymentPlan.model_validate_json(made.model_dump_json())


def test_the_digest_follows_the_spec() -> None:
    """The same spec has the same digest, another load has another, the order of models does not matter."""
    one, other = spec({"a": model(), "b": model(LARGE)}), spec({"b": model(LARGE), "a": model()})
    assert spec_digest(one) == spec_digest(other) == plan({"a": model(), "b": model(LARGE)}).spec_digest
    assert spec_digest(one) != spec_digest(spec({"a": model(workload={"peak_rps": 3}), "b": model(LARGE)}))
    assert re.fullmatch("[0-9a-f]{64}", spec_digest(one))


def test_other_models_do_not_change_a_pool() -> None:
    """Adding a model leaves the plan of the first one as it was (FC-38)."""
    assert plan({"chat": model()}).models["chat"] == plan({"chat": model(), "big": model(LARGE)}).models["chat"]


def test_environments_have_names_and_buckets_of_their_own() -> None:
    """Prefix, state key and buckets differ between environments."""
    dev, prod = (size(spec(), environment) for environment in ("dev", "prod"))
    assert ("demo-dev", "demo-prod") == (dev.resource_prefix(), prod.resource_prefix())
    assert ("acme/demo/dev", "acme/demo/prod") == (dev.state.key_prefix, prod.state.key_prefix)
    assert 4 == len({dev.state.bucket, prod.state.bucket, dev.model_store.bucket, prod.model_store.bucket})


def test_an_explicit_state_bucket_is_kept() -> None:
    """state.bucket is the user's."""
    assert "my-states" == plan(state={"bucket": "my-states"}).state.bucket


def test_the_plan_says_why() -> None:
    """Chosen hardware with its price and the next one, precision, replicas with the arithmetic, latency against objectives."""
    why = " | ".join(plan().models["chat"].why)
    for part in (
        "an hour, the cheapest candidate inside the objectives; next is",
        "headroom are",
        "one replica carries",
        "TTFT p95",
        "objective 1.5 s",
        "constants fitted on",
    ):
        assert part in why


def test_the_plan_says_what_another_checkpoint_would_save() -> None:
    """A 70B model in its published precision names the cheaper quantized choice, and taking it gives that price."""
    told = next(line for line in plan({"big": model(LARGE)}).models["big"].why if line.startswith("cheaper with another checkpoint"))
    weights = told.rsplit(" ", 1)[-1]
    price = float(re.search(r"\$([\d,.]+) an hour", told).group(1).replace(",", ""))  # type: ignore[union-attr]
    assert plan({"big": model(LARGE, quantization=weights)}).cost.by_pool["big/aggregated"] <= price + 0.01


def test_every_card_is_accounted_for() -> None:
    """Each card that the region offers is chosen or rejected with a reason."""
    chosen = plan({"big": model(LARGE)}).models["big"]
    text = " ".join(f"{row.candidate} {row.reason}" for row in chosen.rejected) + " ".join(chosen.why)
    for card in ("L4", "L40S", "A10G", "H100", "H200", "A100", "B200", "RTX-PRO-6000"):
        assert card in text
    assert all(row.reason for row in chosen.rejected)
    assert len(chosen.rejected) < 60


def test_explicit_values_are_never_changed() -> None:
    """Degrees, limits, utilization, precision and type come out as they went in."""
    made = plan(
        {
            "m": model(
                LARGE, parallelism={"tp": 8}, quantization="fp8", kv_cache="fp8", max_num_seqs=64, max_num_batched_tokens=4096, gpu_memory_utilization=0.85,
                hardware={"instance_types": ["p5.48xlarge"]}, lifecycle={"pre_stop": "20s"}, shm="24Gi", model_cache="300Gi",
            )
        }
    ).models["m"]  # fmt: skip
    pool = made.pools["aggregated"]
    assert ("fp8", "fp8", 8, 1, 64, 4096, 0.85, "p5.48xlarge") == (
        made.weights, made.kv_cache, pool.tp, pool.pp, pool.max_num_seqs, pool.max_num_batched_tokens, pool.gpu_memory_utilization, pool.instance_type
    )  # fmt: skip
    assert (20, 24 * 2**30, 300 * 2**30) == (pool.lifecycle.pre_stop_s, pool.pod.shm_bytes, pool.pod.model_cache_bytes)


def test_split_pools_keep_the_asked_ratio() -> None:
    """prefill 1 : decode 3 at every size; the first token comes from prefill, the pace from decode."""
    made = plan({"m": model(topology={"prefill": 1, "decode": 3}, workload={"burst": 2.0, "peak_rps": 8})}).models["m"]
    prefill, decode = made.pools["prefill"], made.pools["decode"]
    assert "disaggregated" == made.topology
    for at in ("min", "steady", "max"):
        assert 3 * getattr(prefill.replicas, at) == getattr(decode.replicas, at)
    assert (prefill.ttft_ms, prefill.tpot_ms) == (decode.ttft_ms, decode.tpot_ms)
    assert prefill.ttft_ms.p95 <= 1500 and decode.tpot_ms.p95 <= 80


def test_latency_sensitive_models_on_one_replica_are_warned_about() -> None:
    """A lone replica is a single point of failure; warm standby keeps a second one."""
    assert any("one replica carries all traffic" in text for text in plan({"m": model(workload={"peak_rps": 0.2})}).warnings)
    spared = plan({"m": model(workload={"peak_rps": 0.2})}, capacity={"warm_standby": 1})
    assert 2 == spared.models["m"].pools["aggregated"].replicas.steady
    assert not any("one replica carries all traffic" in text for text in spared.warnings)


def test_a_model_may_override_the_deployment() -> None:
    """capacity and scaling of a model win over the deployment's."""
    made = plan({"a": model(capacity={"warm_standby": 2}), "b": model()}, capacity={"warm_standby": 0}, scaling={"fixed": True})
    assert made.models["a"].pools["aggregated"].replicas.steady == made.models["b"].pools["aggregated"].replicas.steady + 2
    assert {"fixed"} == {pool.scaling.kind for _, _, _, pool in made.pool_items()}


LOADS = st.fixed_dictionaries(
    {
        "peak_rps": st.floats(0.05, 200),
        "input_tokens": st.builds(lambda mean, factor: {"mean": mean, "p95": int(mean * factor)}, st.integers(16, 4000), st.floats(1, 4)),
        "output_tokens": st.builds(lambda mean, factor: {"mean": mean, "p95": int(mean * factor)}, st.integers(1, 800), st.floats(1, 4)),
        "burst": st.floats(1, 5),
        "profile": st.sampled_from(["interactive", "batch", "agentic"]),
    }
)
SOURCES = st.sampled_from([SMALL, LARGE, "openai/gpt-oss-120b", "google/gemma-3-27b-it", "Qwen/Qwen3-Next-80B-A3B-Instruct", "deepseek-ai/DeepSeek-V3"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SOURCES, LOADS, st.sampled_from(["us-east-1", "us-west-2", "eu-west-1", "ap-northeast-1"]))
# Here the cheapest decode pool alone takes all that a split may cost.
@example(
    SMALL,
    {"peak_rps": 113.0, "burst": 1.0, "profile": "agentic", "input_tokens": {"mean": 156, "p95": 624}, "output_tokens": {"mean": 352, "p95": 1408}},
    "us-east-1",
)
def test_any_workload_is_planned_or_refused_with_a_reason(source: str, workload: dict[str, Any], region: str) -> None:
    """A plan is consistent in itself; what cannot be planned is an InputError that names a field of the spec."""
    asked = DeploymentSpec.model_validate(
        {"name": "any", "cloud": {"provider": "aws", "region": region}, "models": {"m": {"source": source, "hf_token_secret": {"name": "t"}, "workload": workload}}}
    )  # fmt: skip
    try:
        made = size(asked)
    except InputError as err:
        assert all(p.field.split(".")[0] in {"models", "cloud", "capacity", "scaling", "budget", "gateway"} for p in err.problems)
        return
    for pool in made.models["m"].pools.values():
        consistent(pool, workload["peak_rps"])
    assert made.cost.usd_per_hour > 0


def consistent(pool: PoolPlan, peak_rps: float) -> None:
    """A pool's counts, GPUs, memory and purchase agree with each other and with the load."""
    replicas, nodes = pool.replicas, pool.nodes
    assert 0 < replicas.min <= replicas.steady <= replicas.max
    assert nodes.min <= nodes.steady <= nodes.max
    assert replicas.steady * pool.nodes_per_replica <= nodes.steady * pool.replicas_per_node
    assert replicas.max * pool.nodes_per_replica <= nodes.max * pool.replicas_per_node
    assert replicas.steady * pool.requests_per_s >= peak_rps * 1.3 * 0.999
    assert pool.tp * pool.pp * pool.dp == pool.pod.gpus * pool.pod.pods_per_replica
    assert pool.pod.gpus * pool.replicas_per_node <= pool.infrastructure.gpus_per_node
    assert pool.memory.fits and pool.kv_cache_tokens >= pool.max_model_len
    assert pool.max_num_batched_tokens >= pool.max_num_seqs
    assert sum(p.nodes.steady for p in pool.purchase) == nodes.steady
    assert pool.lifecycle.grace_s > pool.lifecycle.pre_stop_s + (pool.lifecycle.shutdown_timeout_s or 0)


def test_a_tail_that_no_lognormal_has_is_warned_about() -> None:
    """A 95th percentile of ten means is planned with a distribution that has it, slower than one of three means, and the plan says what was assumed."""
    heavy, light = (plan({"m": model(workload={"input_tokens": {"mean": 500, "p95": p95}})}) for p95 in (5000, 1500))
    told = next(w for w in heavy.warnings if "heavier tail" in w)
    assert "p95 5000 of input_tokens is 10.0 x its mean" in told and "calibrate --runs" in told
    assert not any("heavier tail" in w for w in light.warnings)
    with pytest.raises(ValidationError, match="one request in twenty"):
        spec({"m": model(workload={"input_tokens": {"mean": 500, "p95": 20000}})})
