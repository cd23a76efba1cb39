"""`inferform size`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from inferform.cli.options import Calibration, Env, Spec
from inferform.cli.output import Output
from inferform.cli.sized import Prices

EXAMPLES = (
    "inferform size deployment.yaml",
    "inferform size deployment.yaml --env prod --format json > plan.json",
    "inferform size deployment.yaml --explain --plot latency.svg",
    "inferform size deployment.yaml --calibration own.json",
)


def run(
    out: Output,
    spec: Spec,
    *,
    env: Env = None,
    prices: Prices = None,
    calibration: Calibration = None,
    explain: Annotated[bool, typer.Option("--explain", help="Tell the decision: second best, what fell and why, what would be cheaper.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw latency over throughput, as .svg or .png; an older picture is replaced.", show_default=False),
    ] = None,
) -> None:
    """Size a deployment.

    Chooses hardware, precision, parallelism, replicas and how nodes are bought for the objectives and the budget; says why,
    what was not chosen and what it costs. JSON is the whole DeploymentPlan, and with --explain its `explanation` too.
    """
    from inferform.cli.formats.plan_text import plan_text
    from inferform.cli.sized import explained, sized
    from inferform.load import load_spec

    loaded = load_spec(spec, env)
    if calibration is not None:
        loaded = replace(loaded, spec=loaded.spec.model_copy(update={"calibration": str(calibration.absolute())}))
    if not explain and plot is None:
        plan = sized(out, loaded, prices)
        out.result(plan, lambda: plan_text(plan))
        return
    from inferform.cli.formats.explain_text import explain_text
    from inferform.cli.options import as_options
    from inferform.cli.output import plain
    from inferform.sizing.breakeven_plot import plot_format

    with as_options():
        kind = plot_format(plot) if plot else ""
    plan, explanation = explained(out, loaded, prices)
    if plot:
        from inferform.cli.files import write_bytes
        from inferform.sizing.operating_plot import draw_operating

        curves = [curve for told in explanation.models.values() for curve in told.curves]
        write_bytes(plot, draw_operating(f"{plan.name} in {plan.environment}", curves, kind), replace=True)
        out.note(f"{plot}: written")
    if explain:
        out.result({**plain(plan), "explanation": plain(explanation.models)}, lambda: explain_text(plan, explanation))
    else:
        out.result(plan, lambda: plan_text(plan))
