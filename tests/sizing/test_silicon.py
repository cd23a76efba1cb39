"""Step times from measured tables: a package that behaves like aiconfigurator-core stands in for it, in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LLAMA = {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8}
# Decode steps take 10 ms and 0.1 ms a sequence, a prompt token 20 us more; int4 has no tables.
PACKAGE = """
class EngineHandle:
    @classmethod
    def compile(cls, model, system, backend, **options):
        if options["gemm_quant_mode"] == "int4_wo":
            raise RuntimeError("GEMM perf data missing for quant 'int4_wo'")
        return cls()

    def decode_step_latency(self, sequences, context, output):
        return 10 + 0.1 * sequences

    def mixed_step_latency(self, prompt, sequences, length, output):
        return 10 + 0.1 * sequences + 0.02 * prompt
"""


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A folder with the stand-in for the package."""
    package = tmp_path / "aiconfigurator_core"
    (package / "sdk").mkdir(parents=True)
    (package / "model_configs").mkdir()
    (package / "__init__.py").write_text("")
    (package / "sdk" / "__init__.py").write_text(PACKAGE)
    (package / "model_configs" / "other--Twin-of-Llama_config.json").write_text(json.dumps(LLAMA))
    return tmp_path


def ask(tables: Path | None, **values: Any) -> subprocess.CompletedProcess[str]:
    """`inferform estimate --performance-model silicon` with these tables."""
    options = {"model": "meta-llama/Meta-Llama-3.1-8B", "gpu": "H100", "input-tokens": 1000, "output-tokens": 101, "concurrency": 1, **values}
    command = [sys.executable, "-m", "inferform.cli.main", "estimate", "--performance-model", "silicon", "--format", "json"]
    command += [str(part) for key, value in options.items() for part in (f"--{key}", value)]
    path = {"PYTHONPATH": str(tables)} if tables else {}
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **path})


def test_step_times_come_from_the_tables(tables: Path) -> None:
    """One client: TPOT is a decode step of one sequence, 10.1 ms; the prompt's step of 1,000 tokens takes 10 + 20 = 30 ms and host time."""
    data = json.loads(ask(tables).stdout)
    assert data["tpot_ms"]["p50"] == pytest.approx(10.1)
    assert 30 < data["ttft_ms"]["p50"] < 30 + 60
    assert "measured kernel tables of aiconfigurator-core" in data["source"]


def test_highest_throughput_by_hand(tables: Path) -> None:
    """Four sequences of 101 tokens with 1,000 prompt tokens each: a step of 4 carries 39.6 prompt tokens and takes 11.19 ms."""
    rate = json.loads(ask(tables, concurrency=4).stdout)["output_tokens_per_s"]
    # A client: 100 tokens of 10.4 ms and 3/100 of a prompt's 20 ms each, and a first token of 30.3 ms.
    assert rate == pytest.approx(4 * 101 / (100 * (10.4 + 0.6) + 30.3) * 1e3, rel=0.03)


def test_what_the_tables_lack_is_said(tables: Path) -> None:
    """A precision, a card and a model without tables are input errors that name them, never a traceback."""
    for more, named in (({"weights": "awq"}, "int4_wo"), ({"gpu": "L4"}, "L4"), ({"model": "Qwen/Qwen3-0.6B"}, "Qwen3-0.6B")):
        ran = ask(tables, **more)
        assert 2 == ran.returncode
        assert named in ran.stderr and "Traceback" not in ran.stderr


@pytest.mark.skipif(importlib.util.find_spec("aiconfigurator_core") is not None, reason="aiconfigurator-core is installed here")
def test_without_the_package_the_extra_is_named() -> None:
    """Exit code 5, as for any outside tool that is not there."""
    ran = ask(None)
    assert 5 == ran.returncode
    assert "inferform[silicon]" in ran.stderr
