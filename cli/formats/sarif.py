"""A verdict as SARIF 2.1.0, which code hosts show beside the changed lines."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from inferform import __version__

if TYPE_CHECKING:
    from inferform.verdict import Finding, Rule, Verdict

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LINE = re.compile(r"^(?P<file>.+):(?P<line>[1-9]\d*)$")


def sarif(verdict: Verdict) -> str:
    """One run of one tool: every rule, and a result for each finding; a waived finding is suppressed, with its owner."""
    rules = [outcome.rule for outcome in verdict.outcomes]
    places = {rule.id: index for index, rule in enumerate(rules)}
    driver = {
        "name": "inferform",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [_result(verdict, f, places) for f in verdict.findings]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, sort_keys=True)


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.title}. Source: {rule.source}"},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": "error" if rule.severity == "deny" else "warning"},
        "properties": {"tags": [tag for tag in (rule.area,) if tag]},
    }


def _result(verdict: Verdict, finding: Finding, places: dict[str, int]) -> dict[str, Any]:
    level = "error" if verdict.denies(finding) else "note" if finding.result == "unknown" else "error" if finding.severity == "deny" else "warning"
    unknown = " (cannot be told before apply)" if finding.result == "unknown" else ""
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "level": level,
        "message": {"text": f"{finding.address + ': ' if finding.address else ''}{finding.message}{unknown}. {finding.remedy}"},
        "locations": [_location(finding)],
        "partialFingerprints": {"inferform/v1": f"{finding.id}:{finding.address}:{finding.message}"},
    }
    if finding.id in places:
        result["ruleIndex"] = places[finding.id]
    if finding.waived_by is not None:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": f"waived by {finding.waived_by}"}]
    return result


def _location(finding: Finding) -> dict[str, Any]:
    """Where the finding stands: the file as far as it is known, with the line where the address names one."""
    match = _LINE.match(finding.address)
    file, line = (match["file"], int(match["line"])) if match else (finding.file, 1)
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": finding.address or "deployment"}]}
    if file:
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line}}
    return location


def _uri(file: str) -> str:
    return quote(file.replace("\\", "/"))
