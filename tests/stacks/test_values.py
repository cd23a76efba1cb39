"""Values: what users wrote stays text, and what only exists at apply cannot be taken for a value."""

from __future__ import annotations

import json
import operator
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.stacks.values import Ref, call, escape, expression, json_text, plain, text

IDS = Ref("aws_vpc.main.ids", "list(string)")
MISUSES: dict[str, Callable[[], Any]] = {
    "index": lambda: IDS[0],
    "length": lambda: len(IDS),
    "loop": lambda: list(IDS),
    "f-string": lambda: f"{IDS}",
    "str": lambda: str(IDS),
    "sum": lambda: operator.add(IDS, ["b"]),
    "sum from the right": lambda: operator.add(["b"], IDS),
    "truth": lambda: bool(IDS),
}


@pytest.mark.parametrize("how", MISUSES)
def test_fc35_a_reference_cannot_be_used_as_a_value(how: str) -> None:
    """Indexing, counting, looping, joining and formatting of what is only known at apply is an error at synth."""
    with pytest.raises(TypeError, match=r"aws_vpc\.main\.ids is only known at apply"):
        MISUSES[how]()


def test_fc35_elements_and_keys_are_expressions() -> None:
    """The first id of a list and the value of a map key are Terraform expressions with the inner type."""
    assert Ref("element(aws_vpc.main.ids, 0)", "string") == IDS.element(0)
    subnets = Ref("local.subnets", "map(string)")
    assert Ref('local.subnets["use1-az4"]', "string") == subnets.key("use1-az4")
    with pytest.raises(TypeError, match="wants a list, found map"):
        subnets.element(0)


def test_expressions_are_written_in_the_language_of_terraform() -> None:
    """Lists, maps, numbers, booleans, null and quoted text become HCL."""
    row = call("any", "f", ["a", IDS], {"b": True, "a": 1.5}, None, 'say "x"\n')
    assert 'f(["a", aws_vpc.main.ids], {"a" = 1.5, "b" = true}, null, "say \\"x\\"\\n")' == row.expression


def test_what_users_wrote_is_escaped() -> None:
    """Interpolation and directives in plain text are escaped, in values, keys and inside expressions."""
    assert {"$${key}": ["$${aws_vpc.main.id}", "%%{if true}"]} == plain({"${key}": ["${aws_vpc.main.id}", "%{if true}"]})
    assert '"$${x}"' == expression("${x}")
    assert "a$${x}${aws_vpc.main.ids}" == plain(text("a${x}", IDS))


@pytest.mark.parametrize("hostile", ["${TfToken[TOKEN.0]}", "#{TfToken[TOKEN.1]}"])
def test_text_that_looks_like_a_token_is_refused(hostile: str) -> None:
    """Text that cdktf would take for one of its own tokens is an input error, not an evaluation."""
    with pytest.raises(InputError, match="looks like an internal token"):
        plain([hostile])


def test_a_carriage_return_beside_a_reference_is_refused() -> None:
    """Terraform reads the rest of a template after a bare carriage return as text, so the reference would be lost."""
    with pytest.raises(InputError, match="carriage return"):
        plain(text("a\r", IDS))


def test_none_leaves_the_key_out() -> None:
    """An attribute without a value is not written."""
    assert {"b": 1} == plain({"a": None, "b": 1})


@settings(max_examples=50, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))
def test_json_text_reads_back(document: Any) -> None:
    """A document without references reads back as itself, keys sorted."""
    (parts,) = ["".join(str(p) for p in json_text(document).parts)]
    assert document == json.loads(parts)
    assert json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False) == parts


def test_references_stand_inside_json() -> None:
    """A reference in a document becomes an interpolation inside quotes."""
    made = plain(json_text({"Resource": [Ref("aws_s3_bucket.b.arn", "string"), text(Ref("aws_s3_bucket.b.arn", "string"), "/*")]}))
    assert '{"Resource":["${aws_s3_bucket.b.arn}","${aws_s3_bucket.b.arn}/*"]}' == made


HOSTILE = [
    "${x}",
    "$${x}",
    "$$${x}",
    "%{if}",
    "%%{x",
    "$",
    "$$",
    "a$",
    "%",
    "$%{",
    "%${a}",
    '${"${x}"}',
    "\\${x}",
    "\\b",
    "\b\f",
    "\u2028",
    "é\U0001f600",
    "\n\t",
    "\x01",
]


@pytest.mark.slow
def test_terraform_reads_every_text_as_it_was_written(tmp_path: Path) -> None:
    """Hostile and random texts come out of terraform unchanged: as value, map key, inside a function, beside a reference and in JSON."""
    terraform = shutil.which("terraform")
    if terraform is None:
        pytest.skip("terraform is not installed")
    draw = random.Random(5)  # noqa: S311 - the same texts every time
    texts = [*HOSTILE, *("".join(draw.choice('${}%\\"\na~ ') for _ in range(draw.randint(1, 7))) for _ in range(200))]
    x = call("string", "lower", "X")
    forms: dict[str, Callable[[str], tuple[Any, Any]]] = {
        "value": lambda t: (t, t),
        "key": lambda t: ({t: 1}, {t: 1}),
        "argument": lambda t: (call("string", "format", "%s", t), t),
        "beside": lambda t: (text(t, x, t), f"{t}x{t}"),
        "argument-beside": lambda t: (call("string", "format", "%s", text(t, x, t)), f"{t}x{t}"),
        "json": lambda t: (call("any", "jsondecode", json_text({t: [t, text(t, "/", t)]})), {t: [t, f"{t}/{t}"]}),
    }
    cases = {f"{form}-{n}": make(t) for form, make in forms.items() for n, t in enumerate(texts)}
    (tmp_path / "main.tf.json").write_text(json.dumps({"output": {k: {"value": plain(given_)} for k, (given_, _) in cases.items()}}))
    subprocess.run([terraform, "apply", "-auto-approve", "-no-color"], cwd=tmp_path, check=True, capture_output=True)
    found = json.loads(subprocess.run([terraform, "output", "-json"], cwd=tmp_path, check=True, capture_output=True).stdout)
    assert {k: wanted for k, (_, wanted) in cases.items()} == {k: v["value"] for k, v in found.items()}


def test_escaping_leaves_ordinary_text_alone() -> None:
    """Text without template marks is unchanged."""
    assert "arn:aws:iam::1:role/a $5 50%" == escape("arn:aws:iam::1:role/a $5 50%")
