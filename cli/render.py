"""`inferform render`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from inferform.cli.options import Env, OutFolder, Spec, as_options
from inferform.cli.output import Output

EXAMPLES = (
    "inferform render deployment.yaml --out build",
    "inferform render deployment.yaml --env prod --out build --format json",
    "inferform render deployment.yaml --tenants tenants.csv --out build",
)

Tenants = Annotated[
    Path | None,
    typer.Option(
        "--tenants", metavar="FILE", help="Values by tenant, YAML or CSV (columns: tenant, dotted fields); writes a tree for each.", show_default=False
    ),
]


def run(out: Output, spec: Spec, *, folder: OutFolder, env: Env = None, tenants: Tenants = None) -> None:
    """Render the Kubernetes objects of a deployment.

    Serving, gateway, scaling, isolation and observability, one folder each, with a kustomization. Nothing of an earlier
    run is left over. With --tenants the spec is a template: each tenant gets a folder with a whole tree for a cluster of its own,
    trees that are as they were are not touched, and those of tenants that are gone are removed.
    """
    from inferform.load import load_spec, located
    from inferform.planner import size
    from inferform.render import render, tree

    if tenants is not None:
        _each(out, spec, folder=folder, env=env, tenants=tenants)
        return
    loaded = load_spec(spec, env)
    with located(loaded):
        files = render(size(loaded.spec, loaded.environment))
    with as_options():
        tree.write(files, folder)
    names = sorted(files)
    out.result({"out": str(folder), "files": names}, lambda: "\n".join([*names, f"{len(names)} files in {folder}"]))


def _each(out: Output, spec: str, *, folder: Path, env: str | None, tenants: Path) -> None:
    from dataclasses import replace

    from inferform.errors import InputError
    from inferform.load import located
    from inferform.load_tenants import load_tenants
    from inferform.planner import size
    from inferform.render import render
    from inferform.render.tenants import write_tenants

    trees = {}
    clusters: dict[tuple[str, str], list[str]] = {}
    problems = []
    for name, loaded in load_tenants(spec, env, tenants).items():
        try:
            with located(loaded):
                plan = size(loaded.spec, loaded.environment)
                trees[name] = render(plan)
            clusters.setdefault((plan.cloud.region, plan.cluster_name()), []).append(name)
        except InputError as err:
            problems += [replace(p, message=f"for tenant {name}: {p.message}") for p in err.problems]
    if problems:
        raise InputError(problems)
    with as_options():
        done = write_tenants(trees, folder)
    for (region, cluster), names in sorted(clusters.items()):
        if len(names) > 1:
            # A tree holds the platform's objects too, so two trees in one cluster would overwrite each other's.
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            out.warn(
                f"{shown} share the cluster name {cluster} in {region}: each tree is whole and for a cluster of its own; give each tenant a name of its own"
            )
    data = {"out": str(folder), "tenants": sorted(trees), "written": list(done.written), "unchanged": list(done.unchanged), "removed": list(done.removed)}
    lines = [f"{len(done.written)} written, {len(done.unchanged)} as they were, {len(done.removed)} removed, in {folder}"]
    out.result(data, lambda: "\n".join([*done.written, *(f"{name} removed" for name in done.removed), *lines]))
