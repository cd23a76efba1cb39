"""Break-even of a fleet of one's own against a managed API: what each costs at a monthly volume of tokens, and where they cross.

The API bill grows with every token; the fleet costs the same whether it is busy or idle, up to its capacity. Beyond the
capacity a further fleet of the same kind is bought whole, so the fleet's cost is a staircase; operations are paid once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from inferform.catalog.api_prices import ApiPrice
from inferform.errors import InputError, Problem

MTOK = 1e6
# A full-time year of 2,080 hours at this rate is 208,000 USD.
OPERATIONS_HOURS = 40.0
OPERATIONS_USD_PER_HOUR = 100.0
OPERATIONS_REASON = (
    "assumed: 40 hours a month is a quarter of one engineer (published estimates run from a tenth to two fifths) for upgrades, "
    "on-call and capacity work, at $100 an hour with everything"
)
# Amounts and volumes outside this make no sense to anybody, and arithmetic on them runs out of digits.
_LEAST, _MOST = 1e-6, 1e18
# Past this many fleets the staircase says nothing that a person would buy.
_MOST_FLEETS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """What people cost who run the fleet, a month, and why that figure."""

    usd_per_month: float = OPERATIONS_HOURS * OPERATIONS_USD_PER_HOUR
    reason: str = OPERATIONS_REASON


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A fleet at its steady size. `capacity_tokens_per_month` counts input and output; None where nobody has stated it.

    `source` says where the bill comes from, `capacity_source` where the capacity does.
    """

    usd_per_month: float
    capacity_tokens_per_month: float | None = None
    source: str = "given"
    capacity_source: str = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Shares from 0 to 1: input tokens of all tokens, cached tokens of the input, batch tokens of all tokens."""

    input_share: float = 0.75
    cached_share: float = 0.0
    batch_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEvenRequest:
    """One API, one fleet, one kind of traffic, and the monthly volumes (input + output tokens) to compare at.

    `volumes_source` says where the volumes come from where nobody has asked for them.
    """

    api: ApiPrice
    fleet: Fleet
    traffic: Traffic = Traffic()
    operations: Operations = Operations()
    volumes_tokens_per_month: tuple[float, ...] = ()
    volumes_source: str = "given"


@dataclass(frozen=True, slots=True)
class Volume:
    """Both costs at one monthly volume. `carried` and `utilization` (of one fleet) are None where the capacity is not stated."""

    tokens_per_month: float
    tokens_per_s: float
    api_usd: float
    fleet_usd: float
    fleets: int
    carried: bool | None
    utilization: float | None
    cheaper: Literal["api", "fleet", "equal"]
    saved_usd: float


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The answer. A break-even is in tokens a month, None where the fleet never gets cheaper than the API.

    `break_even_tokens_per_month` counts operations and further fleets; `break_even_before_operations_tokens_per_month` is
    the bare division of one fleet's price by the API's. `always_cheaper_above_tokens_per_month` is the volume from which no
    further fleet makes the API cheaper again. `fleet_usd_per_mtok_at_capacity` is with operations, the lowest one fleet reaches.
    """

    api: str
    api_usd_per_mtok: float
    fleet_usd_per_month: float
    operations_usd_per_month: float
    capacity_tokens_per_month: float | None
    fleet_usd_per_mtok_at_capacity: float | None
    break_even_before_operations_tokens_per_month: float | None
    break_even_tokens_per_month: float | None
    break_even_fleets: int | None
    always_cheaper_above_tokens_per_month: float | None
    volumes: tuple[Volume, ...]
    decision: str
    assumptions: tuple[str, ...]


def format_tokens(tokens: float) -> str:
    """Tokens for people, three figures: `30.0 B`, `150 M`."""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if tokens >= size * 0.9995:
            value = tokens / size
            return f"{value:,.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"
    return f"{tokens:,.0f}"


def format_usd(usd: float) -> str:
    """A price for people: whole dollars from 100 on, cents below, two figures under ten cents."""
    return f"${usd:,.0f}" if usd >= 100 or usd == 0 else f"${usd:,.2f}" if usd >= 0.0995 else f"${usd:.2g}"


def api_usd_per_mtok(api: ApiPrice, traffic: Traffic) -> float:
    """The API's mean price of a million tokens of this traffic; cache and batch discounts stack."""
    cached = api.usd_per_mtok_input if api.usd_per_mtok_cached_input is None else api.usd_per_mtok_cached_input
    prompt = (1 - traffic.cached_share) * api.usd_per_mtok_input + traffic.cached_share * cached
    mixed = traffic.input_share * prompt + (1 - traffic.input_share) * api.usd_per_mtok_output
    return mixed * (1 - traffic.batch_share * (api.batch_discount or 0.0))


def break_even(request: BreakEvenRequest) -> BreakEven:
    """Where the fleet starts to pay, what both cost at each volume, and the decision.

    Raises: InputError for figures that cannot be (negative money, shares outside 0 to 1, no capacity).
    """
    _check(request)
    fleet, price = request.fleet, api_usd_per_mtok(request.api, request.traffic)
    staff, capacity = request.operations.usd_per_month, fleet.capacity_tokens_per_month
    bare = fleet.usd_per_month * MTOK / price if price else None
    fleets = _fleets_at_break_even(fleet.usd_per_month, staff, price, capacity)
    crossing = None if fleets is None else (fleets * fleet.usd_per_month + staff) * MTOK / price
    volumes = tuple(_volume(v, fleet, staff, price) for v in request.volumes_tokens_per_month)
    return BreakEven(
        api=request.api.name,
        api_usd_per_mtok=price,
        fleet_usd_per_month=fleet.usd_per_month,
        operations_usd_per_month=staff,
        capacity_tokens_per_month=capacity,
        fleet_usd_per_mtok_at_capacity=None if capacity is None else (fleet.usd_per_month + staff) / capacity * MTOK,
        break_even_before_operations_tokens_per_month=bare,
        break_even_tokens_per_month=crossing,
        break_even_fleets=fleets,
        always_cheaper_above_tokens_per_month=_always_above(fleet.usd_per_month, staff, price, capacity, crossing),
        volumes=volumes,
        decision=_decision(request, price, crossing, fleets, volumes),
        assumptions=_assumptions(request),
    )


def fleets_for(tokens_per_month: float, capacity: float | None) -> int:
    """Whole fleets that carry a volume; one where the capacity is not stated."""
    return 1 if capacity is None else max(1, _whole(tokens_per_month / capacity))


def _whole(ratio: float) -> int:
    """Rounded up, forgiving the last bits of a division."""
    return math.ceil(ratio * (1 - 1e-12))


def _fleets_at_break_even(fleet_usd: float, staff_usd: float, usd_per_mtok: float, capacity: float | None) -> int | None:
    """Fewest fleets that, full, cost less than the API: n x fleet + staff <= n x capacity x price. None where no number does."""
    if usd_per_mtok == 0:
        return None
    if capacity is None:
        return 1
    margin = capacity * usd_per_mtok / MTOK - fleet_usd
    if margin <= 0:
        return None
    fleets = max(1, _whole(staff_usd / margin))
    return fleets if fleets <= _MOST_FLEETS else None


def _always_above(fleet_usd: float, staff_usd: float, usd_per_mtok: float, capacity: float | None, crossing: float | None) -> float | None:
    """The end of the last step where the API is cheaper: just past m full fleets, m + 1 must cost no more than m x capacity at the API."""
    if crossing is None or capacity is None:
        return crossing
    full = _whole((fleet_usd + staff_usd) / (capacity * usd_per_mtok / MTOK - fleet_usd))
    # Within the fleet bought after full - 1 full ones, the API's line is met again here.
    return max(crossing, (full * fleet_usd + staff_usd) * MTOK / usd_per_mtok)


def _volume(tokens: float, fleet: Fleet, staff_usd: float, usd_per_mtok: float) -> Volume:
    capacity = fleet.capacity_tokens_per_month
    fleets = fleets_for(tokens, capacity)
    api, own = tokens * usd_per_mtok / MTOK, fleets * fleet.usd_per_month + staff_usd
    return Volume(
        tokens_per_month=tokens,
        tokens_per_s=tokens / (730 * 3600),
        api_usd=api,
        fleet_usd=own,
        fleets=fleets,
        carried=None if capacity is None else fleets == 1,
        utilization=None if capacity is None else tokens / capacity,
        cheaper="equal" if math.isclose(api, own, rel_tol=1e-12) else "fleet" if own < api else "api",
        saved_usd=abs(api - own),
    )


def _decision(request: BreakEvenRequest, usd_per_mtok: float, crossing: float | None, fleets: int | None, volumes: tuple[Volume, ...]) -> str:
    """One sentence: what to do at the volumes asked, or in general where none was."""
    name, fleet = request.api.name, request.fleet
    if crossing is None or fleets is None:
        if usd_per_mtok == 0:
            return f"Use {name} at any volume: it costs nothing."
        full = fleet.usd_per_month / (fleet.capacity_tokens_per_month or math.inf) * MTOK
        return f"Use {name} at any volume: a full fleet costs {format_usd(full)} a million tokens before operations, the API {format_usd(usd_per_mtok)}."
    point = f"the break-even is {format_tokens(crossing)} tokens a month" + (f" with {fleets:,} fleets, for one cannot carry that much" if fleets > 1 else "")
    unknown = "" if fleet.capacity_tokens_per_month is not None else "; the fleet's capacity is not stated, so check that it can carry that"
    api, own = (", ".join(_named(v) for v in volumes if v.cheaper == kind) for kind in ("api", "fleet"))
    if api and own:
        return f"It depends on the volume: {point}; at {api} {name} is cheaper, at {own} your own fleet{unknown}."
    if own:
        return f"Host {own} yourself: {point}{unknown}."
    if api:
        # Just past a full fleet the next one is bought whole and stands idle.
        gap = any(v.tokens_per_month > crossing for v in volumes)
        return f"Use {name} for {api}: {point}{', but the next fleet makes the API cheaper again there' if gap else ''}."
    return f"Host it yourself above the break-even and use {name} below: {point}{unknown}."


def _named(volume: Volume) -> str:
    return format_tokens(volume.tokens_per_month) + (f" ({volume.fleets:,} fleets)" if volume.fleets > 1 and volume.cheaper == "fleet" else "")


def _assumptions(request: BreakEvenRequest) -> tuple[str, ...]:
    """What the figures rest on, so that a person can object."""
    api, traffic, fleet = request.api, request.traffic, request.fleet
    cached = "" if api.usd_per_mtok_cached_input is None else f", {format_usd(api.usd_per_mtok_cached_input)} of cached input"
    prices = f"{format_usd(api.usd_per_mtok_input)} a million tokens of input{cached}, {format_usd(api.usd_per_mtok_output)} of output"
    said = [f"{api.name}: {prices} ({f'{api.as_of}, {api.source}' if api.as_of else 'given'}); no surcharges for long contexts or cache writes"]
    said.append(f"{traffic.input_share:.0%} of the tokens are input, the rest output")
    if traffic.cached_share:
        said.append(
            f"{api.name} has no price for cached input, so the cached share costs the full price"
            if api.usd_per_mtok_cached_input is None
            else f"{traffic.cached_share:.0%} of the input is read from the provider's prompt cache"
        )
    if traffic.batch_share:
        said.append(
            f"{api.name} has no batch price, so the batch share costs the full price"
            if api.batch_discount is None
            else f"{traffic.batch_share:.0%} of the tokens go through the batch API at {api.batch_discount:.0%} off, cached or not"
        )
    if request.volumes_source != "given":
        said.append(f"the volume is {request.volumes_source}")
    said.append(f"operations {format_usd(request.operations.usd_per_month)} a month, {request.operations.reason}; the same for every number of fleets")
    said.append(f"the fleet costs {format_usd(fleet.usd_per_month)} a month, busy or idle ({fleet.source})")
    said.append(
        "the fleet's capacity is not stated, so one fleet is taken to carry every volume"
        if fleet.capacity_tokens_per_month is None
        else f"one fleet carries {format_tokens(fleet.capacity_tokens_per_month)} tokens a month ({fleet.capacity_source}), more volume buys further whole fleets"
    )
    return tuple(said)


def _check(request: BreakEvenRequest) -> None:
    """Every figure that cannot be, at once."""
    traffic, api, fleet = request.traffic, request.api, request.fleet
    shares = {
        "input_share": traffic.input_share,
        "cached_share": traffic.cached_share,
        "batch_share": traffic.batch_share,
        "batch_discount": api.batch_discount,
    }
    money = {
        "fleet.usd_per_month": fleet.usd_per_month,
        "operations.usd_per_month": request.operations.usd_per_month,
        "api.usd_per_mtok_input": api.usd_per_mtok_input,
        "api.usd_per_mtok_cached_input": api.usd_per_mtok_cached_input,
        "api.usd_per_mtok_output": api.usd_per_mtok_output,
    }
    volumes = {f"volumes_tokens_per_month[{i}]": v for i, v in enumerate(request.volumes_tokens_per_month)}
    problems = [Problem("wants a share from 0 to 1", field=n, value=f"{v:g}") for n, v in shares.items() if v is not None and not 0 <= v <= 1]
    capacity = fleet.capacity_tokens_per_month
    problems += [
        Problem(f"wants 0, or an amount from {_LEAST:g} to {_MOST:g}", field=n, value=f"{v:g}")
        for n, v in (money | volumes).items()
        if v is not None and not (v == 0 or _LEAST <= v <= _MOST)
    ]
    if capacity is not None and not 1 <= capacity <= _MOST:
        problems.append(Problem(f"wants 1 to {_MOST:g} tokens a month", field="fleet.capacity_tokens_per_month", value=f"{capacity:g}"))
    if problems:
        raise InputError(problems)
