"""Fits synthesized stacks to the sandbox: an older AWS provider, the double's address, state in local files.

The stacks are written for today's provider; the binary that the sandbox can carry is 3.39. What it does not know is removed
and told, one line each, so that nobody takes a sandbox run for a proof of those parts. A few things that only changed their
name are renamed instead.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from inferform.sandbox.old_provider import RENAMED, WITHOUT, WORDS
from inferform.sandbox.references import Reference, references

Json = dict[str, Any]
# Zone ids that offer any of the instance types, as the double knows them.
Offerings = Callable[[Sequence[str]], Sequence[str]]
# Meta arguments that every resource may have.
META = {"depends_on", "count", "for_each", "provider", "lifecycle", "provisioner", "connection", "//", "dynamic"}
_OFFERINGS = "aws_ec2_instance_type_offerings"


@dataclass(frozen=True)
class ProviderSchema:
    """Resource and data source blocks and the provider block of one version, from `terraform providers schema -json`."""

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


@dataclass(frozen=True)
class _Place:
    """Where a block stands: type and address of its resource, dotted path inside it."""

    type: str
    address: str
    path: str = ""

    def below(self, name: str) -> _Place:
        return replace(self, path=f"{self.path}.{name}" if self.path else name)

    @property
    def key(self) -> tuple[str, str]:
        return self.type, self.path


def adapt(stacks: Mapping[str, Json], schema: ProviderSchema, *, endpoint: str, state: Path, offerings: Offerings) -> dict[str, Adapted]:
    """Every stack fitted to the sandbox. `stacks` are in dependency order, so that a lost output is known to its readers."""
    lost: set[tuple[str, str]] = set()
    done = {}
    for name, config in stacks.items():
        work = _Stack(copy.deepcopy(config), schema, lost)
        work.run(endpoint, state, offerings)
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

    def run(self, endpoint: str, state: Path, offerings: Offerings) -> None:
        """Adapt the whole stack in place."""
        self._terraform(state)
        self._provider(endpoint)
        self._spread_tags()
        self._offerings(offerings)
        for kind, known in (("resource", self.schema.resources), ("data", self.schema.data)):
            for type_, named in list(self.config.get(kind, {}).items()):
                if type_.startswith("terraform_"):
                    continue
                if type_ in known:
                    for name, body in named.items():
                        self._block(body, known[type_], _Place(type_, f"{_prefix(kind)}{type_}.{name}"))
                else:
                    del self.config[kind][type_]
                    self.removed += [f"{_prefix(kind)}{type_}.{name}: not in provider {self.schema.version}" for name in named]
        while self._drop_dangling():
            pass
        for part in ("resource", "data", "output"):
            if not self.config.get(part, True):
                del self.config[part]

    # What surrounds the resources

    def _terraform(self, state: Path) -> None:
        """State in local files, for the stack and for the stacks it reads; the old provider."""
        block = self.config.setdefault("terraform", {})
        backend, arguments = next(iter(block.get("backend", {"local": {}}).items()))
        self.state_path = _local_state(backend, arguments or {}, state)
        block["backend"] = {"local": {"path": self.state_path}}
        block.setdefault("required_providers", {}).setdefault("aws", {}).update(source="hashicorp/aws", version=self.schema.version)
        for body in self.config.get("data", {}).get("terraform_remote_state", {}).values():
            body.update(backend="local", config={"path": _local_state(body["backend"], body["config"], state)})

    def _provider(self, endpoint: str) -> None:
        given = self.config.setdefault("provider", {}).setdefault("aws", [{}])
        for body in _listed(given):
            # Credentials and accounts of the real cloud have no place here.
            for name in ("assume_role", "assume_role_with_web_identity", "allowed_account_ids", "forbidden_account_ids", "profile"):
                body.pop(name, None)
            self._block(body, self.schema.provider, _Place("provider", "provider.aws"))
            services = self.schema.provider["block_types"]["endpoints"]["block"]["attributes"]
            body.update(
                endpoints=[dict.fromkeys(sorted(services), endpoint)],
                max_retries=2,
                s3_force_path_style=True,
                skip_credentials_validation=True,
                skip_metadata_api_check=True,
            )

    def _spread_tags(self) -> None:
        """Write the provider's default tags into every resource: 3.39 forgets them on some (addresses, for one)."""
        tags: Json = {}
        for body in _listed(self.config["provider"]["aws"]):
            for block in _listed(body.pop("default_tags", [])):
                tags |= block.get("tags") or {}
        for type_, named in self.config.get("resource", {}).items() if tags else ():
            if self.schema.resources.get(type_, {}).get("attributes", {}).get("tags", {}).get("type") == ["map", "string"]:
                for body in named.values():
                    if isinstance(body.get("tags", {}), dict):
                        body["tags"] = {**tags, **body.get("tags", {})}
        if tags:
            self.removed.append("provider.aws: default_tags became tags of each resource")

    def _offerings(self, offerings: Offerings) -> None:
        """Zones that offer an instance type, which 3.39 does not tell, asked of the double now."""
        for name, body in self.config.get("data", {}).get(_OFFERINGS, {}).items():
            address = f"data.{_OFFERINGS}.{name}"
            if "locations" in self.schema.data.get(_OFFERINGS, {}).get("attributes", {}) or f"{address}.locations" not in json.dumps(self.config):
                continue
            kinds = [value for f in _listed(body.get("filter", [])) if f.get("name") == "instance-type" for value in f["values"]]
            self.config = _replaced(self.config, f"{address}.locations", json.dumps(sorted(offerings(kinds))))
            self.removed.append(f"{address}: locations is not in provider {self.schema.version}; asked of the double")

    # Resources

    def _block(self, body: Json, block: Json, place: _Place) -> None:
        """Take out of one block what the schema does not know or may not be set; the same below it."""
        attributes, nested = block.get("attributes", {}), block.get("block_types", {})
        for name in list(body):
            here = place.below(name)
            if name in META and not place.path:
                continue
            if here.key in RENAMED:
                del body[name]
                body.update(RENAMED[here.key])
            elif name in nested:
                self._nested(body, name, nested[name]["block"], here)
            elif name not in attributes:
                self._remove(body, name, f"{place.address}: {here.path} is not in provider {self.schema.version}")
            elif not (attributes[name].get("optional") or attributes[name].get("required")):
                self._remove(body, name, f"{place.address}: {here.path} cannot be set in provider {self.schema.version}")
            else:
                self._word(body, name, here)

    def _nested(self, body: Json, name: str, block: Json, here: _Place) -> None:
        kept = []
        for item in _listed(body[name]):
            found = [v for k, v in item.items() if isinstance(v, str) and v in WITHOUT.get(here.below(k).key, ())] if isinstance(item, dict) else []
            if found:
                self.removed.append(f"{here.address}: {here.path} {found[0]!r} is not in provider {self.schema.version}")
                continue
            if isinstance(item, dict):
                said = bool(item)
                self._block(item, block, here)
                # A block that lost all it said would still be sent, and says something else when it is empty.
                if said and not item:
                    continue
            kept.append(item)
        if isinstance(body[name], list):
            body[name] = kept
        if not kept:
            del body[name]

    def _remove(self, body: Json, name: str, line: str) -> None:
        if body.pop(name) is not None:
            self.removed.append(line)

    def _word(self, body: Json, name: str, here: _Place) -> None:
        words, value = WORDS.get(here.key, {}), body[name]
        if isinstance(value, str | int) and value in words:
            if words[value] is None:
                del body[name]
            else:
                body[name] = words[value]
            self.removed.append(f"{here.address}: {here.path} {value!r} became {words[value]!r}")

    # References to what is gone

    def _dangling(self, found: Reference) -> bool:
        """True when a reference leads to something that is no longer there."""
        if found.type == "terraform_remote_state":
            body = self.config.get("data", {}).get(found.type, {}).get(found.name)
            return body is not None and (body["config"]["path"], found.field) in self.lost
        if not found.type.startswith("aws_"):
            return False
        named = self.config.get("data" if found.data else "resource", {}).get(found.type, {})
        known = (self.schema.data if found.data else self.schema.resources).get(found.type)
        if known is None or found.name not in named:
            return True
        return bool(found.attribute) and found.attribute not in known.get("attributes", {}) and found.attribute not in known.get("block_types", {})

    def _drop_dangling(self) -> bool:
        """Drop what refers to removed things, and what cannot stand without it; True when anything went."""
        before = len(self.removed)
        for kind, known in (("resource", self.schema.resources), ("data", self.schema.data)):
            for type_, named in list(self.config.get(kind, {}).items()):
                for name, body in list(named.items()):
                    place = _Place(type_, f"{_prefix(kind)}{type_}.{name}")
                    if not self._clean(body, known.get(type_, {}), place):
                        del named[name]
                        self.removed.append(f"{place.address}: cannot stand without what was removed")
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

    def _clean(self, body: Json, block: Json, place: _Place) -> bool:
        """Drop dangling values from one block; False when the block needs what went."""
        for name in list(body):
            value, here = body[name], place.below(name)
            inner = block.get("block_types", {}).get(name)
            if name == "depends_on" and not place.path:
                body[name] = [v for v in value if not self._refers(v, bare=True)]
            elif inner:
                items = _listed(value)
                kept = [i for i in items if not isinstance(i, dict) or self._clean(i, inner["block"], here)]
                if len(kept) < len(items):
                    self.removed.append(f"{place.address}: {here.path} reads what was removed")
                    body[name] = kept
            elif self._refers(value):
                body[name] = [v for v in value if not self._refers(v)] if isinstance(value, list) else []
                self.removed.append(f"{place.address}: {here.path} reads what was removed")
                if not body[name]:
                    del body[name]
            if inner and not body[name]:
                del body[name]
        needed = [n for n, a in block.get("attributes", {}).items() if a.get("required")]
        needed += [n for n, b in block.get("block_types", {}).items() if b.get("min_items", 0)]
        return all(n in body for n in needed)


def _local_state(backend: str, config: Json, state: Path) -> str:
    """Where a stack's state lies in the sandbox: under its key, so that the stacks that read it find it."""
    key = str(config.get("key") or config.get("path") or "terraform.tfstate")
    return str(state / (key if backend == "s3" else PurePosixPath(key).name))


def _replaced(value: Any, old: str, new: str) -> Any:
    """The value with `old` replaced in all its strings."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {k: _replaced(v, old, new) for k, v in value.items()}
    return [_replaced(v, old, new) for v in value] if isinstance(value, list) else value


def _listed(value: Any) -> list[Any]:
    """A block as a list of blocks; Terraform JSON allows both spellings."""
    return value if isinstance(value, list) else [value]


def _prefix(kind: str) -> str:
    return "data." if kind == "data" else ""
