"""The same Rego on other engines: what OPA says is what we say.

Regorus comes with the development environment. OPA itself is run where it is installed, as a program or as the package
`opa_bindings`; the last run against OPA 1.x is recorded in policies/README.md.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
import rego_engines
import samples as plans
from inferform.plan import DeploymentPlan
from inferform.policy import REPORT, RegoError, evaluate
from inferform.policy_document import load_document
from inferform.policy_rules import Module, shipped
from rego_packs import LIBRARIES, RULES, ordered, own_tests, sample, samples

OTHERS = {name: engine for name, engine in rego_engines.available().items() if name != "regopy"}


@pytest.mark.parametrize("name", ["regorus", "opa"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule_id)
def test_other_engines_agree_on_every_sample(rule: Module, name: str) -> None:
    """Report on both samples, and the rule's own tests, are the same on our engine and on the other one."""
    if name not in OTHERS:
        pytest.skip(f"{name} is not installed")
    modules = [*LIBRARIES, rule]
    for which in ("allowed", "disallowed"):
        document = sample(rule, which)
        assert ordered(OTHERS[name](modules, None, document, REPORT)) == ordered(evaluate(modules, document, REPORT))
    outcome = OTHERS[name]([*modules, own_tests(rule)], samples(rule), {}, f"data.inferform.tests.{rule.rule_id}")
    assert [] == [key for key, value in outcome.items() if key.startswith("test_") and value is not True]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The sample plan as rendered, with its cost lines complete."""
    from inferform.render import render

    data = plans.plan_data()
    data["cost"] |= {"budget_usd_per_month": 100000.0, "by_pool": {f"{m}/{p}": 1.0 for m, model in data["models"].items() for p in model["pools"]}}
    plan = DeploymentPlan.model_validate(data)
    loaded = load_document(plan=plan.model_dump(mode="json"), rendered=render(plan))
    return {name: section for name, section in loaded.sections().items() if name != "files"}


def damaged(document: dict[str, Any], seed: int) -> dict[str, Any]:
    """The document with a few dozen parts taken out, the same ones for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    document = copy.deepcopy(document)
    for _ in range(40):
        part: Any = document[chance.choice(("objects", "plan"))]
        while isinstance(part, dict | list) and part:
            key = chance.choice(sorted(part)) if isinstance(part, dict) else chance.randrange(len(part))
            if chance.random() < 0.3 or not isinstance(part[key], dict | list):
                if isinstance(part, dict) and key not in ("kind", "apiVersion", "metadata", "name"):
                    del part[key]
                break
            part = part[key]
    return document


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["regorus", "opa"])
def test_other_engines_agree_on_damaged_documents(document: dict[str, Any], name: str, seed: int) -> None:
    """With parts of a real document missing, where engines are most apt to differ, the reports are still the same."""
    if name not in OTHERS:
        pytest.skip(f"{name} is not installed")
    broken = damaged(document, seed)
    modules = list(shipped())
    try:
        theirs = ordered(OTHERS[name](modules, None, broken, REPORT))
    except Exception as err:
        # Strict engines stop at a value of a wrong kind, where `opa eval` and ours go on.
        pytest.skip(f"{name} is strict: {str(err)[:100]}")
    assert theirs == ordered(evaluate(modules, broken, REPORT))


def test_our_engine_reports_errors_with_file_and_offset() -> None:
    """A syntax error comes back as a value that names the module, not as text on the terminal."""
    with pytest.raises(RegoError) as caught:
        evaluate([Module("a/b.rego", "package m\nimport rego.v1\nr if {\n  foo(\n}\n")], {}, "data.m.r")
    assert "a/b.rego" == caught.value.file
    assert 0 < caught.value.offset


@pytest.mark.parametrize("text", ['a"b\\c\n\t\x01é😀', "${a} %{b} {{c}}", "\u2028</x>", "nul\0nul", "\\u0041", "\ud800", ""])
def test_texts_come_back_as_they_went_in(text: str) -> None:
    """Quotes, control characters, templates and lone surrogates pass through the engine as data."""
    module = Module("m.rego", 'package m\nimport rego.v1\nr := {"v": input.s, "s": sprintf("%s|%s", [input.s, input.s]), "l": [input.s]}\n')
    kept = text.encode(errors="replace").decode()
    assert {"v": kept, "s": f"{kept}|{kept}", "l": [kept]} == evaluate([module], {"s": text}, "data.m.r")


def test_a_crash_of_the_engine_is_an_error_and_not_a_crash() -> None:
    """Legal Rego on which regopy 1.5 dies (`with input as` over a built-in) ends in an error that a command can show."""
    modules = [
        Module("a.rego", "package a\nimport rego.v1\nx if input.l > 1\n"),
        Module("b.rego", 'package b\nimport rego.v1\ny if data.a.x with input as {"l": 2}\n'),
    ]
    with pytest.raises(RegoError, match="ended without an answer"):
        evaluate(modules, {}, "data.b.y")


def test_a_rule_that_never_ends_is_stopped() -> None:
    """Evaluation has a time limit."""
    endless = Module("m.rego", "package m\nimport rego.v1\nr := count([1 | some a in numbers.range(1, 3000); some b in numbers.range(1, 3000); a + b < 0])\n")
    with pytest.raises(RegoError, match=r"more than 0\.5 s"):
        evaluate([endless], {}, "data.m.r", timeout_s=0.5)
