"""`inferform rollback`."""

from __future__ import annotations

from typing import Annotated

import typer
from inferform.cli.options import Env, Policies, Sandbox, Spec, Strict, Waivers, WorkFolder
from inferform.cli.output import Output
from inferform.errors import EXIT_DENIED, EXIT_DIFFERENT, EXIT_DONE

EXAMPLES = (
    "inferform rollback deployment.yaml --env prod --list",
    "inferform rollback deployment.yaml --env prod",
    "inferform rollback deployment.yaml --env prod --to 3 --format json",
)


def run(
    out: Output,
    spec: Spec,
    *,
    env: Env = None,
    folder: WorkFolder = None,
    to: Annotated[
        int | None, typer.Option("--to", metavar="N", min=1, help="Number of the apply to bring back.", show_default="the one before the present")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only list what was applied.")] = False,
    waivers: Waivers = None,
    strict: Strict = False,
    policy: Policies = None,
    detailed_exitcode: Annotated[bool, typer.Option("--detailed-exitcode", help="End with 4 where there are changes.")] = False,
    sandbox: Sandbox = None,
) -> int:
    """Plan an earlier apply again.

    Shows what it would change and saves it as the plan that apply runs. It needs no spec: that may have changed since, or be
    gone; SPEC may then also be the deployment's name. After an apply that did not end, the last one that did is brought back.
    """
    from inferform.cli.applied import applied_folder, brought_up_to_date, placed
    from inferform.cli.formats.history_text import history_text
    from inferform.cli.formats.operate_text import plan_result_text
    from inferform.cli.progress import drawn
    from inferform.cli.session import actor, backend, rules
    from inferform.operate.history import history
    from inferform.operate.rollback import rollback

    place = applied_folder(spec, env, folder)
    if sandbox is None:
        for warning in brought_up_to_date(spec, env, place, backend(None)):
            out.warn(warning)
    if listed:
        kept = history(place)
        out.result(kept, lambda: history_text(kept))
        return EXIT_DONE
    judged = rules(waivers, strict=strict, folders=policy)
    with placed(None), drawn(out) as progress:
        result = rollback(place, progress, backend=backend(sandbox), actor=actor(), rules=judged, to=to)
    out.result(result, lambda: plan_result_text(result))
    if not result.allowed:
        return EXIT_DENIED
    return EXIT_DIFFERENT if detailed_exitcode and result.has_changes else EXIT_DONE
