"""Fits synthesized stacks to the sandbox: an older AWS provider, the double's address, state in local files.

The stacks are written for today's provider; the binary that the sandbox can carry is 3.39. What it does not know is removed
and told, one line each, so that nobody takes a sandbox run for a proof of those parts. A few things that only changed their
name are renamed instead.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from inferform.sandbox.references import Reference, references

Json = dict[str, Any]
# Meta arguments that every resource may have.
META = {"depends_on", "count", "for_each", "provider", "lifecycle", "provisioner", "connection", "//", "dynamic"}
# Values that 3.39 refuses, and the nearest that it takes: (type, attribute) -> {value: other}; only the provider's own list of words is too short.
WORDS: dict[tuple[str, str], dict[Any, Any]] = {
    ("aws_eks_node_group", "ami_type"): {
        "AL2023_x86_64_NVIDIA": "AL2_x86_64_GPU",
        "BOTTLEROCKET_x86_64_NVIDIA": "AL2_x86_64_GPU",
        "AL2023_x86_64_STANDARD": "AL2_x86_64",
        "BOTTLEROCKET_x86_64": "AL2_x86_64",
    },
    ("aws_s3_bucket_ownership_controls", "rule.object_ownership"): {"BucketOwnerEnforced": "BucketOwnerPreferred"},
    ("aws_autoscaling_group", "mixed_instances_policy.instances_distribution.spot_allocation_strategy"): {"price-capacity-optimized": "capacity-optimized"},
    ("aws_eks_node_group", "capacity_type"): {"CAPACITY_BLOCK": "ON_DEMAND"},
    ("aws_launch_template", "instance_market_options.market_type"): {"capacity-block": None},
    ("aws_launch_template", "capacity_reservation_specification.capacity_reservation_preference"): {"capacity-reservations-only": None},
    ("aws_eks_node_group", "scaling_config.min_size"): {0: 1},
    ("aws_eks_node_group", "scaling_config.desired_size"): {0: 1},
}
# What only changed its name or form: (type, attribute) -> the 3.39 spelling.
RENAMED: dict[tuple[str, str], Json] = {("aws_eip", "domain"): {"vpc": True}}


@dataclass(frozen=True)
class ProviderSchema:
    """Resource and data source blocks and the endpoints of one provider version, from `terraform providers schema -json`."""

    version: str
    resources: Mapping[str, Json]
    data: Mapping[str, Json]
    provider: Json

    @classmethod
    def read(cls, document: Json, version: str) -> ProviderSchema:
        """Shape: the document of `terraform providers schema -json`, whatever host the provider is named under."""
        found = next(v for k, v in document["provider_schemas"].items() if k.endswith("hashicorp/aws"))
        blocks = {part: {t: s["block"] for t, s in found[part].items()} for part in ("resource_schemas", "data_source_schemas")}
        return cls(version, blocks["resource_schemas"], blocks["data_source_schemas"], found["provider"]["block"])


@dataclass(frozen=True)
class Adapted:
    """A configuration that the sandbox can run, and what was changed to get there, one sorted line each."""

    config: Json
    removed: tuple[str, ...]


def adapt(stacks: Mapping[str, Json], schema: ProviderSchema, *, endpoint: str, state: Path) -> dict[str, Adapted]:
    """Every stack fitted to the sandbox. `stacks` are in dependency order, so that a lost output is known to its readers."""
    lost: set[tuple[str, str]] = set()
    done = {}
    for name, config in stacks.items():
        work = _Stack(copy.deepcopy(config), schema, lost)
        work.run(endpoint, state)
        done[name] = Adapted(work.config, tuple(sorted(set(work.removed))))
        lost |= {(work.state_path, output) for output in work.lost_outputs}
    return done


class _Stack:
    """One stack while it is adapted."""

    def __init__(self, config: Json, schema: ProviderSchema, lost: set[tuple[str, str]]):
        self.config = config
        self.schema = schema
        self.lost = lost
        self.removed: list[str] = []
        self.lost_outputs: set[str] = set()
        self.state_path = ""

    def run(self, endpoint: str, state: Path) -> None:
        self._terraform(state)
        self._provider(endpoint)
        self._spread_tags()
        for kind, known in (("resource", self.schema.resources), ("data", self.schema.data)):
            for type_, named in list(self.config.get(kind, {}).items()):
                if kind == "data" and type_ == "terraform_remote_state":
                    for body in named.values():
                        body["backend"], body["config"] = "local", {"path": self._local(body["backend"], body["config"], state)}
                elif type_.startswith("terraform_"):
                    continue
                elif type_ not in known:
                    del self.config[kind][type_]
                    self.removed += [f"{_prefix(kind)}{type_}.{name}: not in provider {self.schema.version}" for name in named]
                else:
                    for name, body in named.items():
                        self._block(body, known[type_], type_, f"{_prefix(kind)}{type_}.{name}", "")
        while self._drop_dangling():
            pass
        for part in ("resource", "data", "output"):
            if not self.config.get(part, True):
                del self.config[part]

    def _terraform(self, state: Path) -> None:
        block = self.config.setdefault("terraform", {})
        backend = next(iter(block.get("backend", {"local": {}}).items()))
        self.state_path = self._local(backend[0], backend[1] or {}, state)
        block["backend"] = {"local": {"path": self.state_path}}
        wanted = block.setdefault("required_providers", {}).setdefault("aws", {})
        wanted.update(source="hashicorp/aws", version=self.schema.version)

    @staticmethod
    def _local(backend: str, config: Json, state: Path) -> str:
        """Where a stack's state lies in the sandbox: under its key, so that the stacks that read it find it."""
        key = str(config.get("key") or config.get("path") or "terraform.tfstate")
        return str(state / (key if backend == "s3" else PurePosixPath(key).name))

    def _provider(self, endpoint: str) -> None:
        given = self.config.setdefault("provider", {}).get("aws", [{}])
        for body in _listed(given):
            self._block(body, self.schema.provider, "provider", "provider.aws", "")
            services = self.schema.provider["block_types"]["endpoints"]["block"]["attributes"]
            body.update(
                endpoints=[dict.fromkeys(services, endpoint)],
                skip_credentials_validation=True,
                skip_metadata_api_check=True,
                skip_requesting_account_id=False,
                s3_force_path_style=True,
                max_retries=2,
            )
            body.pop("assume_role", None)
            body.pop("allowed_account_ids", None)
        self.config["provider"]["aws"] = given

    def _spread_tags(self) -> None:
        """Write the provider's default tags into every resource: 3.39 forgets them on some (addresses, for one)."""
        given = self.config["provider"]["aws"]
        tags: Json = {}
        for body in _listed(given):
            for block in _listed(body.pop("default_tags", [])):
                tags |= block.get("tags") or {}
        for type_, named in self.config.get("resource", {}).items():
            known = self.schema.resources.get(type_, {}).get("attributes", {}).get("tags", {})
            if tags and known.get("type") == ["map", "string"]:
                for body in named.values():
                    if isinstance(body.get("tags", {}), dict):
                        body["tags"] = {**tags, **body.get("tags", {})}
        if tags:
            self.removed.append("provider.aws: default_tags became tags of each resource")

    def _block(self, body: Json, block: Json, type_: str, address: str, path: str) -> None:
        """Take out of one block what the schema does not know or may not be set; the same below it."""
        attributes, nested = block.get("attributes", {}), block.get("block_types", {})
        for name in list(body):
            here = f"{path}.{name}" if path else name
            if name in META and not path:
                continue
            if (type_, here) in RENAMED:
                del body[name]
                body.update(RENAMED[type_, here])
            elif name in attributes:
                if not (attributes[name].get("optional") or attributes[name].get("required")):
                    self._remove(body, name, f"{address}: {here} cannot be set in provider {self.schema.version}")
                else:
                    self._word(body, name, type_, here, address)
            elif name in nested:
                value = body[name]
                for item in _listed(value):
                    if isinstance(item, dict):
                        self._block(item, nested[name]["block"], type_, address, here)
            else:
                self._remove(body, name, f"{address}: {here} is not in provider {self.schema.version}")

    def _remove(self, body: Json, name: str, line: str) -> None:
        if body.pop(name) is not None:
            self.removed.append(line)

    def _word(self, body: Json, name: str, type_: str, here: str, address: str) -> None:
        words = WORDS.get((type_, here), {})
        value = body[name]
        if isinstance(value, str | int) and value in words:
            body[name] = words[value]
            self.removed.append(f"{address}: {here} {value!r} became {words[value]!r}")
            if words[value] is None:
                del body[name]

    def _dangling(self, found: Reference) -> bool:
        """True when a reference leads to something that is no longer there."""
        if found.type == "terraform_remote_state":
            body = self.config.get("data", {}).get(found.type, {}).get(found.name)
            return body is not None and (body["config"]["path"], found.field) in self.lost
        named = self.config.get("data" if found.data else "resource", {}).get(found.type)
        known = (self.schema.data if found.data else self.schema.resources).get(found.type)
        if not found.type.startswith("aws_"):
            return False
        if known is None or named is None or found.name not in named:
            return True
        return bool(found.attribute) and found.attribute not in known.get("attributes", {}) and found.attribute not in known.get("block_types", {})

    def _drop_dangling(self) -> bool:
        """Drop what refers to removed things, and what cannot stand without it; True when anything went."""
        before = len(self.removed)
        for kind, known in (("resource", self.schema.resources), ("data", self.schema.data)):
            for type_, named in list(self.config.get(kind, {}).items()):
                for name, body in list(named.items()):
                    address = f"{_prefix(kind)}{type_}.{name}"
                    if not self._clean(body, known.get(type_, {}), address, ""):
                        del named[name]
                        self.removed.append(f"{address}: cannot stand without what was removed")
                if not named:
                    del self.config[kind][type_]
        for name, body in list(self.config.get("output", {}).items()):
            if self._refers(body.get("value")):
                del self.config["output"][name]
                self.lost_outputs.add(name)
                self.removed.append(f"output.{name}: reads what was removed")
        return len(self.removed) > before

    def _refers(self, value: Any, *, bare: bool = False) -> bool:
        if isinstance(value, str):
            return any(self._dangling(r) for r in references(value, bare=bare))
        if isinstance(value, dict):
            return any(self._refers(v) for v in value.values())
        return isinstance(value, list) and any(self._refers(v, bare=bare) for v in value)

    def _clean(self, body: Json, block: Json, address: str, path: str) -> bool:
        """Drop dangling values from one block; False when the block needs what went."""
        for name in list(body):
            value, here = body[name], f"{path}.{name}" if path else name
            inner = block.get("block_types", {}).get(name)
            if name == "depends_on" and not path:
                body[name] = [v for v in value if not self._refers(v, bare=True)]
            elif inner:
                items = _listed(value)
                kept = [i for i in items if not isinstance(i, dict) or self._clean(i, inner["block"], address, here)]
                if len(kept) < len(items):
                    self.removed.append(f"{address}: {here} reads what was removed")
                    body[name] = kept
            elif self._refers(value):
                kept = [v for v in value if not self._refers(v)] if isinstance(value, list) else []
                self.removed.append(f"{address}: {here} reads what was removed")
                if kept:
                    body[name] = kept
                else:
                    del body[name]
            if inner and not body[name]:
                del body[name]
        needed = [n for n, a in block.get("attributes", {}).items() if a.get("required")]
        needed += [n for n, b in block.get("block_types", {}).items() if b.get("min_items", 0)]
        return all(n in body for n in needed)


def _listed(value: Any) -> list[Any]:
    """A block as a list of blocks; Terraform JSON allows both spellings."""
    return value if isinstance(value, list) else [value]


def _prefix(kind: str) -> str:
    return "data." if kind == "data" else ""
