"""`inferform breakeven`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from inferform.cli.options import Env, as_options
from inferform.cli.output import Output
from inferform.cli.sized import Prices

if TYPE_CHECKING:
    from inferform.sizing.breakeven_request import Planned

EXAMPLES = (
    "inferform breakeven --usd-per-mtok 0.80 --usd-per-month 24000 --tokens-per-month 60B",
    "inferform breakeven deployment.yaml --api aws-bedrock/llama-3.3-70b-instruct",
    "inferform breakeven deployment.yaml --api gpt-5-mini --cached-share 0.6 --plot curve.svg",
)
# Fields of a request that are called otherwise on the command line.
_FIELDS = {
    "fleet.usd_per_month": "usd_per_month",
    "fleet.capacity_tokens_per_month": "capacity",
    "operations.usd_per_month": "ops_usd_per_month",
    "api.usd_per_mtok_input": "usd_per_mtok_input",
    "api.usd_per_mtok_cached_input": "usd_per_mtok_cached_input",
    "api.usd_per_mtok_output": "usd_per_mtok_output",
}


def run(
    out: Output,
    *,
    spec: Annotated[str | None, typer.Argument(metavar="SPEC", help="Deployment spec whose plan is compared; - reads standard input.")] = None,
    env: Env = None,
    model: Annotated[str | None, typer.Option("--model", "-m", metavar="NAME", help="Model of the spec.", show_default="the only one")] = None,
    api: Annotated[
        str | None, typer.Option(metavar="NAME", help="API price by PROVIDER/MODEL, from the catalogue or --api-prices.", show_default=False)
    ] = None,
    api_prices: Annotated[Path | None, typer.Option(metavar="FILE", help="CSV of own API prices; they go before the catalogue's.", show_default=False)] = None,
    usd_per_mtok: Annotated[float | None, typer.Option(help="API price of a million tokens of any kind.", show_default=False)] = None,
    usd_per_mtok_input: Annotated[float | None, typer.Option(help="API price of input.", show_default=False)] = None,
    usd_per_mtok_cached_input: Annotated[float | None, typer.Option(help="API price of cached input.", show_default="no discount")] = None,
    usd_per_mtok_output: Annotated[float | None, typer.Option(help="API price of output.", show_default=False)] = None,
    batch_discount: Annotated[float | None, typer.Option(help="Share taken off for batch work, such as 0.5.", show_default="no discount")] = None,
    usd_per_month: Annotated[float | None, typer.Option(help="What the fleet costs a month.", show_default="the plan's")] = None,
    capacity: Annotated[str | None, typer.Option(metavar="TOKENS", help="Tokens a month that the fleet can carry.", show_default="the plan's")] = None,
    tokens_per_month: Annotated[
        list[str] | None, typer.Option(metavar="TOKENS", help="Volume to compare at, such as 60B; may be repeated.", show_default="the spec's peak, all month")
    ] = None,
    input_output: Annotated[str | None, typer.Option(metavar="IN:OUT", help="Input to output tokens.", show_default="the spec's, or 3:1")] = None,
    cached_share: Annotated[float | None, typer.Option(help="Share of the input that is cached.", show_default="the spec's shared prefix, or 0")] = None,
    batch_share: Annotated[float | None, typer.Option(help="Share of the tokens that can go as batches.", show_default="1 for a batch model, else 0")] = None,
    ops_usd_per_month: Annotated[float | None, typer.Option(help="What operations cost a month.", show_default="hours x rate")] = None,
    ops_hours_per_month: Annotated[float | None, typer.Option(help="People's hours a month for operations.", show_default="40")] = None,
    ops_usd_per_hour: Annotated[float | None, typer.Option(help="Cost of one such hour.", show_default="100")] = None,
    own_prices: Prices = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curve, as .svg or .png; an older picture is replaced.", show_default=False)
    ] = None,
) -> None:
    """Compare an own fleet with a managed API.

    Finds the volume from which the fleet costs less, both bills at each volume asked, and whether the fleet can carry it;
    then decides. The fleet is that of a spec's plan, or a monthly price. TOKENS count input and output: 20M, 60B, 1.5T.
    """
    from datetime import date

    from inferform.catalog.api_prices import all_api_prices, price_warnings, read_api_prices
    from inferform.cli.formats.breakeven_text import break_even_text
    from inferform.cli.output import plain
    from inferform.sizing.breakeven import break_even
    from inferform.sizing.breakeven_plot import draw_break_even, plot_format
    from inferform.sizing.breakeven_request import parse

    values = {
        "api": api, "usd_per_mtok": usd_per_mtok, "usd_per_mtok_input": usd_per_mtok_input, "usd_per_mtok_cached_input": usd_per_mtok_cached_input,
        "usd_per_mtok_output": usd_per_mtok_output, "batch_discount": batch_discount, "usd_per_month": usd_per_month, "capacity": capacity,
        "tokens_per_month": tokens_per_month or None, "input_output": input_output, "cached_share": cached_share, "batch_share": batch_share,
        "ops_usd_per_month": ops_usd_per_month, "ops_hours_per_month": ops_hours_per_month, "ops_usd_per_hour": ops_usd_per_hour,
    }  # fmt: skip
    api_table = [*all_api_prices(), *(read_api_prices(api_prices) if api_prices else ())]
    planned = _planned(out, spec, env, model, own_prices)
    with as_options(**_FIELDS):
        kind = plot_format(plot) if plot else ""
        request = parse({key: value for key, value in values.items() if value is not None}, prices=api_table, planned=planned)
        answer = break_even(request)
    for warning in price_warnings(request.api, date.today()):
        out.warn(warning)
    if plot:
        from inferform.cli.files import write_bytes

        write_bytes(plot, draw_break_even(answer, request.fleet, kind), replace=True)
        out.note(f"{plot}: written")
    out.result({"request": request, **plain(answer)}, lambda: break_even_text(answer))


def _planned(out: Output, spec: str | None, env: str | None, model: str | None, prices: Path | None) -> Planned | None:
    """What the plan of the spec says; None without a spec."""
    from inferform.errors import InputError, Problem

    if spec is None:
        alone = [
            Problem("belongs to a SPEC, which is not given", field=f"--{name}", value=str(value))
            for name, value in (("env", env), ("model", model), ("prices", prices))
            if value
        ]
        if alone:
            raise InputError(alone)
        return None
    from inferform.cli.sized import sized
    from inferform.load import load_spec
    from inferform.sizing.breakeven_plan import Demand, choose_model, planned

    loaded = load_spec(spec, env)
    plan = sized(out, loaded, prices)
    with as_options():
        name = choose_model(plan, model)
    work = loaded.spec.models[name].workload
    tokens = {"input_tokens": work.input_tokens.mean, "output_tokens": work.output_tokens.mean, "shared_prefix_tokens": work.shared_prefix_tokens}
    return planned(plan, name, Demand(peak_rps=work.peak_rps, mean_rps=work.mean_rps, **tokens))
