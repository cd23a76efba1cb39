"""What plan, apply and destroy did, as reports of at most 100 columns."""

from __future__ import annotations

from collections.abc import Mapping

from inferform.cli.formats.table import bullets, pairs, table
from inferform.operate.results import ApplyResult, Change, Counts, DestroyResult, PlanResult, StackPlan, StackResult

_MOST_CHANGES = 40


def plan_result_text(result: PlanResult) -> str:
    """Changes, cost, risks and verdict of a saved plan, and what to run next."""
    kind = f"rollback to apply {result.rollback_to}," if result.rollback_to is not None else "first" if result.first else ""
    head = f"{result.name} in {result.environment}: {f'{kind} plan'.strip()} {result.digest[:12]} in {result.folder}"
    parts = [head, _changes(result.stacks), _cost(result)]
    if result.risks:
        parts.append("Risks\n" + bullets([f"{r.level}: {r.message}{f'; {r.remedy}' if r.remedy else ''} ({r.address})" for r in result.risks]))
    parts += _lists(("Adapted to this backend, not the real cloud", _cut(result.adapted)), ("Warnings", result.warnings))
    denied = [f"{f.id} {f.address}: {f.message}; {f.remedy}" for f in result.verdict.findings if result.verdict.denies(f)]
    parts += _lists(("Denied", tuple(denied)))
    blocked = sum(r.level == "block" for r in result.risks)
    last = f"{_total(result.counts)}. The verdict {'allows' if result.allowed else 'denies'} it."
    parts.append(f"{last} The cloud would refuse {blocked} of it, so apply will not run before that is mended." if blocked else last)
    return "\n\n".join(parts)


def apply_text(result: ApplyResult) -> str:
    """What was applied, stack by stack."""
    resumed = ", completing an interrupted apply" if result.resumed else ""
    back = f", a rollback to apply {result.rollback_to}" if result.rollback_to is not None else ""
    head = f"{result.name} in {result.environment}: applied plan {result.digest[:12]}{back}{resumed}"
    return "\n\n".join([head, _stacks(result.stacks), *_lists(("Warnings", result.warnings)), f"{_total(result.counts, done=True)}."])


def destroy_text(result: DestroyResult) -> str:
    """What was destroyed, in the order in which it went."""
    head = f"{result.name} in {result.environment}: destroyed"
    return "\n\n".join([head, _stacks(result.stacks), *_lists(("Warnings", result.warnings)), f"{_total(result.counts, done=True)}."])


def _changes(stacks: tuple[StackPlan, ...]) -> str:
    found = [(s.stack, c) for s in stacks for c in s.changes]
    if not found:
        return "No changes."
    if len(found) > _MOST_CHANGES:
        # What is cut should be the least of it: nodes, and what goes or is replaced, come first.
        found.sort(key=lambda pair: (pair[1].pool is None, pair[1].action not in ("replace", "delete"), pair[1].action == "create"))
    rows = [(stack, c.action, c.address + _nodes(c), ", ".join(c.attributes)) for stack, c in found[:_MOST_CHANGES]]
    headers = ("stack", "action", "resource", "attributes")
    columns = 4 if any(row[3] for row in rows) else 3
    shown = table(headers[:columns], [row[:columns] for row in rows])
    more = f"\nand {len(found) - _MOST_CHANGES} more; --format json lists them all" if len(found) > _MOST_CHANGES else ""
    waiting = [
        f"{s.stack}: at most these; its values are only known once {', '.join(s.waits_for)} is applied" for s in stacks if s.state == "after" and s.waits_for
    ]
    return shown + more + (f"\n{bullets(waiting)}" if waiting else "")


def _nodes(change: Change) -> str:
    return "" if change.nodes is None else f" ({change.nodes} node{'' if change.nodes == 1 else 's'})"


def _cost(result: PlanResult) -> str:
    cost = result.cost
    before = "nothing" if cost.before_usd_per_month is None else f"${cost.before_usd_per_month:,.0f}"
    budget = f" (budget ${cost.budget_usd_per_month:,.0f})" if cost.budget_usd_per_month is not None else ""
    rows = [("a month", f"${cost.after_usd_per_month:,.0f}{budget}, before {before}: {_signed(cost.difference_usd_per_month)}")]
    rows += [
        (pool, f"{_signed(after - before_usd)}: ${before_usd:,.0f} to ${after:,.0f}")
        for pool, (before_usd, after) in sorted(cost.by_pool_usd_per_month.items())
    ]
    return "Cost\n" + pairs(rows)


def _signed(usd: float) -> str:
    return f"{'-' if usd < 0 else '+'}${abs(usd):,.0f}"


def _total(counts: Counts, *, done: bool = False) -> str:
    said: Mapping[str, int] = counts.model_dump()
    if done:
        return ", ".join(f"{number} {action.rstrip('e')}ed" for action, number in said.items() if number) or "nothing changed"
    return ", ".join(f"{number} to {action}" for action, number in said.items() if number) or "nothing to change"


def _stacks(stacks: tuple[StackResult, ...]) -> str:
    rows = [(s.stack, s.state.replace("_", " "), *(str(n) for n in s.counts.model_dump().values()), f"{s.seconds:,.0f} s") for s in stacks]
    return table(("stack", "state", "create", "update", "replace", "delete", "time"), rows, right=(2, 3, 4, 5, 6)) if rows else "No stacks."


def _cut(lines: tuple[str, ...], most: int = 5) -> tuple[str, ...]:
    more = len(lines) - most
    return (*lines[:most], f"and {more} more; --format json lists them all") if more > 0 else lines


def _lists(*sections: tuple[str, tuple[str, ...]]) -> list[str]:
    return [f"{title}\n{bullets(items)}" for title, items in sections if items]
