"""Every shipped rule: its samples, its own tests, its shape, and its page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from inferform import labels
from inferform.policy import REPORT, evaluate, rules
from inferform.policy_rules import Module, look_over, shipped
from rego_packs import LIBRARIES, ROOT, RULES, folder, own_tests, sample, samples

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule_id)


def report(rule: Module, document: dict[str, Any]) -> dict[str, Any]:
    return dict(evaluate([*LIBRARIES, rule], document, REPORT))


@each_rule
def test_the_allowed_sample_passes(rule: Module) -> None:
    """The rule finds something to look at in its allowed sample and nothing wrong with it."""
    found = report(rule, sample(rule, "allowed"))
    assert [] == found["results"]
    assert 0 < found["rules"][0]["subjects"]


@each_rule
def test_the_disallowed_sample_fails(rule: Module) -> None:
    """The rule fails its disallowed sample under its own id, with an address and a message."""
    failed = [item for item in report(rule, sample(rule, "disallowed"))["results"] if item["result"] == "fail"]
    assert failed
    assert {rule.rule_id} == {item["id"] for item in failed}
    assert all(item["address"] and item["message"] for item in failed)


@each_rule
def test_the_tests_of_the_rule_hold(rule: Module) -> None:
    """Every `test_` rule in rule_test.rego is true, and there are at least the two of the samples."""
    written = own_tests(rule)
    wanted = set(re.findall(r"^(test_\w+)", written.text, re.MULTILINE))
    outcome = evaluate([*LIBRARIES, rule, written], {}, f"data.inferform.tests.{rule.rule_id}", data=samples(rule))
    assert {"test_allowed", "test_disallowed"} <= wanted
    assert [] == sorted(name for name in wanted if outcome.get(name) is not True)


@each_rule
def test_the_files_of_a_rule_are_complete(rule: Module) -> None:
    """Rule, test and two samples stand in the folder of the rule's id, and nothing else."""
    assert rule.rule_id == folder(rule).name
    assert {"rule.rego", "rule_test.rego", "allowed.json", "disallowed.json"} == {path.name for path in folder(rule).iterdir()}
    assert rule.text.startswith(f"package inferform.rules.{rule.rule_id}\n\nimport rego.v1\n")


@pytest.mark.parametrize("module", shipped(), ids=lambda module: module.file)
def test_rules_use_what_every_engine_carries(module: Module) -> None:
    """No shipped Rego goes outside the built-ins that OPA and our engine evaluate alike, and all of it is Rego v1."""
    assert [] == list(look_over(module, shipped()))
    assert "import rego.v1" in module.text


# Parts that every value of our own making has; the rest may be missing from a document.
DEFINED = re.compile(
    r"^(subject\.(pod|node|entry|image|header|rule|block)|one\.(group|taint_key|type)|entry\.at|scaler\.target|cluster\.known|backend\.settings|expression\.(key|values)|item\.id|ingress\.block|last\[1\])"
)


@pytest.mark.parametrize("module", shipped(), ids=lambda module: module.file)
def test_no_negation_of_what_may_be_undefined(module: Module) -> None:
    """OPA takes `not f(x.y)` as undefined, not as true, where x.y is missing; so rules negate only calls on what is there."""
    wrong = []
    for line in module.text.splitlines():
        match = re.match(r"\s*not (?P<what>[\w.]+\(.*\)|[\w.\[\]\"]+ in .*)", line)
        arguments = re.sub(r'"[^"]*"', '""', match["what"]) if match else ""
        inner = arguments.partition("(")[2] if "(" in arguments else arguments.partition(" in ")[0]
        loose = [ref for ref in re.findall(r"(?<![\w.])[a-z_]+(?:\.[a-z_]+)+(?!\()|(?<![\w.])[a-z_]+\[[^\]]*\]", inner) if not DEFINED.search(ref)]
        if loose:
            wrong.append(f"{line.strip()}  <- {loose}")
    assert [] == wrong


def test_at_least_twenty_rules_in_every_area_that_is_promised() -> None:
    """The pack holds more than the twenty rules that were asked for, over sizing, capacity, serving, scaling, network, security, cost and operations."""
    known = rules()
    assert 20 < len(known)
    assert {"capacity", "cost", "network", "operations", "scaling", "security", "serving", "sizing"} == {rule.area for rule in known}
    assert len(known) == len({rule.title for rule in known})


def test_every_rule_is_documented() -> None:
    """policies/README.md has one row a rule with its id, severity and title, and none for a rule that is not there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]{3}\d{3}) \| (\w+) \| (.+?) \|", text, re.MULTILINE)
    assert [(rule.id, rule.severity, rule.title) for rule in rules()] == sorted(rows)


def test_rules_read_the_labels_that_are_rendered() -> None:
    """The label keys in the Rego libraries are the ones that stacks and manifests carry."""
    library = next(module for module in LIBRARIES if module.package == "inferform.lib.kubernetes").text
    assert f'model_label := "{labels.MODEL_LABEL}"' in library
    assert f'pool_label := "{labels.POOL_LABEL}"' in library
    taints = next(rule for rule in RULES if rule.rule_id == "CAP003").text
    assert all(f'"{key}"' in taints for key in (labels.ACCELERATOR_LABEL, labels.NODE_OS_LABEL, labels.EFA_LABEL, labels.ROLE_LABEL))
    assert f'"{labels.TAINT_EFFECT_EKS}"' in next(rule for rule in RULES if rule.rule_id == "CAP004").text
