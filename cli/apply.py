"""`inferform apply`."""

from __future__ import annotations

from inferform.cli.options import Env, Policies, Sandbox, Spec, Strict, Waivers, WorkFolder
from inferform.cli.output import Output

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
) -> None:
    """Apply exactly the saved plan.

    Refuses where the spec, the rendered files or a stack are not what was planned, or the verdict denies. After an
    interruption it goes on where it stopped.
    """
    from inferform.cli.formats.operate_text import apply_text
    from inferform.cli.progress import drawn
    from inferform.cli.session import actor, backend, rules
    from inferform.load import load_spec, located
    from inferform.operate.apply import apply

    loaded = load_spec(spec, env)
    judged = rules(waivers, strict=strict, folders=policy)
    with located(loaded), drawn(out) as progress:
        result = apply(loaded, folder, progress, backend=backend(sandbox), actor=actor(), rules=judged)
    out.result(result, lambda: apply_text(result))
