"""Break-even of a fleet of one's own against a managed API: what each costs at a monthly volume of tokens, and where they cross.

The API bill grows with every token; the fleet costs the same whether it is busy or idle, up to its capacity. Beyond the
capacity further nodes are bought (further whole fleets where only a price is known), so the fleet's cost is a staircase;
the platform and the operations are paid once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from inferform.catalog.api_prices import ApiPrice
from inferform.errors import InputError, Problem
from inferform.sizing.breakeven_fleet import MTOK, Fleet, Unit, first_even, last_even

# A full-time year of 2,080 hours at this rate is 208,000 USD.
OPERATIONS_HOURS = 40.0
OPERATIONS_USD_PER_HOUR = 100.0
OPERATIONS_REASON = (
    "assumed: 40 hours a month is a quarter of one engineer (published estimates run from a tenth to two fifths) for upgrades, "
    "on-call and capacity work, at $100 an hour with everything"
)
# Amounts and volumes outside this make no sense to anybody, and arithmetic on them runs out of digits.
_LEAST, _MOST = 1e-6, 1e18


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """What people cost who run the fleet, a month, and why that figure."""

    usd_per_month: float = OPERATIONS_HOURS * OPERATIONS_USD_PER_HOUR
    reason: str = OPERATIONS_REASON


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
    """Both costs at one monthly volume; `units` counts nodes or fleets, as the answer's `unit` says.

    `carried` and `utilization` (of the planned fleet) are None where the capacity is not stated.
    """

    tokens_per_month: float
    tokens_per_s: float
    api_usd: float
    fleet_usd: float
    units: int
    carried: bool | None
    utilization: float | None
    cheaper: Literal["api", "fleet", "equal"]
    saved_usd: float


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The answer. A break-even is in tokens a month, None where the fleet never gets cheaper than the API.

    `break_even_tokens_per_month` counts operations and further nodes; `break_even_before_operations_tokens_per_month` is
    the bare division of the planned fleet's price by the API's. `always_cheaper_above_tokens_per_month` is the volume from which no
    further node makes the API cheaper again, None where there is no such volume. `fleet_usd_per_mtok_at_capacity` is with
    operations, the lowest that the planned fleet reaches.
    """

    api: str
    api_usd_per_mtok: float
    fleet_usd_per_month: float
    operations_usd_per_month: float
    capacity_tokens_per_month: float | None
    fleet_usd_per_mtok_at_capacity: float | None
    break_even_before_operations_tokens_per_month: float | None
    break_even_tokens_per_month: float | None
    break_even_units: int | None
    unit: Unit
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
    crossing = first_even(fleet, staff, price)
    volumes = tuple(_volume(v, fleet, staff, price) for v in request.volumes_tokens_per_month)
    return BreakEven(
        api=request.api.name,
        api_usd_per_mtok=price,
        fleet_usd_per_month=fleet.usd_per_month,
        operations_usd_per_month=staff,
        capacity_tokens_per_month=capacity,
        fleet_usd_per_mtok_at_capacity=None if capacity is None else (fleet.usd_per_month + staff) / capacity * MTOK,
        break_even_before_operations_tokens_per_month=fleet.usd_per_month * MTOK / price if price else None,
        break_even_tokens_per_month=crossing,
        break_even_units=None if crossing is None else fleet.units_at(crossing),
        unit=fleet.unit,
        always_cheaper_above_tokens_per_month=None if crossing is None else last_even(fleet, staff, price),
        volumes=volumes,
        decision=_decision(request, price, crossing, volumes),
        assumptions=_assumptions(request),
    )


def counted(units: int, unit: Unit) -> str:
    """A count of nodes or fleets with its noun."""
    return f"{units:,} {unit}{'' if units == 1 else 's'}"


def _volume(tokens: float, fleet: Fleet, staff_usd: float, usd_per_mtok: float) -> Volume:
    capacity = fleet.capacity_tokens_per_month
    api, own = tokens * usd_per_mtok / MTOK, fleet.usd_at(tokens) + staff_usd
    return Volume(
        tokens_per_month=tokens,
        tokens_per_s=tokens / (730 * 3600),
        api_usd=api,
        fleet_usd=own,
        units=fleet.units_at(tokens),
        carried=None if capacity is None else tokens <= capacity * (1 + 1e-12),
        utilization=None if capacity is None else tokens / capacity,
        cheaper="equal" if math.isclose(api, own, rel_tol=1e-12) else "fleet" if own < api else "api",
        saved_usd=abs(api - own),
    )


def _decision(request: BreakEvenRequest, usd_per_mtok: float, crossing: float | None, volumes: tuple[Volume, ...]) -> str:
    """One sentence: what to do at the volumes asked, or in general where none was."""
    name, fleet = request.api.name, request.fleet
    if crossing is None:
        if usd_per_mtok == 0:
            return f"Use {name} at any volume: it costs nothing."
        if fleet.usd_per_mtok_grown < usd_per_mtok:
            return f"Use {name} at any volume: to make up for what is paid once, the fleet would need over a million {fleet.unit}s."
        full = f"{format_usd(fleet.usd_per_mtok_grown)} a million tokens before {'platform and ' if fleet.parts else ''}operations"
        which = "further nodes, when full, cost" if fleet.parts else "a full fleet costs"
        return f"Use {name} at any volume: {which} {full}, the API {format_usd(usd_per_mtok)}."
    units, planned = fleet.units_at(crossing), fleet.units_at(0)
    more = f" with {counted(units, fleet.unit)}, for {counted(planned, fleet.unit) if fleet.parts else 'one'} cannot carry that much" if units > planned else ""
    point = f"the break-even is {format_tokens(crossing)} tokens a month{more}"
    unknown = "" if fleet.capacity_tokens_per_month is not None else "; the fleet's capacity is not stated, so check that it can carry that"
    if fleet.usd_per_mtok_grown >= usd_per_mtok:
        unknown = f"; a further {fleet.unit} costs more than the API even when full, so send what the planned fleet cannot carry to {name}"
    api, own = (", ".join(_named(v, fleet) for v in volumes if v.cheaper == kind) for kind in ("api", "fleet"))
    if api and own:
        return f"It depends on the volume: {point}; at {api} {name} is cheaper, at {own} your own fleet{unknown}."
    if own:
        return f"Host {own} yourself: {point}{unknown}."
    if api:
        # Just past a full fleet the next step is bought whole and stands idle.
        gap = any(v.tokens_per_month > crossing for v in volumes)
        return f"Use {name} for {api}: {point}{f', but the next {fleet.unit} makes the API cheaper again there' if gap else ''}."
    return f"Host it yourself above the break-even and use {name} below: {point}{unknown}."


def _named(volume: Volume, fleet: Fleet) -> str:
    grown = volume.cheaper == "fleet" and volume.units > fleet.units_at(0)
    return format_tokens(volume.tokens_per_month) + (f" ({counted(volume.units, fleet.unit)})" if grown else "")


def _assumptions(request: BreakEvenRequest) -> tuple[str, ...]:
    """What the figures rest on, so that a person can object."""
    api, traffic, fleet = request.api, request.traffic, request.fleet
    cached = "" if api.usd_per_mtok_cached_input is None else f", {format_usd(api.usd_per_mtok_cached_input)} of cached input"
    prices = f"{format_usd(api.usd_per_mtok_input)} a million tokens of input{cached}, {format_usd(api.usd_per_mtok_output)} of output"
    said = [f"{api.name}: {prices} ({f'{api.as_of}, {api.source}' if api.as_of else 'given'}); no surcharges for long contexts or cache writes"]
    said.append("all tokens are input" if traffic.input_share == 1 else f"{traffic.input_share:.0%} of the tokens are input, the rest output")
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
    said.append(f"operations {format_usd(request.operations.usd_per_month)} a month, {request.operations.reason}; the same for every number of {fleet.unit}s")
    once = f"; {format_usd(fleet.fixed_usd_per_month)} of it is the platform around the nodes, paid once whatever the volume" if fleet.parts else ""
    said.append(f"the fleet costs {format_usd(fleet.usd_per_month)} a month, busy or idle ({fleet.source}){once}")
    said.append(_capacity(fleet))
    return tuple(said)


def _capacity(fleet: Fleet) -> str:
    if fleet.capacity_tokens_per_month is None:
        return "the fleet's capacity is not stated, so one fleet is taken to carry every volume"
    carries = f"carries {format_tokens(fleet.capacity_tokens_per_month)} tokens a month ({fleet.capacity_source})"
    if not fleet.parts:
        return f"one fleet {carries}, more volume buys further whole fleets"
    named = len(fleet.parts) > 1
    steps = ", ".join(
        f"{counted(part.nodes, 'node')}{f' of {part.name}' if named else ''} at {format_usd(part.usd_per_month)} a month "
        f"for {format_tokens(part.capacity_tokens_per_month)} tokens"
        for part in fleet.parts
    )
    return f"the planned fleet of {counted(fleet.units_at(0), 'node')} {carries}, more volume buys {steps} at a time"


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
        "fleet.fixed_usd_per_month": fleet.fixed_usd_per_month,
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
