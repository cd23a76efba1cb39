"""Break-even against a managed API: the known scenario, discounts, capacity steps, and properties against brute force."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.catalog.api_prices import ApiPrice
from inferform.errors import InputError
from inferform.sizing.breakeven import (
    BreakEven,
    BreakEvenRequest,
    Operations,
    Traffic,
    api_usd_per_mtok,
    break_even,
    format_tokens,
)
from inferform.sizing.breakeven_fleet import Fleet

FLAT = ApiPrice("example", "flat", 0.80, 0.80, "2026-11-30")
NOBODY = Operations(usd_per_month=0, reason="none")


def asked(
    *volumes: float, usd: float = 24_000, capacity: float | None = None, api: ApiPrice = FLAT, staff: Operations = NOBODY, traffic: Traffic | None = None
) -> BreakEven:
    fleet = Fleet(usd_per_month=usd, capacity_tokens_per_month=capacity)
    return break_even(BreakEvenRequest(api=api, fleet=fleet, traffic=traffic or Traffic(), operations=staff, volumes_tokens_per_month=volumes))


def test_a10_eight_h100_against_a_cheap_api() -> None:
    """At $0.80 a million tokens a $24,000 fleet breaks even at 30 B tokens: 20 M and 150 M go to the API, 60 B to the fleet."""
    # 24,000 / 0.80 = 30,000 million tokens.
    answer = asked(20e6, 150e6, 60e9)
    assert (30e9, 30e9) == (answer.break_even_before_operations_tokens_per_month, answer.break_even_tokens_per_month)
    # 20 x 0.80 = 16, 150 x 0.80 = 120, 60,000 x 0.80 = 48,000 against 24,000.
    assert [("api", 16, 24_000), ("api", 120, 24_000), ("fleet", 48_000, 24_000)] == [
        (v.cheaper, pytest.approx(v.api_usd), pytest.approx(v.fleet_usd)) for v in answer.volumes
    ]
    assert [None, None, None] == [v.carried for v in answer.volumes]
    assert "at 20.0 M, 150 M example/flat is cheaper, at 60.0 B your own fleet" in answer.decision
    assert "capacity is not stated" in answer.decision


def test_operations_move_the_break_even() -> None:
    """The default 40 hours at $100 add $4,000: (24,000 + 4,000) / 0.80 = 35 B tokens, and the bare figure stays 30 B."""
    answer = asked(staff=Operations())
    assert pytest.approx(35e9) == answer.break_even_tokens_per_month
    assert pytest.approx(30e9) == answer.break_even_before_operations_tokens_per_month
    assert any("40 hours a month" in a for a in answer.assumptions)


def test_cache_and_batch_discounts_lower_the_api_bill() -> None:
    """The mean price of a mixed traffic equals the one worked by hand."""
    api = ApiPrice("example", "model", 3.0, 15.0, "2026-11", usd_per_mtok_cached_input=0.3, batch_discount=0.5)
    # 80 % input of which 60 % cached: 0.8 x (0.4 x 3 + 0.6 x 0.3) = 1.104; output 0.2 x 15 = 3; together 4.104;
    # a quarter of it at half price: 4.104 x (1 - 0.25 x 0.5) = 3.591.
    assert pytest.approx(3.591) == api_usd_per_mtok(api, Traffic(input_share=0.8, cached_share=0.6, batch_share=0.25))


def test_discounts_that_the_provider_does_not_sell_change_nothing() -> None:
    """Without a cache or batch price those shares cost the full price, and the assumptions say so."""
    answer = asked(traffic=Traffic(cached_share=0.5, batch_share=0.5))
    assert pytest.approx(0.80) == answer.api_usd_per_mtok
    assert ["no price for cached input", "no batch price"] == [
        w for w in ("no price for cached input", "no batch price") if any(w in a for a in answer.assumptions)
    ]


def test_the_fleet_cannot_carry_the_volume() -> None:
    """60 B tokens need two fleets of 40 B: twice the price, still on the break-even of 30 B, and the table says not carried."""
    answer = asked(20e9, 60e9, capacity=40e9)
    assert [(1, True, 0.5, 24_000), (2, False, 1.5, 48_000)] == [(v.units, v.carried, v.utilization, v.fleet_usd) for v in answer.volumes]
    # 60 B x 0.80 = 48,000: the second fleet makes both equal.
    assert "equal" == answer.volumes[1].cheaper
    # 24,000 / 40,000 M = 0.60 a million tokens at best.
    assert pytest.approx(0.60) == answer.fleet_usd_per_mtok_at_capacity


def test_a_second_fleet_opens_a_gap() -> None:
    """Just past a full fleet the API is cheaper again, up to 60 B; above 80 B a fleet is never dearer."""
    answer = asked(45e9, capacity=40e9)
    # 45 B: API 36,000, two fleets 48,000.
    assert "api" == answer.volumes[0].cheaper
    assert "next fleet makes the API cheaper again" in answer.decision
    # m full fleets save m x (32,000 - 24,000); that pays the next one from m = 3 on, whose own step is met at 3 x 24,000 / 0.8 = 90 B.
    assert pytest.approx(90e9) == answer.always_cheaper_above_tokens_per_month


def test_a_fleet_too_small_for_the_break_even_needs_more_fleets() -> None:
    """With 31 B capacity and $4,000 operations one fleet never pays: 5 do, for each saves $800 when full."""
    answer = asked(capacity=31e9, staff=Operations(usd_per_month=4_000, reason="given"))
    # margin 31,000 x 0.8 - 24,000 = 800; 4,000 / 800 = 5 fleets; (5 x 24,000 + 4,000) / 0.8 = 155 B = 5 x 31 B.
    assert 5 == answer.break_even_units
    assert pytest.approx(155e9) == answer.break_even_tokens_per_month
    assert "with 5 fleets" in answer.decision


def test_a_fleet_dearer_than_the_api_never_breaks_even() -> None:
    """A full fleet at $1.20 a million tokens loses to $0.80 at every volume."""
    answer = asked(1e12, capacity=20e9)
    assert (None, None, None) == (answer.break_even_tokens_per_month, answer.break_even_units, answer.always_cheaper_above_tokens_per_month)
    assert answer.decision.startswith("Use example/flat at any volume: a full fleet costs $1.20 a million tokens")


def test_a_free_api_is_never_beaten() -> None:
    """A price of zero has no break-even and divides nothing."""
    answer = asked(1e9, api=replace(FLAT, usd_per_mtok_input=0.0, usd_per_mtok_output=0.0))
    assert answer.break_even_tokens_per_month is None
    assert "it costs nothing" in answer.decision


def test_every_impossible_figure_is_told_at_once() -> None:
    """Negative money, a share above one, a capacity of zero and an infinite volume are four problems of one error."""
    with pytest.raises(InputError) as err:
        asked(math.inf, usd=-1, capacity=0, traffic=Traffic(cached_share=1.5))
    assert ["cached_share", "fleet.usd_per_month", "volumes_tokens_per_month[0]", "fleet.capacity_tokens_per_month"] == [p.field for p in err.value.problems]


@pytest.mark.parametrize(
    ("tokens", "text"), [(30e9, "30.0 B"), (155e9, "155 B"), (2e7, "20.0 M"), (999.9e6, "1.00 B"), (1.25e12, "1.25 T"), (12, "12"), (0, "0"), (5e15, "5,000 T")]
)
def test_tokens_are_written_with_three_figures(tokens: float, text: str) -> None:
    """The unit is the largest that leaves a figure of one or more."""
    assert text == format_tokens(tokens)


FIGURES = {
    "usd": st.floats(100, 1e6),
    "capacity": st.one_of(st.none(), st.floats(1e6, 1e13)),
    "price": st.floats(0.01, 100),
    "staff": st.one_of(st.just(0.0), st.floats(1, 1e5)),
}


def costs(tokens: float, usd: float, capacity: float | None, price: float, staff: float) -> tuple[float, float]:
    """(API, fleet) of one volume, worked here again from the definitions."""
    fleets = 1 if capacity is None else max(1, math.ceil(tokens / capacity))
    return tokens * price / 1e6, fleets * usd + staff


@settings(max_examples=150, deadline=None)
@given(**FIGURES)
def test_both_cost_the_same_at_the_break_even_and_the_api_is_cheaper_below(usd: float, capacity: float | None, price: float, staff: float) -> None:
    """At the break-even the bills are equal, and at every lower volume of a fine scan the API's is the lower one."""
    answer = asked(
        usd=usd, capacity=capacity, api=replace(FLAT, usd_per_mtok_input=price, usd_per_mtok_output=price), staff=Operations(usd_per_month=staff, reason="r")
    )
    point = answer.break_even_tokens_per_month
    if point is None:
        assert capacity is not None
        for fleets in (1, 10, 1000):
            api, own = costs(fleets * capacity, usd, capacity, price, staff)
            assert api < own * (1 + 1e-9)
        return
    assert answer.break_even_units is not None
    assert pytest.approx(point * price / 1e6, rel=1e-9) == answer.break_even_units * usd + staff
    if capacity is not None:
        assert (answer.break_even_units - 1) * capacity * (1 - 1e-9) <= point <= answer.break_even_units * capacity * (1 + 1e-9)
    for step in range(1, 100):
        api, own = costs(point * step / 100, usd, capacity, price, staff)
        assert api <= own * (1 + 1e-9)


@settings(max_examples=100, deadline=None)
@given(**FIGURES, beyond=st.floats(1.0001, 50))
def test_above_the_last_gap_the_fleet_is_never_dearer(usd: float, capacity: float | None, price: float, staff: float, beyond: float) -> None:
    """Past `always_cheaper_above` the fleet's bill is the lower one at any volume."""
    answer = asked(
        usd=usd, capacity=capacity, api=replace(FLAT, usd_per_mtok_input=price, usd_per_mtok_output=price), staff=Operations(usd_per_month=staff, reason="r")
    )
    above = answer.always_cheaper_above_tokens_per_month
    if above is None:
        assert answer.break_even_tokens_per_month is None
        return
    assert answer.break_even_tokens_per_month is not None
    assert answer.break_even_tokens_per_month <= above
    api, own = costs(above * beyond, usd, capacity, price, staff)
    assert own <= api * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(**FIGURES, cheaper=st.floats(0.1, 0.99))
def test_a_cheaper_api_never_lowers_the_break_even(usd: float, capacity: float | None, price: float, staff: float, cheaper: float) -> None:
    """A lower API price moves the break-even up, or away."""
    dear, cheap = (
        asked(
            usd=usd, capacity=capacity, api=replace(FLAT, usd_per_mtok_input=p, usd_per_mtok_output=p), staff=Operations(usd_per_month=staff, reason="r")
        ).break_even_tokens_per_month
        for p in (price, price * cheaper)
    )
    assert cheap is None or (dear is not None and dear <= cheap * (1 + 1e-9))
