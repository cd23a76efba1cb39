"""`inferform drift`."""

from __future__ import annotations

from inferform.cli.options import Env, Sandbox, Spec, WorkFolder
from inferform.cli.output import Output
from inferform.errors import EXIT_DIFFERENT, EXIT_DONE

EXAMPLES = (
    "inferform drift deployment.yaml --env prod",
    "inferform drift deployment.yaml --env prod --format json",
)


def run(out: Output, spec: Spec, *, env: Env = None, folder: WorkFolder = None, sandbox: Sandbox = None) -> int:
    """Find what changed behind Terraform's back.

    Ends with 4 where something did. What an autoscaler rightly owns is no drift and listed apart.
    """
    from inferform.cli.applied import placed, source_in_cloud
    from inferform.cli.formats.operate_text import drift_text
    from inferform.cli.progress import drawn
    from inferform.cli.session import actor, backend
    from inferform.operate.drift import drift

    source, place = source_in_cloud(out, spec, env, folder)
    with placed(source), drawn(out) as progress:
        result = drift(source, place, progress, backend=backend(sandbox), actor=actor())
    out.result(result, lambda: drift_text(result))
    return EXIT_DIFFERENT if result.drifted else EXIT_DONE
