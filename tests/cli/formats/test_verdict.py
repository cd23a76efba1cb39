"""A verdict as text, JSON, SARIF and JUnit."""

from __future__ import annotations

import json
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from inferform.cli.formats.verdict import written
from inferform.verdict import Finding, Outcome, Rule, Verdict


def rule(rule_id: str, severity: str = "deny") -> Rule:
    return Rule.model_validate(
        {
            "id": rule_id, "title": f"Title of {rule_id}", "severity": severity, "needs": ["plan"], "remedy": f"Mend {rule_id} so.", "source": "Requirement F1",
            "file": f"policies/security/{rule_id}/rule.rego",
        }
    )  # fmt: skip


def finding(rule_id: str, **changes: Any) -> Finding:
    about = rule(rule_id)
    base = {
        "id": rule_id, "title": about.title, "severity": "deny", "result": "fail", "address": "nodes/aws_launch_template.a", "message": "tokens are optional",
        "remedy": about.remedy, "source": about.source, "file": "stacks/nodes/cdk.tf.json",
    }  # fmt: skip
    return Finding.model_validate({**base, **changes})


def verdict(*, strict: bool = False) -> Verdict:
    """One denied, one warned, one unknown, one waived, one passed and one rule that was not judged."""
    outcomes = (
        Outcome(rule=rule("SEC001"), result="fail", subjects=1),
        Outcome(rule=rule("SEC002", "warn"), result="fail", subjects=2),
        Outcome(rule=rule("SEC003"), result="unknown", subjects=1),
        Outcome(rule=rule("SEC004"), result="fail", subjects=1),
        Outcome(rule=rule("SEC005"), result="pass", subjects=3),
        Outcome(rule=rule("SEC006"), result="not_applicable", subjects=0, why="no terraform given"),
    )
    findings = (
        finding("SEC001"),
        finding("SEC002", severity="warn", address="Deployment/acme/llama", file="serving/llama.yaml"),
        finding("SEC003", result="unknown"),
        finding("SEC004", waived_by="platform-team"),
        finding("WVR001", address="waivers.yaml:4", file="waivers.yaml", message="the waiver expired on 2026-11-01"),
    )
    return Verdict(outcomes=outcomes, findings=findings, strict=strict)


def test_text_puts_what_denies_first_with_its_remedy() -> None:
    """The first line names a denying rule, each rule says what to do, and the last line is the count."""
    lines = written(verdict(), "text").splitlines()
    assert "DENY SEC001 Title of SEC001" == lines[0]
    assert "  - nodes/aws_launch_template.a: tokens are optional" == lines[1]
    assert "  do: Mend SEC001 so." == lines[2]
    assert "denied: 2 denied, 1 warned, 1 unknown, 1 waived, 1 passed, 1 not applicable" == lines[-1]
    assert "not judged: no terraform given: SEC006" in lines
    assert all(len(line) <= 100 for line in lines)


def test_text_shortens_a_rule_with_many_findings() -> None:
    """Twenty findings of one rule show eight and say how many more there are."""
    many = Verdict(outcomes=(), findings=tuple(finding("SEC001", address=f"a{i:02}") for i in range(20)), strict=False)
    text = written(many, "text")
    assert 8 == text.count("tokens are optional")
    assert "and 12 more" in text


def test_text_of_a_clean_verdict_is_one_line() -> None:
    """Nothing found reads as allowed with the number of rules that passed."""
    clean = Verdict(outcomes=(Outcome(rule=rule("SEC005"), result="pass", subjects=3),), findings=(), strict=True)
    assert "allowed: 1 passed" == written(clean, "text")


def test_json_carries_the_decision_and_every_finding() -> None:
    """The JSON document says denied, counts, outcomes and findings."""
    data = json.loads(written(verdict(), "json"))
    assert data["denied"] is True
    assert ["SEC001", "SEC002", "SEC003", "SEC004", "WVR001"] == [f["id"] for f in data["findings"]]
    assert 6 == len(data["outcomes"])
    assert 1 == data["counts"]["unknown"]


def test_sarif_has_the_fields_that_code_hosts_read() -> None:
    """Version, rules with help, results with rule index, level, place and suppression are as SARIF 2.1.0 names them."""
    data = json.loads(written(verdict(), "sarif"))
    assert "2.1.0" == data["version"]
    run = data["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert ["SEC001", "SEC002", "SEC003", "SEC004", "SEC005", "SEC006"] == [r["id"] for r in rules]
    assert {"text": "Mend SEC001 so."} == rules[0]["help"]
    by_id = {r["ruleId"]: r for r in run["results"]}
    assert ("error", "warning", "note") == tuple(by_id[i]["level"] for i in ("SEC001", "SEC002", "SEC003"))
    assert 0 == by_id["SEC001"]["ruleIndex"]
    assert "ruleIndex" not in by_id["WVR001"]
    place = by_id["WVR001"]["locations"][0]["physicalLocation"]
    assert {"artifactLocation": {"uri": "waivers.yaml"}, "region": {"startLine": 4}} == place
    assert "waived by platform-team" == by_id["SEC004"]["suppressions"][0]["justification"]
    assert "suppressions" not in by_id["SEC001"]


def test_sarif_denies_the_unknown_in_strict_mode() -> None:
    """What cannot be told before apply is an error when strict."""
    run = json.loads(written(verdict(strict=True), "sarif"))["runs"][0]
    assert "error" == next(r["level"] for r in run["results"] if r["ruleId"] == "SEC003")


def test_junit_counts_its_own_cases() -> None:
    """One case a rule plus one a waiver notice; failures and skips are counted; the waived one is told, not failed."""
    suite = fromstring(written(verdict(), "junit"))  # noqa: S314 - our own output
    assert ("7", "2", "1") == (suite.get("tests"), suite.get("failures"), suite.get("skipped"))
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert ["SEC001 Title of SEC001", "WVR001 waivers.yaml:4"] == failed
    told = next(case for case in suite if (case.get("name") or "").startswith("SEC004"))
    assert "waived by platform-team" in (told.findtext("system-out") or "")


@pytest.mark.parametrize("hostile", ["<a href='x'>&amp;", "a\x00b\x1b[31mred", "ünïcode \U0001f600", "]]>", "x" * 5000])
def test_hostile_text_stays_text_in_every_form(hostile: str) -> None:
    """Markup, control characters and long texts in a message keep all forms well formed."""
    found = Verdict(
        outcomes=(Outcome(rule=rule("SEC001"), result="fail", subjects=1),), findings=(finding("SEC001", message=hostile, address=hostile),), strict=False
    )
    assert hostile == json.loads(written(found, "json"))["findings"][0]["message"]
    assert hostile in json.loads(written(found, "sarif"))["runs"][0]["results"][0]["message"]["text"]
    assert "1" == fromstring(written(found, "junit")).get("failures")  # noqa: S314 - our own output
    assert "\x1b" not in written(found, "text")
