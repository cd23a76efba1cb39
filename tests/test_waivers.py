"""Waivers: what they cover, when they end, and what a malformed file is told."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.verdict import Finding
from inferform.waivers import EXPIRED, UNUSED, Waiver, apply_waivers, load_waivers

RULES = ("SEC001", "SEC002", "NET001")
FIELDS = "owner: platform@acme.example\n    reason: two hops, OPS-411\n    expires: 2027-01-31\n"
GOOD = f"waivers:\n  - rule: SEC002\n    address: nodes/aws_launch_template.llama-*\n    {FIELDS}"


def finding(rule: str = "SEC002", address: str = "nodes/aws_launch_template.llama-8b", severity: str = "deny") -> Finding:
    return Finding.model_validate(
        {"id": rule, "title": "Title of it", "severity": severity, "result": "fail", "address": address, "message": "m", "remedy": "r", "source": "s"}
    )


def waiver(address: str, expires: str = "2027-01-31", rule: str = "SEC002") -> Waiver:
    return Waiver(rule=rule, address=address, owner="ann", reason="because", expires=date.fromisoformat(expires), file="w.yaml", line=3)


def refused(tmp_path: Path, text: str) -> InputError:
    path = tmp_path / "waivers.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_waivers(path, RULES)
    return caught.value


def test_a_waiver_is_read_with_its_place(tmp_path: Path) -> None:
    """Every field of a waiver is there, with file and line for later messages."""
    path = tmp_path / "waivers.yaml"
    path.write_text(GOOD, encoding="utf-8")
    (found,) = load_waivers(path, RULES)
    assert ("SEC002", "nodes/aws_launch_template.llama-*", "platform@acme.example", date(2027, 1, 31), 2) == (
        found.rule, found.address, found.owner, found.expires, found.line,
    )  # fmt: skip


def test_a_covered_finding_is_waived_by_its_owner() -> None:
    """The finding stays in the list, marked with who answers for it; others are not touched."""
    mine, other = finding(), finding(address="nodes/aws_launch_template.bge")
    after = apply_waivers([mine, other], [waiver("nodes/aws_launch_template.llama-*")], date(2026, 12, 1))
    assert [("nodes/aws_launch_template.llama-8b", "ann"), ("nodes/aws_launch_template.bge", None)] == [(f.address, f.waived_by) for f in after]


@pytest.mark.parametrize(("today", "ids"), [("2027-01-31", ["SEC002"]), ("2027-02-01", ["SEC002", EXPIRED])])
def test_a_waiver_holds_through_its_last_day(today: str, ids: list[str]) -> None:
    """On the day it names a waiver still holds; the day after it denies, and says whose it was and when it ended."""
    after = apply_waivers([finding()], [waiver("*")], date.fromisoformat(today))
    assert ids == [f.id for f in after]
    if EXPIRED in ids:
        assert after[0].waived_by is None
        assert "deny" == after[1].severity
        assert "the waiver of SEC002 * by ann expired on 2027-01-31; it covered 1 finding(s)" == after[1].message
        assert "w.yaml:3" == after[1].address


def test_an_expired_waiver_of_a_warning_denies() -> None:
    """An expired waiver denies whatever the severity of the rule that it covered."""
    after = apply_waivers([finding(severity="warn")], [waiver("*", "2026-01-01")], date(2026, 12, 1))
    assert [("warn", "SEC002"), ("deny", EXPIRED)] == [(f.severity, f.id) for f in after]


def test_a_waiver_that_covers_nothing_warns() -> None:
    """A waiver of what is no longer found is reported, so that lists do not grow for ever."""
    after = apply_waivers([], [waiver("cluster/*")], date(2026, 12, 1))
    assert [("warn", UNUSED)] == [(f.severity, f.id) for f in after]
    assert "covers no finding" in after[0].message


@pytest.mark.parametrize(
    ("pattern", "address", "covers"),
    [
        ('nodes/aws_x.y["a"]', 'nodes/aws_x.y["a"]', True),
        ("nodes/aws_x.y[*]", 'nodes/aws_x.y["a"]', True),
        ("nodes/aws_x.?", "nodes/aws_x.y", False),
        ("*", "", True),
        ("", "", True),
        ("", "plan/cost", False),
        ("plan/cost", "plan/cost2", False),
    ],
)
def test_only_a_star_stands_for_other_text(pattern: str, address: str, covers: bool) -> None:
    """Brackets, dots and question marks of Terraform addresses are themselves."""
    assert covers == waiver(pattern).covers(finding(address=address))


@given(st.text(), st.text())
@settings(max_examples=100, deadline=None)
def test_any_address_is_covered_by_itself_and_by_a_star(address: str, rest: str) -> None:
    """Whatever text an address is, it covers itself, and with a star at the end everything that starts with it."""
    assert waiver(address.replace("*", "")).covers(finding(address=address.replace("*", "")))
    assert waiver(f"{address}*").covers(finding(address=address.replace("*", "x") + rest))


def test_an_unknown_rule_is_answered_with_the_nearest(tmp_path: Path) -> None:
    """File, line, the value and the nearest rule are named."""
    error = refused(tmp_path, GOOD.replace("SEC002", "SEC02"))
    (problem,) = error.problems
    assert ("waivers[0].rule", 2, "SEC02") == (problem.field, problem.line, problem.value)
    assert "SEC002" in problem.fix


def test_every_problem_comes_at_once(tmp_path: Path) -> None:
    """A waiver without owner, with an odd date and a misspelt field is told all three, each on its line."""
    text = "waivers:\n  - rule: SEC001\n    adress: x\n    address: y\n    reason: r\n    expires: next week\n"
    problems = {(p.field, p.line): p for p in refused(tmp_path, text).problems}
    assert {("waivers[0].adress", 3), ("waivers[0].owner", 2), ("waivers[0].expires", 6)} == set(problems)
    assert "did you mean address?" == problems["waivers[0].adress", 3].fix
    assert ("YYYY-MM-DD",) == problems["waivers[0].expires", 6].legal


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wants a list"),
        ("waivers: 3\n", "wants a list"),
        ("waivers:\n  - SEC001\n", "is a mapping"),
        ("rules: []\n", "wants a list"),
        ("waivers: [\n", "YAML"),
        (GOOD + "  - &a [*a]\n", "alias"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """Empty files, other documents, broken YAML and YAML tricks end in an error with the file's name."""
    error = refused(tmp_path, text)
    assert any(message in p.message for p in error.problems), str(error)
    assert all(p.file.endswith("waivers.yaml") for p in error.problems)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A path that leads nowhere is a bad input, not a crash."""
    with pytest.raises(InputError, match="cannot be read"):
        load_waivers(tmp_path / "none.yaml", RULES)
