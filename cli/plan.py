"""`inferform plan`."""

from __future__ import annotations

from typing import Annotated

import typer
from inferform.cli.options import Env, Policies, Sandbox, Spec, Strict, Waivers, WorkFolder
from inferform.cli.output import Output
from inferform.cli.sized import Prices
from inferform.errors import EXIT_DENIED, EXIT_DIFFERENT, EXIT_DONE

EXAMPLES = (
    "inferform plan deployment.yaml --env prod",
    "inferform plan deployment.yaml --env prod --detailed-exitcode --format json",
    "inferform plan deployment.yaml --env dev --waivers waivers.yaml --strict",
)


def run(
    out: Output,
    spec: Spec,
    *,
    env: Env = None,
    folder: WorkFolder = None,
    waivers: Waivers = None,
    strict: Strict = False,
    policy: Policies = None,
    detailed_exitcode: Annotated[bool, typer.Option("--detailed-exitcode", help="End with 4 where there are changes.")] = False,
    sandbox: Sandbox = None,
    prices: Prices = None,
) -> int:
    """Plan what apply would do, and save it.

    Sizes, renders, synthesizes, checks and runs terraform plan on every stack; shows changes, cost and risks against what
    was applied last. Apply runs exactly the saved plan.
    """
    from inferform.cli.applied import placed
    from inferform.cli.formats.operate_text import plan_result_text
    from inferform.cli.progress import drawn
    from inferform.cli.session import actor, backend, rules
    from inferform.cli.sized import steps
    from inferform.load import load_spec
    from inferform.operate.plan import plan

    loaded = load_spec(spec, env)
    judged = rules(waivers, strict=strict, folders=policy)
    with placed(loaded), drawn(out) as progress:
        result = plan(loaded, folder, progress, backend=backend(sandbox), actor=actor(), rules=judged, steps=steps(out, prices))
    out.result(result, lambda: plan_result_text(result))
    if not result.allowed:
        return EXIT_DENIED
    return EXIT_DIFFERENT if detailed_exitcode and result.has_changes else EXIT_DONE
