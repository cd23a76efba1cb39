"""Look-ups of managed API prices, and prices from a user's own file of the same columns.

Source of `data/api_prices.csv`: the price table of litellm 1.110.2 (MIT), October or November 2026, the rows of the largest
providers cross-checked with genai-prices 0.2.3 (MIT). Surcharges for long contexts and for writing to a prompt cache are not in it.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from inferform.catalog.tables import rows
from inferform.errors import InputError, Nearest, Problem

# Half a year: after that a list price is worth a second look before money is committed on it.
STALE_DAYS = 180
_NEEDED = ("provider", "model", "usd_per_mtok_input", "usd_per_mtok_output", "as_of")
_OPTIONAL = ("usd_per_mtok_cached_input", "batch_discount", "retires", "source", "note")
_DAY = re.compile(r"\d{4}-\d\d(-\d\d)?(\.\.\d{4}-\d\d(-\d\d)?)?")


@dataclass(frozen=True, slots=True)
class ApiPrice:
    """USD per million tokens of one model at one provider.

    `usd_per_mtok_cached_input` is the price of prompt tokens read from the provider's cache, None where it has none;
    `batch_discount` is the share taken off for batch work (0.5 = half price), None where there is no batch price.
    `as_of` is a day, a month or a range of them (`2026-10..2026-11`), empty for a price that a user gives in figures;
    `retires` is the announced last day, or empty.
    """

    provider: str
    model: str
    usd_per_mtok_input: float
    usd_per_mtok_output: float
    as_of: str
    usd_per_mtok_cached_input: float | None = None
    batch_discount: float | None = None
    retires: str = ""
    source: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}" if self.provider else self.model


@cache
def all_api_prices() -> tuple[ApiPrice, ...]:
    """Every price of the catalogue, in file order."""
    return _parse(rows("api_prices.csv"), "api_prices.csv")


def read_api_prices(path: Path) -> tuple[ApiPrice, ...]:
    """Prices of a user's CSV file, columns named as in the catalogue; a row of a known name is meant to replace that one.

    Raises: InputError with every problem of the file, each with its line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(Problem(f"cannot read the price file: {err}", file=str(path))) from err
    reader = csv.DictReader(text.splitlines(), restval="")
    header = tuple(reader.fieldnames or ())
    legal = (*_NEEDED, *_OPTIONAL)
    wrong = [Problem("the column is missing", field=c, file=str(path), line=1, legal=legal) for c in _NEEDED if c not in header]
    wrong += [Problem("the column is not known", field=c, file=str(path), line=1, legal=legal) for c in header if c not in legal]
    if wrong:
        raise InputError(wrong)
    return _parse(reader, str(path))


def find_api_price(name: str, prices: Iterable[ApiPrice] | None = None) -> ApiPrice:
    """The price called `provider/model`, or `model` where only one provider has it; of two rows with one name the later counts.

    Raises: InputError listing the providers of that model, or the nearest names.
    """
    table = {p.name: p for p in (all_api_prices() if prices is None else prices)}
    if name in table:
        return table[name]
    same_model = [full for full, p in table.items() if p.model == name]
    if len(same_model) == 1:
        return table[same_model[0]]
    if same_model:
        raise InputError(
            Problem(
                f'"{name}" is sold by several providers', field="api", value=name, legal=tuple(same_model), fix=f"write one of them, such as {same_model[0]}"
            )
        )
    near = Nearest(name, tuple(table)).suggestions()
    fix = (f"did you mean {near[0]}? " if near else "") + "a price outside the catalogue can be given in figures or in a file"
    raise InputError(Problem(f'no API price is known for "{name}"', field="api", value=name, legal=near or tuple(table), fix=fix))


def price_warnings(price: ApiPrice, today: date) -> tuple[str, ...]:
    """What makes this price doubtful on that day: it is old, or the provider has announced the end of the model."""
    found = []
    age_days = (today - _first_day(price.as_of)).days if price.as_of else 0
    if age_days > STALE_DAYS:
        found.append(f"the price of {price.name} is of {price.as_of}, {age_days} days ago; check it and give the current one")
    if price.retires:
        tense = "ended" if _first_day(price.retires) < today else "ends"
        found.append(f"{price.name} {tense} on {price.retires} by the provider's list")
    return tuple(found)


def _first_day(period: str) -> date:
    """The first day of a day, a month or a range of them: a price may be as old as that."""
    year, month, day = (int(n) for n in (period.split("..", maxsplit=1)[0] + "-01").split("-")[:3])
    return date(year, month, day)


def _parse(table: Iterable[dict[str, str]], file: str) -> tuple[ApiPrice, ...]:
    problems: list[Problem] = []
    prices = [_price(row, file, line, problems) for line, row in enumerate(table, start=2)]
    if problems:
        raise InputError(problems)
    return tuple(prices)


def _price(row: dict[str, str], file: str, line: int, problems: list[Problem]) -> ApiPrice:
    """One row; what is wrong with it goes to `problems`."""

    def wrong(column: str, message: str) -> None:
        problems.append(Problem(message, field=column, file=file, line=line, value=repr((row.get(column) or "")[:80])))

    def figure(column: str, most: float = math.inf) -> float | None:
        text = (row.get(column) or "").strip()
        try:
            value = float(text) if text else None
        except ValueError:
            value = math.nan
        if value is None and column in _NEEDED:
            wrong(column, "wants a figure in USD per million tokens")
        elif value is not None and not (0 <= value <= most and math.isfinite(value)):
            wrong(column, "wants a share from 0 to 1" if most == 1 else "wants a figure of 0 or more, in USD per million tokens")
        return value

    for column in ("provider", "model"):
        if not (row[column] or "").strip():
            wrong(column, "wants a name")
    for column in ("as_of", "retires"):
        text = row.get(column) or ""
        if (text or column == "as_of") and not _is_period(text):
            wrong(column, "wants a date such as 2026-11-30, 2026-11 or 2026-10..2026-11")
    if None in row:
        problems.append(Problem("the row has more cells than the header", file=file, line=line))
    return ApiPrice(
        provider=row["provider"].strip(),
        model=row["model"].strip(),
        usd_per_mtok_input=figure("usd_per_mtok_input") or 0.0,
        usd_per_mtok_output=figure("usd_per_mtok_output") or 0.0,
        as_of=row["as_of"],
        usd_per_mtok_cached_input=figure("usd_per_mtok_cached_input"),
        batch_discount=figure("batch_discount", most=1),
        retires=row.get("retires") or "",
        source=row.get("source") or file,
        note=row.get("note") or "",
    )


def _is_period(text: str) -> bool:
    try:
        return bool(_DAY.fullmatch(text)) and bool(_first_day(text))
    except ValueError:
        return False
