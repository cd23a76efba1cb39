"""Quoting: every value comes back exactly, from YAML and from a shell."""

from __future__ import annotations

import json
import math
import subprocess
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from inferform.errors import InputError
from inferform.render.quoting import block, flow, scalar, shell

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NASTY = ["on", "1e3", "0o7", "12:30", "~", "null", "y", "NaN", "a: b", "a #b", "- a", "{{ x }}", "${x}", "%{x}", "'", '"', "\\", "a\nb", "\t", "\x00", "\x85", "\u2028", "é", "日本", "🦙", "---", "...", "<<", "=", "*a", "&a", "!a", "@a", "`a", " a", "a ", "", "a:", "[", "]", "{", ",", "?", "|", ">"]  # fmt: skip
VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False, width=32) | TEXT | st.sampled_from(NASTY),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT | st.sampled_from(NASTY), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("text", NASTY)
def test_text_that_yaml_would_read_otherwise_stays_text(text: str) -> None:
    """Words, numbers, dates, markers and escapes come back as the text they were."""
    assert text == yaml.safe_load(scalar(text))


def test_ordinary_text_stays_plain() -> None:
    """Names, paths, addresses and flags need no quotes, so that people can read them."""
    for text in ("llama-70b", "nvidia.com/gpu", "/dev/shm", "http://a.b:9090/x", "--max-model-len", "vllm/vllm-openai:v0.33.0"):  # noqa: S108
        assert text == scalar(text)


@settings(max_examples=200, deadline=None)
@given(VALUE)
def test_any_value_survives_a_block(value: Any) -> None:
    """Nested lists and mappings with any text come back equal from block YAML at any column, and never leave their column."""
    text = block({"key": value}, 4)
    assert {"key": value} == yaml.safe_load(text + "\n")
    assert all(line.startswith("    ") or not line for line in text.split("\n"))


@settings(max_examples=200, deadline=None)
@given(VALUE)
def test_any_value_survives_a_flow(value: Any) -> None:
    """The same on one line."""
    text = flow(value)
    assert "\n" not in text
    assert value == yaml.safe_load(text)


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30))
def test_any_text_survives_a_shell(text: str) -> None:
    """A shell prints back exactly the word that was quoted."""
    done = subprocess.run(["sh", "-c", f"printf %s {shell(text)}"], capture_output=True, check=True)
    assert text.encode() == done.stdout


def test_scripts_become_literal_blocks() -> None:
    """A script stays readable: one line a line, and comes back to the byte."""
    script = "#!/bin/bash\nset -e\n\nif true; then\n  echo 'a: b'\nfi\n"
    text = block({"x.sh": script}, 2)
    assert "  x.sh: |" == text.split("\n")[0]
    assert {"x.sh": script} == yaml.safe_load(text + "\n")


def test_what_is_no_value_is_refused() -> None:
    """Half characters and numbers that are none raise InputError instead of writing a broken file."""
    for value in ("\ud800", math.nan, math.inf):
        with pytest.raises(InputError):
            scalar(value)
    with pytest.raises(TypeError):
        scalar(object())


def test_large_and_small_numbers_have_no_exponent() -> None:
    """Some readers take 1e-05 for text, so numbers are written out."""
    assert ("0.00001", "85.5", json.dumps(2**60)) == (scalar(1e-5), scalar(85.5), scalar(2**60))
