"""`inferform cost`."""

from __future__ import annotations

from inferform.cli.options import Env, Spec
from inferform.cli.output import Output

EXAMPLES = (
    "inferform cost deployment.yaml",
    "inferform cost deployment.yaml --env prod --format json",
)


def run(out: Output, spec: Spec, *, env: Env = None) -> None:
    """Price a deployment by pool.

    At the fewest nodes, at the planned load and at the most, with the days of the prices.
    """
    from inferform.bill import bill
    from inferform.cli.formats.cost_text import cost_text
    from inferform.load import load_spec, located
    from inferform.planner import size

    loaded = load_spec(spec, env)
    with located(loaded):
        plan = size(loaded.spec, loaded.environment)
    costs = bill(plan)
    out.result(costs, lambda: cost_text(costs))
