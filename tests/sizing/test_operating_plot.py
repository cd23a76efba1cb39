"""The picture of a choice."""

from __future__ import annotations

import pytest
from inferform.sizing.operating_curve import Curve, Operating
from inferform.sizing.operating_plot import draw_operating

pytest.importorskip("matplotlib", reason="the plots extra is not installed")

POINTS = tuple(Operating(r, r * 200, 0.2 + r / 10, 0.02 + r / 100) for r in (1.0, 2.0, 3.0, 4.0))
CHAT = Curve("chat/aggregated: g6.xlarge, fp8, TP 1", POINTS, POINTS[1], POINTS[2], 0.5, 0.05)
EMBED = Curve("bge/aggregated: c7i.4xlarge, bf16, TP 1", tuple(Operating(r, r, 0.1 + r / 10, 0.0) for r in (1.0, 2.0)), Operating(1.0, 1.0, 0.2, 0.0),
              Operating(2.0, 2.0, 0.3, 0.0), None, None)  # fmt: skip


def test_an_svg_names_the_pool_the_objectives_and_the_planned_point() -> None:
    """Text stays text in an SVG, so that the picture can be searched."""
    drawn = draw_operating("demo in prod", [CHAT, EMBED], "svg").decode()
    for words in ("demo in prod", "chat/aggregated", "objective 0.5 s", "objective 50 ms", "planned: 0.4 s at 2 requests/s", "most: 3 requests/s"):
        assert words in drawn


def test_the_same_curves_give_the_same_bytes() -> None:
    """No date and no random ids."""
    assert draw_operating("demo", [CHAT], "svg") == draw_operating("demo", [CHAT], "svg")


def test_a_png_is_a_png() -> None:
    """By its first bytes."""
    assert b"\x89PNG" == draw_operating("demo", [EMBED], "png")[:4]
