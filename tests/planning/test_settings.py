"""Engine settings and extra arguments."""

from __future__ import annotations

from typing import Any

import pytest
from inferform.errors import InputError
from inferform.planning.settings import Settings, settle
from inferform.spec import ModelSpec, Parallelism

from tests.planning.specs import model


def settled(**changes: Any) -> Settings:
    return settle("m", ModelSpec.model_validate(model(**changes)), "gpu")


def test_the_default_version_is_pinned() -> None:
    """Version and image follow from the engine's own default."""
    found = settled()
    assert ("0.33.0", "vllm/vllm-openai:v0.33.0") == (found.version, found.image)


def test_fc17_owned_flags_move_into_their_fields() -> None:
    """Degrees, lengths and switches leave the free arguments; the rest stays."""
    found = settled(
        max_model_len=None, extra_args=["--tensor-parallel-size", "4", "--max-model-len=4096", "--enforce-eager", "--no-enable-prefix-caching", "--seed", "7"]
    )  # fmt: skip
    assert isinstance(found.spec.parallelism, Parallelism)
    assert (4, 4096, True, False) == (found.spec.parallelism.tp, found.spec.max_model_len, found.spec.enforce_eager, found.spec.prefix_caching)
    assert ("--seed", "7") == found.extra_args
    assert any("max_model_len 4096 comes from extra_args" in note for note in found.notes)


def test_fc17_agreeing_values_are_no_conflict() -> None:
    """The same length twice is fine."""
    assert 8192 == settled(extra_args=["--max-model-len", "8192"]).spec.max_model_len


def test_fc17_contradictions_come_together() -> None:
    """Two flags against two fields are two problems."""
    with pytest.raises(InputError) as caught:
        settled(parallelism={"tp": 2}, extra_args=["--tensor-parallel-size", "4", "--max-model-len", "4096"])
    assert 2 == len(caught.value.problems)


def test_fc18_a_removed_flag_is_refused() -> None:
    """--disable-log-requests left vLLM."""
    with pytest.raises(InputError, match="disable-log-requests"):
        settled(engine_version="0.19.0", extra_args=["--disable-log-requests"])


def test_the_drain_time_is_planned_not_given() -> None:
    """--shutdown-timeout follows from the longest generation."""
    with pytest.raises(InputError, match=r"lifecycle\.grace"):
        settled(extra_args=["--shutdown-timeout", "30"])


def test_expert_parallelism_as_a_flag_spreads_over_all_ranks() -> None:
    """--enable-expert-parallel with TP 4 means EP 4."""
    found = settled(source="Qwen/Qwen3-30B-A3B", extra_args=["--tensor-parallel-size", "4", "--enable-expert-parallel"]).spec.parallelism
    assert isinstance(found, Parallelism)
    assert (4, 4) == (found.tp, found.ep)
