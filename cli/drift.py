"""`inferform drift`."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from inferform.cli.options import Env, Sandbox, Spec, WorkFolder
from inferform.cli.output import Output
from inferform.cli.sized import Prices
from inferform.errors import EXIT_DIFFERENT, EXIT_DONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inferform.cloud.api import SessionFactory
    from inferform.operate.results import Assumption
    from inferform.plan import DeploymentPlan

EXAMPLES = (
    "inferform drift deployment.yaml --env prod",
    "inferform drift deployment.yaml --env prod --format json",
    "inferform drift deployment.yaml --env prod --no-live --prices own.csv",
)
_LIMIT_S = 60.0


def run(
    out: Output,
    spec: Spec,
    *,
    env: Env = None,
    folder: WorkFolder = None,
    offline: Annotated[bool, typer.Option("--no-live", help="Do not ask AWS for reservations, prices and version support; so with --sandbox.")] = False,
    sandbox: Sandbox = None,
    prices: Prices = None,
) -> int:
    """Find what changed behind Terraform's back.

    Tells apart what changed in the cloud, what was scaled by hand, and what the sizing rested on that no longer holds (spec,
    defaults, prices, dated capacity). Ends with 4 where there is any. What an autoscaler rightly owns is listed apart.
    """
    from inferform.cli.applied import placed, source_in_cloud
    from inferform.cli.formats.drift_text import drift_text
    from inferform.cli.progress import drawn
    from inferform.cli.session import actor, backend
    from inferform.cli.sized import sizing
    from inferform.cloud.api import sessions
    from inferform.operate.drift import drift

    source, place = source_in_cloud(out, spec, env, folder)
    look = partial(standing, sessions()) if not offline and sandbox is None else None
    with placed(source), drawn(out) as progress:
        result = drift(source, place, progress, backend=backend(sandbox), actor=actor(), steps=sizing(prices), look=look)
    out.result(result, lambda: drift_text(result))
    return EXIT_DIFFERENT if result.drifted or result.outdated else EXIT_DONE


def standing(account: SessionFactory, applied: DeploymentPlan) -> tuple[Sequence[Assumption], Sequence[str]]:
    """What AWS says today about what the applied plan takes for granted: what no longer holds, and what could not be told."""
    from inferform.cloud.preflight import STANDING, preflight
    from inferform.operate.results import Assumption

    found = preflight(applied, account, _LIMIT_S, now=datetime.now(UTC), check_limit_s=_LIMIT_S / 2, checks=STANDING).findings
    asked = {c.id for c in STANDING}
    broken = [
        Assumption(code=f.id, subject=f.subject, then=f.needed, now=f.found, message=f.title, remedy=f"{f.fix}{f': {f.command}' if f.command else ''}")
        for f in found
        if f.id in asked and f.severity in ("blocker", "warning")
    ]
    # Who calls is no assumption; where that stands in the way, nothing was asked.
    doubts = [f for f in found if f.severity == "unknown" or (f.id not in asked and f.severity == "blocker")]
    return broken, [f"{f.id} {f.subject}: {f.found}; {f.fix}" for f in doubts]
