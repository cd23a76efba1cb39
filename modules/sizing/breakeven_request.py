"""A break-even asked for in words: the options of `inferform breakeven`, as a request.

Every value may be left out where a plan says it (`Planned`) or a default is stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferform.catalog.api_prices import ApiPrice, find_api_price
from inferform.errors import InputError, Problem
from inferform.sizing.breakeven import OPERATIONS_HOURS, OPERATIONS_REASON, OPERATIONS_USD_PER_HOUR, BreakEvenRequest, Operations, Traffic
from inferform.sizing.breakeven_fleet import Fleet

_TOKENS = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_COUNT = re.compile(r"([0-9][0-9_]{0,20}(?:\.[0-9]{1,9})?(?:e[0-9]{1,2})?)\s*([kMBT]?)")
_SPLIT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?):([0-9]{1,9}(?:\.[0-9]{1,6})?)")
_OWN_PRICE = ("usd_per_mtok", "usd_per_mtok_input", "usd_per_mtok_cached_input", "usd_per_mtok_output", "batch_discount")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a plan says of one model: its fleet, its traffic, and the tokens a month that were planned for."""

    fleet: Fleet
    traffic: Traffic
    tokens_per_month: float
    tokens_source: str


def parse(values: Mapping[str, Any], *, prices: Iterable[ApiPrice] | None = None, planned: Planned | None = None) -> BreakEvenRequest:
    """The request; `values` are named as the options, with underscores, and win over what is planned.

    Raises: InputError with every problem.
    """
    problems: list[Problem] = []
    api = _collected(problems, lambda: _api(values, prices))
    operations = _collected(problems, lambda: _operations(values))
    split = _collected(problems, lambda: parse_split(values["input_output"])) if "input_output" in values else None
    volumes = tuple(_collected(problems, lambda text=text: parse_tokens(text, "tokens_per_month")) for text in values.get("tokens_per_month", ()))
    capacity = _collected(problems, lambda: parse_tokens(values["capacity"], "capacity")) if "capacity" in values else None
    fleet = planned.fleet if planned else None
    if "usd_per_month" in values:
        fleet = _at_price(fleet, values["usd_per_month"])
    if fleet is None:
        problems.append(Problem("says what the fleet costs, where no spec is given to plan one", field="usd_per_month", fix="give a SPEC or --usd-per-month"))
    if problems or api is None or operations is None or fleet is None:
        raise InputError(problems)
    if capacity is not None:
        fleet = _with_capacity(fleet, capacity)
    traffic = planned.traffic if planned else Traffic()
    shares = {name: values[name] for name in ("cached_share", "batch_share") if name in values}
    traffic = replace(traffic, **shares) if split is None else replace(traffic, input_share=split, **shares)
    asked, source = tuple(v for v in volumes if v is not None), "given"
    if planned and not asked:
        asked, source = (planned.tokens_per_month,), planned.tokens_source
    return BreakEvenRequest(api=api, fleet=fleet, traffic=traffic, operations=operations, volumes_tokens_per_month=asked, volumes_source=source)


def parse_tokens(text: str, field: str = "tokens") -> float:
    """Tokens in a count such as `20M`, `60B`, `1.5T` or a plain number; `k` is a thousand. Raises: InputError."""
    match = _COUNT.fullmatch(text.strip())
    if not match:
        raise InputError(Problem("wants a count of tokens", field=field, value=repr(text[:40]), legal=("20M", "60B", "1.5T", "150000000")))
    return float(match.group(1)) * _TOKENS[match.group(2)]


def parse_split(text: str) -> float:
    """The share of input tokens in a split such as `3:1` or `4000:300`. Raises: InputError."""
    match = _SPLIT.fullmatch(text.strip())
    parts = [float(part) for part in match.groups()] if match else []
    if sum(parts) == 0:
        raise InputError(Problem("wants input tokens to output tokens", field="input_output", value=repr(text[:40]), legal=("3:1", "4000:300")))
    return parts[0] / sum(parts)


def _collected(problems: list[Problem], make: Any) -> Any:
    """What `make` gives; its problems are kept for later and None is given instead."""
    try:
        return make()
    except InputError as err:
        problems += err.problems
        return None


def _api(values: Mapping[str, Any], prices: Iterable[ApiPrice] | None) -> ApiPrice:
    """The named price, or the one given in figures: one for all tokens, or one for each kind."""
    own = [name for name in _OWN_PRICE if name in values]
    if "api" in values and not own:
        return find_api_price(values["api"], prices)
    flat, kinds = values.get("usd_per_mtok"), [name for name in own if name in {"usd_per_mtok_input", "usd_per_mtok_output"}]
    one_way = "api" not in values and ((flat is not None and not kinds) or (flat is None and len(kinds) == 2))
    if not one_way:
        raise InputError(
            Problem(
                "wants exactly one price",
                field="api",
                value=", ".join(name for name in ("api", *own) if name in values) or "none",
                fix="give --api NAME, or --usd-per-mtok, or --usd-per-mtok-input with --usd-per-mtok-output",
            )
        )
    return ApiPrice(
        provider="",
        model="the API",
        usd_per_mtok_input=values["usd_per_mtok_input"] if flat is None else flat,
        usd_per_mtok_output=values["usd_per_mtok_output"] if flat is None else flat,
        as_of="",
        usd_per_mtok_cached_input=values.get("usd_per_mtok_cached_input"),
        batch_discount=values.get("batch_discount"),
        source="the request",
    )


def _at_price(fleet: Fleet | None, usd_per_month: float) -> Fleet:
    """A fleet at a price of the user's own; a planned one keeps its nodes and the platform's share of the bill."""
    if fleet is None or not fleet.usd_per_month or usd_per_month <= 0:
        return Fleet(usd_per_month=usd_per_month, capacity_tokens_per_month=fleet.capacity_tokens_per_month if fleet else None)
    times = usd_per_month / fleet.usd_per_month
    parts = tuple(replace(part, usd_per_month=part.usd_per_month * times) for part in fleet.parts)
    source = "given, split as the plan's" if parts else "given"
    return replace(fleet, usd_per_month=usd_per_month, fixed_usd_per_month=fleet.fixed_usd_per_month * times, parts=parts, source=source)


def _with_capacity(fleet: Fleet, capacity: float) -> Fleet:
    """A fleet with a capacity of the user's own; each node carries its share of it."""
    times = capacity / fleet.capacity_tokens_per_month if fleet.capacity_tokens_per_month else 0.0
    parts = tuple(replace(part, capacity_tokens_per_month=part.capacity_tokens_per_month * times) for part in fleet.parts) if times > 0 else ()
    return replace(fleet, capacity_tokens_per_month=capacity, parts=parts, capacity_source="given")


def _operations(values: Mapping[str, Any]) -> Operations:
    """People's cost a month: an amount, or hours at a rate; the stated default where neither is given."""
    amount, hours, rate = (values.get(name) for name in ("ops_usd_per_month", "ops_hours_per_month", "ops_usd_per_hour"))
    if amount is not None:
        if hours is not None or rate is not None:
            raise InputError(Problem("is an amount, so hours and a rate are not needed beside it", field="ops_usd_per_month", value=f"{amount:g}"))
        return Operations(usd_per_month=amount, reason="given")
    if hours is None and rate is None:
        return Operations(usd_per_month=OPERATIONS_HOURS * OPERATIONS_USD_PER_HOUR, reason=OPERATIONS_REASON)
    hours, rate = OPERATIONS_HOURS if hours is None else hours, OPERATIONS_USD_PER_HOUR if rate is None else rate
    return Operations(usd_per_month=hours * rate, reason=f"{hours:g} hours at ${rate:g} an hour")
