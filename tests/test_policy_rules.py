"""Rules of a user's own: found, looked over, and refused with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from inferform.errors import InputError, Problem
from inferform.policy_rules import Module, from_folder, known_rules, look_over, shipped

ABOUT = """about := {
	"title": "Bases are ours",
	"severity": "warn",
	"needs": ["objects"],
	"remedy": "Take a base image of ours.",
	"source": "house rule",
}
"""
RULE = f"""package inferform.rules.ORG001

import rego.v1

import data.inferform.lib.kubernetes

{ABOUT}
subjects := kubernetes.pods

fail contains {{"address": pod.at, "message": "foreign image"}} if {{
	some pod in subjects
	some container in kubernetes.containers(pod)
	not startswith(container.image, "registry.acme.example/")
}}
"""


def own(tmp_path: Path, text: str = RULE, rule: str = "ORG001") -> Path:
    folder = tmp_path / "rules" / "house" / rule
    folder.mkdir(parents=True)
    (folder / "rule.rego").write_text(text, encoding="utf-8")
    return tmp_path / "rules"


def problem_of(tmp_path: Path, text: str, rule: str = "ORG001") -> Problem:
    with pytest.raises(InputError) as caught:
        from_folder(own(tmp_path, text, rule))
    return caught.value.problems[0]


def test_a_folder_of_rules_is_read(tmp_path: Path) -> None:
    """A rule with its header is found; its test is not taken for a rule."""
    folder = own(tmp_path)
    (folder / "house" / "ORG001" / "rule_test.rego").write_text("package inferform.tests.ORG001\n", encoding="utf-8")
    (module,) = from_folder(folder)
    (rule,) = known_rules([module])
    assert ("ORG001", "Bases are ours", "warn", ("objects",), "house") == (rule.id, rule.title, rule.severity, rule.needs, rule.area)


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("startswith(", "startwith(", "there is no function startwith", 20),
        ("kubernetes.containers(", "kubernetes.container(", "there is no function kubernetes.container", 19),
        ("	some pod in subjects\n", "	every pod in subjects { pod }\n", "`every` is not carried", 18),
        ("	some pod in subjects\n", "	http.send({})\n", "there is no function http.send", 18),
        ("import data.inferform.lib.kubernetes\n", "", "there is no function kubernetes.containers", 18),
        ("subjects := kubernetes.pods\n", "", "defines no subjects", 1),
        ("package inferform.rules.ORG001", "package inferform.rules.ORG002", "stands in the folder ORG001", 1),
        ("package inferform.rules.ORG001", "package inferform.rules.org1", "three capitals and three digits", 1),
        ("package inferform.rules.ORG001\n", "", "holds no rule", 0),
    ],
)
def test_what_the_engine_would_let_pass_is_refused(tmp_path: Path, old: str, new: str, message: str, line: int) -> None:
    """Functions that do not exist, keywords that engines differ on, and missing parts are errors with their line."""
    problem = problem_of(tmp_path, RULE.replace(old, new))
    assert message in problem.message
    assert (line or None) == problem.line


def test_a_misspelt_function_is_answered_with_the_nearest(tmp_path: Path) -> None:
    """The nearest built-in is named."""
    assert "startswith" in problem_of(tmp_path, RULE.replace("startswith(", "startwith(")).fix


def test_names_in_texts_and_comments_are_not_calls() -> None:
    """Strings, raw strings and comments may hold anything."""
    text = RULE + 'x := "every(thing) \\" with(it)" # every nothing(here)\ny := `foo(bar) with "every"`\n'
    assert [] == list(look_over(Module("rules/house/ORG001/rule.rego", text), [*shipped(), Module("rules/house/ORG001/rule.rego", text)]))


def test_a_shipped_rule_cannot_be_replaced(tmp_path: Path) -> None:
    """An own rule with the id of a shipped one is refused; so is an own library under a shipped name."""
    clash = problem_of(tmp_path, RULE.replace("ORG001", "SEC001"), "SEC001")
    assert "exists already, in policies/security/SEC001/rule.rego" in clash.message
    (tmp_path / "rules" / "lib.rego").write_text("package inferform.lib.plan\n\nimport rego.v1\n", encoding="utf-8")
    with pytest.raises(InputError, match="ships with Inferform"):
        from_folder(tmp_path / "rules")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"severity": "warn"', '"severity": "bad"', "severity"),
        ('	"remedy": "Take a base image of ours.",\n', "", "remedy"),
        ('"needs": ["objects"]', '"needs": ["nothing"]', "needs"),
        ('"title": "Bases are ours"', '"title": sprintf("%s", ["x"])', "no plain object"),
    ],
)
def test_a_header_that_is_not_complete_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Title, severity, needs, remedy and source are all there and of their kind; the line of the header is named."""
    with pytest.raises(InputError) as caught:
        known_rules(from_folder(own(tmp_path, RULE.replace(old, new))))
    (problem,) = caught.value.problems
    assert message in problem.message
    assert 7 == problem.line


def test_a_header_may_end_with_a_comma_or_not() -> None:
    """Both spellings of Rego are read, and commas inside texts stay."""
    text = RULE.replace('"source": "house rule",', '"source": "rule 3, part ,]"')
    assert "rule 3, part ,]" == known_rules([Module("a/ORG001/rule.rego", text)])[0].source


def test_folders_that_hold_no_rules_are_refused(tmp_path: Path) -> None:
    """A missing folder and an empty one are told apart."""
    with pytest.raises(InputError, match="no such folder"):
        from_folder(tmp_path / "none")
    with pytest.raises(InputError, match="holds no rule"):
        from_folder(tmp_path)


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 end in an error, not in a crash."""
    folder = own(tmp_path)
    (folder / "house" / "ORG001" / "rule.rego").write_bytes(b"package \xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        from_folder(folder)
