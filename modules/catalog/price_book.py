"""Prices to plan with: a user's own file before the catalogue's.

A file has the columns instance_type, region, purchase, usd_per_hour and as_of. Contract, reservation and savings-plan rates
come from here alone: the catalogue has list prices only. Parts around the nodes can be priced too, under the names of
`PARTS` with purchase on_demand.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from inferform.catalog.instances import find_instance
from inferform.catalog.platform_prices import Item, PlatformPrice, platform_price
from inferform.catalog.prices import price, regions, spot_price
from inferform.catalog.types import Price
from inferform.errors import InputError, Nearest, Problem

# Half a year: after that a price is worth a second look before money is committed on it.
STALE_DAYS = 180
# Flat fees of services have stood for years, where prices of instances move by the month.
STALE_FEE_DAYS = 365
# What makes less of the bill than this is not worth a warning.
_STALE_SHARE = 0.02
COLUMNS = ("instance_type", "region", "purchase", "usd_per_hour", "as_of")
PURCHASES = ("on_demand", "spot", "reserved", "capacity_block")
# Names of parts around the nodes in a price file.
PARTS: dict[str, Item] = {
    "platform/eks": "eks-standard", "platform/eks-extended": "eks-extended", "platform/nat-gateway": "nat-gateway",
    "platform/public-ipv4": "public-ipv4", "platform/load-balancer": "load-balancer", "platform/interface-endpoints": "interface-endpoint",
    "platform/lustre-125": "lustre-125", "platform/lustre-250": "lustre-250", "platform/lustre-500": "lustre-500", "platform/lustre-1000": "lustre-1000",
}  # fmt: skip
_DAY = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")


@dataclass(frozen=True, slots=True, eq=False)
class PriceBook:
    """Own prices by (instance type or part, region, purchase) over the catalogue's. Books compare by identity, which makes one a cheap key."""

    own: Mapping[tuple[str, str, str], Price] = field(default_factory=dict)

    def price(self, instance_type: str, region: str, purchase: str) -> Price | None:
        """USD an hour of one instance, Linux; None when no valid price is known. `purchase` as in `catalog.prices.price`."""
        return self.own.get((instance_type, region, purchase)) or price(instance_type, region, purchase)

    def spot(self, instance_type: str, region: str, zones: tuple[str, ...]) -> Price | None:
        """As `price` for spot, in these zones; a price of one's own counts in all of them."""
        return self.own.get((instance_type, region, "spot")) or spot_price(instance_type, region, zones)

    def part(self, item: Item, region: str) -> PlatformPrice:
        """Price of a part around the nodes."""
        name = next((name for name, known in PARTS.items() if known == item), "")
        found = self.own.get((name, region, "on_demand"))
        return platform_price(item, region) if found is None else PlatformPrice(item, "hour", found.usd_per_hour, found.as_of, found.source)

    def regions(self) -> tuple[str, ...]:
        """Regions with at least one price, sorted."""
        return tuple(sorted({*regions(), *(region for _, region, _ in self.own)}))


LISTED = PriceBook()


def read_prices(path: Path) -> PriceBook:
    """The prices of a user's CSV file. Of two rows for one thing the later counts.

    Raises: InputError with every problem of the file, each with its line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(Problem(f"cannot read the price file: {getattr(err, 'strerror', None) or err}", file=str(path))) from err
    reader = csv.DictReader(text.splitlines(), restval="")
    header = tuple(name.strip() for name in reader.fieldnames or ())
    problems = [Problem("the column is missing", field=c, file=str(path), line=1, legal=COLUMNS) for c in COLUMNS if c not in header]
    problems += [Problem("the column is not known", field=c, file=str(path), line=1, legal=COLUMNS) for c in header if c not in COLUMNS]
    if problems:
        raise InputError(problems)
    reader.fieldnames = list(header)
    own: dict[tuple[str, str, str], Price] = {}
    for row in reader:
        found = _price(row, str(path), reader.line_num, problems)
        own[found.instance_type, found.region, found.purchase] = found
    if problems:
        raise InputError(problems)
    return PriceBook(own)


def _price(row: dict[str, str], file: str, line: int, problems: list[Problem]) -> Price:
    """One row; what is wrong with it goes to `problems`."""
    extra = row.pop(None, None)  # type: ignore[call-overload]
    cells = {name: (text or "").strip() for name, text in row.items()}

    def wrong(column: str, message: str, legal: tuple[str, ...] = (), fix: str = "") -> None:
        problems.append(Problem(message, field=column, file=file, line=line, value=repr(cells[column][:80]), legal=legal, fix=fix))

    if extra is not None:
        problems.append(Problem("the row has more cells than the header", file=file, line=line))
    if cells["instance_type"] not in PARTS:
        try:
            cells["instance_type"] = find_instance(cells["instance_type"]).name
        except InputError as err:
            near = err.problems[0]
            wrong("instance_type", "is neither an instance type of the catalogue nor a platform part", near.legal or tuple(PARTS), near.fix)
    if not re.fullmatch(r"[a-z]{2,}(-[a-z]+)+-?\d", cells["region"]):
        wrong("region", "wants one region", Nearest(cells["region"], regions()).suggestions())
    if cells["purchase"] not in PURCHASES:
        wrong("purchase", "wants a way to buy", PURCHASES, "give a savings plan's rate as on_demand or reserved")
    try:
        usd = float(cells["usd_per_hour"])
    except ValueError:
        usd = math.nan
    if not (math.isfinite(usd) and usd >= 0):
        wrong("usd_per_hour", "wants a figure of 0 or more, in USD an hour")
        usd = 0.0
    if not re.fullmatch(r"\d{4}-\d\d(-\d\d)?", cells["as_of"]) or day_of(cells["as_of"]) is None:
        wrong("as_of", "wants the day or month of the price", fix="write it as 2026-11-30 or 2026-11")
    return Price(cells["instance_type"], cells["region"], cells["purchase"], usd, cells["as_of"], f"{file}:{line}", "from the user's file")


def day_of(as_of: str) -> date | None:
    """The earliest day that a stated date means (`2026-07`, `2026-07-or-later`); None when it states none."""
    found = _DAY.search(as_of)
    try:
        return date(int(found[1]), int(found[2]), int(found[3] or 1)) if found else None
    except ValueError:
        return None


def stale_prices(used: Iterable[tuple[str, str, float]], today: date) -> tuple[str, ...]:
    """A warning for each (name, date of the price, share of the bill) that is too old on that day: half a year, a year for a part around the nodes."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for name, as_of, share in used:
        day = day_of(as_of)
        age_days = (today - day).days if day else None
        limit = STALE_FEE_DAYS if name.startswith("platform/") and name != "platform/system" else STALE_DAYS
        if age_days is not None and age_days > limit and share >= _STALE_SHARE:
            found[name, as_of] = age_days, limit
    return tuple(
        f"the price of {name} is of {as_of}, {age} days ago (more than {limit}); check it and give the current one with --prices"
        for (name, as_of), (age, limit) in sorted(found.items())
    )
