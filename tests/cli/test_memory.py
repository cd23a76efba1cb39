"""`inferform memory`: options and JSON lines to the memory plan of one GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from inferform.engines import find_engine

Run = Callable[..., object]
KEYS = {
    "fits",
    "weights_bytes_per_gpu",
    "activation_bytes_per_gpu",
    "runtime_bytes_per_gpu",
    "kv_cache_bytes_per_gpu",
    "kv_cache_tokens",
    "max_concurrency",
    "limits",
}
CHAT = ("--model", "Qwen/Qwen3-8B", "--gpu", "L4")


def batch(tmp_path: Path, inferform: Run, *lines: str) -> list[dict[str, object]]:
    """The answers to some lines."""
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    ran = inferform("memory", "--batch", path)
    assert 0 == ran.code
    return [json.loads(line) for line in ran.out.splitlines()]


def test_json_has_the_keys_of_the_contract(inferform: Run) -> None:
    """The documented keys are there, with whole bytes."""
    data = inferform("memory", *CHAT, "--max-model-len", 8192, "--format", "json").data
    assert set(data) >= KEYS
    assert data["fits"] is True
    # 8.19e9 parameters in 16 bit are 16.4 GB on the one GPU.
    assert 16.2e9 < data["weights_bytes_per_gpu"] < 16.6e9
    # Qwen3-8B: 2 (k, v) x 36 layers x 8 heads x 128 x 2 bytes.
    assert 147456 == data["kv_cache_bytes_per_token"]


def test_text_says_what_takes_the_memory(inferform: Run) -> None:
    """The report names model, GPU, verdict and each share, in 100 columns."""
    out = inferform("memory", *CHAT, "--max-model-len", 8192).out
    assert f"Qwen/Qwen3-8B on L4, vllm {find_engine('vllm').default_version}: fits" == out.splitlines()[0]
    for word in ("weights", "activations", "runtime", "KV cache", "requests at once"):
        assert word in out
    assert 100 >= max(len(line) for line in out.splitlines())


def test_what_does_not_fit_is_an_answer_with_what_would_help(inferform: Run) -> None:
    """Not fitting is a result (exit 0) whose limits say what to change."""
    ran = inferform("memory", "--model", "meta-llama/Llama-3.3-70B-Instruct", "--gpu", "L4", "--format", "json")
    assert (0, False) == (ran.code, ran.data["fits"])
    assert ran.data["limits"]


def test_an_unknown_gpu_needs_its_memory(inferform: Run) -> None:
    """A card outside the catalogue is refused by name, and taken with --gpu-memory-bytes."""
    ran = inferform("memory", "--model", "Qwen/Qwen3-8B", "--gpu", "Homemade-9000")
    assert 2 == ran.code
    assert "--gpu: " in ran.err
    data = inferform("memory", "--model", "Qwen/Qwen3-8B", "--gpu", "Homemade-9000", "--gpu-memory-bytes", 24 * 10**9, "--format", "json").data
    assert 24 * 10**9 == data["device_memory_bytes"]


def test_problems_name_options(inferform: Run) -> None:
    """Every option that cannot be used is named as it is typed, all at once."""
    err = inferform("memory", "--model", "no/such-model", "--gpu", "L4", "--tp", 0).err
    assert "--model" in err
    assert "--tp" in err


def test_batch_answers_in_order_and_echoes_ids(tmp_path: Path, inferform: Run) -> None:
    """One answer a line, in the order of the requests, each with its id first; empty lines are passed over."""
    answers = batch(
        tmp_path,
        inferform,
        '{"id": 7, "model": "Qwen/Qwen3-8B", "gpu": "L4"}',
        "",
        '{"id": "b", "model": "Qwen/Qwen3-4B", "gpu": "H100", "tp": 2}',
        '{"model": "Qwen/Qwen3-4B", "gpu": "H100"}',
    )
    assert [7, "b", None] == [a.get("id") for a in answers]
    assert "id" == next(iter(answers[0]))
    assert all(set(a) >= KEYS for a in answers)
    assert answers[1]["weights_bytes_per_gpu"] < answers[2]["weights_bytes_per_gpu"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nonsense", "is not JSON"),
        ("[1]", "wants a JSON object"),
        ("{" * 20, "is not JSON"),
        ("[" * 100000, "is not JSON"),
        ('{"id": "x", "model": "no/such", "gpu": "L4"}', "no/such"),
        ('{"id": "x", "model": "Qwen/Qwen3-8B", "gpu": "L4", "tp": NaN}', "is not a number"),
        ('{"id": "x", "model": "Qwen/Qwen3-8B", "gpu": "L4", "tpp": 1}', "tpp"),
        ('{"id": "x", "model": ["Qwen/Qwen3-8B"], "gpu": {}}', "model"),
        ("\xff\xfe", "is not JSON"),
    ],
)
def test_a_bad_line_gets_an_error_in_its_place(line: str, words: str, tmp_path: Path, inferform: Run) -> None:
    """The line before and the line after a bad one are answered; the error says what is wrong with it."""
    good = '{"id": %d, "model": "Qwen/Qwen3-8B", "gpu": "L4"}'
    path = tmp_path / "requests.jsonl"
    path.write_bytes("\n".join([good % 1, line, good % 2]).encode("latin-1"))
    ran = inferform("memory", "--batch", path)
    first, bad, last = (json.loads(text) for text in ran.out.splitlines())
    assert (0, 1, 2) == (ran.code, first["id"], last["id"])
    assert {"id", "error"} == set(bad)
    assert words in bad["error"]
    assert "1 of 3 lines could not be answered" in ran.err


def test_a_line_beyond_all_measure_is_passed_over(tmp_path: Path, inferform: Run) -> None:
    """A line of three mebibytes costs an error, not the memory of the machine, and the next one is answered."""
    path = tmp_path / "requests.jsonl"
    path.write_text('"' + "x" * 3 * 2**20 + '"\n{"id": 2, "model": "Qwen/Qwen3-8B", "gpu": "L4"}\n')
    bad, good = (json.loads(text) for text in inferform("memory", "--batch", path).out.splitlines())
    assert "is not JSON" in bad["error"]
    assert 2 == good["id"]


def test_batch_streams_from_standard_input() -> None:
    """An answer is there before the next request is sent."""
    program = "import sys; from inferform.cli.main import main; sys.exit(main(sys.argv[1:]))"
    with subprocess.Popen([sys.executable, "-c", program, "memory", "--batch", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for number in (1, 2):
            running.stdin.write(f'{{"id": {number}, "model": "Qwen/Qwen3-8B", "gpu": "L4"}}\n')
            running.stdin.flush()
            assert number == json.loads(running.stdout.readline())["id"]
        running.stdin.close()
        assert 0 == running.wait(30)


def test_a_batch_file_that_is_not_there_is_an_input_error(tmp_path: Path, inferform: Run) -> None:
    """A missing file ends with 2."""
    assert 2 == inferform("memory", "--batch", tmp_path / "none.jsonl").code


def test_a_model_that_is_not_understood_is_refused_by_its_own_keys(inferform: Run, tmp_path: Path) -> None:
    """Falcon-H1 has state layers beside its attention: exit 2, the key as the file spells it, and nothing sized."""
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "model_type": "falcon_h1", "hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 44, "num_attention_heads": 12,
                "num_key_value_heads": 2, "head_dim": 128, "mamba_d_ssm": 3072, "mamba_d_state": 256, "vocab_size": 130048,
            }
        )
    )  # fmt: skip
    ran = inferform("memory", "--model", config, "--gpu", "H100", "--format", "json")
    assert (2, "") == (ran.code, ran.out)
    assert [("mamba_d_ssm", str(config))] == [(p["field"], p["file"]) for p in ran.error["problems"]]
    assert "mamba_d_state" in ran.error["problems"][0]["message"]
