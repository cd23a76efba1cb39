"""SGLang: command lines, the static share of memory, arguments, and metric names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import samples
from inferform.engines import Place, PodVariable, Signal, find_engine
from inferform.errors import InputError
from inferform.plan import ModelPlan

GIB = 2**30
ENGINE = find_engine("sglang")
VERSION = "0.5.23"
REFERENCE = Path(__file__).resolve().parents[2] / "../shared/reference"


def command(pool: dict[str, Any] | None = None, place: Place = Place("/models/weights"), **model: Any) -> list[str]:  # noqa: B008
    values = {"engine": "sglang", "engine_version": VERSION, **model}
    plan = ModelPlan.model_validate(samples.model({"aggregated": samples.pool(**(pool or {}))}, **values))
    return ENGINE.command(plan, plan.pools["aggregated"], place)


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def test_the_command_is_explicit_about_memory_and_batching() -> None:
    """Every value that the plan decides stands on the command line; static memory = (18 + 1 + 45) / 79.65 GiB = 0.803."""
    expected = (
        "python3 -m sglang.launch_server --model-path /models/weights --served-model-name llama-70b --host 0.0.0.0 --port 8000 --enable-metrics --tp-size 4 "
        "--quantization fp8 --kv-cache-dtype auto --context-length 8192 --max-running-requests 256 --max-prefill-tokens 8192 --chunked-prefill-size 8192 "
        "--mem-fraction-static 0.803"
    )
    assert expected.split() == command()


def test_fc22_static_memory_leaves_room_for_activations() -> None:
    """80 GiB, weights 16, context 1, activations 1, 0.9 of the whole: cache 54 and static (16 + 1 + 54) / 80 = 0.8875, rounded down."""
    memory = {
        "device_memory_bytes": 80 * GIB, "weights_bytes_per_gpu": 16 * GIB, "activation_bytes_per_gpu": GIB, "runtime_bytes_per_gpu": GIB,
        "kv_cache_bytes_per_gpu": 54 * GIB,
    }  # fmt: skip
    assert "0.887" == option(command({"memory": memory}), "--mem-fraction-static")


def test_switches_follow_the_plan() -> None:
    """Caching, chunking, eager running and embedding each have their own spelling here."""
    assert "--disable-radix-cache" in command(prefix_caching=False)
    assert "-1" == option(command(chunked_prefill=False), "--chunked-prefill-size")
    eager = command(enforce_eager=True)
    assert ("disabled", "disabled") == (option(eager, "--cuda-graph-backend-decode"), option(eager, "--cuda-graph-backend-prefill"))
    embed = command({"max_model_len": 512}, task="embed", weights="bf16")
    assert {"--is-embedding", "--disable-radix-cache"} <= set(embed)
    assert ("bfloat16", "fp8_e4m3") == (option(embed, "--dtype"), option(command(kv_cache="fp8"), "--kv-cache-dtype"))


def test_degrees() -> None:
    """Copies stand side by side; with experts over all ranks attention is data-parallel inside one group of 4 x 2 ranks."""
    copies = command({"dp": 2})
    assert ("4", "2") == (option(copies, "--tp-size"), option(copies, "--dp-size"))
    experts = command({"dp": 2, "ep": 8})
    assert ("8", "2", "8") == tuple(option(experts, name) for name in ("--tp-size", "--attn-dp-size", "--ep-size"))
    assert "--dp-size" not in experts
    # The engine divides these two by the attention ranks; the plan's are of one rank.
    one = command({"ep": 4})
    for name in ("--max-running-requests", "--chunked-prefill-size"):
        assert 2 * int(option(one, name)) == int(option(experts, name))
        assert option(copies, name) == option(one, name)
    with pytest.raises(InputError, match="over all 4 ranks or over none"):
        command({"ep": 2})


def test_several_nodes_meet_at_the_leader() -> None:
    """Every member of a group names its rank and the leader's address with a port; the address stays a variable of the pod."""
    words = command({"tp": 8, "pp": 2}, Place("/models/weights", nodes=2, rank=PodVariable("$(LWS_WORKER_INDEX)"), leader=PodVariable("$(LWS_LEADER_ADDRESS)")))
    assert ("2", "$(LWS_WORKER_INDEX)", "$(LWS_LEADER_ADDRESS):29501") == tuple(option(words, n) for n in ("--nnodes", "--node-rank", "--dist-init-addr"))
    assert isinstance(option(words, "--dist-init-addr"), PodVariable)


def test_fc17_owned_flags_are_merged_into_the_plan() -> None:
    """Values of the spec's fields are merged, those of the plan refused, the rest stays."""
    given = ["--tensor-parallel-size", "2", "--context-length", "8k", "--disable-radix-cache", "--schedule-policy", "lpm", "--quantization", "awq_marlin"]
    owned, rest = ENGINE.split_extra_args(given, VERSION)
    assert {"tp": 2, "max_model_len": 8000, "prefix_caching": False, "quantization": "awq"} == owned
    assert ("--schedule-policy", "lpm") == rest
    for word, fix in (("--mem-fraction-static", "gpu_memory_utilization"), ("--nnodes", "set parallelism"), ("--max-total-tokens", "gpu_memory_utilization")):
        with pytest.raises(InputError, match=f"{word} is not taken here.*{fix}"):
            ENGINE.split_extra_args([word, "1"], VERSION)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cuda-graph-max-bs", "64"], "use --cuda-graph-max-bs-decode"),
        (["--enable-double-sparsity"], "leave it out"),
        (["--disable-cuda-graph"], "deprecated.*--cuda-graph-backend-decode disabled"),
        (["--enable-dp-attention"], "use --attn-dp-size"),
        (["--schedule-polcy", "lpm"], "did you mean --schedule-policy"),
        (["--schedule-policy", "best"], "no such choice"),
    ],
)
def test_fc18_flags_are_checked(words: list[str], message: str) -> None:
    """Removed and deprecated flags are refused with their replacement, unknown ones with the nearest name."""
    with pytest.raises(InputError, match=message):
        ENGINE.split_extra_args(words, VERSION)


def test_version_and_image() -> None:
    """One release was read in full, so only that one can be pinned."""
    assert ("0.5.23", "lmsysorg/sglang:v0.5.23") == ENGINE.pin(None, None, "gpu")
    with pytest.raises(InputError, match=r"legal: 0\.5\.23"):
        ENGINE.pin("0.5.20", None, "gpu")
    with pytest.raises(InputError, match="no CPU image"):
        ENGINE.pin(None, None, "cpu")


def test_the_table_is_that_of_the_reference() -> None:
    """Flags, choices and metric names are those of the published release; removed ones are gone from it."""
    path = REFERENCE / "sglang_flags.json"
    if not path.exists():
        pytest.skip("the reference data is not beside this checkout")
    rows = {row["flag"]: row for row in json.loads(path.read_text())["flags"]}
    flags = ENGINE.table.flags  # type: ignore[attr-defined]
    assert set(rows) == set(flags)
    assert all(list(flag.choices) == [str(c) for c in rows[name]["choices"] or ()] for name, flag in flags.items())
    spelled = {name for row in rows.values() for name in (row["flag"], *row["aliases"])}
    assert set() == set(ENGINE.table.removed) & spelled  # type: ignore[attr-defined]
    exposed = {name.removesuffix("_bucket") for row in json.loads((REFERENCE / "sglang_metrics.json").read_text())["metrics"] for name in row["exposed"]}
    assert set() == {ENGINE.metric(VERSION, s) for s in get_args(Signal)} - exposed
