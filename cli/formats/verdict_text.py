"""A verdict as a person reads it: what denies first, each with its remedy, and the count of what passed."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING

from inferform.cli.output import WIDTH, printable

if TYPE_CHECKING:
    from inferform.verdict import Finding, Outcome, Verdict

# How many addresses of one rule are shown; JSON has them all.
_MOST_ADDRESSES = 8


def verdict_text(verdict: Verdict) -> str:
    """Findings by weight and rule, then what was not judged, then the count."""
    lines: list[str] = []
    for word, found in _by_weight(verdict):
        for rule, group in groupby(found, key=lambda f: f.id):
            lines += _rule(word, rule, list(group))
    skipped = [o for o in verdict.outcomes if o.result == "not_applicable"]
    if skipped:
        lines += ["", *_fill("not judged: ", "; ".join(f"{why}: {', '.join(o.rule.id for o in group)}" for why, group in _by_reason(skipped)))]
    counts = verdict.counts()
    summary = ", ".join(
        f"{counts[name]} {name.replace('_', ' ')}" for name in ("denied", "warned", "unknown", "waived", "passed", "not_applicable") if counts[name]
    )
    return "\n".join([*lines, *([""] if lines else []), f"{'denied' if verdict.denied else 'allowed'}: {summary or 'no rules'}"])


def _by_weight(verdict: Verdict) -> list[tuple[str, list[Finding]]]:
    weights: dict[str, list[Finding]] = {"DENY": [], "WARN": [], "UNKNOWN": [], "WAIVED": []}
    for finding in verdict.findings:
        weights[_weight(verdict, finding)].append(finding)
    return list(weights.items())


def _weight(verdict: Verdict, finding: Finding) -> str:
    if finding.waived_by is not None:
        return "WAIVED"
    if verdict.denies(finding):
        return "DENY"
    return "UNKNOWN" if finding.result == "unknown" else "WARN"


def _rule(word: str, rule: str, found: list[Finding]) -> list[str]:
    first = found[0]
    lines = _fill(f"{word} {rule} ", first.title)
    for finding in found[:_MOST_ADDRESSES]:
        waived = f" (waived by {finding.waived_by})" if finding.waived_by else ""
        lines += _fill("  - ", f"{finding.address + ': ' if finding.address else ''}{finding.message}{waived}")
    if len(found) > _MOST_ADDRESSES:
        lines.append(f"  - and {len(found) - _MOST_ADDRESSES} more; --format json lists them all")
    return lines if word == "WAIVED" else [*lines, *_fill("  do: ", first.remedy)]


def _by_reason(skipped: list[Outcome]) -> list[tuple[str, list[Outcome]]]:
    ordered = sorted(skipped, key=lambda o: (o.why, o.rule.id))
    return [(why, list(group)) for why, group in groupby(ordered, key=lambda o: o.why)]


def _fill(head: str, text: str) -> list[str]:
    return textwrap.wrap(printable(head + text), WIDTH, subsequent_indent=" " * min(len(head), 6), break_on_hyphens=False)
