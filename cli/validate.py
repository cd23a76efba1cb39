"""`inferform validate`."""

from __future__ import annotations

from inferform.cli.options import Env, Spec
from inferform.cli.output import Output

EXAMPLES = (
    "inferform validate deployment.yaml",
    "inferform validate deployment.yaml --env prod --format json",
    "cat deployment.yaml | inferform validate -",
)


def run(out: Output, spec: Spec, env: Env = None) -> None:
    """Check a spec in every environment.

    Reports every problem at once, each with file, line, field, the value found and what would be right.
    """
    from inferform.load import load_all, load_spec

    loaded = load_all(spec) if env is None else [load_spec(spec, env)]
    data = [{"environment": one.environment, "name": one.spec.name, "models": sorted(one.spec.models)} for one in loaded]
    names = ", ".join(one.environment for one in loaded)
    out.result({"file": loaded[0].file, "valid": True, "environments": data}, lambda: f"{loaded[0].file}: valid ({names})")
