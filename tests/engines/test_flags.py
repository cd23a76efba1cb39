"""The vLLM flag table: what it holds, and what it says about arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inferform.engines.flags import FlagTable, load_table
from inferform.errors import InputError

REFERENCE = Path(__file__).resolve().parents[2] / "../shared/reference"


@pytest.fixture(scope="module")
def table() -> FlagTable:
    return load_table("vllm", "0.33.0")


def problem(table: FlagTable, words: list[str], version: str = "0.33.0") -> str:
    with pytest.raises(InputError) as error:
        table.read(words, version)
    return str(error.value)


def test_the_table_holds_every_published_flag(table: FlagTable) -> None:
    """Each flag of the published parser is in the table with its type, choices, aliases and negative spellings, and no other."""
    path = REFERENCE / "vllm_serve_flags.json"
    if not path.exists():
        pytest.skip("the reference data is not beside this checkout")
    rows = {r["flag"]: r for r in json.loads(path.read_text())["flags"] if not r.get("positional")}
    assert set(rows) == set(table.flags)
    assert 320 == len(rows)
    for name, row in rows.items():
        flag = table.flags[name]
        assert (row["type"], tuple(row["aliases"])) == (flag.type, flag.aliases)
        assert tuple(str(c) for c in row["choices"] or () if c is not None) == flag.choices
        assert bool(row["deprecated"]) == bool(flag.deprecated)
        assert {*(row.get("negative_flags") or ()), *(row.get("hidden_accepted_flags") or ())} == set(flag.negative)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-tp", "2"], ("--tensor-parallel-size", "2")),
        (["--max_model_len=8k"], ("--max-model-len", "8k")),
        (["--no-enable-prefix-caching"], ("--no-enable-prefix-caching",)),
        (["--disable-chunked-prefill"], ("--no-enable-chunked-prefill",)),
        (["--compilation-config.mode", "3"], ("--compilation-config.mode", "3")),
        (["--seed", "-1"], ("--seed=-1",)),
        (["--served-model-name", "a", "b"], ("--served-model-name", "a", "b")),
        (["--chat-template=--x"], ("--chat-template=--x",)),
    ],
)
def test_arguments_are_read_in_every_spelling(table: FlagTable, words: list[str], expected: tuple[str, ...]) -> None:
    """Aliases, underscores, equals signs, negations, dotted keys, negative numbers and lists come out in one spelling."""
    assert expected == table.read(words, "0.33.0")[0].words()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--seeed", "7"], "did you mean --seed"),
        (["--seed"], "--seed needs a value"),
        (["--seed", "x"], "--seed wants a whole number (found x)"),
        (["--gpu-memory-utilization", "much"], "wants a number"),
        (["--runner", "embed"], "legal: auto, draft, generate, pooling"),
        (["--speculative-config", "{x"], "wants a JSON object"),
        (["--enforce-eager", "true"], "--enforce-eager takes no value"),
        (["--seed", "1", "2"], "takes one value"),
        (["stray"], "is no flag"),
        (["--seed 7"], "write them as two items"),
        (["--seed", "1", "--seed", "2"], "extra_args[2]: --seed is given twice"),
        (["--seed.x", "1"], "takes no dotted keys"),
        (["--disable-cascade-attn"], "is deprecated in vllm 0.33.0"),
        (["--task", "embed"], "use --runner and --convert"),
        (["--rope-scaling", "{}"], "use --hf-overrides.rope_parameters"),
    ],
)
def test_wrong_arguments_name_the_way_out(table: FlagTable, words: list[str], expected: str) -> None:
    """Every wrong argument is refused with what would be right."""
    assert expected in problem(table, words)


def test_every_problem_is_reported_at_once(table: FlagTable) -> None:
    """Three wrong arguments give three problems, each with its position."""
    with pytest.raises(InputError) as error:
        table.read(["--nope", "--seed", "x", "stray", "--task", "embed"], "0.33.0")
    assert ["extra_args[0]", "extra_args[1]", "extra_args[4]"] == [p.field for p in error.value.problems]


def test_fc18_flags_vanish_between_versions(table: FlagTable) -> None:
    """--disable-log-requests is refused on every version with advice that does not turn logging on; others by their releases."""
    for version in ("0.11.0", "0.19.0", "0.33.0"):
        text = problem(table, ["--disable-log-requests"], version)
        assert "leave it out: requests are not logged" in text
    assert ("--swap-space", "4") == table.read(["--swap-space", "4"], "0.16.0")[0].words()
    assert "use --kv-offloading-size" in problem(table, ["--swap-space", "4"], "0.18.0")
    assert "it is there from 0.18.0 on" in problem(table, ["--shutdown-timeout", "3"], "0.16.0")
