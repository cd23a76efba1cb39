"""Hostile input: whatever a spec holds, the answer is a result or an InferformError; nothing is evaluated or left half written."""

from __future__ import annotations

import copy
import json
import os
import resource
import string
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inferform.errors import InferformError, InputError
from inferform.load import LoadedSpec, load_all, load_spec
from inferform.load_yaml import MAX_BYTES
from specs import MINIMAL

BASE: dict[str, Any] = yaml.safe_load(
    MINIMAL
    + """\
budget: {usd_per_month: 20000}
capacity: {purchase: [{kind: on_demand, min_nodes: 1}, {kind: spot}], warm_standby: 0}
gateway: {host: llm.example.com, timeout: 30m}
scaling: {min: 1, max: 6, keda: {triggers: [{signal: queue}]}}
environments: {prod: {protected: true, models: {llama-8b: {workload: {peak_rps: 3}}}}}
"""
)
WORDS = [
    "${jsonencode(self)}", "%{ for x in y }%{ endfor }", "{{ 7 * 7 }}", "{% for x in y %}", "$(touch pwned)", "`touch pwned`", "'; touch pwned; '", "../../../etc/passwd",
    "/etc/passwd", "a/../../b", "a\nb: c", "\x00", "\x1b[2J", "\u202eevil", "😀" * 40, "é" * 300, "-", "--help", "-n", "<script>", "!!python/object/apply:os.system [id]", "*x", "&x",
    "<<", "null", "true", "1e999", "NaN", "0x10", "12:30:00", " ", "", "a" * 5000, "ａｂｃ", "\u0661", "aws-0", "{}", "[]", "#", "---", "...", "\ud800",
]  # fmt: skip
NUMBERS = [0, -1, 1, 2**31, 2**63, 2**64, 10**30, 10**400, 0.5, -0.0, 1e308, 1e-308, 5e-324, float("inf"), float("nan")]
scalars = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(NUMBERS),
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=40),
    st.text(string.ascii_letters, max_size=12),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.text(max_size=12), st.sampled_from(WORDS)), inner, max_size=4)),
    max_leaves=12,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path in a document."""
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(p for key, child in below for p in places(child, (*path, key)))]


@st.composite
def documents(draw: st.DrawFn) -> Any:
    """A valid document with one to three of its parts replaced, removed, renamed or added to."""
    document = copy.deepcopy(BASE)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([p for p in places(document) if p]))
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        change = draw(st.sampled_from(["replace", "replace", "remove", "rename", "add"]))
        if change == "replace":
            parent[path[-1]] = draw(values)
        elif change == "remove":
            del parent[path[-1]]
        elif isinstance(parent, dict):
            parent[draw(st.one_of(st.sampled_from(WORDS), st.text(max_size=12)))] = parent.pop(path[-1]) if change == "rename" else draw(values)
    return document


def as_yaml(document: Any) -> bytes:
    """A document as YAML; text that YAML cannot hold is escaped in double quotes."""
    return yaml.safe_dump(document, allow_unicode=False).encode("utf-8", "surrogatepass")


def loaded(folder: Path, data: bytes) -> list[LoadedSpec]:
    """The spec of every environment, or nothing where it was refused as an error of ours."""
    path = folder / "spec.yaml"
    path.write_bytes(data)
    try:
        return load_all(path)
    except InputError as err:
        assert err.problems
        text = str(err)
        assert text
        assert "pydantic" not in text.lower()
        assert all(c.isprintable() or c == "\n" for c in text)
        return []


quick = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@quick
@given(document=documents())
def test_changed_specs_load_or_are_refused(document: Any, tmp_path: Path) -> None:
    """Any change to a valid document gives specs or problems, never another exception, and messages that print."""
    loaded(tmp_path, as_yaml(document))


@quick
@given(data=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda t: t.encode("utf-8", "surrogatepass")), values.map(as_yaml)))
def test_any_bytes_load_or_are_refused(data: bytes, tmp_path: Path) -> None:
    """Any bytes at all give specs or problems."""
    loaded(tmp_path, data)


@quick
@given(
    text=st.lists(
        st.sampled_from(
            ["a: ", "- ", "{", "}", "[", "]", "&a ", "*a", "<<: *a", "!!str ", "? ", "|\n", ">\n", "\n", "  ", "\t", "'", '"', "name: x", "#", "---", "x", ","]
        ),
        max_size=60,
    )
)
def test_any_yaml_punctuation_loads_or_is_refused(text: list[str], tmp_path: Path) -> None:
    """Any string of YAML's own signs, anchors and merges among them, gives specs or problems."""
    loaded(tmp_path, "".join(text).encode())


@pytest.mark.parametrize("word", [w for w in WORDS if w.isprintable() and w.strip()])
def test_words_of_other_languages_stay_words(word: str, tmp_path: Path) -> None:
    """Terraform, Jinja and shell expressions in an argument come through as the same text; nothing runs."""
    document = copy.deepcopy(BASE)
    document["models"]["llama-8b"]["extra_args"] = ["--served-model-name", word[:1000]]
    before = set(os.listdir())  # noqa: PTH208
    spec = load_spec_of(tmp_path, document)
    assert ("--served-model-name", word[:1000]) == spec.models["llama-8b"].extra_args
    assert before == set(os.listdir())  # noqa: PTH208


def load_spec_of(folder: Path, document: Any) -> Any:
    """The spec of a document that must load."""
    path = folder / "spec.yaml"
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return load_spec(path).spec


@pytest.mark.parametrize(
    "field",
    [
        "name",
        "tenant",
        "region",
        "vpc_cidr",
        "host",
        "class_name",
        "prometheus_url",
        "bucket",
        "image",
        "engine_version",
        "taint_key",
        "ami_id",
        "secret",
        "model",
        "environment",
    ],
)
@pytest.mark.parametrize("word", ["../../x", "a b", "${x}", "%{x}", "{{x}}", "x\ny", "a;b", "a'b", 'a"b', "x" * 600, "é", "\u0661", "$(x)", "-x", ""])
def test_names_take_no_foreign_words(field: str, word: str, tmp_path: Path) -> None:
    """What becomes part of a name, path or address refuses traversal, expressions, quotes and foreign digits at its own field."""
    document = copy.deepcopy(BASE)
    model = document["models"]["llama-8b"]
    change = {
        "name": lambda: document.update(name=word), "tenant": lambda: document.update(tenant=word), "region": lambda: document["cloud"].update(region=word),
        "vpc_cidr": lambda: document["cloud"].update(vpc_cidr=word), "host": lambda: document["gateway"].update(host=word),
        "class_name": lambda: document["gateway"].update(class_name=word), "prometheus_url": lambda: document.update(observability={"prometheus_url": word}),
        "bucket": lambda: document.update(state={"bucket": word}), "image": lambda: model.update(image=word), "engine_version": lambda: model.update(engine_version=word),
        "taint_key": lambda: model.update(nodes={"taint_key": word}), "ami_id": lambda: model.update(nodes={"ami_id": word}),
        "secret": lambda: model.update(hf_token_secret={"name": word}), "model": lambda: document["models"].update({word: model}),
        "environment": lambda: document["environments"].update({word: {}}),
    }  # fmt: skip
    change[field]()
    (tmp_path / "spec.yaml").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError):
        load_spec(tmp_path / "spec.yaml")


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(12))
MERGE_BOMB = "a: &a {" + ", ".join(f"k{i}: v" for i in range(400)) + "}\n" + "b: &b [" + "{<<: *a}, " * 400 + "]\n"


@pytest.mark.parametrize("text", [BOMB, MERGE_BOMB], ids=["aliases", "merges"])
def test_anchor_bombs_are_refused_at_once(text: str, tmp_path: Path) -> None:
    """Aliases of aliases that would unfold to 10^13 values are refused in well under a second."""
    started = time.process_time()
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match="with its aliases followed this has more than 100,000 values"):
        load_spec(path)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    "content",
    [b"a: b\n" * (2 * MAX_BYTES), b"x" * (10 * MAX_BYTES), b"[" * (10 * MAX_BYTES), b"\0" * (10 * MAX_BYTES)],
    ids=["keys", "one word", "brackets", "zeros"],
)
def test_ten_megabytes_are_refused_in_under_a_second(content: bytes, tmp_path: Path) -> None:
    """A file of 10 MB is refused by its size, before it is parsed, by the whole command in under a second."""
    path = tmp_path / "spec.yaml"
    path.write_bytes(content)
    # Processor time of the whole process: on a machine that does other work, too, the clock on the wall measures that.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = run("validate", path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0
    assert (2, "") == (ran.returncode, ran.stdout)
    assert "the file is larger than 1 MiB" in ran.stderr


def test_a_device_without_end_is_refused() -> None:
    """/dev/zero ends after the limit, not never."""
    if not Path("/dev/zero").exists():
        pytest.skip("this system has no /dev/zero")
    with pytest.raises(InputError, match="larger than 1 MiB"):
        load_spec("/dev/zero")


def run(*args: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    program = "import sys; from inferform.cli.main import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run([sys.executable, "-c", program, *map(str, args)], text=True, capture_output=True, check=False, timeout=60, **options)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"- 1", b"name: [", as_yaml({**BASE, "name": "${x}"}), as_yaml({**BASE, "models": {"../x": {}}}), BOMB.encode()])
def test_no_command_shows_a_traceback(data: bytes, tmp_path: Path) -> None:
    """Whole processes end with 2, an error that names the file, and nothing on standard output."""
    path = tmp_path / "spec.yaml"
    path.write_bytes(data)
    ran = run("validate", path)
    assert (2, "") == (ran.returncode, ran.stdout)
    assert "Traceback" not in ran.stderr
    assert "internal fault" not in ran.stderr
    assert str(path) in ran.stderr


def test_the_error_tree_is_what_callers_catch() -> None:
    """Every error about input is an InferformError with exit code 2."""
    assert issubclass(InputError, InferformError)
    assert 2 == InputError("x").exit_code
