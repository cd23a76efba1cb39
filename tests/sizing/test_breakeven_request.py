"""A break-even asked for in words: counts, splits, prices of one's own, what wins over a plan, every mistake at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inferform.catalog.api_prices import ApiPrice
from inferform.errors import InputError
from inferform.sizing.breakeven import Operations, Traffic
from inferform.sizing.breakeven_fleet import Fleet, FleetPart
from inferform.sizing.breakeven_request import Planned, parse, parse_split, parse_tokens

PLANNED = Planned(
    fleet=Fleet(usd_per_month=10_000, capacity_tokens_per_month=5e9, source="the plan", capacity_source="the plan"),
    traffic=Traffic(input_share=0.9, cached_share=0.6, batch_share=1.0),
    tokens_per_month=4e9,
    tokens_source="the spec's peak",
)


@pytest.mark.parametrize(("text", "tokens"), [("20M", 20e6), ("60B", 60e9), ("1.5T", 1.5e12), ("150_000_000", 150e6), ("3e10", 3e10), ("500 k", 5e5)])
def test_tokens_are_read_as_people_write_them(text: str, tokens: float) -> None:
    """Suffixes k, M, B and T are thousands to trillions."""
    assert pytest.approx(tokens) == parse_tokens(text)


@pytest.mark.parametrize("text", ["", "60b", "-5M", "1,000", "nan", "inf", "60 G", "M"])
def test_other_counts_are_refused(text: str) -> None:
    """A lower-case b, a sign, a comma or a word is no count."""
    with pytest.raises(InputError, match="count of tokens"):
        parse_tokens(text)


@pytest.mark.parametrize(("text", "share"), [("3:1", 0.75), ("4000:300", 4000 / 4300), ("1:0", 1.0), ("0:1", 0.0), ("2.5:2.5", 0.5)])
def test_a_split_is_a_share_of_input(text: str, share: float) -> None:
    """Either a ratio or the lengths of a request."""
    assert pytest.approx(share) == parse_split(text)


@pytest.mark.parametrize("text", ["", "3", "0:0", "-1:2", "3:1:1", "a:b"])
def test_other_splits_are_refused(text: str) -> None:
    """A lone figure, two zeros, a sign or words are no split."""
    with pytest.raises(InputError, match="input tokens to output tokens"):
        parse_split(text)


def test_a_plan_says_what_is_left_out() -> None:
    """With a plan only the price is needed; the planned tokens are the volume."""
    request = parse({"usd_per_mtok": 0.8}, planned=PLANNED)
    assert ("the spec's peak", "given") == (request.volumes_source, parse({"usd_per_mtok": 0.8, "tokens_per_month": ["1B"]}, planned=PLANNED).volumes_source)
    assert (PLANNED.fleet, PLANNED.traffic, (4e9,), Operations()) == (request.fleet, request.traffic, request.volumes_tokens_per_month, request.operations)


def test_what_is_asked_wins_over_the_plan() -> None:
    """Price, capacity, split, shares and volumes replace the planned ones, and the source of each says so."""
    values = {
        "usd_per_mtok": 0.8,
        "usd_per_month": 7_000.0,
        "capacity": "6B",
        "input_output": "1:1",
        "cached_share": 0.1,
        "batch_share": 0.0,
        "tokens_per_month": ["1B", "2B"],
    }
    request = parse(values, planned=PLANNED)
    assert Fleet(usd_per_month=7_000, capacity_tokens_per_month=6e9) == request.fleet
    assert Traffic(input_share=0.5, cached_share=0.1, batch_share=0.0) == request.traffic
    assert (1e9, 2e9) == request.volumes_tokens_per_month


def test_a_price_or_capacity_of_ones_own_keeps_the_planned_nodes() -> None:
    """Twice the planned bill is twice the platform and twice each node; half the planned capacity is half of it on each node."""
    part = FleetPart(name="aggregated", usd_per_month=2_000, capacity_tokens_per_month=1e9, steady=4)
    fleet = Fleet(usd_per_month=10_000, capacity_tokens_per_month=4e9, fixed_usd_per_month=2_000, parts=(part,), source="the plan")
    planned = replace(PLANNED, fleet=fleet)
    dearer = parse({"usd_per_mtok": 0.8, "usd_per_month": 20_000.0}, planned=planned).fleet
    assert (20_000, 4_000, 4_000, 1e9) == (dearer.usd_per_month, dearer.fixed_usd_per_month, *_of(dearer))
    assert "given, split as the plan's" == dearer.source
    smaller = parse({"usd_per_mtok": 0.8, "capacity": "2B"}, planned=planned).fleet
    assert (10_000, 2_000, 2_000, 0.5e9) == (smaller.usd_per_month, smaller.fixed_usd_per_month, *_of(smaller))


def _of(fleet: Fleet) -> tuple[float, float]:
    return fleet.parts[0].usd_per_month, fleet.parts[0].capacity_tokens_per_month


def test_a_price_in_figures() -> None:
    """One price for all tokens, or one for each kind with its discounts."""
    flat = parse({"usd_per_mtok": 0.8, "usd_per_month": 1.0}).api
    kinds = parse({"usd_per_mtok_input": 1.0, "usd_per_mtok_output": 5.0, "usd_per_mtok_cached_input": 0.1, "batch_discount": 0.5, "usd_per_month": 1.0}).api
    assert (0.8, 0.8, None, None) == (flat.usd_per_mtok_input, flat.usd_per_mtok_output, flat.usd_per_mtok_cached_input, flat.batch_discount)
    assert (1.0, 5.0, 0.1, 0.5) == (kinds.usd_per_mtok_input, kinds.usd_per_mtok_output, kinds.usd_per_mtok_cached_input, kinds.batch_discount)


def test_a_price_by_name_comes_from_the_table_given() -> None:
    """A name is looked up in the prices handed in, else in the catalogue."""
    own = ApiPrice("house", "own", 1, 2, "2026-12")
    assert own == parse({"api": "own", "usd_per_month": 1.0}, prices=[own]).api
    assert "openai/gpt-5-mini" == parse({"api": "gpt-5-mini", "usd_per_month": 1.0}).api.name


@pytest.mark.parametrize(
    "values",
    [{}, {"api": "gpt-5-mini", "usd_per_mtok": 1.0}, {"usd_per_mtok_input": 1.0}, {"usd_per_mtok": 1.0, "usd_per_mtok_output": 1.0}, {"batch_discount": 0.5}],
    ids=["none", "name and figure", "half", "flat and kind", "discount of nothing"],
)
def test_exactly_one_price(values: dict[str, object]) -> None:
    """No price, two prices or half a price: the three ways are told."""
    with pytest.raises(InputError) as err:
        parse({**values, "usd_per_month": 1.0})
    assert ["api"] == [p.field for p in err.value.problems]
    assert "--usd-per-mtok-input with --usd-per-mtok-output" in err.value.problems[0].fix


@pytest.mark.parametrize(
    ("values", "usd", "reason"),
    [
        ({}, 4_000, "a quarter of one engineer"),
        ({"ops_usd_per_month": 0.0}, 0, "given"),
        ({"ops_hours_per_month": 10.0}, 1_000, "10 hours at $100 an hour"),
        ({"ops_usd_per_hour": 50.0}, 2_000, "40 hours at $50 an hour"),
        ({"ops_hours_per_month": 160.0, "ops_usd_per_hour": 80.0}, 12_800, "160 hours at $80 an hour"),
    ],
)
def test_operations_are_an_amount_or_hours(values: dict[str, float], usd: float, reason: str) -> None:
    """What is given replaces its part of the default, and the reason says which it is."""
    operations = parse({"usd_per_mtok": 1.0, "usd_per_month": 1.0, **values}).operations
    assert usd == operations.usd_per_month
    assert reason in operations.reason


def test_every_mistake_at_once() -> None:
    """No price, an amount beside hours, a wrong split, a wrong count and no fleet are told together."""
    with pytest.raises(InputError) as err:
        parse({"ops_usd_per_month": 1.0, "ops_hours_per_month": 2.0, "input_output": "x", "tokens_per_month": ["9Q"], "capacity": "?"})
    assert ["api", "ops_usd_per_month", "input_output", "tokens_per_month", "capacity", "usd_per_month"] == [p.field for p in err.value.problems]
