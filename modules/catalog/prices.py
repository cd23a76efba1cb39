"""Look-ups of hourly prices by region and purchase."""

from __future__ import annotations

import re
from functools import cache

from inferform.catalog.tables import rows
from inferform.catalog.types import Price

# Some capacity block prices are published for groups of regions instead of one.
_US, _OUTSIDE_US, _MOST, _ANY = "us-regions", "non-us-regions", "most-regions", "unspecified"
# Spot prices of zones that differ by less than this are not worth a note.
_EVEN = 1.25
_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-?\d")


@cache
def _table() -> dict[tuple[str, str, str], Price]:
    """(instance type, region, purchase) -> newest valid price."""
    sources = {row["key"]: row["source"] for row in rows("sources.csv")}
    table: dict[tuple[str, str, str], Price] = {}
    for row in rows("prices.csv"):
        if row["note"].startswith("superseded"):
            continue
        key = (row["instance_type"], row["region"], row["purchase"])
        if key in table and table[key].as_of >= row["as_of"]:
            continue
        table[key] = Price(*key, float(row["usd_per_hour"]), row["as_of"], sources[row["source"]], row["note"])
    return table


def price(instance_type: str, region: str, purchase: str) -> Price | None:
    """USD an hour of one instance, Linux; None when no valid price is known.

    `purchase` is on_demand, spot (the lowest zone of the snapshot), capacity_block, reserved_1y_no_upfront or
    reserved_3y_no_upfront; `reserved` means the one-year price. A price that its source states for a group of regions
    applies to each of them, and the note says so; the newest of all that apply wins, the region's own on equal dates.
    """
    purchase = "reserved_1y_no_upfront" if purchase == "reserved" else purchase
    table = _table()
    own = table.get((instance_type, region, purchase))
    if own and purchase in {"on_demand", "spot"}:
        return own
    group = _US if region.startswith("us-") else _OUTSIDE_US
    found = [p for name in (region, group, _MOST, _ANY) if (p := table.get((instance_type, name, purchase)))]
    if not found:
        return None
    best = max(found, key=lambda p: p.as_of)
    if best.region == region:
        return best
    note = f"stated for {best.region}" + (f"; {best.note}" if best.note else "")
    return Price(best.instance_type, region, best.purchase, best.usd_per_hour, best.as_of, best.source, note)


@cache
def _spot_table() -> dict[tuple[str, str], dict[str, Price]]:
    """(instance type, region) -> zone id -> spot price of the snapshot; local zones are left out."""
    sources = {row["key"]: row["source"] for row in rows("sources.csv")}
    table: dict[tuple[str, str], dict[str, Price]] = {}
    for row in rows("zones.csv"):
        if row["spot_usd_per_hour"] and row["local_zone"] == "n":
            key = row["instance_type"], row["region"]
            table.setdefault(key, {})[row["zone"]] = Price(*key, "spot", float(row["spot_usd_per_hour"]), row["as_of"], sources[row["source"]], "")
    return table


def spot_price(instance_type: str, region: str, zones: tuple[str, ...]) -> Price | None:
    """USD an hour of a spot instance, the mean of these zones: an allocation that follows capacity does not choose the cheap one.

    The note tells the range. Where no price of these zones is known it is the region's, which its own note qualifies; None when that is not known either.
    """
    found = {zone: price for zone, price in _spot_table().get((instance_type, region), {}).items() if zone in zones}
    if not found:
        return price(instance_type, region, "spot")
    each = [p.usd_per_hour for p in found.values()]
    some = min(found.values(), key=lambda p: p.as_of)
    low, high = min(each), max(each)
    note = f"${low:,.2f} to ${high:,.2f} by zone, the mean is counted" if high > low * _EVEN else ""
    return Price(instance_type, region, "spot", round(sum(each) / len(each), 4), some.as_of, some.source, note)


@cache
def regions(provider: str = "aws") -> tuple[str, ...]:
    """Regions of a provider with at least one price, sorted; groups of regions are not listed."""
    return tuple(
        sorted(
            {row["region"] for row in rows("prices.csv") if row["provider"] == provider and (provider != "aws" or _REGION.fullmatch(row["region"]))} - {_ANY}
        )
    )


@cache
def catalog_as_of() -> str:
    """The day the catalogue was put together; each price has its own, earlier `as_of`."""
    return max(row["read"] for row in rows("instances.csv"))
