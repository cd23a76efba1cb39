"""Step times by hand-worked numbers."""

from __future__ import annotations

import dataclasses

import pytest
from inferform.catalog.gpus import find_gpu
from inferform.catalog.models import find_model
from inferform.sizing.roofline import Constants, Layout, compute_type, constants, default_link, step_costs, step_s

LLAMA_8B = find_model("meta-llama/Meta-Llama-3.1-8B")


def layout(gpu: str = "L4", *, tp: int = 1, pp: int = 1, weights: str = "bf16", kv_cache: str = "auto", engine: str = "vllm", link: str = "none") -> Layout:
    return Layout(find_gpu(gpu), link, tp, pp, weights, kv_cache, engine)  # type: ignore[arg-type]


def ideal(**changes: float) -> Constants:
    """Constants of a machine without losses: every efficiency 1, every overhead 0, so that only counted work is left."""
    plain = {name: 0.0 if name.endswith(("_us", "_ms")) or "_us_" in name or "_ms_" in name else 1.0 for name in constants().values}
    return Constants({**plain, "hidden_passes": 0.0, "narrow_columns": 0.0, **changes}, "ideal")


def test_decode_of_one_sequence_reads_the_weights_once() -> None:
    """Batch one on a card that is short of bandwidth takes the bytes of weights over the bandwidth.

    Llama 3.1 8B: 8,030,261,248 parameters, embedding and head 128,256 x 4,096 each. Without the input embedding 7,504,924,672
    parameters x 2 bytes = 15.01 GB, over 300 GB/s = 50.03 ms; one token's arithmetic and cache are below 1 %.
    """
    seconds = step_s(step_costs(LLAMA_8B, layout(), ideal()), decode=1, context=0)
    assert seconds == pytest.approx(15_009_849_344 / 300e9, rel=0.02)


def test_cache_reads_grow_with_sequences_and_context() -> None:
    """Each running sequence reads its whole context: 131,072 bytes a token for Llama 3.1 8B in 16 bit (2 x 32 x 8 x 128 x 2)."""
    costs = step_costs(LLAMA_8B, layout(), ideal())
    more = step_s(costs, decode=8, context=2000) - step_s(costs, decode=8, context=1000)
    assert more == pytest.approx(8 * 1000 * 131_072 / 300e9, rel=1e-6)


def test_fp8_cache_halves_the_reads() -> None:
    """One byte a value instead of two."""
    wide, narrow = (step_costs(LLAMA_8B, layout(kv_cache=kv), ideal()) for kv in ("auto", "fp8"))
    assert wide.attention[0].kv_s_per_token == pytest.approx(2 * narrow.attention[0].kv_s_per_token)


def test_long_prompts_are_bound_by_arithmetic() -> None:
    """8,192 prompt tokens of an 8B model on H100, attention not counted.

    2 x 6.98e9 x 8,192 operations at 989 TFLOP/s are 115.6 ms; activations and heads move 32 x 2 x (3 x 14,336 + 4 x 48 x 128)
    = 4.33 MB a token, 10.6 ms at 3.35 TB/s.
    """
    costs = step_costs(LLAMA_8B, layout("H100"), ideal())
    seconds = step_s(costs, decode=0, context=0, prompt=8192, prompt_context=0, prompts=1)
    core = 8_030_261_248 - 2 * 128_256 * 4096
    moved = 32 * 2 * (3 * 14_336 + 4 * 48 * 128)
    assert seconds == pytest.approx(2 * core * 8192 / 989e12 + moved * 8192 / 3.35e12, rel=0.01)


def test_sliding_layers_look_back_only_so_far() -> None:
    """Gemma 3 27B: beyond the window only the full-attention layers read more."""
    model = find_model("google/gemma-3-27b-it")
    costs = step_costs(model, layout("H100"), ideal())
    full = sum(a.kv_s_per_token for a in costs.attention if a.window is None)
    assert step_s(costs, decode=1, context=30_000) - step_s(costs, decode=1, context=20_000) == pytest.approx(10_000 * full, rel=1e-3)


def test_a_small_batch_touches_few_experts() -> None:
    """gpt-oss-120b, 4 of 128 experts: one token reads 4 experts of each layer, many tokens read nearly all of them.

    With 128 tokens a token misses an expert with probability 124/128, so 1 - (124/128)^128 = 98.3 % of them are touched.
    """
    costs = step_costs(find_model("openai/gpt-oss-120b"), layout("H100", weights="mxfp4"), ideal())
    plain = dataclasses.replace(costs, experts=0)
    one = step_s(costs, decode=1, context=0) - step_s(plain, decode=1, context=0)
    many = step_s(costs, decode=128, context=0) - step_s(plain, decode=128, context=0)
    assert one == pytest.approx(4 * costs.expert_read_s, rel=0.02)
    assert many == pytest.approx(128 * (1 - (124 / 128) ** 128) * costs.expert_read_s, rel=0.02)


def test_one_gpu_sends_nothing() -> None:
    """Without tensor parallelism there is no all-reduce."""
    assert 0 == step_costs(LLAMA_8B, layout("H100")).sends


def test_all_reduce_over_pcie_costs_more_than_over_nvswitch() -> None:
    """The same split is slower where cards talk over PCIe, for one token and for many."""
    fast, slow = (step_costs(LLAMA_8B, layout("A100-80GB-SXM4", tp=4, link=link)) for link in ("nvswitch", "pcie"))
    for tokens in (1, 4096):
        assert step_s(slow, decode=tokens, context=100) > step_s(fast, decode=tokens, context=100)


def test_stages_divide_the_work() -> None:
    """Two pipeline stages hold half of the weights each."""
    one, two = (step_costs(LLAMA_8B, layout("H100", pp=pp), ideal()) for pp in (1, 2))
    assert one.dense_read_s == pytest.approx(2 * two.dense_read_s)


@pytest.mark.parametrize(
    ("gpu", "weights", "kind"),
    [
        ("A100-80GB-SXM4", "fp8", "fp16"), ("A10G", "fp8", "fp16"), ("L4", "fp8", "fp8"), ("H100", "fp8", "fp8"), ("H100", "awq", "fp16"),
        ("H100", "nvfp4", "fp16"), ("B200", "nvfp4", "fp4"), ("B300", "int8", "fp16"), ("L40S", "bf16", "fp16"),
    ],
)  # fmt: skip
def test_fc05_a_type_the_card_lacks_runs_at_the_16_bit_rate(gpu: str, weights: str, kind: str) -> None:
    """Weight-only formats save memory and bandwidth, never arithmetic."""
    assert kind == compute_type(find_gpu(gpu), weights)


def test_fc05_fp8_on_ampere_reads_one_byte_and_computes_in_16_bit() -> None:
    """Reads halve against bf16, arithmetic stays."""
    wide, narrow = (step_costs(LLAMA_8B, layout("A100-80GB-SXM4", weights=w)) for w in ("bf16", "fp8"))
    assert wide.dense_read_s == pytest.approx(2 * narrow.dense_read_s)
    assert wide.dense_s_per_token == narrow.dense_s_per_token


def test_boards_are_wired_and_cards_are_not() -> None:
    """SXM boards talk over NVSwitch, cards over PCIe, one card to nobody."""
    assert ("none", "nvswitch", "pcie", "pcie") == tuple(
        default_link(find_gpu(name), count) for name, count in (("H100", 1), ("H100", 8), ("L40S", 4), ("A100-80GB-PCIe", 2))
    )


def test_every_constant_says_where_it_comes_from() -> None:
    """A fitted constant names the groups of rows that fitted it, the others say that they are assumed; groups list their rows."""
    import json
    from importlib import resources

    data = json.loads(resources.files("inferform.sizing.data").joinpath("performance_constants.json").read_text())
    for name, entry in data["constants"].items():
        assert ("fitted_on" in entry) != ("assumed" in entry), name
        for group in entry.get("fitted_on", ()):
            assert data["rows"][group], name
    assert not set(data["left_out"]) & {row for rows in data["rows"].values() for row in rows}
