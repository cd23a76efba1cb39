"""The picture of a break-even: what it shows, in both formats, the same bytes every time."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from inferform.catalog.api_prices import ApiPrice
from inferform.errors import InputError, MissingToolError
from inferform.sizing.breakeven import BreakEvenRequest, Operations, break_even
from inferform.sizing.breakeven_fleet import Fleet, FleetPart
from inferform.sizing.breakeven_plot import draw_break_even, plot_format

FLAT = ApiPrice("example", "flat", 0.80, 0.80, "2026-11-30")


def picture(
    *,
    capacity: float | None = None,
    api: ApiPrice = FLAT,
    volumes: tuple[float, ...] = (20e6, 60e9),
    usd: float = 24_000,
    staff: float = 4_000,
    kind: str = "svg",
) -> bytes:
    return drawn(Fleet(usd_per_month=usd, capacity_tokens_per_month=capacity), kind, api=api, volumes=volumes, staff=staff)


def drawn(fleet: Fleet, kind: str = "svg", *, api: ApiPrice = FLAT, volumes: tuple[float, ...] = (20e6, 60e9), staff: float = 4_000) -> bytes:
    request = BreakEvenRequest(api=api, fleet=fleet, operations=Operations(usd_per_month=staff, reason="given"), volumes_tokens_per_month=volumes)
    return draw_break_even(break_even(request), fleet, kind)


def texts(svg: bytes) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 - our own bytes


@pytest.fixture(autouse=True)
def _needs_matplotlib() -> None:
    pytest.importorskip("matplotlib", reason="the plots extra is not installed")


def test_the_picture_names_axes_curves_break_even_and_capacity() -> None:
    """Units on both axes, the price of both curves, the break-even with volume and bill, and where one fleet is full."""
    # (24,000 + 4,000) / 0.80 = 35 B tokens.
    words = texts(picture(capacity=52e9))
    wanted = {
        "tokens a month (input + output)",
        "USD a month",
        "example/flat at $0.80 a million tokens",
        "own fleet at $24,000 + $4,000 operations",
        "break-even",
        "35 B tokens, $28,000",
        "one fleet is full: 52 B",
        "Own fleet against example/flat: even at 35 B tokens a month",
    }
    assert set() == wanted - set(words)


def test_a_planned_fleet_is_drawn_in_its_nodes() -> None:
    """Where the plan is known, the mark names the planned fleet and the break-even its nodes."""
    part = FleetPart(name="aggregated", usd_per_month=20_000, capacity_tokens_per_month=30e9)
    words = texts(drawn(Fleet(usd_per_month=24_000, capacity_tokens_per_month=30e9, fixed_usd_per_month=4_000, parts=(part,))))
    # One node: 28,000 / 0.8 = 35 B, more than 30 B; two: 48,000 / 0.8 = 60 B, just full.
    assert {"the planned fleet is full: 30 B", "60 B tokens, $48,000", "with 2 nodes"} <= set(words)


def test_a_fleet_that_never_pays_gets_no_break_even_mark() -> None:
    """The title says so, nothing is shaded as cheaper, and no point is labelled."""
    words = texts(picture(capacity=20e9))
    assert "example/flat is cheaper at every volume" in words
    assert {"break-even", "the fleet is cheaper"} & set(words) == set()


def test_the_same_answer_gives_the_same_bytes() -> None:
    """No date, no random ids: two drawings are equal."""
    assert picture() == picture()


def test_a_png_is_a_png() -> None:
    """The header and the size in pixels (8.6 x 5.2 inches at 144 a inch) are those of a PNG."""
    png = picture(kind="png")
    assert b"\x89PNG\r\n\x1a\n" == png[:8]
    assert (1238, 748) == (int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big"))


def test_names_are_text_and_nothing_else() -> None:
    """A name with markup and mathematics from a user's file stands in the picture as written."""
    name = "<script>x</script> $\\frac{1}{2}$ & co"
    words = texts(picture(api=replace(FLAT, model=name)))
    assert f"example/{name} at $0.80 a million tokens" in words


@pytest.mark.parametrize(
    "case",
    [
        {"volumes": ()},
        {"volumes": (0.0,)},
        {"usd": 0.0, "staff": 0.0},
        {"api": replace(FLAT, usd_per_mtok_input=0.0, usd_per_mtok_output=0.0)},
        {"capacity": 1e3, "volumes": (1e12,)},
    ],
    ids=["no volume", "volume of zero", "free fleet", "free API", "a billion fleets"],
)
def test_odd_answers_can_be_drawn(case: dict[str, object]) -> None:
    """Zeros have no place on a logarithmic axis and are left out, not stumbled over."""
    assert "USD a month" in texts(picture(**case))  # type: ignore[arg-type]


def test_only_two_formats() -> None:
    """The name's end decides, in any case of letters; another one is an input error."""
    assert ["svg", "png"] == [plot_format(Path(n)) for n in ("a.svg", "b.PNG")]
    with pytest.raises(InputError, match=r"\.svg or \.png"):
        plot_format(Path("a.pdf"))


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install and has the exit code of a missing tool."""
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingToolError, match=r"inferform\[plots\]"):
        picture()
