"""`inferform bootstrap`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from inferform.cli.options import Env, Sandbox, Spec
from inferform.cli.output import Output, as_json

if TYPE_CHECKING:
    from inferform.plan import DeploymentPlan

EXAMPLES = (
    "inferform bootstrap deployment.yaml --env prod --dry-run",
    "inferform bootstrap deployment.yaml --env prod",
    "inferform bootstrap deployment.yaml --env prod --policies > policies.json",
)


def run(
    out: Output,
    spec: Spec,
    *,
    env: Env = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, change nothing.")] = False,
    adopt: Annotated[bool, typer.Option("--adopt", help="Complete a bucket that somebody else made and that holds only Terraform state.")] = False,
    policies: Annotated[bool, typer.Option("--policies", help="Print IAM policies for operator, CI and bootstrap instead; needs no account.")] = False,
    sandbox: Sandbox = None,
) -> None:
    """Make the bucket for Terraform state.

    Versioned, encrypted, private, TLS only. Run again it changes only what is missing; a bucket that is another account's, or
    that holds other things, is left alone.
    """
    from inferform.load import load_spec, located
    from inferform.planner import size

    loaded = load_spec(spec, env)
    with located(loaded):
        plan = size(loaded.spec, loaded.environment)
        if policies:
            out.write(as_json(_policies(out, plan)))
            return
    from inferform.cli.formats.preflight_text import bootstrap_text
    from inferform.cloud.api import sessions
    from inferform.cloud.bootstrap import bootstrap
    from inferform.cloud.state_bucket import PROPERTIES

    with out.progress("state bucket", total=len(PROPERTIES) + 1) as bar:
        result = bootstrap(plan, sessions(sandbox), dry_run=dry_run, adopt=adopt, progress=lambda done, total: bar(done))
    out.result(result, lambda: bootstrap_text(result))


def _policies(out: Output, plan: DeploymentPlan) -> dict[str, Any]:
    """The policies of what this plan really has; their size where IAM's limits come into it."""
    from inferform.cloud import permissions
    from inferform.operate.steps import Steps

    with tempfile.TemporaryDirectory() as folder:
        stacks = Steps().synthesize(plan, Path(folder))
    found = permissions.policies(permissions.used(s.config for s in stacks.values()), permissions.Scope.of(plan))
    for name, document in found.items():
        size, limit = permissions.size(document), permissions.MANAGED_LIMIT
        if size > limit:
            out.note(
                f"{name} has {size:,} characters: a managed policy takes {limit:,}, so put it inline into a role (aws iam put-role-policy), which takes {permissions.INLINE_LIMIT:,}"
            )
    return found
