"""API prices: the shipped table, look-up by name, a user's own file, and warnings by age."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from inferform.catalog.api_prices import ApiPrice, all_api_prices, find_api_price, price_warnings, read_api_prices
from inferform.errors import InputError

HEADER = "provider,model,usd_per_mtok_input,usd_per_mtok_cached_input,usd_per_mtok_output,batch_discount,as_of"


def test_every_shipped_price_is_whole() -> None:
    """Each row has a positive price, an output price no lower than the cached input's, its date and its source; names are unique."""
    prices = all_api_prices()
    assert 60 == len(prices) == len({p.name for p in prices})
    assert [] == [p.name for p in prices if not (p.usd_per_mtok_input > 0 and p.usd_per_mtok_output > 0 and p.as_of and "litellm 1.110.2" in p.source)]
    assert [] == [p.name for p in prices if p.usd_per_mtok_cached_input is not None and p.usd_per_mtok_cached_input >= p.usd_per_mtok_input]
    assert {None, 0.5} == {p.batch_discount for p in prices}


def test_the_shipped_table_says_what_the_collected_facts_say() -> None:
    """Prices, discounts and dates equal the table they were carried over from, row by row."""
    shared = Path(__file__).resolve().parents[2] / "../shared/data/catalog/api_prices.csv"
    if not shared.exists():
        pytest.skip("the collected facts (../shared) are not beside this checkout")
    facts = shared.read_text(encoding="utf-8").splitlines()[1:]
    carried = [
        ",".join([p.provider, p.model, f"{p.usd_per_mtok_input:g}", *("" if v is None else f"{v:g}" for v in (p.usd_per_mtok_cached_input,)), f"{p.usd_per_mtok_output:g}",
                  "" if p.batch_discount is None else f"{p.batch_discount:g}", p.as_of])
        for p in all_api_prices()
    ]  # fmt: skip
    assert carried == [",".join(f"{float(c):g}" if i in (2, 3, 4, 5) and c else c for i, c in enumerate(line.split(",")[:7])) for line in facts]


def test_a_price_is_found_by_full_name_and_by_model_alone() -> None:
    """A model that one provider sells needs no provider."""
    assert find_api_price("openai/gpt-5-mini") == find_api_price("gpt-5-mini")
    assert (0.25, 0.025, 2.0) == (
        find_api_price("gpt-5-mini").usd_per_mtok_input,
        find_api_price("gpt-5-mini").usd_per_mtok_cached_input,
        find_api_price("gpt-5-mini").usd_per_mtok_output,
    )


def test_a_model_of_several_providers_asks_which() -> None:
    """The answer lists every provider that sells the model."""
    with pytest.raises(InputError) as err:
        find_api_price("llama-3.3-70b-instruct")
    legal = err.value.problems[0].legal
    assert 9 == len(legal)
    assert "aws-bedrock/llama-3.3-70b-instruct" in legal


def test_a_misspelt_name_gets_the_nearest() -> None:
    """`gpt-5-mni` leads to openai/gpt-5-mini."""
    with pytest.raises(InputError) as err:
        find_api_price("openai/gpt-5-mni")
    assert "openai/gpt-5-mini" == err.value.problems[0].legal[0]


def test_a_users_file_adds_and_replaces(tmp_path: Path) -> None:
    """A row of the file comes after the catalogue, so it replaces a price of the same name; empty cells are unknown, not zero."""
    file = tmp_path / "prices.csv"
    file.write_text(f"{HEADER}\nopenai,gpt-5-mini,0.2,,1.5,0.5,2026-12-01\nhouse,own,0.4,0.1,0.8,,2026-12\n")
    table = [*all_api_prices(), *read_api_prices(file)]
    assert (0.2, None, 0.5) == (
        find_api_price("openai/gpt-5-mini", table).usd_per_mtok_input,
        find_api_price("openai/gpt-5-mini", table).usd_per_mtok_cached_input,
        find_api_price("openai/gpt-5-mini", table).batch_discount,
    )
    assert str(file) == find_api_price("own", table).source


def test_a_wrong_file_is_told_line_by_line(tmp_path: Path) -> None:
    """A word for a price, a negative price, a discount of 50, a missing model and a wrong date are five problems with their lines."""
    file = tmp_path / "prices.csv"
    file.write_text(f"{HEADER}\nhouse,a,free,,1,,2026-12\nhouse,b,-1,,1,50,2026-12\nhouse,,1,,1,,2026-13\n")
    with pytest.raises(InputError) as err:
        read_api_prices(file)
    assert [(2, "usd_per_mtok_input"), (3, "usd_per_mtok_input"), (3, "batch_discount"), (4, "model"), (4, "as_of")] == [
        (p.line, p.field) for p in err.value.problems
    ]


def test_missing_and_unknown_columns_are_named(tmp_path: Path) -> None:
    """A file with `price` instead of the two price columns hears what is missing and what is not known."""
    file = tmp_path / "prices.csv"
    file.write_text("provider,model,price,as_of\nhouse,a,1,2026-12\n")
    with pytest.raises(InputError) as err:
        read_api_prices(file)
    assert ["usd_per_mtok_input", "usd_per_mtok_output", "price"] == [p.field for p in err.value.problems]


def test_rows_of_another_width_are_refused(tmp_path: Path) -> None:
    """A row with a cell too many is an error; one that ends early lacks its needed cells."""
    file = tmp_path / "prices.csv"
    file.write_text(f"{HEADER}\nhouse,a,1,,1,,2026-12,extra\nhouse,b,1\n")
    with pytest.raises(InputError) as err:
        read_api_prices(file)
    assert [(2, ""), (3, "as_of"), (3, "usd_per_mtok_output")] == [(p.line, p.field) for p in err.value.problems]


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    """A missing file and a file that is no text give the path, not a traceback."""
    binary = tmp_path / "b.csv"
    binary.write_bytes(b"\xff\xfe\x00\x80")
    for path in (tmp_path / "none.csv", binary):
        with pytest.raises(InputError, match=path.name):
            read_api_prices(path)


def test_old_prices_and_ending_models_warn() -> None:
    """A price counts from the first day it may be of: 180 days are quiet, 181 warn; an announced end is told before and after."""
    price = ApiPrice("house", "own", 1, 1, "2026-10..2026-11", retires="2027-01-14")
    assert ("house/own ends on 2027-01-14 by the provider's list",) == price_warnings(price, date(2026, 12, 1))
    # 1 October 2026 + 180 days = 30 March 2027.
    assert ("house/own ended on 2027-01-14 by the provider's list",) == price_warnings(price, date(2027, 3, 30))
    assert "181 days ago" in price_warnings(price, date(2027, 3, 31))[0]
