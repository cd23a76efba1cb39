"""Own prices over the catalogue's: files by line, parts around the nodes, stale dates."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from inferform.catalog.price_book import LISTED, PriceBook, day_of, read_prices, stale_prices
from inferform.catalog.prices import price
from inferform.errors import InputError

HEAD = "instance_type,region,purchase,usd_per_hour,as_of\n"


def book(tmp_path: Path, rows: str, head: str = HEAD) -> PriceBook:
    path = tmp_path / "own.csv"
    path.write_text(head + rows, encoding="utf-8")
    return read_prices(path)


def refused(tmp_path: Path, rows: str, head: str = HEAD) -> str:
    with pytest.raises(InputError) as caught:
        book(tmp_path, rows, head)
    return str(caught.value)


def test_an_own_price_goes_before_the_catalogues(tmp_path: Path) -> None:
    """The rate of the file counts in its region and purchase, with its line as source; all else is listed."""
    own = book(tmp_path, "p5.48xlarge,us-east-1,reserved,21.5,2026-11-01\nplatform/nat-gateway,us-east-1,on_demand,0.03,2026-11\n")
    found = own.price("p5.48xlarge", "us-east-1", "reserved")
    assert found is not None
    assert (21.5, "2026-11-01") == (found.usd_per_hour, found.as_of)
    assert found.source.endswith("own.csv:2")
    assert price("p5.48xlarge", "us-east-1", "on_demand") == own.price("p5.48xlarge", "us-east-1", "on_demand")
    assert (0.03, 0.045) == (own.part("nat-gateway", "us-east-1").usd, LISTED.part("nat-gateway", "us-east-1").usd)


def test_a_part_without_a_price_of_the_region_says_whose_it_takes() -> None:
    """Frankfurt takes the us-east-1 list price of a NAT gateway, and the source says so."""
    found = LISTED.part("nat-gateway", "eu-central-1")
    assert 0.045 == found.usd
    assert found.source.startswith("us-east-1 list price")


def test_every_problem_is_told_by_line(tmp_path: Path) -> None:
    """A wrong type, region, purchase, figure and date in four rows: each with its line and what would be right."""
    text = refused(
        tmp_path, "p5.49xlarge,us-east-1,on_demand,5,2026-11\ng6.xlarge,Ohio,on_demand,0.8,2026-11\ng6.xlarge,us-east-1,savings_plan,0.5,yesterday\n"
        "g6.xlarge,us-east-1,spot,-1,2026-13\ng6.xlarge,us-east-1,spot,1,2026-11,x\n",
    )  # fmt: skip
    for part in ("own.csv:2: instance_type", "p5.48xlarge", "own.csv:3: region", "own.csv:4: purchase", "own.csv:4: as_of", "own.csv:5: usd_per_hour"):
        assert part in text
    assert "own.csv:5: as_of" in text and "own.csv:6: the row has more cells" in text


def test_columns_are_checked(tmp_path: Path) -> None:
    """A missing and an unknown column."""
    text = refused(tmp_path, "", "instance_type,region,usd_per_hour,as_of,currency\n")
    assert "purchase: the column is missing" in text
    assert "currency: the column is not known" in text


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The path and the reason."""
    with pytest.raises(InputError, match=r"none\.csv: cannot read the price file: No such file"):
        read_prices(tmp_path / "none.csv")


def test_old_prices_warn() -> None:
    """More than 180 days for an instance, 365 for a flat fee; what makes less than 2 % of the bill is left out."""
    used = [("g6.xlarge on-demand", "2026-01-01", 0.5), ("g5.xlarge spot", "2026-05", 0.4), ("platform/eks", "2026-01", 0.1), ("tiny", "2020-01", 0.01)]
    warned = stale_prices(used, date(2026, 8, 1))
    # 1 January to 1 August is 212 days; 1 May to 1 August 92.
    assert 1 == len(warned)
    assert "g6.xlarge on-demand is of 2026-01-01, 212 days ago (more than 180)" in warned[0]
    assert 2 == len(stale_prices(used, date(2027, 1, 2))) - 1


@pytest.mark.parametrize(("text", "day"), [("2026-07-20", date(2026, 7, 20)), ("2026-07-or-later", date(2026, 7, 1)), ("2026-13", None), ("", None)])
def test_dates_as_sources_state_them(text: str, day: date | None) -> None:
    """A month means its first day; what states no date has none."""
    assert day == day_of(text)
