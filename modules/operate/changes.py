"""What terraform plans to do, as changes that people can read and that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inferform.operate.node_groups import NODE_TYPES, live_values, renewed, size_of
from inferform.operate.results import Action, Change, Counts
from inferform.plan import DeploymentPlan

Json = dict[str, Any]
_ACTIONS: dict[tuple[str, ...], Action] = {
    ("create",): "create",
    ("update",): "update",
    ("delete",): "delete",
    ("forget",): "forget",
    ("delete", "create"): "replace",
    ("create", "delete"): "replace",
}
_NOTHING: tuple[Any, ...] = (None, [], {}, "")
# What a second plan of the same stack may do where the first plan showed this: a run in between may have done a part of it,
# left an object half made (replace), or adopted one that was there (update).
_WITHIN: dict[str, frozenset[str]] = {
    "create": frozenset({"create", "update", "replace"}),
    "update": frozenset({"update"}),
    "replace": frozenset({"replace", "create", "update", "delete"}),
    "delete": frozenset({"delete"}),
    "forget": frozenset({"forget"}),
}


def from_plan(document: Json, before: DeploymentPlan | None, after: DeploymentPlan) -> tuple[Change, ...]:
    """Changes of a terraform plan (the JSON of `terraform show`), by address; reads and no-ops are left out."""
    live = live_values(document)
    rows = (_change(c, live, before, after) for c in _managed(document) if tuple(c["change"]["actions"]) in _ACTIONS)
    return tuple(sorted(rows, key=lambda c: c.address))


def from_config(config: Json, existing: Iterable[str], before: DeploymentPlan | None, after: DeploymentPlan) -> tuple[Change, ...]:
    """What a stack that cannot be planned yet will create and delete, from its configuration and the addresses in its state.

    Resources that exist already may change as well; nothing is shown for them, so apply will not change them.
    """
    wanted = {f"{kind}.{name}": kind for kind, named in config.get("resource", {}).items() for name in named}
    there = set(existing)
    rows: list[tuple[str, str, Action]] = [(a, kind, "create") for a, kind in wanted.items() if a not in there]
    rows += [(a, a.split(".")[-2], "delete") for a in there if a not in wanted]
    return tuple(sorted((Change(address=a, type=k, action=act, **_pool(k, a, act, before, after)) for a, k, act in rows), key=lambda c: c.address))


def outputs_change(document: Json) -> bool:
    """True when applying the plan may change what other stacks read."""
    return any(c["actions"] != ["no-op"] for c in document.get("output_changes", {}).values())


def count(changes: Iterable[Change]) -> Counts:
    """Changes by what happens."""
    actions = [c.action for c in changes]
    return Counts(**{name: actions.count(name) for name in ("create", "update", "replace", "delete")})


def add(counts: Iterable[Counts]) -> Counts:
    """The sum of counts."""
    rows = list(counts)
    return Counts(**{name: sum(getattr(c, name) for c in rows) for name in ("create", "update", "replace", "delete")})


def beyond(shown: Iterable[Change], found: Iterable[Change]) -> list[str]:
    """Sentences for what `found` does that `shown` did not; empty when everything was shown."""
    known = {c.address: c for c in shown}
    said = []
    for change in found:
        before = known.get(change.address)
        if before is None or change.action not in _WITHIN[before.action]:
            said.append(f"{change.action} {change.address}" + (f" (shown: {before.action})" if before else " (not shown)"))
        elif before.action == "update" and not set(change.attributes) <= set(before.attributes):
            said.append(f"update {', '.join(sorted(set(change.attributes) - set(before.attributes)))} of {change.address} (not shown)")
    return said


def _managed(document: Json) -> Iterator[Json]:
    return (c for c in document.get("resource_changes", []) if c.get("mode") == "managed")


def _change(raw: Json, live: Mapping[str, Mapping[str, Any]], before: DeploymentPlan | None, after: DeploymentPlan) -> Change:
    action = _ACTIONS[tuple(raw["change"]["actions"])]
    attributes = _attributes(raw["change"], action)
    pool = _pool(raw["type"], raw["address"], action, before, after)
    change = raw["change"]
    size = size_of(raw["type"], change.get("after") if action == "create" else live.get(raw["address"], change.get("before")))
    if size is not None and size.desired is not None:
        # What the cloud has counts, not what was planned: an autoscaler may have been at work.
        pool = {**pool, "nodes": size.desired}
    return Change(
        # An object that a replacement left behind is deleted under the address of its successor.
        address=raw["address"] + (f" (deposed {raw['deposed']})" if raw.get("deposed") else ""),
        type=raw["type"],
        action=action,
        attributes=attributes,
        renews=renewed(raw, attributes) if action == "update" else (),
        **pool,
    )


def _attributes(change: Json, action: Action) -> tuple[str, ...]:
    if action == "replace":
        return tuple(sorted({str(path[0]) for path in change.get("replace_paths", []) if path}))
    if action != "update":
        return ()
    old, new, unknown = change.get("before") or {}, change.get("after") or {}, change.get("after_unknown") or {}
    return tuple(sorted(name for name in {*old, *new, *unknown} if not same(old.get(name), new.get(name)) or _unknown(unknown.get(name))))


def _unknown(marks: Any) -> bool:
    """Something in an attribute is only known after apply; a block whose values are all known has empty marks."""
    if isinstance(marks, dict):
        return any(_unknown(m) for m in marks.values())
    return any(_unknown(m) for m in marks) if isinstance(marks, list) else bool(marks)


def same(old: Any, new: Any) -> bool:
    """Equal, or both nothing: providers write null and empty for the same thing."""
    return bool(old == new) or (old in _NOTHING and new in _NOTHING)


def _pool(kind: str, address: str, action: Action, before: DeploymentPlan | None, after: DeploymentPlan) -> Mapping[str, Any]:
    """Model, pool and steady nodes of a resource that holds the nodes of a pool."""
    if kind not in NODE_TYPES:
        return {}
    name = address.rsplit(".", maxsplit=1)[-1]
    for source in (after, before) if action == "create" else (before, after):
        for model, _, pool, planned in source.pool_items() if source else ():
            key = f"{model}-{pool}"
            # A pool's groups carry its name; one for a capacity block has the block's id behind it.
            blocks = {f"{key}-{p.reservation_id}": p.nodes.steady for p in planned.purchase if p.kind == "capacity_block"}
            if name == key or name in blocks:
                rest = planned.nodes.steady - (sum(blocks.values()) if len(blocks) < len(planned.purchase) else 0)
                return {"model": model, "pool": pool, "nodes": blocks.get(name, rest)}
    return {}
