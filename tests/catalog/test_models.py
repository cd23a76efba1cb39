"""Model look-ups by catalogue name and by config.json."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from inferform.catalog.models import find_model, model_ids
from inferform.errors import InputError
from inferform.sizing.weights import total_weights_bytes

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192, "tie_word_embeddings": False,
}  # fmt: skip


def _write(folder: Path, values: object, name: str = "config.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def test_ids_are_many_and_sorted() -> None:
    """The catalogue knows all 124 models it was given and their tuned twins."""
    ids = model_ids()
    assert len(ids) >= 124 and list(ids) == sorted(set(ids))


@pytest.mark.parametrize(
    "name", ["meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b-instruct", "META-LLAMA/llama-3.3-70b-instruct", " Llama-3.3-70B-Instruct "]
)
def test_case_and_owner_do_not_matter(name: str) -> None:
    """A catalogue name resolves in any case, with or without its owner."""
    model = find_model(name)
    assert ("meta-llama/Llama-3.3-70B-Instruct", 80, 64, 8, 128, 8192) == (model.id, model.layers, model.heads, model.kv_heads, model.head_dim, model.hidden)


def test_tuned_twin_keeps_its_own_name() -> None:
    """An instruct twin has the shapes of its base and the name that must be downloaded."""
    twin, base = find_model("meta-llama/Llama-3.1-8B-Instruct"), find_model("meta-llama/Meta-Llama-3.1-8B")
    assert ("meta-llama/Llama-3.1-8B-Instruct", base.total_params, True) == (twin.id, twin.total_params, twin.gated)


def test_twin_with_a_longer_context() -> None:
    """The 2507 update of Qwen3-235B raised the context to 262,144."""
    assert 262144 == find_model("Qwen/Qwen3-235B-A22B-Instruct-2507").max_position


def test_unknown_model_lists_the_nearest() -> None:
    """A misspelt model is refused with the names closest to it."""
    with pytest.raises(InputError) as caught:
        find_model("Llama-3.3-70B-Instuct")
    assert "meta-llama/Llama-3.3-70B-Instruct" == caught.value.problems[0].legal[0]


@pytest.mark.parametrize("form", ["file", "folder", "address"])
def test_config_path_works_where_a_name_does(tmp_path: Path, form: str) -> None:
    """The file, its folder and its file:// address give the same model: Llama-3-8B has 8,030,261,248 parameters."""
    path = _write(tmp_path, LLAMA)
    source = {"file": str(path), "folder": str(tmp_path), "address": path.as_uri()}[form]
    assert (8030261248, 32) == (find_model(source).total_params, find_model(source).layers)


def test_changed_file_is_read_again(tmp_path: Path) -> None:
    """A config that changes on disk is not served from memory."""
    path = _write(tmp_path, LLAMA)
    assert 32 == find_model(str(path)).layers
    _write(tmp_path, {**LLAMA, "num_hidden_layers": 100})
    assert 100 == find_model(str(path)).layers


def test_separate_quantization_file_counts(tmp_path: Path) -> None:
    """hf_quant_config.json beside the config states precision, cache type and what stays in 16 bits."""
    _write(tmp_path, LLAMA)
    _write(tmp_path, {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}, "hf_quant_config.json")
    own = find_model(str(tmp_path)).quantization
    assert own is not None
    assert ("fp8", 8, "fp8", ("lm_head",)) == (own.weights, own.bits, own.kv_cache, own.ignored)


def test_missing_and_wrong_keys_are_told_at_once(tmp_path: Path) -> None:
    """Every bad key is named with its file, what it holds and what it wants."""
    path = _write(tmp_path, {**LLAMA, "hidden_size": "big", "num_attention_heads": 0, "vocab_size": None, "num_hidden_layers": -3})
    with pytest.raises(InputError) as caught:
        find_model(str(path))
    fields = {problem.field for problem in caught.value.problems}
    assert {"hidden_size", "num_attention_heads", "vocab_size", "num_hidden_layers"} <= fields
    assert {str(path)} == {problem.file for problem in caught.value.problems}


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", "nul", "[" * 100_000, '{"model_type": ' * 50_000, "\ufeff{}", "1" * 5000])
def test_files_that_are_no_config(tmp_path: Path, text: str) -> None:
    """Broken, empty, deeply nested and wrongly shaped files are input errors that name the file."""
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        find_model(str(path))
    assert str(path) == caught.value.problems[0].file


def test_binary_and_missing_files(tmp_path: Path) -> None:
    """Bytes that are no text, and a path to nothing, are input errors."""
    path = tmp_path / "config.json"
    path.write_bytes(b"\xff\xfe\x00\x80")
    for source in (str(path), str(tmp_path / "other.json"), "file:///nowhere/config.json"):
        with pytest.raises(InputError):
            find_model(source)


@pytest.mark.parametrize("source", ["", "\0", "x" * 10_000, "../" * 2000, "${HOME}/config.json", "http://example.com/config.json"])
def test_hostile_sources(source: str) -> None:
    """Odd texts are refused as unknown models, never opened as something else."""
    with pytest.raises(InputError):
        find_model(source)


def test_every_name_with_a_precision_has_that_precision() -> None:
    """A catalogue id that says FP8, NVFP4, INT4, AWQ, GPTQ or W4A16 names a checkpoint that is stored so."""
    stored = {"fp8": {"fp8"}, "nvfp4": {"nvfp4"}, "int4": {"awq", "gptq"}, "awq": {"awq"}, "gptq": {"gptq"}, "w4a16": {"awq", "gptq"}}
    wrong = []
    for id in model_ids():
        named = next((stored[word] for word in re.split(r"[-_./]", id.lower()) if word in stored), None)
        quantization = find_model(id).quantization
        if named is not None and (quantization is None or quantization.weights not in named):
            wrong.append((id, quantization and quantization.weights))
    assert [] == wrong


def test_checkpoints_published_quantized_weigh_what_they_weigh() -> None:
    """Kimi-K2-Thinking: 594 GB, its routed experts in 4 bits with a scale for 32 and no zero points; GLM-4.7-FP8: a byte a weight, embeddings in two."""
    kimi, glm = find_model("moonshotai/Kimi-K2-Thinking"), find_model("zai-org/GLM-4.7-FP8")
    # 60 layers x 384 experts x 3 x 7,168 x 2,048 weights in 4.5 bits are 570.8 GB; 11.7 B others in 16 bits are 23.4 GB.
    assert pytest.approx(594e9, rel=3e-3) == total_weights_bytes(kimi, "gptq")
    assert {"mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"} == {p.tensor for p in kimi.quantization.parts}
    assert ("fp8", True) == (glm.quantization.weights, 353e9 < total_weights_bytes(glm, "fp8") < 358e9)
