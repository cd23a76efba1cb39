"""The quantization job of a plan: where it runs, what it costs, what it replaces, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError
from inferform.plan import ModelPlan
from inferform.quantities import GIB
from inferform.spec import DeploymentSpec
from pydantic import ValidationError

from tests.planning.specs import LARGE, SMALL, model, plan, spec

HUB = {"method": "awq", "data": {"hub": "org/prompts", "split": "test"}}


def planned(source: str = SMALL, *, quantize: dict[str, Any], **changes: Any) -> ModelPlan:
    return plan({"m": model(source, quantize=quantize, **changes)}).models["m"]


def test_the_job_makes_the_precision_that_the_plan_sizes_for() -> None:
    """Weights are those of the method, the checkpoint carries them, and nobody is asked to put one into the store."""
    made = plan({"m": model(quantize=HUB)})
    one = made.models["m"]
    assert ("awq", True) == (one.weights, one.checkpoint_quantized)
    assert one.quantize is not None
    assert (256, 2048, 128, 64, 0.96) == (
        one.quantize.samples, one.quantize.sample_tokens, one.quantize.group_size, one.quantize.held_out, one.quantize.min_score_share,
    )  # fmt: skip
    assert not any("put a checkpoint quantized to" in text for text in made.warnings)
    assert any("installs llmcompressor==0.14.0.1 into vllm/vllm-openai:v0.33.0" in text for text in made.warnings)
    assert plan({"m": model()}).models["m"].quantize is None


def test_fp8_is_made_once_instead_of_at_every_start() -> None:
    """vLLM could quantize while loading; with the job it loads half the bytes and gets no flag."""
    made = planned(quantize={**HUB, "method": "fp8"})
    online = plan({"m": model(quantization="fp8")}).models["m"]
    assert (True, False, 0.99) == (made.checkpoint_quantized, online.checkpoint_quantized, made.quantize.min_score_share if made.quantize else None)
    assert made.load.weights_bytes < 0.6 * online.load.weights_bytes


def test_the_cheapest_type_that_holds_the_original_in_memory() -> None:
    """8 B parameters in 16 bits are 15 GiB: 1.25 x that and 16 GiB of host memory; no cheaper type of the region has it with an Ampere card."""
    made = planned(quantize=HUB).quantize
    assert made is not None
    assert made.memory_bytes >= 1.25 * 15 * GIB + 16 * GIB
    assert made.disk_bytes >= 15 * GIB + 4 * GIB + 12 * GIB
    forced = planned(quantize={**HUB, "instance_types": ["g6e.4xlarge", "p5.48xlarge"]}).quantize
    assert forced is not None
    assert "g6e.4xlarge" == forced.instance_type
    assert made.usd_per_hour * made.hours <= forced.usd_per_hour * forced.hours
    assert 0 < made.usd_per_hour < 5


def test_the_price_and_the_gate_are_told() -> None:
    """One sentence of the plan says where, for how much, on what, and what must be kept."""
    made = planned(quantize=HUB)
    (text,) = [line for line in made.why if line.startswith("quantized to awq by a job on")]
    assert made.quantize is not None
    assert f"on {made.quantize.instance_type} at ${made.quantize.usd_per_hour:,.2f} an hour, about" in text
    assert "256 prompts of org/prompts (test)" in text
    assert "only where it keeps 96% of the score" in text


def test_nodes_stand_where_the_models_own_do() -> None:
    """Zones are those of its pools that offer the type, so the network reaches them."""
    made = plan({"m": model(LARGE, quantize={**HUB, "data": {"uri": "s3://acme/prompts.jsonl"}}, slo={"ttft_p95": "4s"})})
    job = made.models["m"].quantize
    assert job is not None
    assert job.zones
    assert set(job.zones) <= set(made.cloud.zones)
    assert any("may read s3://acme/prompts.jsonl" in text for text in made.warnings)


@pytest.mark.parametrize(
    ("source", "changes", "message"),
    [
        (SMALL, {"quantize": {**HUB, "instance_types": ["g6.xlarge"]}}, r"quantize: needs 3\d\.\d GiB of host memory and a GPU of \d+ GiB in .*which no type offers \(found g6\.xlarge\)"),
        (SMALL, {"quantize": {**HUB, "instance_types": ["g9.xlarge"]}}, r"quantize\.instance_types\.0.*g9\.xlarge"),
        (SMALL, {"quantize": HUB, "engine": "tensorrt-llm"}, r"quantize: TensorRT-LLM does not load the checkpoints of llm-compressor"),
        ("openai/gpt-oss-20b", {"quantize": HUB}, r"quantization: the checkpoint of openai/gpt-oss-20b is mxfp4 and cannot be run as awq"),
        (SMALL, {"quantize": HUB, "quality": "near_lossless"}, r"quantization: is of class small_loss, below the quality floor near_lossless"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_refused(source: str, changes: dict[str, Any], message: str) -> None:
    """Types without room, unknown types, engines that cannot load the result, quantized originals, and floors above the method."""
    with pytest.raises(InputError, match=message):
        plan({"m": model(source, **changes)})


@pytest.mark.parametrize(
    ("quantize", "message"),
    [
        ({"method": "awq", "data": {}}, "give exactly one of uri and hub"),
        ({"method": "awq", "data": {"uri": "s3://a-b/c.jsonl", "hub": "o/p"}}, "give exactly one of uri and hub"),
        ({"method": "awq", "data": {"uri": "https://a/c.jsonl"}}, "uri"),
        # An asterisk would open the whole bucket to the job's role.
        ({"method": "awq", "data": {"uri": "s3://acme-data/*"}}, "uri"),
        ({"method": "awq", "data": {"uri": "s3://acme-data/a*.jsonl"}}, "uri"),
        ({"method": "awq", "data": {"uri": "s3://acme-data/$(HOME).jsonl"}}, "uri"),
        ({**HUB, "samples": 64}, "samples"),
        ({**HUB, "samples": 513}, "samples"),
        ({**HUB, "group_size": 100}, "group_size"),
        ({**HUB, "method": "int3"}, "method"),
    ],
)
def test_a_spec_that_says_it_wrong_is_refused(quantize: dict[str, Any], message: str) -> None:
    """One source of data, 128 to 512 samples, known methods and groups."""
    with pytest.raises(ValidationError, match=message):
        spec({"m": model(quantize=quantize)})


def test_another_precision_beside_the_method_is_a_contradiction() -> None:
    """quantization fp8 with quantize.method awq."""
    with pytest.raises(ValidationError, match=r"quantization fp8 contradicts quantize\.method awq"):
        DeploymentSpec.model_validate(spec({"m": model()}).model_dump() | {"models": {"m": model(quantize=HUB, quantization="fp8")}})
