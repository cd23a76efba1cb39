"""A verdict as JUnit XML, which every CI system reads: one test case a rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

if TYPE_CHECKING:
    from inferform.verdict import Verdict

# XML 1.0 has no way to write these characters, not even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def junit(verdict: Verdict) -> str:
    """A suite whose cases are rules: failed where a finding denies, skipped where the rule could not be judged, the rest told in system-out."""
    suite = Element("testsuite", name="inferform check")
    failures = skipped = 0
    for outcome in verdict.outcomes:
        rule = outcome.rule
        case = SubElement(suite, "testcase", classname=f"inferform.{rule.area or 'own'}", name=_clean(f"{rule.id} {rule.title}"))
        found = [f for f in verdict.findings if f.id == rule.id]
        denying = [f for f in found if verdict.denies(f)]
        if denying:
            failures += 1
            lines = [f"{f.address}: {f.message}" if f.address else f.message for f in denying]
            failure = SubElement(case, "failure", type=rule.severity, message=_clean(lines[0] if len(lines) == 1 else f"{len(lines)} findings"))
            failure.text = _clean("\n".join([*lines, f"do: {rule.remedy}"]))
        elif outcome.result == "not_applicable":
            skipped += 1
            SubElement(case, "skipped", message=_clean(outcome.why))
        rest = [f for f in found if not verdict.denies(f)]
        if rest:
            marks = [
                f"{'waived by ' + f.waived_by if f.waived_by else f.result if f.result == 'unknown' else f.severity}: {f.address}: {f.message}" for f in rest
            ]
            SubElement(case, "system-out").text = _clean("\n".join(marks))
    # Findings about waivers themselves belong to no rule that was judged.
    for finding in (f for f in verdict.findings if f.id not in {o.rule.id for o in verdict.outcomes}):
        case = SubElement(suite, "testcase", classname="inferform.waivers", name=_clean(f"{finding.id} {finding.address}"))
        if verdict.denies(finding):
            failures += 1
            SubElement(case, "failure", type=finding.severity, message=_clean(finding.message)).text = _clean(finding.remedy)
        else:
            SubElement(case, "system-out").text = _clean(finding.message)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failures))
    suite.set("errors", "0")
    suite.set("skipped", str(skipped))
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
