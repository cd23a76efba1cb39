"""`inferform cost`."""

from __future__ import annotations

from inferform.cli.options import Env, Spec
from inferform.cli.output import Output
from inferform.cli.sized import Prices

EXAMPLES = (
    "inferform cost deployment.yaml",
    "inferform cost deployment.yaml --env prod --format json",
    "inferform cost deployment.yaml --prices contract.csv",
)


def run(out: Output, spec: Spec, *, env: Env = None, prices: Prices = None) -> None:
    """Price a deployment by pool.

    At the fewest nodes, at the planned load and at the most; by model version and tenant, per token and request; with the source and day of each price.
    """
    from inferform.bill import bill
    from inferform.cli.formats.cost_text import cost_text
    from inferform.cli.sized import sized
    from inferform.load import load_spec

    costs = bill(sized(out, load_spec(spec, env), prices))
    out.result(costs, lambda: cost_text(costs))
