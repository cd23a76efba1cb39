"""The double dressed for `inferform preflight`: a new account's quotas, the catalogue's prices, spot capacity wherever a type is offered."""

from __future__ import annotations

from collections.abc import Collection

from inferform.catalog.instances import cpu_instances, gpu_instances, offered_regions, zones
from inferform.catalog.prices import price, regions
from inferform.cloud.facts import quotas
from inferform.sandbox.fakes_account import Account, BucketOwners
from inferform.sandbox.fakes_market import Market
from inferform.sandbox.fakes_wire import Fakes, Wsgi

_GOOD_SCORE = 8


def dressed(application: Wsgi, *, answered: Collection[tuple[str, str]] = ()) -> Wsgi:
    """The application with fakes in front for everything preflight asks and moto lacks.

    `answered` are (service model, operation) that the application itself has a behaving answer for.
    """
    market, account = usual_market(), new_account()
    fakes = {**market.fakes(), **account.fakes()}
    return BucketOwners(Fakes(application, {call: fake for call, fake in fakes.items() if call not in answered}))


def new_account() -> Account:
    """What AWS gives everybody: no GPU quota, five of most other things."""
    return Account(defaults={(q.service, q.code): q.default for q in quotas().values()})


def usual_market() -> Market:
    """Prices as in the catalogue, a good spot score in every zone."""
    market = Market()
    for instance in (*gpu_instances(), *cpu_instances()):
        for region in regions():
            listed = price(instance.name, region, "on_demand")
            if listed:
                market.on_demand[instance.name, region] = listed.usd_per_hour
        for region in offered_regions(instance.name):
            offered = zones(region, instance.name)
            market.scores |= dict.fromkeys(offered, _GOOD_SCORE)
            spot = price(instance.name, region, "spot") if instance.spot else None
            if spot:
                market.spot |= {(instance.name, zone): spot.usd_per_hour for zone in offered}
    return market
