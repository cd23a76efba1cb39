"""Rejected candidates in words."""

from __future__ import annotations

from inferform.planning.reasons import grouped
from inferform.sizing.error_bands import bands
from inferform.sizing.search import Dropped

from tests.planning.specs import model, plan


def test_one_line_for_each_card_and_obstacle() -> None:
    """The nearest candidate speaks for its group and says how many fell the same way."""
    rows = grouped(
        [
            Dropped("g6.xlarge", "L4", "L4 bf16 TP 1", "memory", "needs 40 GiB of 20", 2.0),
            Dropped("g6.12xlarge", "L4", "L4 fp8 PP 2", "memory", "needs 22 GiB of 20", 1.1),
            Dropped("p5.48xlarge", "H100", "H100 fp8 TP 1", "TTFT", "TTFT p95 is 3 s", 2.5),
        ]
    )  # fmt: skip
    assert [("H100 fp8 TP 1 on p5.48xlarge", "TTFT: TTFT p95 is 3 s"), ("L4 fp8 PP 2 on g6.12xlarge", "memory: needs 22 GiB of 20 (1 more of L4 alike)")] == [
        (row.candidate, row.reason) for row in rows
    ]


def test_types_that_cannot_be_had_are_listed_together() -> None:
    """Offers of one card are one line with the types' names."""
    rows = grouped([Dropped(name, "H200", "", "offer", "not offered in eu-west-1", float("inf")) for name in ("p5e.48xlarge", "p5en.48xlarge")])
    assert [("p5e.48xlarge, p5en.48xlarge", "offer: not offered in eu-west-1")] == [(row.candidate, row.reason) for row in rows]


def test_latencies_say_how_far_they_may_be_off() -> None:
    """The line about where latencies come from names the measured error of this kind of model and engine, as `estimate` prints it."""
    why = plan({"chat": model()}).models["chat"].why
    line = next(text for text in why if text.startswith("latencies from"))
    found = dict(bands("dense", "vllm", "ada").shares)
    assert f"TTFT +- {found['ttft_ms']:.0%}, TPOT +- {found['tpot_ms']:.0%}, throughput +- {found['output_tokens_per_s']:.0%}" in line
