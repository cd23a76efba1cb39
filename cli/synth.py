"""`inferform synth`."""

from __future__ import annotations

from inferform.cli.options import Env, OutFolder, Spec, as_options
from inferform.cli.output import Output

EXAMPLES = (
    "inferform synth deployment.yaml --out build",
    "inferform synth deployment.yaml --env prod --out build --format json",
)


def run(out: Output, spec: Spec, *, folder: OutFolder, env: Env = None) -> None:
    """Write the Terraform configuration of a deployment.

    One cdk.tf.json a stack under stacks/, and manifest.json with the order in which they are applied.
    """
    from inferform.cli.formats.table import table
    from inferform.load import load_spec, located
    from inferform.planner import size
    from inferform.stacks.app import synthesize

    loaded = load_spec(spec, env)
    with located(loaded):
        plan = size(loaded.spec, loaded.environment)
    with as_options(), out.progress("synth"):
        manifest = synthesize(plan, folder)
    rows = [(stack.name, stack.path, ", ".join(stack.dependencies)) for stack in manifest.stacks]
    data = {"out": str(folder), "order": manifest.order, "stacks": {s.name: {"path": s.path, "dependencies": s.dependencies} for s in manifest.stacks}}
    out.result(data, lambda: f"{table(('stack', 'file', 'reads'), rows)}\n{len(rows)} stacks in {folder}")
