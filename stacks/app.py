"""From the DeploymentPlan to Terraform configuration: one cdk.tf.json a stack, and the order in which stacks are applied."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inferform.errors import ToolFailedError
from inferform.plan import DeploymentPlan
from inferform.stacks import cdk, manifest
from inferform.stacks.aws import stacks as aws
from inferform.stacks.cdk import Library
from inferform.stacks.manifest import Manifest
from inferform.stacks.resource import Stack, StackKind
from inferform.stacks.schema import SchemaError

# The lock file of the S3 backend needs Terraform 1.10 (FC-36).
TERRAFORM_VERSION = ">= 1.10"
_MARKERS = ("TfToken[", "Token[", "creationStack")


def synthesize(plan: DeploymentPlan, out: Path, library: Library = "cdktf") -> Manifest:
    """Write `out`/stacks/<stack>/cdk.tf.json and `out`/manifest.json: the same bytes for the same plan, whatever the library.

    Raises: SchemaError when a resource does not fit the provider, InputError when the plan cannot be built on this cloud;
    nothing is written then.
    """
    kinds = stack_kinds(plan)
    with tempfile.TemporaryDirectory() as folder:
        assemble(plan, Path(folder), library)
        stacks = {k.name: (k.reads, _clean(k.name, (Path(folder) / "stacks" / k.name / manifest.FILE_NAME).read_text(encoding="utf-8"))) for k in kinds}
    return manifest.write(out, plan.name, plan.environment, stacks)


def assemble(plan: DeploymentPlan, folder: Path, library: Library = "cdktf") -> None:
    """Write the library's own layout to `folder`: its manifest.json and stacks/<stack>/cdk.tf.json."""
    module = cdk.load(library)
    errors = importlib.import_module("jsii.errors")
    try:
        app = module.App(outdir=str(folder), skip_validation=True)
        built: dict[str, Stack] = {}
        kinds = {k.name: k for k in stack_kinds(plan)}
        for kind in kinds.values():
            stack = Stack(module, app, kind.name, plan, outputs=kind.outputs, reads={n: kinds[n].outputs for n in kind.reads})
            stack.settle(terraform=TERRAFORM_VERSION)
            kind.build(stack)
            stack.close()
            for name in kind.reads:
                stack.construct.add_dependency(built[name].construct)
            built[kind.name] = stack
        faults = [f for stack in built.values() for f in stack.faults]
        if faults:
            raise SchemaError(faults)
        app.synth()
    except errors.JSIIError as err:
        raise ToolFailedError(f"{library} could not write the stacks: {str(err).splitlines()[0]}", output=str(err)) from err


def stack_kinds(plan: DeploymentPlan) -> tuple[StackKind, ...]:
    """The stacks of the plan's cloud, each after those it reads."""
    return {"aws": aws.stacks}[plan.cloud.provider](plan)


def _clean(stack: str, text: str) -> Mapping[str, Any]:
    """The configuration without the library's own notes, which name its version."""
    found = [m for m in _MARKERS if m in text]
    if found:
        raise SchemaError([f"{stack}: the library left {found[0]!r} unresolved"])
    return dict(_without_notes(json.loads(text)))


def _without_notes(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_notes(v) for k, v in value.items() if k != "//"}
    if isinstance(value, list):
        return [_without_notes(v) for v in value]
    return value
