"""Options of `memory` as a request: every problem at once, contract keys, speed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.sizing.memory_request import ANSWER_KEYS, answer, memory_from_options, parse

OPTIONS: dict[str, Any] = {
    "model": "meta-llama/Llama-3.3-70B-Instruct",
    "gpu": "H100",
    "tp": 4,
    "weights": "fp8",
    "max_model_len": 8192,
    "engine_version": "0.33.0",
}


def test_answer_has_the_contract_keys() -> None:
    """The printed object has exactly the keys of the contract, as plain JSON."""
    values = json.loads(json.dumps(answer(memory_from_options(OPTIONS))))
    assert list(ANSWER_KEYS) == list(values)
    assert values["fits"] is True and values["limits"] == []


def test_every_problem_is_told_at_once() -> None:
    """Unknown key, wrong type, bad choice, bad share, bad version and unknown model come in one error."""
    with pytest.raises(InputError) as caught:
        parse({"model": "nope", "gpu": "H100", "tp": "4", "weights": "fp7", "gpu_memory_utilization": 2, "engine_version": "new", "colour": "red"})
    assert {"model", "tp", "weights", "gpu_memory_utilization", "engine_version", "colour"} == {p.field for p in caught.value.problems}


def test_null_counts_as_left_out() -> None:
    """JSON null takes the default."""
    assert parse(OPTIONS) == parse({**OPTIONS, "pp": None, "gpu_memory_bytes": None, "id": 7})


def test_unknown_card_with_memory() -> None:
    """A card outside the catalogue is accepted with its bytes and refused without."""
    known = {"model": OPTIONS["model"], "gpu": "Intel Arc Pro B70 32GB"}
    assert "Intel Arc Pro B70 32GB" == parse({**known, "gpu_memory_bytes": 32 * 2**30}).gpu_name
    with pytest.raises(InputError, match="gpu"):
        parse(known)


def test_no_card_and_no_memory() -> None:
    """One of the two is needed."""
    with pytest.raises(InputError, match="gpu_memory_bytes"):
        parse({"model": OPTIONS["model"]})


def test_illegal_degree_is_refused() -> None:
    """64 heads cannot be split over 3 GPUs."""
    with pytest.raises(InputError, match="tp: 64 attention heads"):
        parse({**OPTIONS, "tp": 3})


def test_config_path_works(tmp_path: Path) -> None:
    """`model` may be the path of a config.json."""
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 8, "vocab_size": 1000})
    )
    assert memory_from_options({"model": str(path), "gpu": "L4", "max_model_len": 1024}).fits


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*OPTIONS, "kv_cache", "pp", "ep", "gpu_memory_bytes", "max_num_seqs", "enforce_eager", "engine", "id", "x"]),
        st.one_of(st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(), st.text(max_size=12), st.lists(st.integers(), max_size=2)),
        max_size=4,
    )
)
def test_any_options_answer_or_refuse(values: dict[str, Any]) -> None:
    """Whatever the options hold, there is an answer or an InputError."""
    try:
        memory_from_options({**OPTIONS, **values})
    except InputError as err:
        assert err.problems


def test_two_thousand_lines_a_second() -> None:
    """A thousand different lines over six models take well under the second that two thousand may take."""
    models = (
        "meta-llama/Llama-3.3-70B-Instruct",
        "Qwen/Qwen3-30B-A3B",
        "google/gemma-3-27b-it",
        "deepseek-ai/DeepSeek-R1",
        "openai/gpt-oss-120b",
        "Qwen/Qwen3-8B",
    )
    lines = [{**OPTIONS, "model": models[i % 6], "weights": "auto", "max_num_seqs": 1 + i, "tp": 2 ** (i % 4)} for i in range(1000)]
    memory_from_options(lines[0])
    start = time.process_time()
    for line in lines:
        answer(memory_from_options(line))
    # Processor time, doubled allowance for a busy machine: 1,000 lines at 1,000 a second.
    assert time.process_time() - start < 1.0
