"""`inferform preflight`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from inferform.cli.options import Env, Sandbox, Spec
from inferform.cli.output import Output
from inferform.cli.sized import Prices
from inferform.errors import EXIT_DONE, EXIT_FAILED, InputError, Problem

EXAMPLES = (
    "inferform preflight deployment.yaml --env prod",
    "inferform preflight deployment.yaml --env prod --format json --strict",
    "inferform preflight deployment.yaml --all --limit 30",
)


def run(
    out: Output,
    spec: Spec,
    *,
    env: Env = None,
    prices: Prices = None,
    strict: Annotated[bool, typer.Option("--strict", help="What could not be checked blocks too.")] = False,
    everywhere: Annotated[bool, typer.Option("--all", help="Every environment of the spec, side by side, each in its region.")] = False,
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
    from inferform.cloud.preflight import CHECKS, preflight_all
    from inferform.load import load_all, load_spec

    if everywhere and env is not None:
        raise InputError(Problem("--all takes every environment", field="--env", value=env, fix="give one of --env and --all"))
    loaded = load_all(spec) if everywhere else [load_spec(spec, env)]
    if everywhere and len(loaded) > 1:
        # The document without an overlay is only one more environment where there are no others.
        loaded = loaded[1:]
    plans = [sized(out, one, prices) for one in loaded]
    with out.progress(f"checking {', '.join(sorted({p.cloud.region for p in plans}))}", total=len(CHECKS) * len(plans)) as bar:
        found = preflight_all(plans, sessions(sandbox), limit, lambda done, total: bar(done), now=datetime.now(UTC), check_limit_s=limit / 3, spec=spec)
    out.result(found if everywhere else found.results[0], lambda: "\n\n".join(preflight_text(r) for r in found.results))
    blocked = found.blocked or (strict and any(r.counts.unknown for r in found.results))
    return EXIT_FAILED if blocked else EXIT_DONE
