"""`inferform apply`."""

from __future__ import annotations

from inferform.cli.options import Env, Policies, Sandbox, Spec, Strict, Waivers, WorkFolder
from inferform.cli.output import Output
from inferform.cli.sized import Prices

EXAMPLES = (
    "inferform apply deployment.yaml --env prod",
    "inferform apply deployment.yaml --env prod --format json",
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
    sandbox: Sandbox = None,
    prices: Prices = None,
) -> None:
    """Apply exactly the saved plan.

    Refuses where the spec, the rendered files or a stack are not what was planned, or the verdict denies. A plan that rollback
    saved needs no spec. After an interruption it goes on where it stopped.
    """
    from inferform.cli.applied import placed, source_to_apply
    from inferform.cli.formats.operate_text import apply_text
    from inferform.cli.progress import drawn
    from inferform.cli.session import actor, backend, rules
    from inferform.cli.sized import steps
    from inferform.operate.apply import apply

    source, place = source_to_apply(spec, env, folder)
    judged = rules(waivers, strict=strict, folders=policy)
    with placed(source), drawn(out) as progress:
        result = apply(source, place, progress, backend=backend(sandbox), actor=actor(), rules=judged, steps=steps(out, prices))
    out.result(result, lambda: apply_text(result))
