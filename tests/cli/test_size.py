"""`inferform size` prints the plan: the whole document as JSON, or a report."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from inferform.plan import DeploymentPlan
from specs import MINIMAL, with_model, write

Run = Callable[..., object]
TOP = {"name", "tenant", "environment", "models", "cost", "warnings"}
MODEL = {"engine", "engine_version", "weights", "kv_cache", "topology", "pools", "why", "rejected"}
POOL = {
    "role", "instance_type", "gpu", "nodes", "replicas", "tp", "pp", "dp", "ep", "max_model_len", "max_num_seqs", "max_num_batched_tokens",
    "gpu_memory_utilization", "kv_cache_tokens", "ttft_ms", "tpot_ms", "requests_per_s", "purchase",
}  # fmt: skip


def test_json_is_the_plan_of_the_contract(tmp_path: Path, inferform: Run) -> None:
    """The documented keys are there and the document reads back as a plan."""
    data = inferform("size", write(tmp_path, MINIMAL), "--format", "json").data
    assert TOP <= set(data)
    model = data["models"]["llama-8b"]
    assert MODEL <= set(model)
    for pool in model["pools"].values():
        assert POOL <= set(pool)
        assert {"min", "steady", "max"} == set(pool["nodes"]) == set(pool["replicas"])
    assert {"usd_per_hour", "usd_per_month", "usd_per_mtok", "by_pool"} <= set(data["cost"])
    assert "demo" == DeploymentPlan.model_validate(data).name


def test_the_report_names_model_hardware_reasons_and_cost(tmp_path: Path, inferform: Run) -> None:
    """The text of the same plan fits 100 columns and tells the choice."""
    path = write(tmp_path, MINIMAL)
    data = inferform("size", path, "--format", "json").data
    ran = inferform("size", path)
    pool = next(iter(data["models"]["llama-8b"]["pools"].values()))
    assert 0 == ran.code
    # Prices grow old while this test does not.
    assert all("the price of" in line for line in ran.err.splitlines())
    assert pool["instance_type"] in ran.out
    assert f"${data['cost']['usd_per_hour']:,.2f} an hour" in ran.out
    assert "  Why\n" in ran.out
    assert 100 >= max(len(line) for line in ran.out.splitlines())


def test_an_environment_is_sized_with_its_overlay(tmp_path: Path, inferform: Run) -> None:
    """--env sizes the merged spec and names the environment."""
    path = write(tmp_path, MINIMAL + "environments: {big: {models: {llama-8b: {workload: {peak_rps: 40}}}}}\n")
    small, big = (inferform("size", path, *env, "--format", "json").data for env in ((), ("--env", "big")))
    assert ("default", "big") == (small["environment"], big["environment"])
    assert small["cost"]["usd_per_hour"] < big["cost"]["usd_per_hour"]


def test_fc03_a_context_that_does_not_fit_is_told_at_its_line(tmp_path: Path, inferform: Run) -> None:
    """FC-03: problems that sizing finds have file and line, bytes needed and available, and end with 2."""
    path = write(tmp_path, with_model("parallelism: {tp: 1}\nquantization: bf16\nhardware: {gpus: [L4]}\nmax_model_len: 131072"))
    ran = inferform("size", path)
    assert (2, "") == (ran.code, ran.out)
    # 2 x 32 layers x 8 heads x 128 x 2 bytes x 131072 tokens = 16 GiB.
    assert f"{path}:15: models.llama-8b.max_model_len: " in ran.err
    assert "17179869184 bytes" in ran.err
    assert "is the longest that fits" in ran.err


def test_fc34_a_gated_model_needs_a_secret(tmp_path: Path, inferform: Run) -> None:
    """FC-34: a gated model without hf_token_secret is refused at its line."""
    ran = inferform("size", write(tmp_path, MINIMAL.replace("    hf_token_secret: {name: hf-token}\n", "")))
    assert 2 == ran.code
    assert "hf_token_secret" in ran.err


@pytest.mark.parametrize("command", ["size", "cost", "validate"])
def test_no_cloud_library_is_loaded(command: str, tmp_path: Path) -> None:
    """Sizing and pricing need neither cdktf nor boto3 nor the policy engine nor a terminal library."""
    heavy = "[m for m in sys.modules if m.split('.')[0] in ('cdktf', 'cdktn', 'jsii', 'boto3', 'botocore', 'regopy', 'rich', 'jinja2', 'moto')]"
    program = f"import sys; from inferform.cli.main import main; code = main(sys.argv[1:]); print({heavy}, file=sys.stderr); sys.exit(code)"
    ran = subprocess.run([sys.executable, "-c", program, command, str(write(tmp_path, MINIMAL))], text=True, capture_output=True, check=True)
    assert "[]" == ran.stderr.splitlines()[-1]


def test_explain_tells_the_decision(tmp_path: Path, inferform: Run) -> None:
    """Chosen, second best, reasons, memory bar, curve, what would be cheaper and what fell, in 100 columns; JSON has the same facts beside the plan."""
    path = write(tmp_path, MINIMAL)
    ran = inferform("size", path, "--explain")
    assert 0 == ran.code
    for words in ("Chosen: ", "Second best: ", "The reasons", "Memory of one GPU", "planned", "most inside the objectives", "cheaper", "What was not chosen"):
        assert words in ran.out
    assert 100 >= max(len(line) for line in ran.out.splitlines())
    data = inferform("size", path, "--explain", "--format", "json").data
    told = data.pop("explanation")["llama-8b"]
    assert "demo" == DeploymentPlan.model_validate(data).name
    assert told["chosen"]["candidate"] in " ".join(ran.out.split())
    for way in told["cheaper_if"]:
        assert f"${way['saves_usd_per_month']:,.0f} less" in " ".join(ran.out.split())
    assert {"second", "rejected", "memory", "curves", "why"} <= set(told)


def test_a_plot_is_written_beside_the_result(tmp_path: Path, inferform: Run) -> None:
    """--plot draws the curve with and without --explain; another ending is refused."""
    pytest.importorskip("matplotlib", reason="the plots extra is not installed")
    path = write(tmp_path, MINIMAL)
    ran = inferform("size", path, "--plot", tmp_path / "latency.svg")
    assert 0 == ran.code
    assert "planned:" in (tmp_path / "latency.svg").read_text(encoding="utf-8")
    assert "  Why\n" in ran.out
    refused = inferform("size", path, "--explain", "--plot", tmp_path / "latency.pdf")
    assert 2 == refused.code
    assert "--plot" in refused.err
