"""Command lines of every example and of a matrix of plans, parsed as the engine's own parser does: names, choices, types, counts, conflicts.

The rules are those of the published release's parser (reference data), written down here a second time, beside the engine's table.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import rendered
from inferform.load import load_spec
from inferform.planner import size
from inferform.render import render
from rendered import objects

from tests.planning.specs import LARGE, SMALL, model, plan

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.yaml"))
P5: dict[str, Any] = {"hardware": {"instance_types": ["p5.48xlarge"]}}
MATRIX: dict[str, dict[str, Any]] = {
    "plain": model(SMALL),
    "fp8": model(SMALL, quantization="fp8", kv_cache="fp8", **P5),
    "eager": model(SMALL, enforce_eager=True, prefix_caching=False),
    "whole prompts": model(SMALL, chunked_prefill=False),
    "data parallel": model(SMALL, parallelism={"tp": 1, "dp": 2}, hardware={"instance_types": ["g6e.48xlarge"]}),
    "experts": model("openai/gpt-oss-120b", parallelism={"tp": 1, "dp": 2, "ep": 2}),
    "two nodes": model("meta-llama/Meta-Llama-3.1-405B", parallelism={"tp": 8, "pp": 2}, slo={"ttft_p95": "5s", "tpot_p95": "100ms"}),
    "memory tier": model(SMALL, kv_tiers={"cpu": "100Gi"}, **P5),
    "file tier": model(SMALL, kv_tiers={"cpu": "100Gi", "disk": "300Gi"}, **P5),
    "split": model(LARGE, topology={"prefill": 1, "decode": 2}, parallelism={"tp": 4}, slo={"ttft_p95": "4s"}),
    "split with tier": model(LARGE, topology={"prefill": 1, "decode": 2}, parallelism={"tp": 4}, slo={"ttft_p95": "4s"}, kv_tiers={"cpu": "100Gi"}, **P5),
    "embeddings": model(
        "BAAI/bge-large-en-v1.5", max_model_len=512, workload={"peak_rps": 50, "input_tokens": {"mean": 100, "p95": 200}, "output_tokens": {"mean": 1, "p95": 1}}
    ),
    "arguments": model(SMALL, extra_args=["--seed", "7", "--max-log-len=100", "--no-enable-log-requests"]),
}  # fmt: skip
pytestmark = pytest.mark.skipif(not rendered.REFERENCE.exists(), reason=rendered.NO_REFERENCE)


@cache
def table() -> dict[str, tuple[dict[str, Any], bool]]:
    """Spelling -> (row, whether it switches on)."""
    found: dict[str, tuple[dict[str, Any], bool]] = {}
    for row in json.loads((rendered.REFERENCE / "vllm_serve_flags.json").read_text())["flags"]:
        found.update(dict.fromkeys([row["flag"], *row["aliases"]], (row, True)))
        negative = [*row.get("negative_flags", ()), *row.get("hidden_accepted_flags", ())]
        found.update(dict.fromkeys(negative or ([f"--no-{row['flag'][2:]}"] if row["boolean_negatable"] else []), (row, False)))
    return found


@cache
def fields_of(name: str) -> dict[str, Any]:
    classes: dict[str, dict[str, Any]] = json.loads((rendered.REFERENCE / "vllm_config_classes.json").read_text())["classes"]
    return classes[name]


def parsed(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """(flag -> values, what is wrong) of the words after `vllm serve MODEL`."""
    found: dict[str, list[str]] = {}
    wrong: list[str] = []
    index = 0
    while index < len(words):
        name, equals, joined = words[index].partition("=")
        index += 1
        values = [joined] if equals else []
        while not equals and index < len(words) and not words[index].startswith("-"):
            values.append(words[index])
            index += 1
        if name not in table():
            wrong.append(f"{name} is no flag")
            continue
        row, positive = table()[name]
        flag = row["flag"]
        if flag in found:
            wrong.append(f"{flag} is given twice")
        found[flag] = values if row["type"] != "bool" else [str(positive)]
        wrong += [f"{name}: {text}" for text in faults(row, values)]
    return found, wrong + conflicts(found)


def faults(row: dict[str, Any], values: list[str]) -> list[str]:
    if row["deprecated"]:
        return ["is deprecated"]
    if row["type"] == "bool":
        return ["takes no value"] if values else []
    if not values:
        return ["needs a value"]
    if len(values) > 1 and row.get("nargs") not in ("+", "*"):
        return ["takes one value"]
    kind = row["type"].removeprefix("optional ")
    said = []
    for value in values:
        # A variable of the pod stands for a rank or an address.
        if value.startswith("$("):
            continue
        if row["choices"] and value not in row["choices"]:
            said.append(f"{value} is none of {row['choices']}")
        if (kind == "int" and not re.fullmatch(r"-?\d+", value)) or (kind == "float" and not re.fullmatch(r"-?\d+(\.\d+)?", value)):
            said.append(f"{value} is no {kind}")
        if kind.startswith("human_readable_int") and not re.fullmatch(r"\d+(\.\d+)?[kKmMgGtT]?|-1|auto", value):
            said.append(f"{value} is no number")
        if kind.startswith("json:"):
            said += [f"{key} is no field of {kind}" for key in json.loads(value) if key not in fields_of(kind.removeprefix("json:"))]
    return said


def conflicts(found: dict[str, list[str]]) -> list[str]:
    """What the parser takes and the engine then refuses."""
    said = []

    def number(flag: str, default: int = 1) -> int:
        return int(found.get(flag, [str(default)])[0])

    def on(flag: str) -> bool:
        return found.get(flag) == ["True"]

    if number("--max-num-batched-tokens") < number("--max-num-seqs"):
        said.append("fewer batched tokens than sequences")
    if found.get("--enable-chunked-prefill") == ["False"] and number("--max-num-batched-tokens") < number("--max-model-len"):
        said.append("a prompt that may not be split does not fit a step")
    if on("--headless") and found.get("--node-rank", ["0"]) == ["0"]:
        said.append("the first node serves, so it is not headless")
    if number("--nnodes") > 1 and "--master-addr" not in found:
        said.append("several nodes without a leader's address")
    if "--kv-offloading-size" in found and "--kv-transfer-config" in found:
        said.append("offloading by size replaces the connector")
    if on("--enable-expert-parallel") and number("--tensor-parallel-size") * number("--data-parallel-size") == 1:
        said.append("experts over one rank")
    if not 0 < float(found["--gpu-memory-utilization"][0]) <= 1:
        said.append("a share of memory outside 0 to 1")
    return said


def command_lines(files: dict[str, str]) -> list[list[str]]:
    """Words after the model of each container that starts `vllm serve`."""
    found = []
    for item in objects(files):
        for template in templates(item):
            for container in template["spec"]["containers"]:
                words = [*container.get("command", []), *container.get("args", [])]
                if words[:2] == ["vllm", "serve"]:
                    found.append([word.replace("$$", "$") for word in words[3:]])
    return found


def templates(item: dict[str, Any]) -> list[dict[str, Any]]:
    spec = item.get("spec", {})
    if item["kind"] == "LeaderWorkerSet":
        return [spec["leaderWorkerTemplate"][part] for part in ("leaderTemplate", "workerTemplate")]
    return [spec["template"]] if item["kind"] == "Deployment" else []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_start_as_the_parser_reads_them(path: Path) -> None:
    """Each command line of each example has known flags with values of their kind, and nothing that the engine then refuses."""
    loaded = load_spec(str(path))
    lines = command_lines(render(size(loaded.spec, loaded.environment)))
    assert lines
    assert [] == [text for words in lines for text in parsed(words)[1]]


@pytest.mark.parametrize("name", MATRIX)
def test_every_shape_starts_as_the_parser_reads_it(name: str) -> None:
    """Precisions, degrees, nodes, tiers, split pools, embeddings and free arguments."""
    lines = command_lines(render(plan({"m": MATRIX[name]})))
    assert lines
    for words in lines:
        found, wrong = parsed(words)
        assert [] == wrong
        assert {"--max-model-len", "--max-num-seqs", "--max-num-batched-tokens", "--gpu-memory-utilization", "--served-model-name"} <= set(found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--no-such-flag"], "--no-such-flag is no flag"),
        (["--tensor-parallel-size", "two"], "--tensor-parallel-size: two is no int"),
        (["--kv-offloading-backend", "disk"], "--kv-offloading-backend: disk is none of"),
        (["--enforce-eager", "yes"], "--enforce-eager: takes no value"),
        (["--seed"], "--seed: needs a value"),
        (["--seed", "1", "--seed", "2"], "--seed is given twice"),
        (["--kv-transfer-config", '{"kv_conector": "X"}'], "--kv-transfer-config: kv_conector is no field"),
        (["--max-num-seqs", "9000"], "fewer batched tokens than sequences"),
        (["--no-enable-chunked-prefill"], "a prompt that may not be split does not fit a step"),
        (["--kv-offloading-size", "4", "--kv-transfer-config", "{}"], "offloading by size replaces the connector"),
        (["--nnodes", "2"], "several nodes without a leader's address"),
    ],
)
def test_the_rules_notice(words: list[str], message: str) -> None:
    """A wrong name, kind, choice, count or pair is told, so that the tests above can fail."""
    base = ["--max-num-batched-tokens", "8192", "--max-model-len", "16384", "--gpu-memory-utilization", "0.9"]
    assert any(text.startswith(message) for text in parsed([*base, *words])[1])
