"""`inferform preflight`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from inferform.cli.options import Env, Sandbox, Spec
from inferform.cli.output import Output
from inferform.cli.sized import Prices
from inferform.errors import EXIT_DONE, EXIT_FAILED

EXAMPLES = (
    "inferform preflight deployment.yaml --env prod",
    "inferform preflight deployment.yaml --env prod --format json --strict",
    "AWS_PROFILE=prod inferform preflight deployment.yaml --env prod --limit 30",
)


def run(
    out: Output,
    spec: Spec,
    *,
    env: Env = None,
    prices: Prices = None,
    strict: Annotated[bool, typer.Option("--strict", help="What could not be checked blocks too.")] = False,
    limit: Annotated[float, typer.Option("--limit", metavar="SECONDS", min=1, max=3600, help="Longest time for all checks; a third of it for one.")] = 90,
    sandbox: Sandbox = None,
) -> int:
    """Check the cloud account before an apply.

    Looks at identity, quotas, zones, reservations, images, addresses, prices and names with the caller's credentials, and
    changes nothing. Each finding says what to do. Ends with 1 where something blocks an apply.
    """
    from inferform.cli.formats.preflight_text import preflight_text
    from inferform.cli.sized import sized
    from inferform.cloud.api import sessions
    from inferform.cloud.preflight import CHECKS, preflight
    from inferform.load import load_spec

    plan = sized(out, load_spec(spec, env), prices)
    with out.progress(f"checking {plan.cloud.region}", total=len(CHECKS)) as bar:
        result = preflight(plan, sessions(sandbox), limit, lambda done, total: bar(done), now=datetime.now(UTC), check_limit_s=limit / 3, spec=spec)
    out.result(result, lambda: preflight_text(result))
    blocked = result.blocked or (strict and result.counts.unknown > 0)
    return EXIT_FAILED if blocked else EXIT_DONE
