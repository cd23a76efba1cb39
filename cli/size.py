"""`inferform size`."""

from __future__ import annotations

from inferform.cli.options import Env, Spec
from inferform.cli.output import Output
from inferform.cli.sized import Prices

EXAMPLES = (
    "inferform size deployment.yaml",
    "inferform size deployment.yaml --env prod --format json > plan.json",
)


def run(out: Output, spec: Spec, *, env: Env = None, prices: Prices = None) -> None:
    """Size a deployment.

    Chooses hardware, precision, parallelism, replicas and how nodes are bought for the objectives and the budget; says why,
    what was not chosen and what it costs. JSON is the whole DeploymentPlan.
    """
    from inferform.cli.formats.plan_text import plan_text
    from inferform.cli.sized import sized
    from inferform.load import load_spec

    plan = sized(out, load_spec(spec, env), prices)
    out.result(plan, lambda: plan_text(plan))
