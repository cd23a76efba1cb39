"""What is refused before or by the search, with the field and the way out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inferform.errors import InputError
from inferform.plan import DeploymentPlan

from tests.planning.specs import LARGE, model, plan


def refused(models: dict[str, Any], **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        plan(models, **changes)
    return str(caught.value)


def config(folder: Path, **changes: Any) -> str:
    """A Llama-shaped config.json; its path."""
    values = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40, "num_attention_heads": 40,
        "num_key_value_heads": 40, "vocab_size": 32000, "max_position_embeddings": 65536, "tie_word_embeddings": False, "torch_dtype": "bfloat16", **changes,
    }  # fmt: skip
    path = folder / "config.json"
    path.write_text(json.dumps(values))
    return str(path)


def test_fc01_explicit_degrees_must_divide_the_heads(tmp_path: Path) -> None:
    """40 heads on TP 16: field, both numbers and the legal degrees of a node."""
    text = refused({"m": model(config(tmp_path), parallelism={"tp": 16})})
    assert "models.m.parallelism.tp: 40 attention heads cannot be split over 16 GPUs" in text
    assert "legal: 1, 2, 4, 8" in text


def test_yarn_lengthens_what_the_model_was_made_for(tmp_path: Path) -> None:
    """32,768 original positions times 4 are 131,072, though the config states 40,960: that much is planned, and one token more is refused."""
    scaled = config(
        tmp_path, num_key_value_heads=8, max_position_embeddings=40960,
        rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    )  # fmt: skip
    (pool,) = plan({"m": model(scaled, max_model_len=131072)}).models["m"].pools.values()
    assert 131072 == pool.max_model_len
    assert "is longer than the 131072 tokens" in refused({"m": model(scaled, max_model_len=131073)})


@pytest.mark.parametrize(("heads", "legal"), [(40, {1, 2, 4, 8}), (28, {1, 2, 4})])
def test_fc01_the_planner_only_picks_dividing_degrees(tmp_path: Path, heads: int, legal: set[int]) -> None:
    """Whatever type is allowed, the chosen degree divides the heads."""
    source = config(tmp_path, num_attention_heads=heads, num_key_value_heads=heads // 4, hidden_size=heads * 128)
    for instance in ("p5.48xlarge", "p4d.24xlarge", "g6e.12xlarge"):
        made = plan({"m": model(source, hardware={"instance_types": [instance]}, slo={"ttft_p95": "5s", "tpot_p95": "200ms"})})
        assert made.models["m"].pools["aggregated"].tp in legal


def test_fc02_the_padded_vocabulary_must_divide(tmp_path: Path) -> None:
    """151,552 rows are a multiple of 64 and leave 4 over at TP 6; 32,001 rows pad to 32,064 and pass at TP 2."""
    wide = config(tmp_path, num_attention_heads=48, num_key_value_heads=48, hidden_size=6144, vocab_size=151552)
    text = refused({"m": model(wide, parallelism={"tp": 6})})
    assert "models.m.parallelism.tp" in text and "151552" in text
    odd = config(tmp_path, vocab_size=32001)
    made = plan({"m": model(odd, parallelism={"tp": 2}, hardware={"instance_types": ["p4d.24xlarge"]}, slo={"ttft_p95": "5s", "tpot_p95": "200ms"})})
    assert 2 == made.models["m"].pools["aggregated"].tp


def test_fc04_blocks_of_an_fp8_checkpoint_must_divide(tmp_path: Path) -> None:
    """Expert width 3,072 at TP 16 leaves 192 a rank: refused with TP 8 and PP 2 as the way; left to the plan the degree keeps whole blocks."""
    source = config(
        tmp_path, model_type="deepseek_v3", architectures=["DeepseekV3ForCausalLM"], hidden_size=7168, num_attention_heads=128, num_key_value_heads=128,
        intermediate_size=18432, moe_intermediate_size=3072, n_routed_experts=64, num_experts_per_tok=8, n_shared_experts=1, first_k_dense_replace=1, kv_lora_rank=512,
        q_lora_rank=1536, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, num_hidden_layers=30,
        quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
    )  # fmt: skip
    text = refused({"m": model(source, parallelism={"tp": 16})})
    assert "3072" in text and "192" in text and "use tp 8 with pp 2" in text
    made = plan({"m": model(source, slo={"ttft_p95": "5s", "tpot_p95": "200ms"})})
    assert 0 == 3072 // made.models["m"].pools["aggregated"].tp % 128


def test_fc03_one_full_sequence_must_fit(tmp_path: Path) -> None:
    """32 layers, 32 KV heads: 524,288 bytes a token, 16 GiB for 32,768 tokens; on a 24 GB card it is refused with needed, available and the longest legal length."""
    source = config(
        tmp_path, hidden_size=4096, intermediate_size=16384, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=32, vocab_size=32000
    )  # fmt: skip
    text = refused(
        {"m": model(source, max_model_len=32768, quantization="bf16", hardware={"instance_types": ["g5.xlarge"]}, slo={"ttft_p95": "9s", "tpot_p95": "500ms"})}
    )
    assert "models.m.max_model_len" in text
    assert "16.0 GiB" in text
    longest = int(text.split("max_model_len ")[1].split(" is the longest")[0])
    assert 0 == longest % 16 < longest < 32768


def test_fc03_the_plan_holds_one_full_sequence() -> None:
    """kv_cache_tokens is at least max_model_len, which is always explicit, and utilization stays at 0.90."""
    for _, _, _, pool in plan({"big": model(LARGE), "chat": model(max_model_len=None)}).pool_items():
        assert pool.kv_cache_tokens >= pool.max_model_len > 0
        assert 0.90 == pool.gpu_memory_utilization


def test_fc05_fp8_experts_need_capability_8_9() -> None:
    """A mixture in FP8 on p4d: 8.0 found, 8.9 needed, and the families that have it."""
    text = refused({"m": model("Qwen/Qwen3-30B-A3B", quantization="fp8", hardware={"instance_types": ["p4d.24xlarge"]})})
    for part in ("precision", "8.9", "8.0", "g6"):
        assert part in text


def test_fc05_dense_fp8_on_ampere_warns() -> None:
    """Dense FP8 on A10G is planned at one byte a weight with a warning."""
    made = plan({"m": model(quantization="fp8", hardware={"instance_types": ["g5.xlarge"]})})
    assert any("weight-only" in text for text in made.warnings)
    assert made.models["m"].pools["aggregated"].memory.weights_bytes_per_gpu < 10 * 10**9


def test_fc05_an_e5m2_cache_on_fp8_weights_is_refused() -> None:
    """On any card."""
    assert "fp8_e5m2" in refused({"m": model(quantization="fp8", kv_cache="fp8_e5m2", hardware={"instance_types": ["p5.48xlarge"]})})


def test_a_gated_model_needs_a_token() -> None:
    """FC-34: no reference to a Secret, no plan."""
    assert "models.m.hf_token_secret: meta-llama/Meta-Llama-3.1-8B is gated" in refused({"m": {**model(), "hf_token_secret": None}})


def test_problems_of_all_models_come_together() -> None:
    """Two broken models and an unknown type give three problems."""
    with pytest.raises(InputError) as caught:
        plan({"a": model("no/such-model"), "b": model(max_model_len=10_000_000, hardware={"instance_types": ["p9.metal"]})})
    assert {"models.a.source", "models.b.max_model_len", "models.b.hardware.instance_types.0"} <= {p.field for p in caught.value.problems}


def test_unknown_names_list_the_nearest() -> None:
    """A mistyped GPU and a mistyped type."""
    text = refused({"m": model(hardware={"gpus": ["H1000"], "instance_types": ["p5.48xlrage"]})})
    assert "models.m.hardware.gpus.0" in text and "H100" in text
    assert "p5.48xlarge" in text


def test_tensor_parallelism_across_nodes_is_refused() -> None:
    """TP 16 where nodes have eight GPUs: use TP 8 and PP 2."""
    assert "use tp 8 and pp 2" in refused({"m": model(LARGE, parallelism={"tp": 16})})


def test_tensor_parallelism_over_pcie_is_an_override_with_a_warning() -> None:
    """Asked for it is planned; by itself the planner never does it (requirements A3)."""
    asked = plan({"m": model(parallelism={"tp": 2}, hardware={"instance_types": ["g6.12xlarge"]})})
    assert 2 == asked.models["m"].pools["aggregated"].tp
    assert any("over PCIe as asked" in text for text in asked.warnings)
    alone = plan({"m": model(LARGE, hardware={"instance_types": ["g6e.12xlarge"]}, slo={"ttft_p95": "9s", "tpot_p95": "400ms"})})
    assert 1 == alone.models["m"].pools["aggregated"].tp


def test_expert_parallelism_is_all_or_nothing() -> None:
    """ep 4 with tp 8 is refused, ep 8 is kept, ep on a dense model is refused."""
    base = {"hardware": {"instance_types": ["p5.48xlarge"]}}
    assert "models.m.parallelism.ep" in refused({"m": model("Qwen/Qwen3-30B-A3B", parallelism={"tp": 4, "ep": 2}, **base)})
    assert 4 == plan({"m": model("Qwen/Qwen3-30B-A3B", parallelism={"tp": 4, "ep": 4}, **base)}).models["m"].pools["aggregated"].ep
    assert "no experts" in refused({"m": model(parallelism={"tp": 2, "ep": 2}, **base)})


def test_fc22_every_engine_gets_the_same_budget() -> None:
    """The spec's utilization is a share of the whole card: weights, workspace and cache take 90 % of it, whichever engine runs."""
    for engine in ("vllm", "tensorrt-llm", "sglang"):
        memory = plan({"m": model(engine=engine)}).models["m"].pools["aggregated"].memory
        held = memory.weights_bytes_per_gpu + memory.activation_bytes_per_gpu + memory.runtime_bytes_per_gpu + memory.kv_cache_bytes_per_gpu
        assert memory.budget_bytes == held
        assert 0.9 * memory.device_memory_bytes == pytest.approx(memory.budget_bytes, abs=1)


def test_an_engine_that_has_no_cpu_image_is_refused() -> None:
    """Small embedding models go to CPU pools, where only vLLM runs."""
    embed = model("BAAI/bge-m3", engine="sglang", hardware={"device": "cpu"}, task="embed")
    assert "use vllm for CPU pools" in refused({"m": embed})


def test_a_checkpoint_runs_in_its_own_precision() -> None:
    """gpt-oss is MXFP4 and stays so; asking for awq is refused."""
    made = plan({"m": model("openai/gpt-oss-20b")}).models["m"]
    assert ("mxfp4", True) == (made.weights, made.checkpoint_quantized)
    assert "models.m.quantization: the checkpoint of openai/gpt-oss-20b is mxfp4" in refused({"m": model("openai/gpt-oss-20b", quantization="awq")})


def test_a_precision_of_another_checkpoint_warns() -> None:
    """awq asked for on a 16-bit source: planned, with the warning that a quantized checkpoint has to be there."""
    made = plan({"m": model(LARGE, quantization="awq")})
    assert ("awq", True) == (made.models["m"].weights, made.models["m"].checkpoint_quantized)
    assert any("put a checkpoint quantized to awq into the model store" in text for text in made.warnings)


def test_the_published_checkpoint_comes_first() -> None:
    """Without a budget nothing is chosen that needs another checkpoint."""
    made = plan({"m": model(LARGE)}).models["m"]
    assert made.weights in {"bf16", "fp8"}
    assert not made.checkpoint_quantized


def test_encoders_go_to_cpu_and_never_share_a_process() -> None:
    """Embeddings, 8B and 70B are three pools of their own; the encoder's has no GPU."""
    bge = model("BAAI/bge-large-en-v1.5", max_model_len=512, workload={"input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}})
    made = plan({"bge": bge, "chat": model(), "big": model(LARGE)})
    assert [None, "L40S"] == [made.models[m].pools["aggregated"].gpu for m in ("bge", "chat")] or made.models["bge"].pools["aggregated"].gpu is None
    assert ("embed", None) == (made.models["bge"].task, made.models["bge"].slo_tpot_p95_ms)
    assert "cpu" in made.models["bge"].image
    assert 3 == len({(m, p) for m, _, p, _ in made.pool_items()})


def test_a_generating_encoder_is_refused() -> None:
    """An encoder answers with a vector."""
    assert "models.bge.task" in refused({"bge": model("BAAI/bge-large-en-v1.5", task="generate", max_model_len=512, workload={"input_tokens": {"mean": 100}})})


def test_the_context_covers_the_workload() -> None:
    """A mean request that is longer than max_model_len is refused; a longer tail warns."""
    assert "models.m.max_model_len: the mean request of 1000 tokens" in refused({"m": model(max_model_len=900)})
    assert any("longer requests are refused" in text for text in plan({"m": model(max_model_len=2048)}).warnings)


def test_fc19_without_chunks_a_step_holds_the_context() -> None:
    """chunked_prefill off: the token budget is the context length at least; on, an explicit budget stays as it is."""
    off = plan({"m": model(chunked_prefill=False, max_model_len=16384)}).models["m"].pools["aggregated"]
    assert off.max_num_batched_tokens >= off.max_model_len
    assert 4096 == plan({"m": model(chunked_prefill=True, max_num_batched_tokens=4096)}).models["m"].pools["aggregated"].max_num_batched_tokens


@pytest.mark.parametrize(
    ("floor", "weights"), [("reference", {"bf16"}), ("near_lossless", {"bf16", "fp8", "int8"}), ("small_loss", {"bf16", "fp8", "int8", "nvfp4", "awq"})]
)
def test_no_precision_below_the_quality_floor(floor: str, weights: set[str]) -> None:
    """auto chooses among precisions of the floor's class and above, however tight the budget."""
    made = plan({"m": model(LARGE, quality=floor)})
    assert made.models["m"].weights in weights
    if floor != "small_loss":
        text = refused({"m": model(LARGE, quality=floor)}, budget={"usd_per_month": made.cost.usd_per_month * 0.6})
        assert "budget.usd_per_month" in text
        assert "quality small_loss with" in text


def test_a_named_precision_below_the_floor_is_refused() -> None:
    """awq with a floor of near_lossless names its class and the precisions that would do."""
    text = refused({"m": model(LARGE, quantization="awq", quality="near_lossless")})
    assert "models.m.quantization: is of class small_loss, below the quality floor near_lossless" in text
    assert "fp8" in text


def test_a_published_checkpoint_meets_every_floor() -> None:
    """gpt-oss is published in mxfp4, so a floor of reference keeps it."""
    assert "mxfp4" == plan({"m": model("openai/gpt-oss-120b", quality="reference")}).models["m"].weights


def test_a_generative_model_needs_the_length_of_its_answers() -> None:
    """Without output_tokens there is no telling the cost of answers; an encoder has none."""
    load = {"peak_rps": 2, "input_tokens": {"mean": 800}}
    base = model()
    with pytest.raises(InputError) as caught:
        plan({"m": {**base, "workload": load}})
    assert ["models.m.workload.output_tokens"] == [p.field for p in caught.value.problems]
    assert plan({"m": {"source": "BAAI/bge-large-en-v1.5", "workload": {**load, "input_tokens": {"mean": 200}}}}).cost.usd_per_hour > 0


def test_prompts_that_the_context_refuses_are_not_paid_for() -> None:
    """Prompts of 20,000 tokens have a 95th percentile of 40,000 by default, in a context of 32,768: planned as if 32,468 were, and said so; one of 1,000 is not cut."""
    long = {"peak_rps": 1, "input_tokens": {"mean": 20000}, "output_tokens": {"mean": 300}}
    cards = {"instance_types": ["p4d.24xlarge", "p5.48xlarge"]}

    def made(**work: Any) -> DeploymentPlan:
        return plan({"m": {**model("mistralai/Mixtral-8x7B-v0.1", max_model_len=32768, slo={"ttft_p95": "4s"}, hardware=cards), "workload": {**long, **work}}})

    default, stated = made(), made(input_tokens={"mean": 20000, "p95": 32468})
    assert default.cost.usd_per_hour == stated.cost.usd_per_hour
    assert any("prompts are planned up to 32468 tokens, not to the 95th percentile of 40000" in line for line in default.models["m"].why)
    assert any("longer requests are refused" in line for line in default.warnings)
    assert not any("are planned up to" in line for line in made(input_tokens={"mean": 1000}).models["m"].why)


@pytest.mark.parametrize("source", [LARGE, "nvidia/Llama-3.1-70B-Instruct-FP8"])
def test_fp8_is_not_chosen_where_the_card_does_not_compute_it(source: str) -> None:
    """On Ampere FP8 only saves memory and the policy denies it, so the plan takes another precision or refuses a checkpoint that has no other."""
    asked = model(source, hardware={"gpus": ["A100-40GB-SXM4", "A10G"]}, slo={"ttft_p95": "2s", "tpot_p95": "60ms"})
    try:
        made = plan({"m": asked})
    except InputError as err:
        assert "does not compute in FP8" in str(err)
    else:
        assert made.models["m"].weights != "fp8"
