"""What drifted, as a report of at most 100 columns."""

from __future__ import annotations

from itertools import groupby

from inferform.cli.formats.table import bullets
from inferform.operate.results import Assumption, DriftedResource, DriftResult

_MOST_ASSUMPTIONS = 30


def drift_text(result: DriftResult) -> str:
    """Resources that are not as they were applied, with the values; then what the sizing rested on that no longer holds."""
    said = [word for word, there in (("drift", result.drifted), ("outdated sizing", result.outdated)) if there]
    head = f"{result.name} in {result.environment}: {' and '.join(said) or 'no drift'} in {len(result.stacks)} stacks"
    changed = [_drifted(r) for r in result.resources if r.kind == "changed"]
    scaled = [_drifted(r) for r in result.resources if r.kind == "scaled"]
    parts = [head]
    if changed:
        parts.append("Changed in the cloud\n" + "\n".join(changed))
    if scaled:
        parts.append("Scaled by hand, where no autoscaler owns the count\n" + "\n".join(scaled))
    if result.expected:
        parts.append("Changed by their owners\n" + bullets([f"{r.stack}/{r.address}: {', '.join(_values(r))}, by {r.owner}" for r in result.expected]))
    if result.assumptions:
        parts.append("The sizing rested on what no longer holds\n" + _assumptions(result.assumptions))
    if result.warnings:
        parts.append(f"Warnings\n{bullets(result.warnings)}")
    return "\n\n".join(parts)


def _drifted(resource: DriftedResource) -> str:
    head = f"{resource.stack}/{resource.address} {resource.change}"
    lines = _values(resource)
    return f"{head}\n{bullets(lines)}" if lines else head


def _values(resource: DriftedResource) -> list[str]:
    return [f"{a.path}: {_shown(a.before)} became {_shown(a.after)}" for a in resource.attributes]


def _shown(value: object) -> object:
    return "nothing" if value is None else value


def _assumptions(found: tuple[Assumption, ...]) -> str:
    """One paragraph a finding; the remedy once where several share it."""
    lines: list[str] = []
    for remedy, group in groupby(found[:_MOST_ASSUMPTIONS], key=lambda a: a.remedy):
        rows = [f"{a.code}: {f'{a.subject}: ' if a.then or a.now else ''}{_change(a)}" for a in group]
        lines += [*rows[:-1], f"{rows[-1]}; {remedy}" if remedy else rows[-1]]
    more = len(found) - _MOST_ASSUMPTIONS
    return bullets([*lines, f"and {more} more; --format json lists them all"] if more > 0 else lines)


def _change(assumption: Assumption) -> str:
    if not assumption.then and not assumption.now:
        return assumption.message
    return f"{assumption.message}: it was {assumption.then or 'nothing'} and is {assumption.now or 'nothing'}"
