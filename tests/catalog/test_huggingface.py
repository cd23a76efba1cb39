"""Any config.json: parameters from shapes, kinds of attention, quantization, and hostile values."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inferform.catalog.huggingface import model_from_config
from inferform.catalog.models import find_model, model_ids
from inferform.catalog.types import Model
from inferform.errors import InputError

REFERENCE = Path(__file__).resolve().parents[2] / "../shared/reference"
needs_reference = pytest.mark.skipif(not REFERENCE.exists(), reason="the reference configs are not beside this checkout")


def _read(config: dict[str, Any]) -> Model:
    return model_from_config(config, id="x", file="config.json", source="test")


@cache
def _entries() -> list[dict[str, Any]]:
    return list(json.loads((REFERENCE / "model_configs.json").read_text(encoding="utf-8"))["models"])


@needs_reference
def test_every_reference_model_is_carried() -> None:
    """All entries of the reference are in the catalogue under the same id."""
    assert {entry["id"] for entry in _entries()} <= set(model_ids())


# Known differences: GLM-5.2/5.3 share one indexer over four layers, which the reference counts in each (0.07 % of all, 1.3 % of active).
_TOLERANCE = {"zai-org/GLM-5.2": (0.001, 0.014), "zai-org/GLM-5.3": (0.001, 0.014)}


@needs_reference
def test_parameters_from_shapes_agree_with_the_reference() -> None:
    """Text parameters, all and active, agree within 0.01 % (stated exceptions aside) with every count the reference computed."""
    compared = 0
    for entry in _entries():
        total, active = entry["params"]["computed_total"], entry["params"]["computed_active"]
        model = find_model(entry["id"])
        near_total, near_active = _TOLERANCE.get(entry["id"], (1e-4, 1e-4))
        if total:
            compared += 1
            assert total == pytest.approx(model.total_params - model.vision_params, rel=near_total), entry["id"]
        if active:
            assert active == pytest.approx(model.active_params, rel=near_active), entry["id"]
    assert compared >= 110


@needs_reference
@pytest.mark.parametrize(
    ("id", "billions"),
    [
        ("deepseek-ai/DeepSeek-V4-Flash", 284),
        ("google/gemma-4-26B-A4B", 26),
        ("nvidia/Gemma-4-31B-IT-NVFP4", 31),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", 49.9),
        ("XiaomiMiMo/MiMo-V2-Flash", 309),
        ("stepfun-ai/Step-3.7-Flash", 196),
    ],
)
def test_families_without_a_reference_count_match_their_published_size(id: str, billions: float) -> None:
    """Families whose maths the reference leaves out come within 2 % of the published size, vision tower included."""
    assert billions == pytest.approx(find_model(id).total_params / 1e9, rel=0.02)


# Their published config.json states a quantization that the reference's copy leaves out.
_COMPLETED = {"moonshotai/Kimi-K2-Thinking", "zai-org/GLM-4.7-FP8"}


@needs_reference
def test_carried_config_reads_as_the_original() -> None:
    """The compact config in the catalogue gives the same shapes, cache groups and quantized parts as the original file."""
    for entry in _entries():
        if "config_file" not in entry:
            continue
        values = json.loads((REFERENCE / entry["config_file"]).read_text(encoding="utf-8"))
        beside = REFERENCE / entry["hf_quant_config_file"] if "hf_quant_config_file" in entry else None
        quantization = json.loads(beside.read_text(encoding="utf-8")) if beside else None
        original = model_from_config(values, id=entry["id"], file="config.json", source="test", quantization=quantization)
        carried = find_model(entry["id"])
        assert (original.tensors, original.attention, original.rope_bytes) == (carried.tensors, carried.attention, carried.rope_bytes), entry["id"]
        if entry["id"] in _COMPLETED:
            assert original.quantization is None and carried.quantization is not None
            continue
        assert (original.quantization is None) == (carried.quantization is None), entry["id"]
        if original.quantization and carried.quantization:
            assert original.quantization.parts == carried.quantization.parts, entry["id"]
            assert original.quantization.kv_cache == carried.quantization.kv_cache, entry["id"]


def test_every_catalogued_model_reads() -> None:
    """Each catalogue entry becomes a model with a source, positive shapes, and layers that add up."""
    for id in model_ids():
        model = find_model(id)
        assert model.source and model.total_params >= model.active_params > 0, id
        assert model.layers == sum(group.layers for group in model.attention), id
        assert all(t.rows > 0 and t.cols > 0 and all(0 <= i < model.layers for i in t.layers) for t in model.tensors), id
        assert model.total_params == sum(t.params for t in model.tensors), id


def _kinds(id: str) -> list[tuple[str, int, int | None]]:
    return [(group.kind, group.layers, group.window_tokens) for group in find_model(id).attention]


def test_kinds_of_attention() -> None:
    """Each family's mix of full, windowed, chunked, latent, linear and state layers is read from its own keys."""
    assert [("full", 32, None)] == _kinds("meta-llama/Meta-Llama-3-8B")
    assert [("sliding", 52, 1024), ("full", 10, None)] == _kinds("google/gemma-3-27b-it")
    assert [("sliding", 21, 4096), ("full", 21, None)] == _kinds("google/gemma-2-9b-it")
    assert [("sliding", 12, 128), ("full", 12, None)] == _kinds("openai/gpt-oss-20b")
    assert [("chunked", 36, 8192), ("full", 12, None)] == _kinds("meta-llama/Llama-4-Scout-17B-16E-Instruct")
    assert [("mla", 61, None)] == _kinds("deepseek-ai/DeepSeek-R1")
    assert [("linear", 36, None), ("full", 12, None)] == _kinds("Qwen/Qwen3-Next-80B-A3B-Instruct")
    assert [("mamba", 23, None), ("none", 23, None), ("full", 6, None)] == _kinds("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
    assert [("linear", 69, None), ("mla", 24, None)] == _kinds("moonshotai/Kimi-K3")
    assert [("full", 49, None), ("none", 31, None)] == _kinds("nvidia/Llama-3_3-Nemotron-Super-49B-v1")
    assert [("full", 28, None)] == _kinds("Qwen/Qwen2.5-7B")


def test_mixture_of_experts_facts() -> None:
    """DeepSeek-R1: 256 experts, 8 used, one shared, 58 expert layers after 3 dense ones; latent of 512 + 64 values."""
    model = find_model("deepseek-ai/DeepSeek-R1")
    assert model.moe and model.mla
    assert (256, 8, 2048, 2048, 58, 3) == (
        model.moe.experts, model.moe.experts_per_token, model.moe.intermediate, model.moe.shared_intermediate, model.moe.moe_layers, model.moe.dense_layers,
    )  # fmt: skip
    assert (512, 576) == (model.mla.kv_lora_rank, model.attention[0].latent_dim)


def test_encoders_keep_no_cache() -> None:
    """An embedding model is an encoder whose layers keep nothing."""
    model = find_model("BAAI/bge-m3")
    assert (True, [("none", 24, None)], 8192) == (model.encoder, _kinds("BAAI/bge-m3"), model.max_position)


def test_mixed_checkpoint_lists_its_parts() -> None:
    """Qwen3.6-27B-NVFP4 keeps its MLPs in nvfp4 and its linear attention in fp8."""
    own = find_model("nvidia/Qwen3.6-27B-NVFP4").quantization
    assert own is not None
    methods = {part.tensor: part.method for part in own.parts}
    assert ("nvfp4", "nvfp4", "fp8") == (own.weights, methods["mlp.up_proj"], methods["linear_attn.in_proj_qkv"])


def test_ignored_modules_stay_in_16_bits() -> None:
    """Kimi-K2.5 quantizes only its routed experts; gpt-oss too."""
    for id in ("moonshotai/Kimi-K2.5", "openai/gpt-oss-120b"):
        own = find_model(id).quantization
        assert own is not None
        assert {"mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"} == {part.tensor for part in own.parts}


def test_unknown_quantization_method_is_told() -> None:
    """A method nobody here knows is refused with the known ones."""
    with pytest.raises(InputError, match="quant_method"):
        _read({**_llama(), "quantization_config": {"quant_method": "secret-sauce"}})


def test_patterns_from_a_file_cannot_run_away() -> None:
    """An ignore pattern made to backtrack for ever is not run."""
    config = {**_llama(), "quantization_config": {"quant_method": "fp8", "ignore": ["re:(a+)+$", "re:" + "(x|x)*" * 30, "re:.*lm_head"]}}
    assert _read(config).quantization is not None


JAMBA = {
    "model_type": "jamba", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "num_experts": 16, "num_experts_per_tok": 2, "expert_layer_period": 2, "expert_layer_offset": 1, "attn_layer_period": 8, "attn_layer_offset": 4,
    "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 256, "mamba_conv_bias": True, "mamba_proj_bias": False, "vocab_size": 65536,
    "max_position_embeddings": 262144, "tie_word_embeddings": False,
}  # fmt: skip


def test_periods_place_attention_and_experts() -> None:
    """Jamba: every eighth layer attends, from the fifth on, every second one has experts; 52 B weights, 12 B of them used by a token."""
    model = _read(JAMBA)
    assert [("mamba", 28), ("full", 4)] == [(group.kind, group.layers) for group in model.attention]
    assert (4, 12, 20, 28) == model.attention[1].indexes
    assert model.moe and (16, 16) == (model.moe.moe_layers, model.moe.dense_layers)
    assert (52, 12) == (round(model.total_params / 1e9), round(model.active_params / 1e9))
    # One sequence in one layer: 8,192 channels x (3 recent inputs + 16 states) x 2 bytes.
    assert 8192 * 19 * 2 == model.attention[0].state_bytes


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"mamba_d_ssm": 3072, "mamba_d_state": 256}, "mamba_d_ssm"),
        ({"ssm_cfg": {"layer": "Mamba2"}}, "ssm_cfg"),
        ({"cross_layer_period": 4}, "cross_layer_period"),
        ({"attn_layer_indices": [9, 18]}, "attn_layer_indices"),
        ({"mamba_expand": 2}, "mamba_expand"),
    ],
)
def test_layers_that_are_not_understood_are_refused(keys: dict[str, Any], named: str) -> None:
    """A hybrid in a spelling that nobody here reads is never taken for a plain transformer: its keys are named."""
    with pytest.raises(InputError) as err:
        _read({**_llama(), **keys})
    (problem,) = err.value.problems
    assert named == problem.field
    assert "no plain attention" in problem.message and problem.fix
    assert all(key in str(err.value) for key in keys)


def test_keys_without_a_value_refuse_nothing() -> None:
    """Null says that a model has no such layers."""
    assert _read({**_llama(), "mamba_ssm_dtype": None}).layers == 4


@pytest.mark.parametrize(
    ("scaling", "positions"),
    [
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}, 131072),
        ({"type": "yarn", "factor": 4.0}, 163840),
        ({"rope_type": "linear", "factor": 2.0}, 81920),
        ({"rope_type": "dynamic", "factor": 2.0}, 81920),
        ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}, 40960),
        ({"rope_type": "longrope", "factor": 32.0, "original_max_position_embeddings": 4096}, 40960),
        ({"type": "su", "factor": 32.0}, 40960),
        ({"rope_type": "default"}, 40960),
        (None, 40960),
    ],
)
def test_the_longest_context_is_the_one_that_the_engine_derives(scaling: dict[str, Any] | None, positions: int) -> None:
    """YaRN multiplies the original positions, linear and dynamic scaling the stated ones; the others state what is scaled already."""
    config = {**_llama(), "max_position_embeddings": 40960}
    assert positions == _read({**config, "rope_scaling": scaling}).max_position
    assert positions == _read({**config, "rope_parameters": scaling and {"full_attention": scaling}}).max_position


def test_scaled_positions_of_gemma_3_are_not_scaled_again() -> None:
    """Gemma 3 states 131,072 positions beside a factor of 8; model_max_length comes before the positions."""
    gemma = {**_llama(), "model_type": "gemma3_text", "max_position_embeddings": 131072, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    assert 131072 == _read({**gemma, "sliding_window": 512}).max_position
    assert 131072 == _read({**_llama(), "max_position_embeddings": 8192, "model_max_length": 131072}).max_position


def _llama() -> dict[str, Any]:
    return {
        "model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4,
        "vocab_size": 1000, "max_position_embeddings": 2048,
    }  # fmt: skip


_BASES = [
    _llama(),
    {**_llama(), "model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128, "mlp_only_layers": [0]},
    {**_llama(), "model_type": "deepseek_v3", "kv_lora_rank": 64, "q_lora_rank": 32, "qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "v_head_dim": 32,
     "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "n_shared_experts": 1, "first_k_dense_replace": 1},
    {**_llama(), "model_type": "nemotron_h", "hybrid_override_pattern": "M*-E", "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 16,
     "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64},
    {**_llama(), "model_type": "qwen3_next", "full_attention_interval": 2, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
     "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4},
    {**_llama(), "layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window": 128, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}},
    {**_llama(), "model_type": "nemotron-nas", "block_configs": [{"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 1.5}}] * 4},
    {"model_type": "gemma3", "text_config": {**_llama(), "model_type": "gemma3_text", "sliding_window": 64, "sliding_window_pattern": 2},
     "vision_config": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "patch_size": 14, "image_size": 224, "num_attention_heads": 4}},
    {**_llama(), "model_type": "bert", "type_vocab_size": 2},
]  # fmt: skip
_HOSTILE = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.sampled_from([0, -1, 1, 10**9, 10**18, 2**63]), st.floats(), st.text(max_size=20),
    st.sampled_from(["${x}", "{{ 7*7 }}", "%{if}", "\x00", "𝕏"]), st.lists(st.integers(-5, 10**12), max_size=5), st.lists(st.text(max_size=5), max_size=5),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3), st.lists(st.dictionaries(st.text(max_size=5), st.none(), max_size=2), max_size=3),
)  # fmt: skip


def _paths(value: dict[str, Any], prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for key, inner in value.items():
        found.append((*prefix, key))
        if isinstance(inner, dict):
            found += _paths(inner, (*prefix, key))
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_configs_never_break_out(data: st.DataObject) -> None:
    """A config with one to three keys replaced by anything gives a model or an InputError that names a key, never another exception."""
    config = copy.deepcopy(data.draw(st.sampled_from(_BASES)))
    for _ in range(data.draw(st.integers(1, 3))):
        *outer, last = data.draw(st.sampled_from(_paths(config)))
        target: Any = config
        for key in outer:
            target = target.get(key) if isinstance(target, dict) else None
        if not isinstance(target, dict):
            continue
        if data.draw(st.booleans()):
            target.pop(last, None)
        else:
            target[last] = data.draw(_HOSTILE)
    try:
        model = _read(config)
    except InputError as err:
        assert all(problem.field for problem in err.problems)
    else:
        assert 0 < model.active_params <= model.total_params <= 10**15
