"""The program behind `cdktf synth`, for GitOps users who run Terraform through the cdktf command line.

cdktf.json names it. What to synthesize comes from the environment, else from the context in cdktf.json:

    INFERFORM_SPEC         spec file                    context "spec"
    INFERFORM_ENVIRONMENT  environment of the spec      context "environment"
    INFERFORM_CDK          cdktf (default) or cdktn     context "library"
    CDKTF_OUTDIR           output folder                set by cdktf; cdktf.out otherwise

The output has cdktf's own layout: `stacks/<stack>/cdk.tf.json` with the library's notes, and its manifest.json.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args

from inferform.errors import EXIT_DONE, InferformError, InputError, Problem
from inferform.plan import DeploymentPlan
from inferform.stacks.app import assemble
from inferform.stacks.cdk import Library


def run(environ: Mapping[str, str], size: Callable[[str, str | None], DeploymentPlan]) -> None:
    """Synthesize the named spec, planned by `size`, into the output folder.

    Raises: InputError when no spec is named or the library is unknown, and whatever `size` raises.
    """
    context = json.loads(environ.get("CDKTF_CONTEXT_JSON") or "{}")
    spec = environ.get("INFERFORM_SPEC") or context.get("spec")
    environment = environ.get("INFERFORM_ENVIRONMENT") or context.get("environment")
    wanted = environ.get("INFERFORM_CDK") or context.get("library") or "cdktf"
    library: Library | None = next((known for known in get_args(Library) if known == wanted), None)
    if library is None:
        raise InputError(Problem("unknown library", field="INFERFORM_CDK", value=str(wanted), legal=get_args(Library)))
    if not spec:
        raise InputError(Problem("no spec is named", field="INFERFORM_SPEC", fix='set INFERFORM_SPEC, or "spec" in the context of cdktf.json'))
    assemble(size(spec, environment), Path(environ.get("CDKTF_OUTDIR") or "cdktf.out"), library)


def size_spec(spec: str, environment: str | None) -> DeploymentPlan:
    """The plan of a spec file in one environment."""
    from inferform.load import load_spec
    from inferform.planner import size

    loaded = load_spec(spec, environment)
    return size(loaded.spec, loaded.environment)


def main() -> int:
    """Run with the process's environment; the exit code, with what went wrong on standard error."""
    try:
        run(os.environ, size_spec)
    except InferformError as err:
        print(err, file=sys.stderr)
        return err.exit_code
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
