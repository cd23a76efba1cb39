"""`inferform destroy`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from inferform.cli.options import Env, Sandbox, Spec, WorkFolder
from inferform.cli.output import Output

EXAMPLES = (
    "inferform destroy deployment.yaml --env dev",
    "inferform destroy deployment.yaml --env prod --confirm contract-qa",
)


def run(
    out: Output,
    spec: Spec,
    *,
    env: Env = None,
    folder: WorkFolder = None,
    confirm: Annotated[
        str | None, typer.Option("--confirm", metavar="NAME", help="Name of the deployment, typed.", show_default="asked for on a terminal")
    ] = None,
    stack: Annotated[list[str] | None, typer.Option("--stack", metavar="NAME", help="Only this stack; may be repeated.", show_default=False)] = None,
    sandbox: Sandbox = None,
) -> None:
    """Destroy a deployment, stack by stack in reverse order.

    A protected deployment needs its name typed. Where the spec's file is gone, what was applied from it last is destroyed.
    """
    from inferform.cli.applied import placed, source_in_cloud
    from inferform.cli.formats.operate_text import destroy_text
    from inferform.cli.progress import drawn
    from inferform.cli.session import actor, backend
    from inferform.load import LoadedSpec
    from inferform.operate.destroy import destroy

    source, place = source_in_cloud(out, spec, env, folder)
    protected = source.spec.protected if isinstance(source, LoadedSpec) else source.protected
    if confirm is None and protected and sys.stdin.isatty() and spec != "-":
        confirm = typer.prompt(f"Type the name of the deployment to destroy it in {source.environment}", err=True)
    with placed(source), drawn(out) as progress:
        result = destroy(source, place, progress, backend=backend(sandbox), actor=actor(), confirmed=confirm, stacks=stack)
    out.result(result, lambda: destroy_text(result))
