"""The staircase of a fleet: the platform once, nodes one at a time, and where a straight line crosses it, against a scan."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.catalog.api_prices import ApiPrice
from inferform.sizing.breakeven import BreakEven, BreakEvenRequest, Operations, break_even
from inferform.sizing.breakeven_fleet import Fleet, FleetPart, first_even, last_even

# The plan of an 8B chat on one g6.xlarge: $803 a month around it, $596 for each node, which carries 3.55 B tokens.
CHAT = Fleet(
    usd_per_month=1_399,
    capacity_tokens_per_month=3.55e9,
    fixed_usd_per_month=803,
    parts=(FleetPart(name="aggregated", usd_per_month=596, capacity_tokens_per_month=3.55e9),),
)


def answer(fleet: Fleet, *volumes: float, price: float = 0.5, staff: float = 4_000) -> BreakEven:
    api = ApiPrice("example", "flat", price, price, "2026-11-30")
    return break_even(BreakEvenRequest(api=api, fleet=fleet, operations=Operations(usd_per_month=staff, reason="given"), volumes_tokens_per_month=volumes))


def test_a_further_node_does_not_buy_the_platform_again() -> None:
    """17 B tokens need 5 nodes: 803 + 5 x 596 + 4,000 = $7,783, less than the API's $8,500."""
    found = answer(CHAT, 17e9)
    (volume,) = found.volumes
    assert (5, 7_783, "fleet") == (volume.units, pytest.approx(volume.fleet_usd), volume.cheaper)
    assert pytest.approx(8_500) == volume.api_usd
    # With 5 nodes 7,783 / 0.5 = 15.566 B, which 5 nodes carry (17.75 B) and 4 do not (14.2 B; 7,187 / 0.5 = 14.374 B).
    assert (pytest.approx(15.566e9), 5, "node") == (found.break_even_tokens_per_month, found.break_even_units, found.unit)
    # Just past 5 full nodes the sixth makes it 8,379 / 0.5 = 16.758 B, already passed: nothing comes after the break-even.
    assert pytest.approx(15.566e9) == found.always_cheaper_above_tokens_per_month
    assert found.decision.startswith("Host 17.0 B (5 nodes) yourself")
    assert "the planned fleet of 1 node carries 3.55 B" in found.assumptions[-1]


def test_each_role_grows_for_itself() -> None:
    """Prefill nodes carry 10 B, decode nodes 4 B: 9 B tokens need one and three, not three whole sets."""
    parts = (
        FleetPart(name="prefill", usd_per_month=1_000, capacity_tokens_per_month=10e9),
        FleetPart(name="decode", usd_per_month=500, capacity_tokens_per_month=4e9, nodes=2),
    )
    fleet = Fleet(usd_per_month=2_000, capacity_tokens_per_month=4e9, fixed_usd_per_month=500, parts=parts)
    # 500 + 1,000 + 3 x 500.
    assert 3_000 == fleet.usd_at(9e9)
    # One prefill node and three pairs of decode nodes.
    assert 7 == fleet.units_at(9e9)


def test_reserved_nodes_may_pay_where_further_ones_never_do() -> None:
    """A planned node for $300 is even at 0.6 B of its 1 B; a further one at $596 for 1 B is dearer than $0.50 a million tokens."""
    part = FleetPart(name="aggregated", usd_per_month=596, capacity_tokens_per_month=1e9)
    found = answer(Fleet(usd_per_month=300, capacity_tokens_per_month=1e9, parts=(part,)), 0.9e9, 5e9, staff=0)
    assert (pytest.approx(0.6e9), None) == (found.break_even_tokens_per_month, found.always_cheaper_above_tokens_per_month)
    assert ["fleet", "api"] == [v.cheaper for v in found.volumes]
    assert "a further node costs more than the API even when full" in found.decision
    assert first_even(Fleet(usd_per_month=600, capacity_tokens_per_month=1e9, parts=(part,)), 0, 0.5) is None


def test_a_margin_of_nothing_is_not_called_a_price() -> None:
    """A node that saves a ten-thousandth of a cent when full never makes up for $4,000 of operations, and the decision does not say that it is dearer."""
    part = FleetPart(name="aggregated", usd_per_month=500 - 1e-6, capacity_tokens_per_month=1e9)
    found = answer(Fleet(usd_per_month=500, capacity_tokens_per_month=1e9, parts=(part,)))
    assert found.break_even_tokens_per_month is None
    assert "over a million nodes" in found.decision


PARTS = st.lists(
    st.builds(
        FleetPart,
        name=st.just("p"),
        usd_per_month=st.floats(10, 10_000),
        capacity_tokens_per_month=st.floats(1e8, 1e10),
        steady=st.integers(1, 4),
    ),
    min_size=1,
    max_size=2,
)


@settings(max_examples=80, deadline=None)
@given(parts=PARTS, fixed=st.floats(0, 5_000), cheap=st.floats(0.3, 1.5), staff=st.floats(0, 5_000), price=st.floats(0.05, 20))
def test_the_crossings_equal_a_scan_of_the_stairs(parts: list[FleetPart], fixed: float, cheap: float, staff: float, price: float) -> None:
    """On every step up to the 60th of each part the first even volume, and the last, are those that the definitions give."""
    planned = sum(p.steady * p.usd_per_month for p in parts) * cheap
    fleet = Fleet(usd_per_month=fixed + planned, capacity_tokens_per_month=1.0, fixed_usd_per_month=fixed, parts=tuple(parts))
    edges = sorted({0.0, *(n * p.capacity_tokens_per_month for p in parts for n in range(p.steady, 60))})
    end = min(60 * p.capacity_tokens_per_month for p in parts)
    even = []
    for low, high in pairwise(edges):
        if high > end:
            break
        middle = (low + high) / 2
        bill = fixed + planned + staff + sum((max(p.steady, math.ceil(middle / p.capacity_tokens_per_month)) - p.steady) * p.usd_per_month for p in parts)
        if low < bill / price * 1e6 <= high:
            even.append(bill / price * 1e6)
    first, last = (find(fleet, staff, price) for find in (first_even, last_even))
    if even:
        assert pytest.approx(min(even), rel=1e-6) == first
    else:
        assert first is None or first > end * (1 - 1e-6)
    if last is not None and last < end * 0.99:
        assert pytest.approx(max(even), rel=1e-6) == last
