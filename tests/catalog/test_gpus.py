"""GPU look-ups: every usual spelling, and helpful refusals."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from inferform.catalog.gpus import all_gpus, find_gpu
from inferform.errors import InputError

GIB = 2**30
MEASURED = Path(__file__).resolve().parents[2] / "../shared/data/measured"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("H100", "H100-80GB-SXM5"),
        ("H100 80GB", "H100-80GB-SXM5"),
        ("H100-SXM", "H100-80GB-SXM5"),
        ("NVIDIA H100 80GB HBM3", "H100-80GB-SXM5"),
        ("h100 pcie", "H100-80GB-PCIe"),
        ("H100 NVL", "H100-94GB-NVL"),
        ("A100", "A100-80GB-SXM4"),
        ("A100-SXM-80GB", "A100-80GB-SXM4"),
        ("A100-80GB", "A100-80GB-SXM4"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB-SXM4"),
        ("A100 40GB", "A100-40GB-SXM4"),
        ("A100-PCIe-80GB", "A100-80GB-PCIe"),
        ("RTX PRO 6000", "RTX-PRO-6000-BSE"),
        ("RTX-PRO-6000-SE", "RTX-PRO-6000-BSE"),
        ("RTX 6000 Ada", "RTX-6000-ADA"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("B200", "B200-180GB"),
        ("GB200", "GB200-186GB"),
        ("H20", "H20-96GB"),
        ("L4", "L4"),
    ],
)
def test_usual_spellings_resolve(spelling: str, name: str) -> None:
    """People's spellings of a card lead to its catalogue row."""
    assert name == find_gpu(spelling).name


def test_unknown_name_lists_the_nearest() -> None:
    """A misspelt card is refused with the cards closest to it."""
    with pytest.raises(InputError) as caught:
        find_gpu("L40")
    assert "L40S" in caught.value.problems[0].legal


def test_open_variant_lists_the_choices() -> None:
    """A spelling that fits two cards and prefers none names both."""
    with pytest.raises(InputError) as caught:
        find_gpu("A100-PCIe")
    assert ("A100-40GB-PCIe", "A100-80GB-PCIe") == caught.value.problems[0].legal


@pytest.mark.parametrize("name", ["", " ", "H", "80GB", "\x00", "${H100}", "H" * 5000])
def test_nonsense_is_refused(name: str) -> None:
    """Sizes without a card, lone letters and hostile texts are input errors."""
    with pytest.raises(InputError):
        find_gpu(name)


def test_memory_order_of_one_card() -> None:
    """What a process sees is below nvidia-smi, which is below the marketing size in GiB terms of decimal gigabytes x 1.08."""
    card = find_gpu("H100")
    assert (round(79.18 * GIB), 81559 * 2**20) == (card.device_memory_bytes, card.memory_bytes)


def test_reserve_stands_in_for_an_unseen_total() -> None:
    """A card whose process total was never read gets nvidia-smi less the usual reserve of 550 MiB."""
    card = find_gpu("GB200")
    assert (None, (189471 - 550) * 2**20) == (card.cuda_memory_bytes, card.device_memory_bytes)


def test_every_row_is_sound() -> None:
    """Names are unique, every row has a source and day, memories are ordered and peaks positive."""
    cards = all_gpus()
    assert len(cards) == len({card.name for card in cards}) >= 35
    for card in cards:
        assert card.source and card.read and card.vendor and card.arch, card.name
        assert card.memory_bandwidth_bytes_per_s > 0, card.name
        assert card.marketing_memory_bytes, card.name
        # A decimal gigabyte on the box is a binary one in the chips at most.
        ceiling = card.marketing_memory_bytes / 1e9 * GIB
        for known in (card.memory_bytes, card.cuda_memory_bytes):
            assert known is None or 0 < known <= ceiling, card.name
        if card.memory_bytes and card.cuda_memory_bytes:
            assert card.cuda_memory_bytes <= card.memory_bytes, card.name
        assert card.native_fp8 or not card.fp8_flops, card.name
        assert card.native_fp4 or not card.fp4_flops, card.name


@pytest.mark.skipif(not MEASURED.exists(), reason="the measured rows are not beside this checkout")
def test_cards_of_the_measured_rows_resolve() -> None:
    """Every single card that the measured rows name is in the catalogue or is refused with a message, and all but two resolve."""
    names: set[str] = set()
    for file in ("memory_cases.csv", "performance_cases.csv"):
        with (MEASURED / file).open(encoding="utf-8") as rows:
            names |= {row["gpu"] for row in csv.DictReader(rows) if row["gpu"]}
    unknown = set()
    for name in sorted(names):
        try:
            find_gpu(name)
        except InputError:
            unknown.add(name)
    assert {"Intel Arc Pro B70 32GB", "RTX 5070 Ti + RTX 5090 D"} == unknown
