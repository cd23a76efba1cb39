"""Price look-ups: newest valid price, groups of regions, soundness of the rows."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from inferform.catalog.instances import find_instance
from inferform.catalog.prices import catalog_as_of, price, regions
from inferform.catalog.tables import rows

SHARED = Path(__file__).resolve().parents[2] / "../shared/data/catalog"


def test_on_demand_price_has_region_date_and_source() -> None:
    """p5.48xlarge in us-east-1 is 55.04 USD an hour by the 2026-07-20 list."""
    found = price("p5.48xlarge", "us-east-1", "on_demand")
    assert found is not None
    assert (55.04, "2026-07-20", "us-east-1") == (found.usd_per_hour, found.as_of, found.region)
    assert "karpenter-provider-aws" in found.source


def test_superseded_prices_do_not_count() -> None:
    """The 2024 capacity block price of p5.48xlarge ended in 2025, and nothing newer is known."""
    assert price("p5.48xlarge", "us-east-1", "capacity_block") is None


def test_group_prices_apply_to_their_regions() -> None:
    """p5en blocks cost 54.92 in US regions and 49.928 elsewhere since July 2026; the January price of most regions is older."""
    home, abroad = price("p5en.48xlarge", "us-east-1", "capacity_block"), price("p5en.48xlarge", "eu-north-1", "capacity_block")
    assert home and abroad
    assert (54.92, 49.928) == (home.usd_per_hour, abroad.usd_per_hour)
    assert ("us-east-1", True) == (home.region, "us-regions" in home.note)


def test_newest_of_two_dates_wins() -> None:
    """p5e blocks are known for January (39.80) and July 2026 (47.76)."""
    found = price("p5e.48xlarge", "us-east-2", "capacity_block")
    assert found is not None and 47.76 == found.usd_per_hour


def test_unknown_is_none() -> None:
    """No price is invented for an unknown type, region or purchase."""
    assert price("p5.48xlarge", "xx-nowhere-1", "on_demand") is None
    assert price("p9.huge", "us-east-1", "on_demand") is None
    assert price("p5.48xlarge", "us-east-1", "reserved") is None


def test_regions_are_real_ones() -> None:
    """Groups of regions are not regions."""
    assert "us-east-1" in regions() and not {"us-regions", "most-regions", "unspecified"} & set(regions())


def test_as_of_is_a_day() -> None:
    """The catalogue states the day it was put together."""
    assert "2026-12-01" == catalog_as_of()


def test_rows_are_sound() -> None:
    """Prices parse and are positive, types exist, no row twice, spot is at most on-demand where both are known."""
    sources = {row["key"] for row in rows("sources.csv")}
    seen = set()
    for row in rows("prices.csv"):
        key = (row["instance_type"], row["region"], row["purchase"], row["as_of"])
        assert key not in seen, key
        seen.add(key)
        assert float(row["usd_per_hour"]) > 0 and row["source"] in sources and row["as_of"], key
        assert find_instance(row["instance_type"]).provider == row["provider"], key
        spot, full = (price(row["instance_type"], row["region"], kind) for kind in ("spot", "on_demand"))
        assert spot is None or full is None or spot.usd_per_hour <= full.usd_per_hour * 1.0001, key


@pytest.mark.skipif(not SHARED.exists(), reason="the source tables are not beside this checkout")
def test_carried_prices_equal_their_source() -> None:
    """Every price was carried over unchanged."""
    with (SHARED / "prices.csv").open(encoding="utf-8") as file:
        source = {(r["instance_type"], r["region"], r["purchase"], r["as_of"]): r["usd_per_hour"] for r in csv.DictReader(file)}
    assert source == {(r["instance_type"], r["region"], r["purchase"], r["as_of"]): r["usd_per_hour"] for r in rows("prices.csv")}
