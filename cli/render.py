"""`inferform render`."""

from __future__ import annotations

from inferform.cli.options import Env, OutFolder, Spec, as_options
from inferform.cli.output import Output

EXAMPLES = (
    "inferform render deployment.yaml --out build",
    "inferform render deployment.yaml --env prod --out build --format json",
)


def run(out: Output, spec: Spec, *, folder: OutFolder, env: Env = None) -> None:
    """Render the Kubernetes objects of a deployment.

    Serving, gateway, scaling, isolation and observability, one folder each, with a kustomization. Nothing of an earlier
    run is left over.
    """
    from inferform.load import load_spec, located
    from inferform.planner import size
    from inferform.render import render, tree

    loaded = load_spec(spec, env)
    with located(loaded):
        files = render(size(loaded.spec, loaded.environment))
    with as_options():
        tree.write(files, folder)
    names = sorted(files)
    out.result({"out": str(folder), "files": names}, lambda: "\n".join([*names, f"{len(names)} files in {folder}"]))
