"""A stack under construction: resources, data sources, outputs and what it reads of other stacks, all checked by type.

One cdktf construct holds one resource with its attributes as plain data. The prebuilt provider bindings do the same with one
class a resource type, at the price of 40 s and over 1 GB for importing them; here the type check is `schema.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, TypedDict

from inferform.plan import DeploymentPlan
from inferform.stacks import schema
from inferform.stacks.values import Ref, Value, plain

Outputs = Mapping[str, str]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Precondition(TypedDict):
    """What must hold before a resource changes, and what the user is told otherwise."""

    condition: Ref
    error_message: str


class Lifecycle(TypedDict, total=False):
    """Terraform's lifecycle block."""

    create_before_destroy: bool
    prevent_destroy: bool
    ignore_changes: list[str]
    precondition: list[Precondition]


@dataclass(frozen=True, slots=True)
class Handle:
    """A resource or data source of this stack."""

    address: str
    attributes: Mapping[str, Any] = field(repr=False)

    def ref(self, *path: str | int) -> Ref:
        """Reference to an attribute; nested ones by path, with positions for lists: `ref("vpc_config", 0, "vpc_id")`.

        Raises: SchemaError when the provider has no such attribute.
        """
        kind = schema.reference_kind(self.address, self.attributes, path)
        steps = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
        return Ref(f"{self.address}{steps}", kind)


class Stack:
    """One Terraform root module with its own state."""

    def __init__(self, library: ModuleType, app: Any, name: str, plan: DeploymentPlan, *, outputs: Outputs, reads: Mapping[str, Outputs]):
        """`outputs` are the names and types this stack must give; `reads` those of the stacks it may read."""
        self.name = name
        self.plan = plan
        self.faults: list[str] = []
        self._library = library
        self._declared = outputs
        self._reads = reads
        self._given: set[str] = set()
        self._remotes: set[str] = set()
        self._used: set[str] = set()
        self.construct = library.TerraformStack(app, name)

    def resource(
        self, kind: str, name: str, attributes: Mapping[str, Value], *, depends_on: Sequence[Handle] = (), lifecycle: Lifecycle | None = None
    ) -> Handle:
        """Add a resource `kind.name`; faults are collected in `faults`.

        Raises: SchemaError when the type is unknown or the address is taken.
        """
        wanted = schema.type_schema("resource", kind)
        handle = self._handle(kind, name, wanted)
        self.faults += schema.faults(f"{self.name}: {handle.address}", attributes, wanted)
        construct = self._construct("TerraformResource", handle.address, name, kind, plain(attributes))
        if depends_on:
            construct.add_override("depends_on", sorted(h.address for h in depends_on))
        if lifecycle:
            construct.add_override("lifecycle", _lifecycle(lifecycle))
        return handle

    def data(self, kind: str, name: str, attributes: Mapping[str, Value]) -> Handle:
        """Add a data source `data.kind.name`."""
        wanted = schema.type_schema("data", kind)
        handle = self._handle(f"data.{kind}", name, wanted)
        self.faults += schema.faults(f"{self.name}: {handle.address}", attributes, wanted)
        self._construct("TerraformDataSource", handle.address, name, kind, plain(attributes))
        return handle

    def local(self, name: str, value: Ref) -> Ref:
        """Name an expression that several resources use."""
        self._library.TerraformLocal(self.construct, name, plain(value))
        return Ref(f"local.{name}", value.kind)

    def output(self, name: str, value: Ref | str | Mapping[str, Value]) -> None:
        """Give a declared output its value."""
        if name not in self._declared:
            self.faults.append(f"{self.name}: output {name!r} is not declared")
            return
        self.faults += schema.faults(f"{self.name}: output", {name: value}, {name: {"type": self._declared[name]}})
        self._given.add(name)
        output = self._library.TerraformOutput(self.construct, f"output.{name}", value=plain(value))
        output.override_logical_id(name)

    def remote(self, stack: str, output: str) -> Ref:
        """Reference to a declared output of another stack, read from that stack's state.

        Raises: KeyError when this stack does not declare that it reads `stack`, or that stack no such output.
        """
        kind = self._reads[stack][output]
        if stack not in self._remotes:
            self._remotes.add(stack)
            attributes = {"backend": self.plan.state.backend, "config": plain(backend(self.plan, stack))}
            self._construct("TerraformDataSource", f"remote.{stack}", stack, "terraform_remote_state", attributes)
        return Ref(f"data.terraform_remote_state.{stack}.outputs.{output}", kind)

    def close(self) -> None:
        """Note the declared outputs that were not given."""
        self.faults += [f"{self.name}: declared output {n!r} has no value" for n in sorted(set(self._declared) - self._given)]

    def settle(self, *, terraform: str) -> None:
        """Pin the Terraform version and say where the state lives."""
        arguments = plain(backend(self.plan, self.name))
        if self.plan.state.backend == "local":
            self._library.LocalBackend(self.construct, **arguments)
        else:
            lockfile = arguments.pop("use_lockfile")
            self._library.S3Backend(self.construct, **arguments)
            # cdktf is older than Terraform's own lock file and has no argument for it.
            self.construct.add_override("terraform.backend.s3.use_lockfile", lockfile)
        self.construct.add_override("terraform.required_version", terraform)

    def provider(self, kind: str, source: str, version: str, configuration: Mapping[str, Value]) -> None:
        """Configure a provider and pin its version."""
        self.faults += schema.faults(f"{self.name}: provider {kind}", configuration, schema.document(kind)["configuration"])
        pinned = {"provider_name": kind, "provider_version": version, "provider_version_constraint": version}
        _subclass(self._library, "TerraformProvider")(
            self.construct, kind, kind, plain(configuration), terraform_provider_source=source, terraform_generator_metadata=pinned
        )

    def _handle(self, prefix: str, name: str, attributes: Mapping[str, Any]) -> Handle:
        handle = Handle(f"{prefix}.{name}", attributes)
        if handle.address in self._used:
            raise schema.SchemaError([f"{self.name}: {handle.address} is declared twice"])
        if not _NAME.fullmatch(name):
            self.faults.append(f"{self.name}: {handle.address} is not a Terraform name")
        self._used.add(handle.address)
        return handle

    def _construct(self, base: str, identifier: str, name: str, kind: str, attributes: Mapping[str, Any]) -> Any:
        # Construct ids are unique in a stack, Terraform names only within a type.
        construct = _subclass(self._library, base)(self.construct, identifier, kind, attributes)
        construct.override_logical_id(name)
        return construct


@dataclass(frozen=True, slots=True)
class StackKind:
    """A stack that a cloud consists of: what fills it, the outputs it gives, and the stacks whose outputs it reads."""

    name: str
    build: Callable[[Stack], None]
    outputs: Outputs
    reads: tuple[str, ...] = ()


def backend(plan: DeploymentPlan, stack: str) -> dict[str, Value]:
    """Arguments of the state backend of one stack: literals only, one key a stack and environment (FC-36)."""
    key = f"{plan.state.key_prefix}/{stack}.tfstate"
    if plan.state.backend == "local":
        # Terraform runs in stacks/<stack>; the state lies beside `stacks`, which every synth may replace.
        return {"path": f"../../state/{key}"}
    return {"bucket": plan.state.bucket, "encrypt": True, "key": key, "region": plan.cloud.region, "use_lockfile": True}


def _lifecycle(lifecycle: Lifecycle) -> dict[str, Any]:
    rows: dict[str, Any] = {k: v for k, v in lifecycle.items() if k != "precondition"}
    if "precondition" in lifecycle:
        rows["precondition"] = [plain({"condition": p["condition"], "error_message": p["error_message"]}) for p in lifecycle["precondition"]]
    return rows


@cache
def _subclass(library: ModuleType, base: str) -> type:
    """A construct class whose attributes are the plain data it was made with."""

    parent: Any = getattr(library, base)

    class Plain(parent):  # type: ignore[misc]
        def __init__(self, scope: Any, identifier: str, kind: str, attributes: Mapping[str, Any], **options: Any):
            self._attributes = attributes
            super().__init__(scope, identifier, terraform_resource_type=kind, **options)

        def _synthesize_attributes(self) -> Mapping[str, Any]:
            return self._attributes

    return Plain
